//! What an engine makes of a phase, and what its workers leave: all engines are made of these.

use crate::beside::Beside;
use crate::load::Load;
use crate::protocol::{
    CoherenceResult, CommandResult, Config, Cost, DirectoryResult, DrillResult, Fault, Io,
    QueueResult, TreeResult,
};
use crate::recorder::Recorder;
use std::sync::Arc;

/// Prepares a phase: opens, allocates, refuses what cannot work.
pub type Arm = fn(&Config) -> Result<Armed, Fault>;

/// A prepared phase: what it reports, who works, and when time ends it.
pub struct Armed {
    pub operations: Vec<String>,
    pub workers: Vec<Box<dyn Worker>>,
    pub duration_ns: Option<u64>,
    pub load: Load,
    pub beside: Option<Arc<dyn Beside>>,
}

/// One thread's work.
pub trait Worker: Send {
    /// Allocates and touches what `run` needs, on the thread (and the CPUs) on which it will run.
    fn prepare(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Does all its operations through `recorder.measure`, until that says stop.
    fn run(&mut self, recorder: &mut Recorder);

    /// What is left to be said when the work has ended.
    fn finish(&mut self) -> Finished {
        Finished::Nothing
    }
}

/// What a worker leaves behind beside its operations.
pub enum Finished {
    Nothing,
    Command(Box<Ran>),
    Queue(QueueResult),
    Tree(TreeResult),
    Directory(Box<DirectoryResult>),
    Coherence(CoherenceResult),
    Drill(Box<DrillResult>),
}

/// An external command that has ended, with what its whole tree used.
pub struct Ran {
    pub command: CommandResult,
    pub cost: Cost,
    pub io: Io,
}

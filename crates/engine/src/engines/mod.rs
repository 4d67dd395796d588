//! The engines: one file each, one line each in `ENGINES`.

use crate::load::Load;
use crate::protocol::{
    CoherenceResult, CommandResult, Config, Cost, DirectoryResult, DrillResult, Fault, Io,
    NetResult, QueueResult, TreeResult,
};
use crate::recorder::Recorder;
use std::sync::Arc;

mod bulk;
mod coherence;
mod command;
mod drill;
mod ldap;
mod metadata;
pub mod net;
mod null;
mod tree;

/// Prepares a phase: opens, allocates, refuses what cannot work.
pub type Arm = fn(&Config) -> Result<Armed, Fault>;

/// Every engine by name, in order.
const ENGINES: &[(&str, Arm)] = &[
    ("bulk", bulk::arm),
    ("coherence", coherence::arm),
    ("command", command::arm),
    ("drill", drill::arm),
    ("ldap", ldap::arm),
    ("metadata", metadata::arm),
    ("net", net::arm),
    ("null", null::arm),
    ("transfer", command::arm_errands),
    ("tree", tree::arm),
];

/// A prepared phase: what it reports, who works, and when time ends it.
pub struct Armed {
    pub operations: Vec<String>,
    pub workers: Vec<Box<dyn Worker>>,
    pub duration_ns: Option<u64>,
    pub load: Load,
    pub beside: Option<Arc<dyn Beside>>,
}

/// What a phase has beside its workers, for the thread that watches them.
pub trait Beside: Send + Sync {
    /// Where others reach this client.
    fn address(&self) -> Option<String>;

    /// How long after the end of the phase's time a worker may still wait in a system call.
    fn patience_ns(&self) -> u64;

    /// Notes what there is to see, once per interval and at the end.
    fn look(&self, at_ns: u64);

    /// Ends the system calls in which workers wait.
    fn interrupt(&self);

    /// What was seen; nothing is open any more afterwards.
    fn finish(&self) -> NetResult;
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

/// The names of all engines.
pub fn names() -> Vec<&'static str> {
    ENGINES.iter().map(|(name, _)| *name).collect()
}

/// The engine of this name.
pub fn find(name: &str) -> Result<Arm, Fault> {
    let found = ENGINES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, arm)| *arm);
    found.ok_or_else(|| {
        Fault::settings(format!(
            "found engine {name:?}; expected one of {}",
            names().join(", ")
        ))
    })
}

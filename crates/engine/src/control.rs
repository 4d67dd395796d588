//! Why a phase ends, and what ends it from outside.

use crate::beside::Beside;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Why a phase, or a worker, has stopped; the later entry prevails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopped {
    Work,
    Time,
    Stop,
    Limit,
    Error,
}

impl Stopped {
    /// The word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Time => "time",
            Self::Stop => "stop",
            Self::Limit => "limit",
            Self::Error => "error",
        }
    }
}

/// What ends a phase from outside the worker.
#[derive(Default)]
pub struct Control {
    pub stop: AtomicBool,
    pub limit: AtomicBool,
    pub error: AtomicBool,
    /// What can end a system call in which a worker waits.
    pub beside: OnceLock<Arc<dyn Beside>>,
}

impl Control {
    /// Ends the phase for this reason, also for workers that wait in a system call.
    pub fn end(&self, flag: &AtomicBool) {
        flag.store(true, Ordering::Relaxed);
        self.interrupt();
    }

    /// Ends the system calls in which workers wait, where the engine can.
    pub fn interrupt(&self) {
        if let Some(beside) = self.beside.get() {
            beside.interrupt();
        }
    }

    /// Why to stop now, if at all.
    pub fn reason(&self) -> Option<Stopped> {
        [
            (&self.error, Stopped::Error),
            (&self.limit, Stopped::Limit),
            (&self.stop, Stopped::Stop),
        ]
        .into_iter()
        .find(|(flag, _)| flag.load(Ordering::Relaxed))
        .map(|(_, reason)| reason)
    }
}

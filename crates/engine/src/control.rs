//! Why a phase ends, and what ends it from outside.

use std::sync::atomic::{AtomicBool, Ordering};

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
#[derive(Debug, Default)]
pub struct Control {
    pub stop: AtomicBool,
    pub limit: AtomicBool,
    pub error: AtomicBool,
}

impl Control {
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

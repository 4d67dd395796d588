//! What a coherence phase is told.

use crate::protocol::Fault;
use serde::Deserialize;

/// Which end a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Writer,
    Reader,
}

/// One thing that a writer does and a reader looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Create,
    Append,
    Overwrite,
    Reopen,
    Truncate,
    TruncateShared,
    Rename,
    Unlink,
    List,
    PosixLock,
    Flock,
    Counter,
    DirectWrite,
}

impl Step {
    /// Its name in settings and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Append => "append",
            Self::Overwrite => "overwrite",
            Self::Reopen => "reopen",
            Self::Truncate => "truncate",
            Self::TruncateShared => "truncate_shared",
            Self::Rename => "rename",
            Self::Unlink => "unlink",
            Self::List => "list",
            Self::PosixLock => "posix_lock",
            Self::Flock => "flock",
            Self::Counter => "counter",
            Self::DirectWrite => "direct_write",
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub role: Role,
    /// The same directory, as this end's mount shows it.
    pub directory: String,
    /// A word that both ends know, and nobody else.
    pub meeting: String,
    pub steps: Vec<Step>,
    pub times: u64,
    pub within_ns: u64,
    pub look_every_ns: u64,
}

impl Settings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Result<(), Fault> {
        Fault::of_settings(&[
            (
                self.steps.is_empty(),
                "found no steps; expected at least one",
            ),
            (self.times == 0, "found times 0; expected at least 1"),
            (
                self.within_ns == 0,
                "found within_ns 0; expected at least 1",
            ),
            (
                self.meeting.is_empty(),
                "found an empty meeting; expected a word",
            ),
        ])
    }
}

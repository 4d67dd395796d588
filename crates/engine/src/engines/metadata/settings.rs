//! What a `metadata` phase may be told, and what of it cannot be.

use super::sizes::FileBytes;
use crate::load::Load;
use crate::objects::Object;
use crate::protocol::Fault;
use serde::Deserialize;

/// Names have eight digits.
const MOST_OBJECTS: u64 = 100_000_000;
/// A process may have a million files open where nothing says otherwise.
const MOST_DIRECTORIES: u64 = 100_000;
const MOST_WORKERS: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Create,
    Mkdir,
    Fsync,
    List,
    Readdir,
    ReaddirPlus,
    Stat,
    Open,
    Setxattr,
    Rename,
    Link,
    Symlink,
    Unlink,
    Rmdir,
}

/// Whether workers have directories of their own, or objects of their own in the same ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    #[default]
    Own,
    Shared,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub directory: String,
    pub object: Object,
    pub operations: Vec<Operation>,
    pub count: u64,
    #[serde(default)]
    pub first: u64,
    #[serde(default)]
    pub list_every: u64,
    #[serde(default)]
    pub file_bytes: FileBytes,
    #[serde(default = "one")]
    pub directories: u64,
    #[serde(default = "one")]
    pub workers: u64,
    #[serde(default)]
    pub sharing: Sharing,
    #[serde(default = "object")]
    pub prefix: char,
    #[serde(default = "renamed")]
    pub new_prefix: char,
    #[serde(default)]
    pub load: Load,
}

fn one() -> u64 {
    1
}

fn object() -> char {
    'o'
}

fn renamed() -> char {
    'r'
}

impl Operation {
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Mkdir => "mkdir",
            Self::Fsync => "fsync",
            Self::List => "list",
            Self::Readdir => "readdir",
            Self::ReaddirPlus => "readdir_plus",
            Self::Stat => "stat",
            Self::Open => "open",
            Self::Setxattr => "setxattr",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Symlink => "symlink",
            Self::Unlink => "unlink",
            Self::Rmdir => "rmdir",
        }
    }

    pub fn makes(self) -> bool {
        matches!(self, Self::Create | Self::Mkdir)
    }

    pub fn removes(self) -> bool {
        matches!(self, Self::Unlink | Self::Rmdir)
    }

    /// Whether it looks at a whole directory instead of one object.
    pub fn lists(self) -> bool {
        matches!(self, Self::List | Self::Readdir | Self::ReaddirPlus)
    }
}

impl Settings {
    /// Refuses what cannot be, all of it at once.
    pub fn check(&self) -> Result<(), Fault> {
        let mut wrong = self.wrong_operations();
        wrong.extend(self.wrong_numbers());
        Fault::of_settings(&wrong)?;
        self.load.check()
    }

    /// The names of the operations, by slot.
    pub fn names(&self) -> Vec<String> {
        let words = self.operations.iter().map(|operation| operation.word());
        words.map(str::to_owned).collect()
    }

    /// Whether the objects leave their names in this phase.
    pub fn loses_names(&self) -> bool {
        let leaves = |operation: &Operation| operation.removes() || *operation == Operation::Rename;
        self.operations.iter().any(leaves)
    }

    fn has(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    fn wrong_operations(&self) -> Vec<(bool, &'static str)> {
        let folder = self.object == Object::Directory;
        let twice =
            |(at, operation): (usize, &Operation)| self.operations[..at].contains(operation);
        let flushed = self
            .operations
            .iter()
            .position(|one| *one == Operation::Fsync);
        let early = flushed.is_some_and(|at| !self.operations[..at].iter().any(|one| one.makes()));
        vec![
            (
                self.operations.is_empty()
                    || self.operations.iter().enumerate().any(twice)
                    || early,
                "expected operations, each at most once, fsync after create",
            ),
            (
                !folder && (self.has(Operation::Mkdir) || self.has(Operation::Rmdir)),
                "found mkdir or rmdir with files; expected object directory",
            ),
            (
                folder && self.has(Operation::Link),
                "found link with directories; expected object file: a directory has one name",
            ),
            (
                self.has(Operation::Create) && self.has(Operation::Mkdir)
                    || self.has(Operation::Unlink) && self.has(Operation::Rmdir),
                "found two operations that make, or remove, the same object; expected one",
            ),
        ]
    }

    fn wrong_numbers(&self) -> Vec<(bool, &'static str)> {
        let folder = self.object == Object::Directory;
        let all = self.count.saturating_mul(self.workers);
        let letter = |prefix: char| prefix.is_ascii_lowercase();
        let mut wrong = vec![
            (self.count == 0, "found count 0; expected at least 1"),
            (
                self.first.saturating_add(all) > MOST_OBJECTS,
                "found more than 100,000,000 objects; expected at most that",
            ),
            (
                folder && self.file_bytes.any(),
                "found file_bytes for directories; expected 0",
            ),
            (
                !(1..=MOST_DIRECTORIES).contains(&self.directories.saturating_mul(self.workers)),
                "expected directories from 1 to 100,000 for all workers together",
            ),
            (
                !(1..=MOST_WORKERS).contains(&self.workers),
                "expected workers from 1 to 4096",
            ),
            (
                !(letter(self.prefix) && letter(self.new_prefix)) || self.prefix == self.new_prefix,
                "expected prefix and new_prefix as different letters from a to z",
            ),
        ];
        wrong.extend(self.file_bytes.wrong());
        wrong
    }
}

//! What a `tree` phase may be told, and what of it cannot be.

use crate::load::Load;
use crate::protocol::Fault;
use serde::Deserialize;

const MOST_WALKERS: u64 = 1024;
const MOST_RECORD: u64 = 1 << 30;
/// What direct I/O asks of offsets and lengths on any device.
const DIRECT_UNIT: u64 = 4096;

/// What the kernel is told of a file before it is read (`posix_fadvise`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    #[default]
    None,
    Sequential,
    Willneed,
    Noreuse,
}

/// In which order the entries of a directory are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    #[default]
    Directory,
    Inode,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol names them")]
pub struct Settings {
    pub root: String,
    #[serde(default = "walkers")]
    pub walkers: u64,
    #[serde(default = "record_size")]
    pub record_size: u64,
    #[serde(default)]
    pub part: u64,
    #[serde(default = "one")]
    pub parts: u64,
    #[serde(default)]
    pub advice: Advice,
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub direct: bool,
    #[serde(default = "yes")]
    pub same_filesystem: bool,
    #[serde(default = "yes")]
    pub noatime: bool,
    #[serde(default)]
    pub drop_behind: bool,
    pub passes: Option<u64>,
    pub ops: Option<u64>,
    pub duration_ns: Option<u64>,
    #[serde(default)]
    pub load: Load,
}

fn walkers() -> u64 {
    4
}

fn record_size() -> u64 {
    256 * 1024
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

impl Settings {
    /// Refuses what cannot be, all of it at once.
    pub fn check(&self) -> Result<(), Fault> {
        Fault::of_settings(&[
            (
                self.root.is_empty() || self.root.contains('\0'),
                "found no root; expected the path of a directory or a file",
            ),
            (
                !(1..=MOST_WALKERS).contains(&self.walkers),
                "expected walkers from 1 to 1024",
            ),
            (
                !(1..=MOST_RECORD).contains(&self.record_size),
                "expected a record_size from 1 to 1 GiB",
            ),
            (
                self.direct && !self.record_size.is_multiple_of(DIRECT_UNIT),
                "found a record_size that direct I/O cannot have; expected a multiple of 4096",
            ),
            (
                self.part >= self.parts,
                "found a part that is not below parts; expected one below the other",
            ),
            (
                self.passes == Some(0) || self.ops == Some(0),
                "found passes or ops 0; expected at least 1",
            ),
            (
                self.load.is_open(),
                "found a rate or a schedule; expected think_ns alone: a tree is read by walkers that wait for their answers",
            ),
        ])?;
        self.load.check()
    }

    /// How often the tree is read: once, or until something else ends the phase.
    pub fn passes(&self) -> u64 {
        let ends_otherwise = self.duration_ns.is_some() || self.ops.is_some();
        self.passes
            .unwrap_or(if ends_otherwise { u64::MAX } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(more: &str) -> Settings {
        let text = format!(r#"{{"root":"/x"{more}}}"#);
        serde_json::from_str(&text).expect("right JSON")
    }

    #[test]
    fn the_defaults_are_those_of_a_careful_backup() {
        let settings = settings("");
        assert!(settings.check().is_ok());
        assert_eq!((settings.walkers, settings.record_size), (4, 262_144));
        assert!(settings.same_filesystem && settings.noatime && !settings.drop_behind);
        assert_eq!(settings.passes(), 1);
    }

    #[test]
    fn time_or_a_number_of_files_ends_what_has_no_passes() {
        assert_eq!(settings(r#","duration_ns":1"#).passes(), u64::MAX);
        assert_eq!(settings(r#","ops":1"#).passes(), u64::MAX);
        assert_eq!(settings(r#","ops":1,"passes":3"#).passes(), 3);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let wrong = settings(
            r#","walkers":0,"record_size":1000,"direct":true,"part":2,"parts":2,"passes":0"#,
        );
        let message = wrong.check().expect_err("all of it is wrong").message;
        assert_eq!(message.split("; expected").count(), 4, "{message}");
        assert!(message.contains("walkers"), "{message}");
        assert!(settings(r#","load":{"rate":5}"#).check().is_err());
        assert!(settings(r#","load":{"think_ns":5}"#).check().is_ok());
    }
}

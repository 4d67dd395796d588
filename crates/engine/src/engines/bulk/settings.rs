//! What a `bulk` phase may be told, and what of it cannot be.

use super::content::Data;
use crate::load::Load;
use crate::protocol::Fault;
use crate::regions::{Access, Direction, Layout, Region};
use rustix::fs::OFlags;
use serde::Deserialize;

/// The largest record.
const MOST_RECORD: u64 = 1 << 30;
/// The most requests in flight of one worker, and the most memory that they use.
const MOST_DEPTH: u64 = 4096;
const MOST_QUEUED: u64 = 4 << 30;
/// What is described and verified as one.
pub const BLOCK: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Write,
    Rewrite,
    Read,
    Reread,
    RandomWrite,
    RandomRead,
    RandomMix,
    BackwardRead,
    RecordRewrite,
    StrideRead,
}

/// How data go between the process and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    #[default]
    Psync,
    IoUring,
    Mmap,
}

/// Whether files and buffers are registered with the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Register {
    #[default]
    Probe,
    On,
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    #[default]
    Uniform,
    Permutation,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    #[default]
    None,
    Dsync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushWord {
    None,
    End,
    Each,
}

/// Never, at the end, after each write, or after so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Flush {
    Word(FlushWord),
    Every(u64),
}

impl Default for Flush {
    fn default() -> Self {
        Self::Word(FlushWord::None)
    }
}

impl Flush {
    /// Writes from flush to flush; 0 where there are none on the way.
    pub fn every(self) -> u64 {
        match self {
            Self::Word(FlushWord::Each) => 1,
            Self::Word(_) => 0,
            Self::Every(count) => count,
        }
    }

    /// Whether a worker flushes what is left at its end.
    pub fn at_end(self) -> bool {
        matches!(self, Self::Word(FlushWord::End) | Self::Every(_))
    }
}

/// The call that flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushCall {
    #[default]
    Fsync,
    Fdatasync,
}

/// Which of the records that are read are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    #[default]
    None,
    Sample,
    All,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub operation: Operation,
    pub name: Option<String>,
    pub write_name: Option<String>,
    pub flush_name: Option<String>,
    pub regions: Vec<Region>,
    pub record_size: u64,
    #[serde(default)]
    pub path: Path,
    pub depth: Option<u64>,
    pub batch: Option<u64>,
    #[serde(default)]
    pub register: Register,
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub layout: Layout,
    pub stride: Option<u64>,
    pub read_share: Option<f64>,
    #[serde(default)]
    pub direct: bool,
    #[serde(default)]
    pub sync: Sync,
    #[serde(default)]
    pub flush: Flush,
    #[serde(default)]
    pub flush_call: FlushCall,
    #[serde(default)]
    pub create: bool,
    #[serde(default)]
    pub truncate: bool,
    #[serde(default)]
    pub data: Data,
    #[serde(default)]
    pub describe: bool,
    pub generation: Option<u64>,
    #[serde(default)]
    pub verify: Verify,
    pub ops: Option<u64>,
    pub duration_ns: Option<u64>,
    #[serde(default)]
    pub load: Load,
    #[serde(default)]
    queue: Vec<serde_json::Value>,
}

impl Operation {
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Write | Self::Rewrite | Self::RandomWrite | Self::RandomMix | Self::RecordRewrite
        )
    }

    pub fn reads(self) -> bool {
        !self.writes() || self == Self::RandomMix
    }

    pub fn is_random(self) -> bool {
        matches!(self, Self::RandomWrite | Self::RandomRead | Self::RandomMix)
    }

    /// Whether the file must have the region already.
    pub fn needs_content(self) -> bool {
        self.reads() || matches!(self, Self::Rewrite | Self::RecordRewrite)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Reread => "reread",
            Self::RandomWrite => "random_write",
            Self::RandomRead | Self::RandomMix => "random_read",
            Self::BackwardRead => "backward_read",
            Self::RecordRewrite => "record_rewrite",
            Self::StrideRead => "stride_read",
        }
    }
}

impl Settings {
    /// The names of the operations, by slot: what is done, the writes of a mix, flushes.
    pub fn names(&self) -> Vec<String> {
        let or =
            |name: &Option<String>, word: &str| name.clone().unwrap_or_else(|| word.to_owned());
        let mut names = vec![or(&self.name, self.operation.word())];
        if self.operation == Operation::RandomMix {
            names.push(or(&self.write_name, "random_write"));
        }
        if self.flushes() {
            names.push(or(&self.flush_name, "flush"));
        }
        names
    }

    /// Whether anything is flushed.
    pub fn flushes(&self) -> bool {
        self.flush.every() > 0 || self.flush.at_end()
    }

    /// Requests in flight of one worker.
    pub fn depth(&self) -> u64 {
        self.depth.unwrap_or(1)
    }

    /// How the files are opened.
    pub fn access(&self) -> Access {
        let flags = [
            (self.create, OFlags::CREATE),
            (self.truncate, OFlags::TRUNC),
            (self.direct, OFlags::DIRECT),
            (self.sync == Sync::Dsync, OFlags::DSYNC),
        ];
        let flags = flags.into_iter().filter(|(wanted, _)| *wanted);
        let direction = match (self.operation.reads(), self.operation.writes()) {
            (true, false) => Direction::Read,
            (false, true) if self.path != Path::Mmap => Direction::Write,
            _ => Direction::Both,
        };
        Access {
            direction,
            needs_content: self.operation.needs_content(),
            flags: flags.map(|(_, flag)| flag).collect(),
        }
    }

    /// Refuses what cannot be, all of it at once.
    pub fn check(&self) -> Result<(), Fault> {
        let mut wrong = self.wrong_pattern();
        wrong.extend(self.wrong_path());
        wrong.extend(self.wrong_data());
        Fault::of_settings(&wrong)?;
        self.load.check()
    }

    fn wrong_pattern(&self) -> Vec<(bool, &'static str)> {
        let reads_only = !self.operation.writes();
        let keeps = self.operation.needs_content();
        let stride = self.stride.unwrap_or(self.record_size);
        let strides = self.operation == Operation::StrideRead;
        let mixes = self.operation == Operation::RandomMix;
        let size = self.record_size;
        vec![
            (
                self.regions.is_empty(),
                "found no regions; expected one for each worker",
            ),
            (size == 0, "found record_size 0; expected at least 1"),
            (
                size > MOST_RECORD,
                "found a record_size above 1 GiB; expected at most that",
            ),
            (
                !self.queue.is_empty(),
                "found queue; expected none: use path = io_uring with a depth",
            ),
            (
                keeps && (self.create || self.truncate),
                "found create or truncate with a read or a rewrite; expected neither",
            ),
            (
                reads_only && self.flushes(),
                "found flush with a read; expected none",
            ),
            (
                reads_only && self.sync == Sync::Dsync,
                "found sync with a read; expected none",
            ),
            (
                strides != self.stride.is_some()
                    || stride == 0
                    || !stride.is_multiple_of(size.max(1)),
                "expected stride with stride_read alone, in whole records",
            ),
            (
                mixes != self.read_share.is_some()
                    || self
                        .read_share
                        .is_some_and(|share| !(0.0..=1.0).contains(&share)),
                "expected read_share from 0 to 1 with random_mix alone",
            ),
            (
                self.flush == Flush::Every(0),
                "found flush 0; expected none, end, each or a number of writes above 0",
            ),
            (
                self.order == Order::Permutation && !self.operation.is_random(),
                "found order permutation with an operation that is not random; expected uniform",
            ),
        ]
    }

    fn wrong_path(&self) -> Vec<(bool, &'static str)> {
        let rings = self.path == Path::IoUring;
        let maps = self.path == Path::Mmap;
        let depth = self.depth();
        let queued = self.record_size.saturating_mul(depth);
        let batch = self.batch.unwrap_or(1);
        vec![
            (
                !rings && (depth != 1 || self.batch.is_some() || self.register == Register::On),
                "found depth, batch or register without io_uring; expected none of them",
            ),
            (
                rings && !(1..=MOST_DEPTH).contains(&depth),
                "expected a depth from 1 to 4096",
            ),
            (
                rings && !(1..=depth).contains(&batch),
                "expected a batch from 1 to the depth",
            ),
            (
                rings && queued > MOST_QUEUED,
                "found more than 4 GiB in flight; expected a smaller depth or record_size",
            ),
            (
                depth > 1 && self.load.think_ns > 0,
                "found think_ns with a depth above 1; expected one of them",
            ),
            (
                maps && (self.direct || self.sync == Sync::Dsync),
                "found direct or sync with mmap; expected neither",
            ),
        ]
    }

    fn wrong_data(&self) -> Vec<(bool, &'static str)> {
        let whole = self.record_size.is_multiple_of(BLOCK);
        let checks = self.describe || self.verify != Verify::None;
        let aligned = |region: &Region| region.offset.is_multiple_of(BLOCK);
        vec![
            (
                !self.data.is_possible(),
                "expected in data compressible of at least 1, duplicates and zeros from 0 to 1 together",
            ),
            (
                checks && !(whole && self.regions.iter().all(aligned)),
                "found describe or verify with records that are not whole blocks of 4096 bytes; expected multiples of 4096",
            ),
            (
                self.describe && self.data.repeats(),
                "found describe with duplicates or zeros; expected one of them: a block that says where it is, is unique",
            ),
            (
                self.describe && !self.operation.writes(),
                "found describe with a read; expected verify",
            ),
            (
                self.verify != Verify::None && !self.operation.reads(),
                "found verify without a read; expected none",
            ),
            (
                self.operation == Operation::RandomMix
                    && self.verify != Verify::None
                    && !self.describe,
                "found verify in a mix whose writes do not describe; expected describe",
            ),
        ]
    }
}

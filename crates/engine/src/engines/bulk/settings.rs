//! What a `bulk` phase may be told.

use super::content::Data;
use super::request_mix::Request;
use crate::load::Load;
use crate::regions::{Access, Direction, Layout, Region};
use rustix::fs::OFlags;
use serde::Deserialize;

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
    RequestMix,
}

/// How data go between the process and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    #[default]
    Psync,
    IoUring,
    Mmap,
    Stdio,
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

/// The call that flushes. The range of a file is only written back: nothing says that the device keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushCall {
    #[default]
    Fsync,
    Fdatasync,
    SyncFileRange,
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
#[expect(clippy::struct_excessive_bools, reason = "the protocol names them")]
pub struct Settings {
    pub operation: Operation,
    pub name: Option<String>,
    pub write_name: Option<String>,
    pub flush_name: Option<String>,
    pub regions: Vec<Region>,
    #[serde(default)]
    pub record_size: u64,
    #[serde(default)]
    pub requests: Vec<Request>,
    pub align: Option<u64>,
    #[serde(default)]
    pub path: Path,
    pub stdio_buffer: Option<u64>,
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
    pub random_share: Option<f64>,
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
    pub queue: Vec<serde_json::Value>,
}

impl Operation {
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Write | Self::Rewrite | Self::RandomWrite | Self::RecordRewrite
        ) || self.mixes()
    }

    pub fn reads(self) -> bool {
        !self.writes() || self.mixes()
    }

    /// Whether some operations read and some write.
    pub fn mixes(self) -> bool {
        matches!(self, Self::RandomMix | Self::RequestMix)
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
            Self::Read | Self::RequestMix => "read",
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
        match self.operation {
            Operation::RandomMix => names.push(or(&self.write_name, "random_write")),
            Operation::RequestMix => names.push(or(&self.write_name, "write")),
            _ => {}
        }
        if self.flushes() {
            names.push(or(&self.flush_name, "flush"));
        }
        names
    }

    /// Bytes of the largest record.
    pub fn largest(&self) -> u64 {
        let sizes = self.requests.iter().map(|request| request.bytes);
        sizes.max().unwrap_or(self.record_size)
    }

    /// What the sizes of all records, and where they may begin in a region, are multiples of.
    pub fn unit(&self) -> u64 {
        let sizes = self.requests.iter().map(|request| request.bytes);
        let all = sizes.chain(self.align);
        all.reduce(common_divisor).unwrap_or(self.record_size)
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
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

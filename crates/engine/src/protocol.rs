//! The lines that come in and go out: `docs/engine-protocol.md` as types.

pub use crate::coherence_result::CoherenceResult;
pub use crate::directory_result::DirectoryResult;
pub use crate::drill_result::DrillResult;
pub use crate::fault::Fault;
pub use crate::net_result::NetResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;

/// A line of standard input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Prepare a phase.
    Config(Box<Config>),
    /// Say what time it is.
    Clock {},
    /// Run the armed phase.
    Go { at_ns: u64 },
    /// Live until then.
    Lease { until_ns: u64 },
    /// End the running phase.
    Stop {},
}

/// A phase to prepare; `settings` belong to the engine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub engine: String,
    pub phase: String,
    #[serde(default)]
    pub client: u64,
    #[serde(default, rename = "clients")]
    _clients: Option<u64>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub cpus: Option<Vec<usize>>,
    #[serde(default = "quarter_second")]
    pub interval_ns: u64,
    #[serde(default)]
    pub limit_ns: Option<u64>,
    pub settings: serde_json::Value,
}

fn quarter_second() -> u64 {
    250_000_000
}

/// A line of standard output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply<'a> {
    Hello {
        version: &'a str,
        pid: u32,
        engines: Vec<&'a str>,
        build: &'a str,
    },
    Armed {
        phase: &'a str,
        mono_ns: u64,
        address: Option<&'a str>,
    },
    Clock {
        mono_ns: u64,
    },
    Told {
        phase: &'a str,
        at_ns: u64,
        mono_ns: u64,
    },
    Progress {
        phase: &'a str,
        at_ns: u64,
        operations: BTreeMap<&'a str, Moved>,
    },
    Result(&'a PhaseResult),
    Error {
        phase: &'a str,
        what: &'a str,
        path: Option<&'a str>,
        errno: Option<i32>,
        message: &'a str,
    },
}

/// Work done so far.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Moved {
    pub count: u64,
    pub bytes: u64,
}

/// What one client did in one phase.
#[derive(Debug, Serialize)]
pub struct PhaseResult {
    pub phase: String,
    pub client: u64,
    pub pid: u32,
    pub workers: usize,
    pub armed_ns: u64,
    pub started_ns: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// When time was to end it; null where an amount did.
    pub ends_ns: Option<u64>,
    pub stopped_by: &'static str,
    pub operations: BTreeMap<String, OperationResult>,
    pub errors: Vec<ErrorCount>,
    pub load: Option<LoadResult>,
    pub queue: Option<QueueResult>,
    pub tree: Option<TreeResult>,
    pub net: Option<NetResult>,
    pub directory: Option<DirectoryResult>,
    pub coherence: Option<CoherenceResult>,
    pub drill: Option<DrillResult>,
    pub cost: Cost,
    pub io: Io,
    pub clock: ClockResult,
    pub command: Option<CommandResult>,
}

/// The latency buckets of one operation over time, all workers together: times (ns), highest latencies (ns), [time][bucket] cumulative counts.
#[derive(Debug, Default, Serialize)]
pub struct Bars {
    pub at_ns: Vec<u64>,
    pub upper_ns: Vec<u64>,
    pub count: Vec<Vec<u64>>,
}

/// What was done of one operation.
#[derive(Debug, Default, Serialize)]
pub struct OperationResult {
    pub count: u64,
    pub bytes: u64,
    pub errors: u64,
    pub busy_ns: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub sampled_count: u64,
    pub sampled_ns: u64,
    pub histogram: Buckets,
    pub checkpoints: Curve,
    pub spread: Bars,
    /// Null where all came to their end.
    pub unfinished: Option<Unfinished>,
}

/// Operations that were under way when the phase ended and were given up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unfinished {
    pub count: u64,
    /// When the first of them began.
    pub from_ns: u64,
    /// The sum of their waits, and the longest one.
    pub waited_ns: u64,
    pub longest_ns: u64,
}

/// Buckets of a histogram that have counts.
#[derive(Debug, Default, Serialize)]
pub struct Buckets {
    pub upper_ns: Vec<u64>,
    pub count: Vec<u64>,
}

/// Cumulative work over time.
#[derive(Debug, Default, Serialize)]
pub struct Curve {
    pub at_ns: Vec<u64>,
    pub count: Vec<u64>,
    pub bytes: Vec<u64>,
    pub busy_ns: Vec<u64>,
}

/// How often an operation failed in one way.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorCount {
    pub operation: String,
    pub errno: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<&'static str>,
    pub count: u64,
    pub path: String,
}

/// What an open loop fell behind by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadResult {
    pub late: u64,
    pub unstarted: u64,
    pub backlog_max_ns: u64,
}

/// How queued operations were really done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueResult {
    pub depth: u64,
    pub registered: bool,
    pub punted: bool,
    pub punted_threads: u64,
    pub submissions: u64,
}

/// Entries of a tree that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeResult {
    pub others: u64,
    pub elsewhere: u64,
}

/// What the load itself used; null where the machine does not tell.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cost {
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub user_instructions: Option<u64>,
    pub kernel_instructions: Option<u64>,
    pub user_cycles: Option<u64>,
    pub kernel_cycles: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// The counters of `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Io {
    pub rchar: u64,
    pub wchar: u64,
    pub syscr: u64,
    pub syscw: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub cancelled_write_bytes: u64,
}

impl QueueResult {
    /// Two workers' queues as one.
    pub fn and(self, other: Self) -> Self {
        Self {
            depth: self.depth + other.depth,
            registered: self.registered && other.registered,
            punted: self.punted || other.punted,
            punted_threads: self.punted_threads + other.punted_threads,
            submissions: self.submissions + other.submissions,
        }
    }
}

impl TreeResult {
    /// Two walkers' entries together.
    pub fn and(self, other: Self) -> Self {
        Self {
            others: self.others + other.others,
            elsewhere: self.elsewhere + other.elsewhere,
        }
    }
}

/// What the stamps were read from, by how much its rate moved against `CLOCK_MONOTONIC`, and what taking the time costs.
#[derive(Debug, Serialize)]
pub struct ClockResult {
    pub source: &'static str,
    pub error_ppm: u64,
    pub stamp_ns: u64,
    pub operation_ns: u64,
}

/// How an external command ended.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommandResult {
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub truncated: bool,
}

impl Config {
    /// The engine's own settings, of the type that it wants. Every unknown or missing name is refused.
    pub fn settings<T: serde::de::DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_value(self.settings.clone())
            .map_err(|error| Fault::settings(error.to_string()))
    }
}

/// Writes one line; the process ends where nobody reads any more.
pub fn send(reply: &Reply) {
    let mut line = serde_json::to_vec(reply).expect("replies have text keys only");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(&line).and_then(|()| out.flush()).is_err() {
        crate::lifetime::end("nobody reads standard output");
    }
}

/// Says why a phase cannot be armed or run.
pub fn send_fault(phase: &str, fault: &Fault) {
    send(&Reply::Error {
        phase,
        what: fault.what,
        path: fault.path.as_deref(),
        errno: fault.errno,
        message: &fault.message,
    });
}

//! The engine `coherence` in a result: what a reader at one mount saw of what a writer did at another.

use serde::Serialize;
use std::collections::BTreeMap;

/// All steps of a reader, by name.
#[derive(Debug, Default, Serialize)]
pub struct CoherenceResult {
    pub limit_ns: u64,
    pub steps: BTreeMap<&'static str, StepResult>,
}

/// What became of the tries of one step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepResult {
    pub tries: u64,
    /// Tries whose set-up the reader did not see within the limit: nothing was tried then.
    pub unprepared: u64,
    pub seen: u64,
    /// Tries that were not seen within the limit.
    pub never: u64,
    /// First looks after the writer's close and the reader's open that had the old content.
    pub stale: u64,
    /// Locks that both ends held at the same time.
    pub granted_twice: u64,
    /// Updates that both ends made, and that the file should have.
    pub expected: u64,
    /// Updates that the file does not have.
    pub lost: u64,
    /// Between the last look that did not show it and the first one that did: median and longest.
    pub resolution_p50_ns: u64,
    pub resolution_max_ns: u64,
    /// Why the file system does not do this step at all.
    pub refused_errno: Option<i32>,
    pub refused: Option<String>,
}

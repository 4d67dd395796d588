//! The engine `drill` in a result: what was acknowledged, when the target was away, and what became of the records.

use serde::Serialize;

/// Beside the operations: acknowledged records, times away, records as they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DrillResult {
    /// Records that the target acknowledged: noted outside of it in `append`, looked for in `check`.
    pub acknowledged: u64,
    /// Records that were being written at the end and never acknowledged.
    pub unacknowledged: u64,
    pub failed_tries: u64,
    /// Tries that did not end within their deadline; their threads were left behind.
    pub hung: u64,
    pub outages: Vec<TimeAway>,
    /// Those after as many as are kept one by one.
    pub further: FurtherAway,
    pub intact: u64,
    /// Records that are not there: no file, a file that ends before them, or zeros.
    pub lost: u64,
    /// Records with another content than was written.
    pub changed: u64,
    /// Records that could not be read until the end of the patience.
    pub unreadable: u64,
    /// The lowest and the highest number of the records that are not intact.
    pub first_bad: Option<u64>,
    pub last_bad: Option<u64>,
}

/// A time in which the target did not acknowledge the record that was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeAway {
    /// When the record was begun that had to wait.
    pub from_ns: u64,
    /// When it was acknowledged; null where the phase ended before.
    pub to_ns: Option<u64>,
    /// When nothing that was due had to wait any more; null where the phase ended before.
    pub caught_up_ns: Option<u64>,
    pub failed_tries: u64,
}

/// Times away that are not kept one by one, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FurtherAway {
    pub count: u64,
    /// How long they were together.
    pub away_ns: u64,
    /// The longest time from the end of one until nothing that was due had to wait any more, or until the end of the phase.
    pub backlog_ns: u64,
}

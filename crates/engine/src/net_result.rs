//! The engine `net` in a result: who was connected, what the kernel says of each connection, what became of datagrams.

use serde::Serialize;
use std::collections::BTreeMap;

/// What the kernel says, by name; null where this kernel does not say it.
pub type Known = BTreeMap<&'static str, Option<u64>>;

/// Beside the operations: connections, their state over time, datagrams.
#[derive(Debug, Default, Serialize)]
pub struct NetResult {
    pub role: &'static str,
    pub exchange: &'static str,
    pub direction: &'static str,
    pub address: String,
    pub accepted: u64,
    pub refused: BTreeMap<&'static str, u64>,
    pub unfinished: u64,
    pub connections: Vec<ConnectionResult>,
    pub unlisted: u64,
    pub intervals: Intervals,
    pub zerocopy: Option<ZerocopyResult>,
    pub datagrams: Option<DatagramResult>,
}

/// One connection, at its end.
#[derive(Debug, Serialize)]
pub struct ConnectionResult {
    pub client: u64,
    pub number: u64,
    pub protocol: &'static str,
    pub local: String,
    pub peer: String,
    pub ended: &'static str,
    pub congestion: Option<String>,
    pub nodelay: Option<bool>,
    pub send_buffer: Buffer,
    pub receive_buffer: Buffer,
    pub tcp: Option<Known>,
    pub mptcp: Option<Known>,
    pub subflows: Vec<SubflowResult>,
    /// Since when it moved less than half of what the connections of this end did on average; None where it does not at the end.
    pub slow_since_ns: Option<u64>,
    pub datagrams: Option<DatagramResult>,
}

/// One subflow of an MPTCP connection, as it was last seen.
#[derive(Clone, Debug, Serialize)]
pub struct SubflowResult {
    pub local: String,
    pub peer: String,
    pub tcp: Known,
}

/// A socket's buffer: asked for, granted at the beginning, and at the end, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Buffer {
    pub asked: Option<u64>,
    pub got: u64,
    pub end: u64,
}

/// All connections together over time: one row per interval.
#[derive(Debug, Default, Serialize)]
pub struct Intervals {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Option<u64>>>,
}

/// Sends without a copy: asked for, confirmed, and copied all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ZerocopyResult {
    pub sent: u64,
    pub completed: u64,
    pub copied: u64,
}

/// Datagrams of one end; null where that end cannot know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DatagramResult {
    pub sent: Option<u64>,
    pub received: Option<u64>,
    pub lost: Option<u64>,
    pub reordered: Option<u64>,
    pub duplicated: Option<u64>,
    pub malformed: Option<u64>,
    pub buffer_drops: Option<u64>,
}

impl ZerocopyResult {
    /// Two connections' sends together.
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            completed: self.completed + other.completed,
            copied: self.copied + other.copied,
        }
    }
}

impl DatagramResult {
    /// Two connections' datagrams together.
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: sum(self.sent, other.sent),
            received: sum(self.received, other.received),
            lost: sum(self.lost, other.lost),
            reordered: sum(self.reordered, other.reordered),
            duplicated: sum(self.duplicated, other.duplicated),
            malformed: sum(self.malformed, other.malformed),
            buffer_drops: sum(self.buffer_drops, other.buffer_drops),
        }
    }
}

/// Known only where both are.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one + other)
}

//! The engine `ldap` in a result: what answers held, which of them were wrong, and what was asked beside the load.

use serde::Serialize;
use std::collections::BTreeMap;

/// Beside the operations: connections, answers, own requests.
#[derive(Debug, Default, Serialize)]
pub struct DirectoryResult {
    pub connections: u64,
    pub lost: u64,
    /// What arming and ending asked of the server, by operation.
    pub own: BTreeMap<&'static str, u64>,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Answers to what nobody asked.
    pub unasked: u64,
    /// Notices of the server to all.
    pub notices: u64,
    pub operations: BTreeMap<String, DirectoryOperation>,
}

/// The answers to one operation of the mix.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DirectoryOperation {
    /// What it asks of the server.
    pub kind: &'static str,
    pub requests: u64,
    pub entries: u64,
    pub references: u64,
    /// Requests for entries that are not there.
    pub misses: u64,
    pub codes: BTreeMap<&'static str, u64>,
    pub wrong: BTreeMap<&'static str, u64>,
    /// Entries of a file that the server did not take: the first of them.
    pub refused: Vec<Refused>,
}

/// An entry that the server did not take, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    pub dn: String,
    pub code: u32,
    pub what: &'static str,
    /// The server's words.
    pub words: String,
}

impl DirectoryResult {
    /// Two workers' answers together.
    pub fn and(mut self, other: Self) -> Self {
        self.connections += other.connections;
        self.lost += other.lost;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.unasked += other.unasked;
        self.notices += other.notices;
        add(&mut self.own, &other.own);
        for (name, more) in other.operations {
            self.operations.entry(name).or_default().add(more);
        }
        self
    }
}

impl DirectoryOperation {
    /// More answers to the same operation.
    pub fn add(&mut self, more: Self) {
        self.kind = more.kind;
        self.requests += more.requests;
        self.entries += more.entries;
        self.references += more.references;
        self.misses += more.misses;
        add(&mut self.codes, &more.codes);
        add(&mut self.wrong, &more.wrong);
        self.refused.extend(more.refused);
    }
}

fn add(sums: &mut BTreeMap<&'static str, u64>, more: &BTreeMap<&'static str, u64>) {
    for (name, count) in more {
        *sums.entry(name).or_default() += count;
    }
}

//! What all looks together have seen.

use super::connections::Connections;
use super::kind::Kind;
use super::tree::{Seen, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

type Row = (String, Kind);

/// How many looks make a block: the spread of the means of blocks tells how far looks depend on each other.
const BLOCKS: [u64; 5] = [1, 4, 16, 64, 256];

#[derive(Default)]
pub struct Account {
    looks: u64,
    /// Looks that found a thread.
    alive: u64,
    /// Time between two looks that both found one.
    alive_ns: u64,
    alive_at: Option<Instant>,
    rows: BTreeMap<Row, Sums>,
    /// Looks at which a process was new.
    fresh: u64,
    connections: Connections,
}

/// Of one process name in one state.
#[derive(Default)]
struct Sums {
    /// Threads, one for each look in which it was seen.
    threads: f64,
    /// Its part of the tree's time, up to 1 for each look.
    share: f64,
    /// Of each size of block the sum of the block that is not full, and the squares of the sums of the full ones.
    open: [f64; BLOCKS.len()],
    /// How often it began: at this look and not at the one before.
    pieces: u64,
    is_on: bool,
    squares: [f64; BLOCKS.len()],
}

impl Account {
    /// Adds one look. The moment belongs, in equal parts, to the threads that do something or wait for a device; where there are
    /// none, to those whose wait says most.
    /// A moment in which the other end of a connection may be waited for is one to ask the connections.
    pub fn add(&mut self, seen: &[Seen]) {
        self.looks += 1;
        let now = Instant::now();
        if seen.is_empty() {
            self.alive_at = None;
            return;
        }
        self.pass_to(now);
        self.alive_at = Some(now);
        self.alive += 1;
        self.fresh += u64::from(self.looks > 1 && seen.iter().any(|one| one.is_new));
        let least = seen
            .iter()
            .map(|one| one.kind.passive())
            .min()
            .unwrap_or_default();
        let telling: f64 = seen
            .iter()
            .filter(|one| one.kind.passive() == least)
            .map(|one| one.weight)
            .sum();
        let mut now: BTreeMap<Row, f64> = BTreeMap::new();
        for one in seen {
            let row = (one.process.clone(), one.kind);
            let share = if one.kind.passive() == least {
                one.weight / telling
            } else {
                0.0
            };
            self.rows.entry(row.clone()).or_default().threads += one.weight;
            *now.entry(row).or_default() += share;
        }
        for (row, sums) in &mut self.rows {
            sums.add(now.get(row).copied().unwrap_or_default(), self.alive);
        }
        let asked = seen
            .iter()
            .any(|one| one.kind.passive() == least && one.kind.is_of_peer());
        if asked {
            self.connections.look(seen.iter().map(|one| one.pid));
        }
    }

    /// Counts the time since the last look, where that found a thread.
    fn pass_to(&mut self, now: Instant) {
        if let Some(before) = self.alive_at.replace(now) {
            self.alive_ns += (now - before).as_nanos() as u64;
        } else {
            self.alive_at = None;
        }
    }

    pub fn told(&mut self, tree: &mut Tree) -> Value {
        tree.count_all();
        self.pass_to(Instant::now());
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|((process, kind), sums)| {
                json!({
                    "process": process, "kind": kind.name(), "threads": sums.threads,
                    "share": sums.share, "squares": sums.squares, "pieces": sums.pieces,
                })
            })
            .collect();
        let times: BTreeMap<&String, Value> = tree
            .times()
            .iter()
            .map(|(name, times)| {
                (
                    name,
                    json!({"run_ns": times.run_ns, "ready_ns": times.ready_ns}),
                )
            })
            .collect();
        json!({
            "looks": self.looks, "alive": self.alive, "alive_ns": self.alive_ns, "rows": rows, "times": times,
            "denied": tree.denied(), "fresh": self.fresh, "blocks": BLOCKS, "connections": self.connections.told(),
        })
    }
}

impl Sums {
    /// Adds its share at a look of this number, the first one being 1.
    fn add(&mut self, share: f64, look: u64) {
        self.share += share;
        self.pieces += u64::from(share > 0.0 && !self.is_on);
        self.is_on = share > 0.0;
        for (at, size) in BLOCKS.iter().enumerate() {
            self.open[at] += share;
            if look.is_multiple_of(*size) {
                self.squares[at] += self.open[at] * self.open[at];
                self.open[at] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(process: &str, kind: Kind) -> Seen {
        Seen {
            process: process.to_owned(),
            pid: 0,
            kind,
            weight: 1.0,
            is_new: false,
        }
    }

    #[test]
    fn blocks_are_full_after_their_number_of_looks() {
        let mut sums = Sums::default();
        for look in 1..=10 {
            sums.add(if look <= 4 || look == 7 { 1.0 } else { 0.0 }, look);
        }
        assert_eq!(
            (sums.share, sums.squares),
            (5.0, [5.0, 17.0, 0.0, 0.0, 0.0])
        );
        assert_eq!(sums.pieces, 2);
    }

    fn shares(account: &Account) -> Vec<(String, &'static str, f64)> {
        let found = account.rows.iter().filter(|(_, sums)| sums.share > 0.0);
        found
            .map(|((process, kind), sums)| (process.clone(), kind.name(), sums.share))
            .collect()
    }

    #[test]
    fn a_moment_belongs_to_what_is_busy() {
        let mut account = Account::default();
        account.add(&[
            seen("cat", Kind::WritePipe),
            seen("gzip", Kind::Running),
            seen("sh", Kind::Child),
        ]);
        assert_eq!(shares(&account), [("gzip".to_owned(), "running", 1.0)]);
    }

    #[test]
    fn busy_threads_share_a_moment() {
        let mut account = Account::default();
        account.add(&[
            seen("a", Kind::Flush),
            seen("a", Kind::Flush),
            seen("a", Kind::Flush),
            seen("a", Kind::Running),
        ]);
        assert_eq!(
            shares(&account),
            [
                ("a".to_owned(), "running", 0.25),
                ("a".to_owned(), "flush", 0.75)
            ]
        );
    }

    #[test]
    fn where_nothing_is_busy_the_wait_that_tells_most_counts() {
        let mut account = Account::default();
        account.add(&[
            seen("sh", Kind::Child),
            seen("curl", Kind::ReadSocket),
            seen("curl", Kind::Lock),
        ]);
        assert!(account.alive_at.is_some());
        account.add(&[]);
        assert!(account.alive_at.is_none(), "nothing is alive meanwhile");
        assert_eq!(shares(&account), [("curl".to_owned(), "read_socket", 1.0)]);
        assert_eq!((account.looks, account.alive), (2, 1));
    }
}

//! What all looks together have seen.

use super::kind::Kind;
use super::tree::{Seen, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Row = (String, Kind);

#[derive(Default)]
pub struct Account {
    looks: u64,
    /// Looks that found a thread.
    alive: u64,
    rows: BTreeMap<Row, Sums>,
    /// The share of each row at the last look.
    last: BTreeMap<Row, f64>,
}

/// Of one process name in one state.
#[derive(Default)]
struct Sums {
    /// Threads, one for each look in which it was seen.
    threads: f64,
    /// Its part of the tree's time, up to 1 for each look; the sum of squares, and of products with the look before.
    share: f64,
    squares: f64,
    lagged: f64,
}

impl Account {
    /// Adds one look. The moment belongs, in equal parts, to the threads that do something or wait for a device; where there are
    /// none, to those whose wait says most.
    pub fn add(&mut self, seen: &[Seen]) {
        self.looks += 1;
        if seen.is_empty() {
            return;
        }
        self.alive += 1;
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
        for (row, share) in &now {
            let sums = self.rows.entry(row.clone()).or_default();
            sums.share += share;
            sums.squares += share * share;
            sums.lagged += share * self.last.get(row).copied().unwrap_or_default();
        }
        self.last = now;
    }

    pub fn told(&self, tree: &Tree) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|((process, kind), sums)| {
                json!({
                    "process": process, "kind": kind.name(), "threads": sums.threads,
                    "share": sums.share, "squares": sums.squares, "lagged": sums.lagged,
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
            "looks": self.looks, "alive": self.alive, "rows": rows, "times": times,
            "denied": tree.denied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(process: &str, kind: Kind) -> Seen {
        Seen {
            process: process.to_owned(),
            kind,
            weight: 1.0,
        }
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
        account.add(&[]);
        assert_eq!(shares(&account), [("curl".to_owned(), "read_socket", 1.0)]);
        assert_eq!((account.looks, account.alive), (2, 1));
    }
}

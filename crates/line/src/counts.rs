//! What one direction has done: written by its thread alone, read by whoever asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// A number that one thread raises.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        let sum = self.0.load(Ordering::Relaxed) + more;
        self.0.store(sum, Ordering::Relaxed);
    }

    pub fn raise(&self, to: u64) {
        if to > self.0.load(Ordering::Relaxed) {
            self.0.store(to, Ordering::Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of one direction; bytes are those of IP packets, with the headers of every segment.
#[derive(Default)]
pub struct Counts {
    pub packets: Count,
    pub segments: Count,
    pub bytes: Count,
    pub delivered_packets: Count,
    pub delivered_segments: Count,
    pub delivered_bytes: Count,
    /// By chance, as asked for.
    pub lost_segments: Count,
    /// The queue was full.
    pub dropped_segments: Count,
    /// The link was cut.
    pub cut_segments: Count,
    /// More was under way than the line holds, or the other end did not take it.
    pub overrun_segments: Count,
    pub late_packets: Count,
    pub late_ns: Count,
    pub latest_ns: Count,
    pub queue_most_bytes: Count,
    /// The thread, for the kernel's account of it.
    pub task: AtomicI32,
}

impl Counts {
    /// All numbers by name, and what the kernel says of the thread and of the interface that it reads.
    pub fn named(&self, interface: &str) -> BTreeMap<&'static str, u64> {
        let own = [
            ("packets", &self.packets),
            ("segments", &self.segments),
            ("bytes", &self.bytes),
            ("delivered_packets", &self.delivered_packets),
            ("delivered_segments", &self.delivered_segments),
            ("delivered_bytes", &self.delivered_bytes),
            ("lost_segments", &self.lost_segments),
            ("dropped_segments", &self.dropped_segments),
            ("cut_segments", &self.cut_segments),
            ("overrun_segments", &self.overrun_segments),
            ("late_packets", &self.late_packets),
            ("late_ns", &self.late_ns),
            ("latest_ns", &self.latest_ns),
            ("queue_most_bytes", &self.queue_most_bytes),
        ];
        let mut found: BTreeMap<&'static str, u64> = own
            .into_iter()
            .map(|(name, count)| (name, count.get()))
            .collect();
        let of_task = format!("/proc/self/task/{}", self.task.load(Ordering::Relaxed));
        let text =
            |name: &str| std::fs::read_to_string(format!("{of_task}/{name}")).unwrap_or_default();
        let times = numbers(&text("schedstat"));
        found.insert("cpu_ns", times.first().copied().unwrap_or(0));
        found.insert("cpu_wait_ns", times.get(1).copied().unwrap_or(0));
        found.insert("unread_packets", dropped_by(&text("net/dev"), interface));
        found
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Packets that an interface dropped as nobody read them in time (column 12 of /proc/net/dev).
fn dropped_by(table: &str, interface: &str) -> u64 {
    table
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .find(|(name, _)| *name == interface)
        .and_then(|(_, rest)| numbers(rest).get(11).copied())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_of_an_interface_are_those_on_the_way_out() {
        let table = "Inter-| Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n path0: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16\n";
        assert_eq!(dropped_by(table, "path0"), 77);
        assert_eq!(dropped_by(table, "path1"), 0);
    }

    #[test]
    fn a_maximum_only_rises() {
        let counts = Counts::default();
        counts.latest_ns.raise(5);
        counts.latest_ns.raise(3);
        assert_eq!(counts.named("none")["latest_ns"], 5);
    }
}

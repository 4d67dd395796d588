//! A process with more threads than are asked at one look: its first one and those that work are asked at each, a few others
//! in turn.
//!
//! Its CPU time is that of the whole process (`clock_getcpuclockid(3)`). What the asked ones do not explain of it others used:
//! so often one of them is said to run. So a single busy thread among thousands is found without asking thousands.

use super::kind::Kind;
use super::unit;
use crate::order::Random;
use std::collections::BTreeMap;
use std::time::Instant;

/// So many of those that did not work are asked at a look.
const IN_TURN: usize = 16;
/// Of more that work so many are asked at each look, the others in turn.
const MOST_AT_WORK: usize = 192;
/// A thread that did nothing for so many looks is asked in turn again.
const RESTED: u64 = 16;
/// The list of threads is made again where one in so many is new or gone.
const CHANGED: u64 = 8;

pub struct Crowd {
    pid: u32,
    /// Threads that worked, with the number of the look that found it last; the first thread is always among them.
    at_work: BTreeMap<u32, u64>,
    next: usize,
    cpu_ns: u64,
    at: Instant,
    /// CPU time that no asked thread used; below 0 where more was told of them.
    unexplained_ns: i64,
    /// Threads that were found running in turn since that was asked.
    found: usize,
    gone: usize,
    listed: usize,
}

impl Crowd {
    /// One of a process of which all CPU time belongs to the looks, or only that from now on.
    pub fn new(pid: u32, is_new: bool) -> Self {
        Self {
            pid,
            at_work: BTreeMap::new(),
            next: 0,
            cpu_ns: if is_new { 0 } else { cpu_ns(pid).unwrap_or(0) },
            at: Instant::now(),
            unexplained_ns: 0,
            found: 0,
            gone: 0,
            listed: 0,
        }
    }

    /// Whether the list of so many threads is too old, now that there are this many.
    pub fn is_outdated(&mut self, listed: u64, count: u64) -> bool {
        let found = listed.abs_diff(count) * CHANGED > listed || self.gone * 2 > IN_TURN;
        self.gone = if found { 0 } else { self.gone };
        found
    }

    /// After so many looks every thread was asked.
    pub fn round(&self) -> u64 {
        2 * (self.listed / IN_TURN) as u64 + 2
    }

    /// The threads that are asked now, each with the number that it stands for.
    pub fn asked(&mut self, threads: &[u32], look: u64) -> Vec<(u32, usize)> {
        self.listed = threads.len();
        self.at_work.retain(|_, last| *last + RESTED >= look);
        self.at_work.insert(self.pid, look);
        let others = threads.len().saturating_sub(self.at_work.len());
        let count = IN_TURN.min(others);
        let mut found: Vec<(u32, usize)> = self.at_work.keys().map(|tid| (*tid, 1)).collect();
        let mut turn = 0;
        for _ in 0..threads.len() {
            if turn == count {
                break;
            }
            self.next = (self.next + 1) % threads.len();
            let tid = threads[self.next];
            if !self.at_work.contains_key(&tid) {
                let weight = others * (turn + 1) / count - others * turn / count;
                found.push((tid, weight));
                turn += 1;
            }
        }
        found
    }

    /// Takes note of what an asked thread does, whether it has run since it was asked before, and for how long.
    pub fn hear(&mut self, tid: u32, kind: Kind, has_run: bool, ran_ns: u64, look: u64) {
        if let Some(last) = self.at_work.get_mut(&tid) {
            self.unexplained_ns -= ran_ns as i64;
            if has_run || kind.passive() == 0 {
                *last = look;
            }
            return;
        }
        self.found += usize::from(kind == Kind::Running);
        if (has_run || kind.passive() == 0) && self.at_work.len() < MOST_AT_WORK {
            self.at_work.insert(tid, look);
        }
    }

    /// Takes note of a thread that is gone.
    pub fn miss(&mut self, tid: u32) {
        self.at_work.remove(&tid);
        self.gone += 1;
    }

    /// CPU time of the process since it was asked before.
    pub fn passed_ns(&mut self) -> u64 {
        let now = cpu_ns(self.pid).unwrap_or(self.cpu_ns);
        let passed = now.saturating_sub(self.cpu_ns);
        self.cpu_ns = self.cpu_ns.max(now);
        self.unexplained_ns += passed as i64;
        passed
    }

    /// How many threads run of which nobody asked: their mean since the look before, less those that were found running in turn;
    /// of less than a whole one, one by chance.
    pub fn unseen(&mut self, chance: &mut Random) -> usize {
        let elapsed_ns = self.at.elapsed().as_nanos().max(1) as f64;
        self.at = Instant::now();
        let found = std::mem::take(&mut self.found) as f64;
        if self.unexplained_ns <= 0 {
            return 0;
        }
        let mean = (self.unexplained_ns as f64 / elapsed_ns - found).max(0.0);
        self.unexplained_ns = 0;
        let sure = mean.floor();
        sure as usize + usize::from(unit(chance) <= mean - sure)
    }
}

/// CPU time of a process with all its threads, those that ended included; as old as the last tick of each CPU.
fn cpu_ns(pid: u32) -> Option<u64> {
    let clock = (!(pid as libc::clockid_t) << 3) | 2; // CPUCLOCK_SCHED of a process (linux/posix-timers.h)
    let mut found = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes into `found`, which is of the type that it expects.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut found) } != 0;
    (!failed).then_some(found.tv_sec as u64 * 1_000_000_000 + found.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_turn_and_stands_for_its_part() {
        let threads: Vec<u32> = (1..=1000).collect();
        let mut crowd = Crowd::new(1, false);
        let mut turns = BTreeMap::new();
        for look in 1..=1000 {
            let asked = crowd.asked(&threads, look);
            assert_eq!(asked.iter().map(|(_, weight)| weight).sum::<usize>(), 1000);
            for (tid, _) in asked {
                *turns.entry(tid).or_insert(0) += 1;
            }
        }
        assert_eq!(turns.len(), 1000);
        assert_eq!(turns.remove(&1), Some(1000), "the first one");
        assert!(turns.values().all(|count| (15..=17).contains(count)));
    }

    #[test]
    fn one_that_works_is_asked_at_each_look_until_it_rests() {
        let threads: Vec<u32> = (1..=1000).collect();
        let mut crowd = Crowd::new(1, false);
        crowd.hear(500, Kind::Flush, false, 0, 1);
        assert!(crowd.asked(&threads, 2).contains(&(500, 1)));
        assert!(crowd.at_work.contains_key(&500));
        crowd.asked(&threads, 2 + RESTED);
        assert!(!crowd.at_work.contains_key(&500));
    }

    #[test]
    fn time_that_nobody_explains_is_that_of_a_thread_that_runs() {
        let (pid, mut chance) = (std::process::id(), Random::new(1));
        let mut crowd = Crowd::new(pid, false);
        let (mut unseen, mut looks) = (0, 0);
        let until = Instant::now() + std::time::Duration::from_millis(300);
        let mut last = Instant::now();
        while Instant::now() < until {
            if last.elapsed().as_millis() >= 20 {
                last = Instant::now();
                crowd.passed_ns();
                unseen += crowd.unseen(&mut chance);
                looks += 1;
            }
        }
        assert!(unseen > 0 && looks > 5, "{unseen} in {looks} looks");
        crowd.hear(1, Kind::Running, true, 0, 1);
        crowd.unseen(&mut chance);
        let told_ns = crowd.passed_ns() + 1_000_000_000;
        crowd.hear(1, Kind::Running, true, told_ns, 2);
        assert_eq!(crowd.unseen(&mut chance), 0, "more was told of one");
    }
}

//! With the word `states`: what the threads of a process tree are doing, looked at again and again until standard input ends.
//!
//! Each look asks every thread of the roots and of all below them for its system call (proc(5), /proc/PID/task/TID/syscall). The
//! time between two looks is random, so that no rhythm of the load can hide from them, and so long that looking stays cheap. A
//! line on standard input is answered with all counts so far; `spare NS` asks for no look for so long, and has no answer.

mod account;
mod connections;
mod crowd;
mod kind;
mod orphans;
mod tree;

use crate::folders::allow_open_files;
use crate::order::Random;
use account::Account;
use orphans::Orphans;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use tree::Tree;

const MODE: &str = "states";
const LOAD: &str = "load";
/// Of one CPU, for few threads and for many; in between it grows with their number.
const SHARE: f64 = 0.003;
const SHARE_OF_MANY: f64 = 0.01;
const FEW: usize = 8;
const MANY: usize = 200;
const SHORTEST: Duration = Duration::from_millis(2);
/// Between two looks at 10,000 processes: the share is kept at any number.
const LONGEST: Duration = Duration::from_secs(10);
/// So much CPU time may be spent at a larger share, so that a short command is looked at often enough, too.
const AT_FIRST_NS: u64 = 10_000_000;
const SHARE_AT_FIRST: f64 = 0.005;
/// The lab asks as the clock is about to start. A phase that ends within this time is not looked at, and loses nothing to looks.
const AFTER_ANSWER: Duration = Duration::from_millis(80);
/// Whoever asks so often that there would be no look for so long has one.
const LONGEST_PUT_OFF: Duration = Duration::from_secs(1);
/// Of the random numbers: all of them are exact as a float.
const GRAIN: u64 = 1 << 53;
/// So many looks share the cost of a list of threads.
const LISTED: f64 = 32.0;
/// How quickly the mean cost of a look follows its last cost.
const FOLLOWS: f64 = 0.2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The processes whose threads and children are looked at, by what they are: `load` and `server`. Orphans are the load's.
    roots: BTreeMap<String, Vec<u32>>,
}

/// Serves `states` and ends the process, or returns where another word was given.
pub fn serve_if_asked() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, options] = arguments.as_slice() else {
        return;
    };
    if mode != MODE {
        return;
    }
    match serde_json::from_str(options) {
        Ok(options) => serve(&options),
        Err(error) => println!("{}", json!({"refused": error.to_string()})),
    }
    std::process::exit(0);
}

fn serve(options: &Options) {
    allow_open_files(); // several are held for each thread
    let mut groups: Vec<(&String, Tree, Account)> = options
        .roots
        .iter()
        .map(|(name, roots)| (name, Tree::new(roots), Account::default()))
        .collect();
    let mut orphans = Orphans::new();
    let mut chance = Random::new(u64::from(std::process::id()));
    let mut pace = Pace::new();
    let Ok(input) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return;
    };
    let mut input = BufReader::new(File::from(input));
    let mut due = Instant::now();
    let mut looked = due;
    loop {
        let now = Instant::now();
        if due <= now {
            let (mut threads, mut listed_ns) = (0, 0);
            for (name, tree, account) in &mut groups {
                if *name == LOAD {
                    tree.adopt(orphans.look());
                }
                let seen = tree.look();
                threads += seen.iter().map(|one| one.weight).sum::<f64>() as usize;
                listed_ns += tree.take_listing_ns();
                account.add(&seen);
            }
            looked = now;
            let mean = pace.after_look(threads, listed_ns);
            due = now + mean.mul_f64(-unit(&mut chance).ln());
            continue;
        }
        if !is_asked(&input, due - now) {
            continue;
        }
        let mut line = String::new();
        if input.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(span_ns) = spared_ns(&line) {
            due = due.max(Instant::now() + Duration::from_nanos(span_ns));
            continue;
        }
        let told = told(&mut groups);
        let now = Instant::now();
        if now - looked < LONGEST_PUT_OFF {
            due = due.max(now + AFTER_ANSWER);
        }
        // The clock of a phase may start with the answer: all work is done before it.
        pace.spent_ns = own_cpu_ns();
        let mut output = std::io::stdout();
        if output
            .write_all(told.as_bytes())
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
    }
}

/// How far apart looks are, by what they cost in CPU time.
struct Pace {
    /// Of a look, without listing threads; 0 before the first one.
    look_s: f64,
    /// Of listing threads, what is not yet made up for.
    listing_s: f64,
    /// All that this process has spent until now.
    spent_ns: u64,
}

impl Pace {
    fn new() -> Self {
        Self {
            look_s: 0.0,
            listing_s: 0.0,
            spent_ns: own_cpu_ns(),
        }
    }

    /// The mean time until the next look, after one at so many threads whose listing took so long.
    fn after_look(&mut self, threads: usize, listed_ns: u64) -> Duration {
        let spent_ns = own_cpu_ns();
        let took_s = spent_ns.saturating_sub(self.spent_ns + listed_ns) as f64 / 1e9;
        self.listing_s += listed_ns as f64 / 1e9;
        self.look_s = if self.look_s == 0.0 {
            took_s
        } else {
            self.look_s + FOLLOWS * (took_s - self.look_s)
        };
        self.spent_ns = spent_ns;
        let made_up_s = self.listing_s / LISTED;
        self.listing_s -= made_up_s;
        let mean = Duration::from_secs_f64((self.look_s + made_up_s) / share_of(threads, spent_ns));
        mean.clamp(SHORTEST, LONGEST)
    }
}

/// For how long a line asks for no look: `spare NS`. Any other line asks for the counts.
fn spared_ns(line: &str) -> Option<u64> {
    line.strip_prefix("spare ")?.trim_end().parse().ok()
}

/// All counts so far, as a line.
fn told(groups: &mut [(&String, Tree, Account)]) -> String {
    let told: serde_json::Map<String, Value> = groups
        .iter_mut()
        .map(|(name, tree, account)| ((*name).clone(), account.told(tree)))
        .collect();
    let told = Value::Object(told).to_string();
    let cost_ns = own_cpu_ns(); // with that of these words
    format!("{{\"groups\":{told},\"cost_ns\":{cost_ns}}}\n")
}

/// Of one CPU, for so many threads, after so much CPU time.
fn share_of(threads: usize, spent_ns: u64) -> f64 {
    let more = threads.clamp(FEW, MANY) - FEW;
    let share = SHARE + (SHARE_OF_MANY - SHARE) * more as f64 / (MANY - FEW) as f64;
    if spent_ns < AT_FIRST_NS {
        share.max(SHARE_AT_FIRST)
    } else {
        share
    }
}

/// Waits so long for a line; the end of the input is one, too. Two may have come at once.
fn is_asked(input: &BufReader<File>, longest: Duration) -> bool {
    if !input.buffer().is_empty() {
        return true;
    }
    let wait = Timespec {
        tv_sec: longest.as_secs() as i64,
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    let mut watched = [PollFd::new(input.get_ref(), PollFlags::IN)];
    poll(&mut watched, Some(&wait)).is_ok_and(|count| count > 0)
}

/// CPU time of this process.
pub fn own_cpu_ns() -> u64 {
    let found = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    found.tv_sec as u64 * 1_000_000_000 + found.tv_nsec as u64
}

/// A number above 0, up to 1.
fn unit(chance: &mut Random) -> f64 {
    (chance.below(GRAIN) + 1) as f64 / GRAIN as f64
}

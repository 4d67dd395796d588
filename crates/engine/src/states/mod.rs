//! With the word `states`: what the threads of a process tree are doing, looked at again and again until standard input ends.
//!
//! Each look asks every thread of the roots and of all below them for its system call (proc(5), /proc/PID/task/TID/syscall). The
//! time between two looks is random, so that no rhythm of the load can hide from them, and so long that looking stays cheap. A
//! line on standard input is answered with all counts so far.

mod account;
mod kind;
mod tree;

use account::Account;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use tree::Tree;

const MODE: &str = "states";
/// Of one CPU, for few threads and for many (`FEW`).
const SHARE: f64 = 0.003;
const SHARE_OF_MANY: f64 = 0.01;
const FEW: usize = 8;
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(500);
/// So much CPU time may be spent at a larger share, so that a short command is looked at often enough, too.
const AT_FIRST_NS: u64 = 10_000_000;
const SHARE_AT_FIRST: f64 = 0.005;
/// How quickly the mean cost of a look follows its last cost.
const FOLLOWS: f64 = 0.2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The processes whose threads and children are looked at, by what they are, such as `load` and `server`.
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
    raise_open_files();
    let mut groups: Vec<(&String, Tree, Account)> = options
        .roots
        .iter()
        .map(|(name, roots)| (name, Tree::new(roots), Account::default()))
        .collect();
    let mut chance = Chance(u64::from(std::process::id()) | 1 << 40);
    let (mut cost_s, mut last_ns) = (20e-6, cpu_ns());
    let mut input = std::io::stdin().lock();
    let mut due = Instant::now();
    loop {
        let now = Instant::now();
        if due <= now {
            let mut threads = 0;
            for (_, tree, account) in &mut groups {
                let seen = tree.look();
                threads += seen.len();
                account.add(&seen);
            }
            let spent_ns = cpu_ns();
            cost_s += FOLLOWS * (spent_ns.saturating_sub(last_ns) as f64 / 1e9 - cost_s);
            last_ns = spent_ns;
            let share = if threads > FEW {
                SHARE_OF_MANY
            } else if spent_ns < AT_FIRST_NS {
                SHARE_AT_FIRST
            } else {
                SHARE
            };
            let mean = Duration::from_secs_f64(cost_s / share).clamp(SHORTEST, LONGEST);
            due = now + mean.mul_f64(-chance.unit().ln());
            continue;
        }
        match is_asked(&input, due - now) {
            Asked::Nothing => {}
            Asked::Line => {
                let mut line = String::new();
                if input.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                let mut output = std::io::stdout().lock();
                let told: serde_json::Map<String, Value> = groups
                    .iter()
                    .map(|(name, tree, account)| ((*name).clone(), account.told(tree)))
                    .collect();
                let told = json!({"groups": told, "cost_ns": cpu_ns()});
                if writeln!(output, "{told}")
                    .and_then(|()| output.flush())
                    .is_err()
                {
                    return;
                }
            }
        }
    }
}

enum Asked {
    Nothing,
    Line,
}

/// Waits so long for a line; the end of the input is one, too.
fn is_asked(input: &std::io::StdinLock<'_>, longest: Duration) -> Asked {
    let wait = Timespec {
        tv_sec: longest.as_secs() as i64,
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    let mut watched = [PollFd::new(input, PollFlags::IN)];
    match poll(&mut watched, Some(&wait)) {
        Ok(count) if count > 0 => Asked::Line,
        _ => Asked::Nothing,
    }
}

/// CPU time of this process.
fn cpu_ns() -> u64 {
    let found = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    found.tv_sec as u64 * 1_000_000_000 + found.tv_nsec as u64
}

/// Several files are held open for each thread.
fn raise_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls get one valid structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(1 << 16);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Marsaglia's xorshift (Journal of Statistical Software 8, 2003): only the times of looks hang on it.
struct Chance(u64);

impl Chance {
    /// A number above 0, up to 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

//! The threads of some processes and of all below them, with what each does now.

use super::crowd::Crowd;
use super::kind::{self, Kind};
use super::own_cpu_ns;
use crate::order::Random;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of more threads so many are asked at a look, others at the next. A process that has more by itself is a crowd.
const MOST: usize = 256;
/// So many have their files held open: a look is then a read instead of three calls.
const MOST_HELD: usize = 256;
/// A thread that was not found running has its times counted at each look of this number.
const COUNTED_EVERY: u64 = 16;
/// Threads that are gone are forgotten at each look of this number where there are many.
const FORGETS_EVERY: u64 = 16;
/// A thread that waits for another one, and was not woken for so long, or not so often, has nothing to do.
const IDLE: Duration = Duration::from_secs(1);
const LEAST_TURNS: u64 = 3;

/// A thread at one moment.
pub struct Seen {
    pub process: String,
    pub pid: u32,
    pub kind: Kind,
    /// How many threads it stands for.
    pub weight: f64,
    /// Whether its process was not there at the look before.
    pub is_new: bool,
}

pub struct Tree {
    roots: Vec<u32>,
    orphans: Vec<u32>,
    /// The name of this program: a root of that name only starts others as soon as it has a child.
    own_name: String,
    /// Each thread of so many is asked at a look.
    every: usize,
    processes: HashMap<u32, Process>,
    threads: HashMap<u32, Thread>,
    /// CPU time and time without one of each process name, of threads that are gone, too.
    times: HashMap<String, Times>,
    looks: u64,
    denied: u64,
    /// CPU time of lists of threads since that was asked.
    listing_ns: u64,
    chance: Random,
}

#[derive(Default, Clone, Copy)]
pub struct Times {
    pub run_ns: u64,
    pub ready_ns: u64,
}

/// A process with its threads as they were listed last: the list is made again where their number changed, or one is gone.
struct Process {
    path: PathBuf,
    tasks: PathBuf,
    comm: Held,
    threads: Vec<u32>,
    count: u64,
    began: u64,
    look: u64,
    crowd: Option<Crowd>,
    /// Whether it was found as one: it stays as long as it is taken for one.
    is_orphan: bool,
}

struct Thread {
    pid: u32,
    path: PathBuf,
    syscall: Held,
    children: Held,
    schedstat: Held,
    /// When it was counted last; None: a thread that may have run before anybody looked.
    times: Option<Times>,
    /// How often it had run when it was counted last, how many looks found that changed, and when the last one did.
    turns: u64,
    woken: u64,
    woken_at: Instant,
    look: u64,
}

impl Tree {
    pub fn new(roots: &[u32]) -> Self {
        Self {
            roots: roots.to_vec(),
            orphans: Vec::new(),
            own_name: read(Path::new("/proc/self/comm")).trim_end().to_owned(),
            every: 1,
            processes: HashMap::new(),
            threads: HashMap::new(),
            times: HashMap::new(),
            looks: 0,
            denied: 0,
            listing_ns: 0,
            chance: Random::new(u64::from(std::process::id())),
        }
    }

    /// CPU time of each process name so far.
    pub fn times(&self) -> &HashMap<String, Times> {
        &self.times
    }

    /// How often a thread or a process could not be asked, since it belongs to another user.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// CPU time of lists of threads since this was asked: of many threads one costs far more than a look.
    pub fn take_listing_ns(&mut self) -> u64 {
        std::mem::take(&mut self.listing_ns)
    }

    /// What each thread does now. Those that are not there any more are left out.
    pub fn look(&mut self) -> Vec<Seen> {
        self.looks += 1;
        let (mut found, mut count) = (Vec::new(), 0);
        let mut rest = self.known();
        while let Some(pid) = rest.pop() {
            if self.is_seen(pid) {
                continue;
            }
            let Some((name, threads)) = self.threads_of(pid) else {
                self.denied += u64::from(is_hidden(pid));
                continue;
            };
            let (first, below) = (found.len(), rest.len());
            for (tid, weight) in self.asked(pid, &threads, &mut count) {
                rest.extend(self.children_of(pid, tid));
                found.extend(self.seen(pid, tid, &name, weight));
            }
            found.extend(self.unseen(pid, &name));
            if name == self.own_name && rest.len() > below && self.roots.contains(&pid) {
                found.truncate(first); // it only waits for the command
            } else {
                wait_for_children(&mut found[first..]);
            }
        }
        self.every = count.div_ceil(MOST).max(1);
        self.forget();
        found
    }

    /// Takes these processes for its own at the next look, too.
    pub fn adopt(&mut self, orphans: Vec<u32>) {
        self.orphans = orphans;
    }

    /// The roots, and every process that was there at the last look: its parent may be gone.
    fn known(&self) -> Vec<u32> {
        let there = self.processes.iter();
        let there = there.filter(|(pid, one)| !one.is_orphan || self.orphans.contains(pid));
        let there = there.map(|(pid, _)| pid);
        let given = self.roots.iter().chain(&self.orphans);
        there.chain(given).copied().collect()
    }

    fn is_seen(&self, pid: u32) -> bool {
        let process = self.processes.get(&pid);
        process.is_some_and(|process| process.look == self.looks)
    }

    /// The threads of a process that are asked now, each with the number that it stands for; `count` is that of all processes.
    fn asked(&mut self, pid: u32, threads: &[u32], count: &mut usize) -> Vec<(u32, usize)> {
        let looks = self.looks;
        let crowd = self.crowd_of(pid, threads.len());
        if let Some(crowd) = crowd {
            return crowd.asked(threads, looks);
        }
        let turn = *count + looks as usize;
        *count += threads.len();
        let every = self.every;
        let numbered = (turn + 1..).zip(threads);
        let mine = numbered.filter(|(number, _)| number.is_multiple_of(every));
        mine.map(|(_, tid)| (*tid, every)).collect()
    }

    /// What is known of a process that has, or had, many threads; None of another one.
    fn crowd_of(&mut self, pid: u32, threads: usize) -> Option<&mut Crowd> {
        let looks = self.looks;
        let process = self.processes.get_mut(&pid)?;
        if threads > MOST && process.crowd.is_none() {
            let is_new = process.began == looks && looks > 1;
            process.crowd = Some(Crowd::new(pid, is_new));
        }
        process.crowd.as_mut()
    }

    /// The threads of a crowd that run while others are asked; its CPU time is that of the whole process.
    fn unseen(&mut self, pid: u32, name: &str) -> Option<Seen> {
        let process = self.processes.get_mut(&pid)?;
        let is_new = process.began == self.looks;
        let crowd = process.crowd.as_mut()?;
        self.times.entry(name.to_owned()).or_default().run_ns += crowd.passed_ns();
        let weight = crowd.unseen(&mut self.chance);
        (weight > 0).then(|| Seen {
            process: name.to_owned(),
            pid,
            kind: Kind::Running,
            weight: weight as f64,
            is_new,
        })
    }

    fn seen(&mut self, pid: u32, tid: u32, name: &str, mut weight: usize) -> Option<Seen> {
        let mut kind = self.kind_of(pid, tid)?;
        if self.count_times(pid, tid, name, kind) && kind == Kind::Running {
            weight = 1; // those that run and are not asked are known by the CPU time
        }
        if kind == Kind::OtherThread && self.is_idle(tid) {
            kind = Kind::Idle;
        }
        let began = self.processes.get(&pid).map(|process| process.began);
        Some(Seen {
            process: name.to_owned(),
            pid,
            kind,
            weight: weight as f64,
            is_new: began == Some(self.looks),
        })
    }

    /// Drops processes that are gone, and threads of which nothing was heard for as many looks as all take their turn in.
    fn forget(&mut self) {
        let looks = self.looks;
        self.processes.retain(|_, process| process.look == looks);
        if !looks.is_multiple_of(FORGETS_EVERY) && self.threads.len() > MOST {
            return;
        }
        let oldest = looks.saturating_sub(2 * (self.every as u64 - 1));
        let processes = &self.processes;
        self.threads.retain(|_, thread| {
            let process = processes.get(&thread.pid);
            let crowd = process.and_then(|process| process.crowd.as_ref());
            let longer = crowd.map_or(0, Crowd::round);
            process.is_some() && thread.look + longer >= oldest
        });
    }

    /// The name of a process and its threads; none where it is gone.
    fn threads_of(&mut self, pid: u32) -> Option<(String, Vec<u32>)> {
        let looks = self.looks;
        let process = self
            .processes
            .entry(pid)
            .or_insert_with(|| Process::open(pid, looks, self.orphans.contains(&pid)));
        let name = process.comm.read().trim_end().to_owned();
        let count = std::fs::metadata(&process.tasks).map(|one| one.nlink());
        let Some(count) = count.ok().filter(|_| !name.is_empty()) else {
            self.processes.remove(&pid); // its number may be another process's by now
            return None;
        };
        process.look = looks;
        let is_old = match &mut process.crowd {
            Some(crowd) => crowd.is_outdated(process.count, count),
            None => process.count != count,
        };
        if is_old {
            process.count = count;
            let before_ns = own_cpu_ns();
            process.threads = numbers(&process.tasks);
            self.listing_ns += own_cpu_ns().saturating_sub(before_ns);
        }
        Some((name, process.threads.clone()))
    }

    fn children_of(&mut self, pid: u32, tid: u32) -> Vec<u32> {
        let held = self.threads.len() < MOST_HELD;
        let looks = self.looks;
        let is_known = looks > 1 && self.every == 1; // it began after the look before
        if self.threads.get(&tid).is_some_and(|one| one.pid != pid) {
            self.threads.remove(&tid); // its number is another one's by now
        }
        let thread = self
            .threads
            .entry(tid)
            .or_insert_with(|| Thread::open(pid, tid, held, is_known));
        thread.look = looks;
        words(&thread.children.read())
    }

    fn kind_of(&mut self, pid: u32, tid: u32) -> Option<Kind> {
        let (thread, process) = (self.threads.get(&tid)?, self.processes.get_mut(&pid)?);
        let text = thread.syscall.read();
        if text.is_empty() {
            match &mut process.crowd {
                Some(crowd) => crowd.miss(tid),
                None => process.count = 0,
            }
            let state = state(&thread.path);
            self.denied += u64::from(state.is_some_and(|letter| letter != 'Z'));
            if state.is_none() {
                self.threads.remove(&tid); // another one may have its number
            }
            return None;
        }
        kind::of(
            &text,
            &process.path,
            || state(&thread.path).unwrap_or('X'),
            || read(&thread.path.join("wchan")),
        )
    }

    /// Adds what a thread has run and waited since it was counted last: where it runs now, and from time to time. Of a crowd the
    /// threads tell that they work, and only how long they waited; whether it is one.
    fn count_times(&mut self, pid: u32, tid: u32, name: &str, kind: Kind) -> bool {
        let process = self.processes.get_mut(&pid);
        let crowd = process.and_then(|process| process.crowd.as_mut());
        let is_crowd = crowd.is_some();
        let often = is_crowd || matches!(kind, Kind::Running | Kind::OtherThread);
        let due = often || self.looks == 1 || self.looks.is_multiple_of(COUNTED_EVERY);
        let Some(thread) = self.threads.get_mut(&tid).filter(|_| due) else {
            return is_crowd;
        };
        let Some((passed, turns)) = thread.passed() else {
            return is_crowd;
        };
        let sum = self.times.entry(name.to_owned()).or_default();
        sum.ready_ns += passed.ready_ns;
        let has_run = turns != thread.turns;
        if let Some(crowd) = crowd {
            let is_known = thread.woken > 0;
            crowd.hear(tid, kind, has_run && is_known, passed.run_ns, self.looks);
        } else {
            sum.run_ns += passed.run_ns;
        }
        if has_run {
            thread.turns = turns;
            thread.woken += 1;
            thread.woken_at = Instant::now();
        }
        is_crowd
    }

    /// Adds what all threads have run and waited until now.
    pub fn count_all(&mut self) {
        let mut names: HashMap<u32, String> = HashMap::new();
        for (pid, process) in &mut self.processes {
            let name = process.comm.read().trim_end().to_owned();
            if let Some(crowd) = &mut process.crowd {
                let sum = self.times.entry(name).or_default();
                sum.run_ns += crowd.passed_ns();
            } else {
                names.insert(*pid, name);
            }
        }
        for thread in self.threads.values_mut() {
            let Some(name) = names.get(&thread.pid) else {
                continue; // of a crowd, or gone
            };
            let sum = self.times.entry(name.clone()).or_default();
            if let Some((passed, _)) = thread.passed() {
                sum.run_ns += passed.run_ns;
                sum.ready_ns += passed.ready_ns;
            }
        }
    }

    /// Whether a thread, as counted now, has not run for long.
    fn is_idle(&self, tid: u32) -> bool {
        let thread = self.threads.get(&tid);
        thread.is_some_and(|thread| thread.woken < LEAST_TURNS || thread.woken_at.elapsed() >= IDLE)
    }
}

impl Process {
    fn open(pid: u32, look: u64, is_orphan: bool) -> Self {
        let path = PathBuf::from(format!("/proc/{pid}"));
        Self {
            tasks: path.join("task"),
            comm: Held::open(path.join("comm"), true),
            path,
            threads: Vec::new(),
            count: 0,
            began: look,
            look,
            crowd: None,
            is_orphan,
        }
    }
}

impl Thread {
    fn open(pid: u32, tid: u32, held: bool, is_known: bool) -> Self {
        let path = PathBuf::from(format!("/proc/{pid}/task/{tid}"));
        let open = |name: &str| Held::open(path.join(name), held);
        Self {
            syscall: open("syscall"),
            children: open("children"),
            schedstat: open("schedstat"),
            path,
            pid,
            times: is_known.then(Times::default),
            turns: 0,
            woken: 0,
            woken_at: Instant::now(),
            look: 0,
        }
    }
}

impl Thread {
    /// What it has run and waited since it was counted last, and how often it had run.
    fn passed(&mut self) -> Option<(Times, u64)> {
        let text = self.schedstat.read();
        let mut words = text
            .split_ascii_whitespace()
            .map_while(|word| word.parse::<u64>().ok());
        let (run_ns, ready_ns) = (words.next()?, words.next()?);
        let now = Times { run_ns, ready_ns };
        let before = self.times.replace(now).unwrap_or(now);
        let passed = Times {
            run_ns: run_ns.saturating_sub(before.run_ns),
            ready_ns: ready_ns.saturating_sub(before.ready_ns),
        };
        Some((passed, words.next()?))
    }
}

/// A file of /proc that is read again and again.
struct Held {
    path: PathBuf,
    file: Option<File>,
}

impl Held {
    fn open(path: PathBuf, held: bool) -> Self {
        let file = if held { File::open(&path).ok() } else { None };
        Self { path, file }
    }

    /// Empty where it cannot be read.
    fn read(&self) -> String {
        let Some(file) = &self.file else {
            return read(&self.path);
        };
        let mut bytes = [0_u8; 4096];
        let count = file.read_at(&mut bytes, 0).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}

fn read(path: &Path) -> String {
    std::fs::read(path).map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

fn words(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Where a thread of a process waits for a child, those that wait for another thread wait for the child, too.
fn wait_for_children(threads: &mut [Seen]) {
    if threads.iter().any(|one| one.kind == Kind::Child) {
        for one in threads {
            if one.kind == Kind::OtherThread {
                one.kind = Kind::Child;
            }
        }
    }
}

/// Whether there is a process that the kernel does not show (`hidepid`).
fn is_hidden(pid: u32) -> bool {
    let named = Pid::from_raw(pid as i32);
    named.is_some_and(|named| test_kill_process(named) == Err(Errno::PERM))
}

fn numbers(path: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The letter of a thread's state.
fn state(task: &Path) -> Option<char> {
    let text = read(&task.join("stat"));
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

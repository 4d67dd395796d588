//! The threads of some processes and of all below them, with what each does now.

use super::kind::{self, Kind};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of more threads so many are asked at a look, others at the next.
const MOST: usize = 512;
/// So many have their files held open: a look is then a read instead of three calls.
const MOST_HELD: usize = 256;
/// A thread that was not found running has its times counted at each look of this number.
const COUNTED_EVERY: u64 = 16;
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
    processes: HashMap<u32, Process>,
    threads: HashMap<u32, Thread>,
    /// CPU time and time without one of each process name, of threads that are gone, too.
    times: HashMap<String, Times>,
    looks: u64,
    denied: u64,
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
}

struct Thread {
    path: PathBuf,
    syscall: Held,
    children: Held,
    schedstat: Held,
    /// At the last look.
    times: Times,
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
            processes: HashMap::new(),
            threads: HashMap::new(),
            times: HashMap::new(),
            looks: 0,
            denied: 0,
        }
    }

    /// CPU time of each process name so far.
    pub fn times(&self) -> &HashMap<String, Times> {
        &self.times
    }

    /// How often a thread could not be asked, since its process belongs to another user.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// What each thread does now. Those that are not there any more are left out.
    pub fn look(&mut self) -> Vec<Seen> {
        self.looks += 1;
        let mut found = Vec::new();
        let mut rest = self.roots.clone();
        let mut names: Vec<(u32, u32, String)> = Vec::new();
        while let Some(pid) = rest.pop() {
            let Some((name, threads)) = self.threads_of(pid) else {
                continue;
            };
            for tid in threads {
                names.push((pid, tid, name.clone()));
                rest.extend(self.children_of(pid, tid));
            }
        }
        let every = names.len().div_ceil(MOST).max(1);
        let first = self.looks as usize % every;
        for (pid, tid, name) in names.into_iter().skip(first).step_by(every) {
            if let Some(mut kind) = self.kind_of(pid, tid) {
                self.count_times(tid, &name, kind);
                if kind == Kind::OtherThread && self.is_idle(tid) {
                    kind = Kind::Idle;
                }
                let began = self.processes.get(&pid).map(|process| process.began);
                found.push(Seen {
                    process: name,
                    pid,
                    kind,
                    weight: every as f64,
                    is_new: began == Some(self.looks),
                });
            }
        }
        let looks = self.looks;
        self.threads.retain(|_, thread| thread.look == looks);
        self.processes.retain(|_, process| process.look == looks);
        found
    }

    /// The name of a process and its threads; none where it is gone.
    fn threads_of(&mut self, pid: u32) -> Option<(String, Vec<u32>)> {
        let looks = self.looks;
        let process = self
            .processes
            .entry(pid)
            .or_insert_with(|| Process::open(pid, looks));
        process.look = self.looks;
        let count = std::fs::metadata(&process.tasks).ok()?.nlink();
        if process.count != count {
            process.count = count;
            process.threads = numbers(&process.tasks);
        }
        Some((
            process.comm.read().trim_end().to_owned(),
            process.threads.clone(),
        ))
    }

    fn children_of(&mut self, pid: u32, tid: u32) -> Vec<u32> {
        let held = self.threads.len() < MOST_HELD;
        let looks = self.looks;
        let thread = self
            .threads
            .entry(tid)
            .or_insert_with(|| Thread::open(pid, tid, held));
        thread.look = looks;
        let text = thread.children.read();
        text.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    }

    fn kind_of(&mut self, pid: u32, tid: u32) -> Option<Kind> {
        let (thread, process) = (self.threads.get(&tid)?, self.processes.get_mut(&pid)?);
        let text = thread.syscall.read();
        if text.is_empty() {
            process.count = 0;
            self.denied += u64::from(state(&thread.path).is_some_and(|letter| letter != 'Z'));
            return None;
        }
        kind::of(
            &text,
            &process.path,
            || state(&thread.path).unwrap_or('X'),
            || read(&thread.path.join("wchan")),
        )
    }

    /// Adds what a thread has run and waited since it was counted last: where it runs now, and from time to time.
    fn count_times(&mut self, tid: u32, name: &str, kind: Kind) {
        let often = matches!(kind, Kind::Running | Kind::OtherThread);
        let due = often || self.looks.is_multiple_of(COUNTED_EVERY);
        let Some(thread) = self.threads.get_mut(&tid).filter(|_| due) else {
            return;
        };
        let text = thread.schedstat.read();
        let mut words = text
            .split_ascii_whitespace()
            .map_while(|word| word.parse::<u64>().ok());
        let (Some(run_ns), Some(ready_ns)) = (words.next(), words.next()) else {
            return;
        };
        let sum = self.times.entry(name.to_owned()).or_default();
        sum.run_ns += run_ns.saturating_sub(thread.times.run_ns);
        sum.ready_ns += ready_ns.saturating_sub(thread.times.ready_ns);
        thread.times = Times { run_ns, ready_ns };
        let turns = words.next().unwrap_or_default();
        if turns != thread.turns {
            thread.turns = turns;
            thread.woken += 1;
            thread.woken_at = Instant::now();
        }
    }

    /// Whether a thread, as counted now, has not run for long.
    fn is_idle(&self, tid: u32) -> bool {
        let thread = self.threads.get(&tid);
        thread.is_some_and(|thread| thread.woken < LEAST_TURNS || thread.woken_at.elapsed() >= IDLE)
    }
}

impl Process {
    fn open(pid: u32, look: u64) -> Self {
        let path = PathBuf::from(format!("/proc/{pid}"));
        Self {
            tasks: path.join("task"),
            comm: Held::open(path.join("comm"), true),
            path,
            threads: Vec::new(),
            count: 0,
            began: look,
            look,
        }
    }
}

impl Thread {
    fn open(pid: u32, tid: u32, held: bool) -> Self {
        let path = PathBuf::from(format!("/proc/{pid}/task/{tid}"));
        let open = |name: &str| Held::open(path.join(name), held);
        Self {
            syscall: open("syscall"),
            children: open("children"),
            schedstat: open("schedstat"),
            path,
            times: Times::default(),
            turns: 0,
            woken: 0,
            woken_at: Instant::now(),
            look: 0,
        }
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

//! The threads of some processes and of all below them, with what each does now.

use super::kind::{self, Kind};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Of more threads so many are asked at a look, others at the next.
const MOST: usize = 512;
/// So many have their files held open: a look is then a read instead of three calls.
const MOST_HELD: usize = 256;

/// A thread at one moment.
pub struct Seen {
    pub process: String,
    pub kind: Kind,
    /// How many threads it stands for.
    pub weight: f64,
}

pub struct Tree {
    roots: Vec<u32>,
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

struct Thread {
    syscall: Held,
    children: Held,
    schedstat: Held,
    /// At the last look.
    times: Times,
    look: u64,
}

impl Tree {
    pub fn new(roots: &[u32]) -> Self {
        Self {
            roots: roots.to_vec(),
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
            let process = PathBuf::from(format!("/proc/{pid}"));
            let name = read(&process.join("comm")).trim_end().to_owned();
            for tid in numbers(&process.join("task")) {
                names.push((pid, tid, name.clone()));
                rest.extend(self.children_of(&process, tid));
            }
        }
        let every = names.len().div_ceil(MOST).max(1);
        let first = self.looks as usize % every;
        for (pid, tid, name) in names.into_iter().skip(first).step_by(every) {
            let process = PathBuf::from(format!("/proc/{pid}"));
            if let Some(kind) = self.kind_of(&process, tid) {
                self.count_times(tid, &name);
                found.push(Seen {
                    process: name,
                    kind,
                    weight: every as f64,
                });
            }
        }
        let looks = self.looks;
        self.threads.retain(|_, thread| thread.look == looks);
        found
    }

    fn children_of(&mut self, process: &Path, tid: u32) -> Vec<u32> {
        let held = self.threads.len() < MOST_HELD;
        let looks = self.looks;
        let thread = self
            .threads
            .entry(tid)
            .or_insert_with(|| Thread::open(process, tid, held));
        thread.look = looks;
        thread
            .children
            .read()
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    }

    fn kind_of(&mut self, process: &Path, tid: u32) -> Option<Kind> {
        let thread = self.threads.get(&tid)?;
        let text = thread.syscall.read();
        if text.is_empty() {
            let path = process.join("task").join(tid.to_string());
            self.denied +=
                u64::from(path.exists() && state(&path).is_some_and(|letter| letter != 'Z'));
            return None;
        }
        let task = process.join("task").join(tid.to_string());
        kind::of(
            &text,
            process,
            || state(&task).unwrap_or('X'),
            || read(&task.join("wchan")),
        )
    }

    /// Adds what a thread has run and waited since the last look.
    fn count_times(&mut self, tid: u32, name: &str) {
        let Some(thread) = self.threads.get_mut(&tid) else {
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
    }
}

impl Thread {
    fn open(process: &Path, tid: u32, held: bool) -> Self {
        let task = process.join("task").join(tid.to_string());
        let open = |name: &str| Held::open(task.join(name), held);
        Self {
            syscall: open("syscall"),
            children: open("children"),
            schedstat: open("schedstat"),
            times: Times::default(),
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

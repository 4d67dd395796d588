//! Processes that were left to the lab by their ended parents: of the load, though no look found it begin.
//!
//! The lab is the reaper of a command's tree (`PR_SET_CHILD_SUBREAPER`), so a daemon becomes its child. Its own helpers are its
//! children, too, but each leads a process group in the lab's session; a daemon leads a session, or is in another's group.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A helper that has just begun is in the lab's group for a moment: so long a child must be there before it is judged.
const SETTLED: Duration = Duration::from_millis(50);

pub struct Orphans {
    /// The children of the lab's first thread: the kernel gives orphans to that.
    children: PathBuf,
    /// Children that were there at first, and those that are known as helpers.
    others: HashSet<u32>,
    /// When each of the rest was found first.
    since: HashMap<u32, Instant>,
}

impl Orphans {
    /// Those of this program's parent, from now on.
    pub fn new() -> Self {
        let parent = rustix::process::getppid().map_or(0, rustix::process::Pid::as_raw_pid);
        let children = PathBuf::from(format!("/proc/{parent}/task/{parent}/children"));
        let others = numbers(&children).collect();
        Self {
            children,
            others,
            since: HashMap::new(),
        }
    }

    /// The orphans that are there now.
    pub fn look(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut since = HashMap::new();
        for pid in numbers(&self.children) {
            if self.others.contains(&pid) {
                continue;
            }
            let first = *self.since.get(&pid).unwrap_or(&Instant::now());
            if first.elapsed() >= SETTLED {
                if is_helper(pid) {
                    self.others.insert(pid);
                    continue;
                }
                found.push(pid);
            }
            since.insert(pid, first);
        }
        self.since = since;
        found
    }
}

/// Whether a process leads a group, but no session.
fn is_helper(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = fields.split_ascii_whitespace().skip(2);
    let mut next = || fields.next().and_then(|word| word.parse().ok());
    let (group, session): (Option<u32>, Option<u32>) = (next(), next());
    group == Some(pid) && session != Some(pid)
}

fn numbers(path: &PathBuf) -> impl Iterator<Item = u32> + use<> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let words: Vec<u32> = text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    words.into_iter()
}

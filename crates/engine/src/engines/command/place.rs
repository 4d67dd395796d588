//! How far a command, or one of its children, has read a file: the place of its descriptor in /proc/PID/fdinfo (proc(5)).

use crate::recorder::Live;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the place is looked up.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The file whose reader is followed, and what is in it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// An absolute path.
    pub path: PathBuf,
    /// Entries of the whole file.
    pub entries: u64,
    /// Its length.
    pub bytes: u64,
}

/// A thread that looks until it is stopped.
pub struct Follower {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Begins to look at the descendants of a process; the place goes into one slot of the progress.
    pub fn start(pid: i32, follow: &Follow, live: &Arc<[Live]>, slot: usize) -> Follower {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, follow, live) = (Arc::clone(&stop), follow.clone(), Arc::clone(live));
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                if let Some(place) = place(pid, &follow.path) {
                    note(&live[slot], &follow, place);
                }
                std::thread::park_timeout(LOOK_EVERY);
            }
        });
        Follower {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Notes a place and the entries before it, taken to be of one length; it never goes back.
fn note(live: &Live, follow: &Follow, place: u64) {
    let bytes = place.min(follow.bytes);
    let entries = u128::from(bytes) * u128::from(follow.entries) / u128::from(follow.bytes.max(1));
    live.bytes.fetch_max(bytes, Ordering::Relaxed);
    live.count.fetch_max(entries as u64, Ordering::Relaxed);
}

/// The furthest place of any descriptor of this file in a process and its descendants.
fn place(pid: i32, path: &Path) -> Option<u64> {
    let own = fs::read_dir(format!("/proc/{pid}/fd")).ok();
    let open = own
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path));
    let here = open.filter_map(|entry| position(pid, &entry.file_name().to_string_lossy()));
    let below = children(pid)
        .into_iter()
        .filter_map(|child| place(child, path));
    here.chain(below).max()
}

fn position(pid: i32, descriptor: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("pos:"))?;
    line.trim().parse().ok()
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok();
    let lists = tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<i32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_place_of_our_own_descriptor_is_found() {
        let path = std::env::temp_dir().join(format!("assay-place-{}", std::process::id()));
        fs::write(&path, vec![b'x'; 10_000]).unwrap();
        let path = path.canonicalize().unwrap();
        let mut file = fs::File::open(&path).unwrap();
        file.read_exact(&mut [0; 2500]).unwrap();
        let own = std::process::id() as i32;
        assert_eq!(place(own, &path), Some(2500));
        let live = Live::default();
        let follow = Follow {
            path: path.clone(),
            entries: 100,
            bytes: 10_000,
        };
        note(&live, &follow, 2500);
        note(&live, &follow, 1000);
        assert_eq!(live.bytes.load(Ordering::Relaxed), 2500);
        assert_eq!(live.count.load(Ordering::Relaxed), 25);
        drop(file);
        assert_eq!(place(own, &path), None);
        fs::remove_file(path).unwrap();
    }
}

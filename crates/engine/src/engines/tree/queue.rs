//! What is still to be done in a tree, shared by the walkers: directories to be read, and files of those that were.
//!
//! Files go first and the directory that was found last goes before the others, so that what waits is bounded by the depth of
//! the tree. One lock serves all: it is taken once for a directory and once for up to 64 files.

use super::directory::{Batch, Chunk, Directory};
use super::node::Node;
use crate::recorder::Recorder;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most files that a walker takes at once.
const MOST_FILES: usize = 64;

/// A directory that is to be read, from its beginning or on from where it was left.
#[derive(Clone)]
pub enum Pending {
    New {
        above: Arc<Directory>,
        node: Arc<Node>,
    },
    More {
        directory: Arc<Directory>,
        /// Ticks that reading it has taken so far.
        spent: u64,
    },
}

/// What a walker does next.
pub enum Work {
    Directory(Pending),
    Files(Chunk),
}

/// What the tree begins with.
pub enum Root {
    Directory(Pending),
    File(Arc<Batch>),
}

/// What was found in a piece of a directory.
pub struct Found {
    pub files: Batch,
    /// Directories, each with the number of its inode.
    pub below: Vec<(u64, Arc<Node>)>,
}

pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    walkers: usize,
}

struct State {
    root: Root,
    passes_left: u64,
    pending: Vec<Pending>,
    files: Vec<Chunk>,
    working: usize,
    waiting: usize,
    /// Whether a file was read in this pass.
    has_read: bool,
    ended: bool,
}

impl Queue {
    /// The whole tree, to be read so many times by so many walkers.
    pub fn new(root: Root, passes: u64, walkers: usize) -> Self {
        let state = State {
            root,
            passes_left: passes,
            pending: Vec::new(),
            files: Vec::new(),
            working: 0,
            waiting: 0,
            has_read: true,
            ended: false,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            walkers,
        }
    }

    /// What to do next, waited for where others may still find some; None at the end of the last pass. `former`: whether a file
    /// was read in the work that this walker had before, None where it had none.
    pub fn take(&self, recorder: &Recorder, former: Option<bool>) -> Option<Work> {
        let mut state = self.lock();
        state.conclude(former);
        while !state.ended {
            if let Some(work) = state.pick(self.walkers) {
                state.working += 1;
                return Some(work);
            }
            if state.working == 0 {
                state.begin_pass();
            } else {
                recorder.publish();
                state.waiting += 1;
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
        }
        self.wake(&state);
        None
    }

    /// Takes in what a walker found, and the rest of the directory that it was found in.
    pub fn give(&self, found: Found, more: Option<Pending>) {
        let Found { files, below } = found;
        let above = Arc::clone(&files.directory);
        let mut state = self.lock();
        state.pending.extend(more);
        let below = below.into_iter().rev();
        state.pending.extend(below.map(|(_, node)| Pending::New {
            above: Arc::clone(&above),
            node,
        }));
        if !files.entries.is_empty() {
            let entries = 0..files.entries.len();
            let batch = Arc::new(files);
            state.files.push(Chunk { batch, entries });
        }
        self.wake(&state);
    }

    /// One walker does no more; the others go on.
    pub fn leave(&self, former: Option<bool>) {
        let mut state = self.lock();
        state.conclude(former);
        self.wake(&state);
    }

    /// Nobody gets anything any more.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        self.wake(&state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

impl State {
    fn conclude(&mut self, former: Option<bool>) {
        if let Some(has_read) = former {
            self.working -= 1;
            self.has_read |= has_read;
        }
    }

    /// Some files, few at a time where few are left, else a directory.
    fn pick(&mut self, walkers: usize) -> Option<Work> {
        let Some(last) = self.files.last_mut() else {
            return self.pending.pop().map(Work::Directory);
        };
        let share = last.entries.len() / (2 * walkers);
        let end = last.entries.start + share.clamp(1, MOST_FILES);
        let chunk = Chunk {
            batch: Arc::clone(&last.batch),
            entries: last.entries.start..end,
        };
        last.entries.start = end;
        if last.entries.is_empty() {
            self.files.pop();
        }
        Some(Work::Files(chunk))
    }

    /// Begins anew, or ends: after the last pass, and after one that read no file.
    fn begin_pass(&mut self) {
        if self.passes_left == 0 || !self.has_read {
            self.ended = true;
            return;
        }
        self.passes_left -= 1;
        self.has_read = false;
        match &self.root {
            Root::Directory(pending) => self.pending.push(pending.clone()),
            Root::File(batch) if batch.entries.is_empty() => {}
            Root::File(batch) => self.files.push(Chunk {
                batch: Arc::clone(batch),
                entries: 0..batch.entries.len(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;

//! Reads a pipe to its end so that the writer never waits, and keeps the beginning.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is kept of one pipe: 1 MiB.
const KEPT: usize = 1 << 20;
const CHUNK: usize = 64 * 1024;
const POLL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
const DOZE: Duration = Duration::from_millis(1);

/// A pipe that is being read by a thread.
pub struct Drain {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    kept: Mutex<Kept>,
    ended: AtomicBool,
    abandoned: AtomicBool,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    cut: bool,
}

impl Drain {
    /// Reads from now on.
    pub fn start(pipe: OwnedFd) -> Self {
        let shared: Arc<Shared> = Arc::default();
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            theirs.read_all(&pipe);
            theirs.ended.store(true, Ordering::Release);
        });
        Self { shared }
    }

    /// Waits for the end of the pipe, not longer than this.
    pub fn wait(&self, longest: Duration) {
        let end = Instant::now() + longest;
        while !self.shared.ended.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::sleep(DOZE);
        }
    }

    /// What was kept, and whether there was more; whoever still writes does so into a closed pipe.
    pub fn text(self) -> (String, bool) {
        self.shared.abandoned.store(true, Ordering::Release);
        let mut kept = self
            .shared
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (
            String::from_utf8_lossy(&std::mem::take(&mut kept.bytes)).into_owned(),
            kept.cut,
        )
    }
}

impl Shared {
    fn read_all(&self, pipe: &OwnedFd) {
        let mut chunk = vec![0; CHUNK];
        while !self.abandoned.load(Ordering::Acquire) {
            let mut ready = [PollFd::new(pipe, PollFlags::IN)];
            match poll(&mut ready, Some(&POLL)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(_) => return,
            }
            match rustix::io::read(pipe, &mut *chunk) {
                Ok(0) => return,
                Ok(length) => self.keep(&chunk[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT - kept.bytes.len();
        kept.cut |= bytes.len() > room;
        kept.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

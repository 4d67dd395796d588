//! Threads that do what may wait; a thread that is idle is used again.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Builder;

/// Threads that stay when there is nothing to do.
const MOST_IDLE: usize = 4;

/// Something to do, once.
pub type Job = Box<dyn FnOnce() + Send>;

/// As many threads as there are things to do at a time.
#[derive(Default)]
pub struct Workers {
    queue: Mutex<Queue>,
    ready: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
}

impl Workers {
    /// Has it done soon. Fails where no thread is idle and the system gives none.
    pub fn give(&'static self, job: Job) -> io::Result<()> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() {
            self.ready.notify_one();
            return Ok(());
        }
        let started = Builder::new().spawn(|| self.serve());
        if started.is_err() {
            queue.jobs.pop_back();
        }
        started.map(drop)
    }

    fn serve(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            while let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            }
            if queue.idle >= MOST_IDLE {
                return;
            }
            queue.idle += 1;
            queue = self
                .ready
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

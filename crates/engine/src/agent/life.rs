//! When the agent ends, and in which order: what it started, what has to be undone, itself.

use super::AGENT;
use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The lease before the first one is asked for.
const FIRST_LEASE: Duration = Duration::from_secs(60);
/// The longest lease: a year.
const LONGEST_LEASE: Duration = Duration::from_secs(365 * 86_400);
/// How long processes that were killed may take to go: what they hold cannot be undone before.
const PATIENCE: Duration = Duration::from_secs(5);

/// When and why it ends.
pub struct Life {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lease_ends: Instant,
    reason: Option<&'static str>,
}

impl Default for Life {
    fn default() -> Self {
        let state = State {
            lease_ends: Instant::now() + FIRST_LEASE,
            reason: None,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }
}

impl Life {
    /// The agent lives so long from now on, unless a later lease comes.
    pub fn prolong(&self, for_ns: u64) {
        let lease = Duration::from_nanos(for_ns).min(LONGEST_LEASE);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lease_ends = Instant::now() + lease;
        self.changed.notify_all();
    }

    /// Has the first thread end the agent, for the first reason that there is. Returns at once.
    pub fn end(&self, reason: &'static str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.reason.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Waits for a reason, and ends the agent.
    pub fn keep(&self) -> ! {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = loop {
            if let Some(reason) = state.reason {
                break reason;
            }
            let left = state.lease_ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break "the lease ran out";
            }
            let wait = self.changed.wait_timeout(state, left);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(state);
        leave(reason)
    }
}

fn leave(reason: &str) -> ! {
    AGENT.groups.kill_all(PATIENCE);
    AGENT.notes.undo_all();
    let _ = writeln!(std::io::stderr(), "assay-engine agent: ended: {reason}");
    // SAFETY: ends the process; nothing of it is needed any more.
    unsafe { libc::_exit(0) }
}

/// Ends the agent in order at a signal that would kill it. Call it before there is a second thread.
pub fn watch_signals() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is made empty before it is used; the mask is that of this thread and of all that it starts.
    let set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), null_mut());
        set.assume_init()
    };
    std::thread::spawn(move || {
        let mut signal = 0;
        // SAFETY: both pointers are to this frame.
        unsafe { libc::sigwait(&raw const set, &raw mut signal) };
        AGENT.life.end("a signal came");
    });
}

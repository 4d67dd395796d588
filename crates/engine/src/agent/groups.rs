//! The process groups of what was started and has not been reaped: killed all at once when the agent ends.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Groups by the number of their leader, which is not another's as long as it has not been reaped.
#[derive(Default)]
pub struct Groups {
    live: Mutex<Live>,
    fewer: Condvar,
}

#[derive(Default)]
struct Live {
    leaders: BTreeSet<i32>,
    ending: bool,
}

impl Groups {
    /// Enters the group of a child; it is killed at once where the agent is ending.
    pub fn enter(&self, leader: i32) {
        let mut live = self.live();
        live.leaders.insert(leader);
        if live.ending {
            kill(leader);
        }
    }

    /// Kills a group whose leader has not been reaped; nothing where it has.
    pub fn kill(&self, leader: i32) {
        if self.live().leaders.contains(&leader) {
            kill(leader);
        }
    }

    /// Leaves a group out that must not be killed any more: its leader is reaped next.
    pub fn leave(&self, leader: i32) {
        self.live().leaders.remove(&leader);
        self.fewer.notify_all();
    }

    /// Kills every group, now and from now on, and waits until the leaders have ended, not longer than this.
    pub fn kill_all(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut live = self.live();
        live.ending = true;
        live.leaders.iter().copied().for_each(kill);
        while !live.leaders.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let wait = self.fewer.wait_timeout(live, left);
            live = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kill(leader: i32) {
    // SAFETY: integer arguments; the group is that of a child that has not been reaped.
    unsafe { libc::kill(-leader, libc::SIGKILL) };
}

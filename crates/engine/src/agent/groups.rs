//! The process groups of what was started and has not been reaped: killed all at once when the agent ends.

use std::collections::BTreeSet;
use std::mem::zeroed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often processes that were killed are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Groups by the number of their leader, which is not another's as long as it has not been reaped.
#[derive(Default)]
pub struct Groups {
    live: Mutex<Live>,
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
    }

    /// Kills every group, now and from now on, and waits until the leaders have ended, not longer than this.
    ///
    /// Whoever would reap them may be stuck, so they are looked for here.
    pub fn kill_all(&self, patience: Duration) {
        let leaders = {
            let mut live = self.live();
            live.ending = true;
            live.leaders.iter().copied().for_each(kill);
            live.leaders.clone()
        };
        let until = Instant::now() + patience;
        while leaders.iter().any(|&leader| lives(leader)) && Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
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

/// Whether a child still runs; one that was reaped does not.
fn lives(leader: i32) -> bool {
    // SAFETY: siginfo is plain data, for which zero is a value.
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to this frame; nothing is reaped.
    let status = unsafe { libc::waitid(libc::P_PID, leader as libc::id_t, &raw mut info, options) };
    // SAFETY: waitid left the record zero where the child runs.
    status == 0 && unsafe { info.si_pid() } == 0
}

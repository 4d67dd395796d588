//! When this process ends by itself: end of input, lease, hard end, death of the parent, a thread that breaks down.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long workers get to notice the hard end before the process goes without them: a system call may hang for ever.
const GRACE_NS: u64 = 2_000_000_000;

static CHILD_GROUP: AtomicI32 = AtomicI32::new(0);
static DEADLINES: Mutex<Deadlines> = Mutex::new(Deadlines {
    lease_ns: u64::MAX,
    hard_end_ns: u64::MAX,
});
static CHANGED: Condvar = Condvar::new();

#[derive(Clone, Copy)]
struct Deadlines {
    lease_ns: u64,
    hard_end_ns: u64,
}

/// Asks the kernel for SIGKILL when the thread that started this process ends, and starts the thread that keeps the deadlines.
/// A thread that breaks down ends the process: the others would wait for it for ever.
pub fn guard() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |told| {
        say(told);
        end("a thread broke down");
    }));
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    std::thread::spawn(keep_deadlines);
}

/// Ends the process and the group of a running child, at once and without waiting for workers.
pub fn end(reason: &str) -> ! {
    kill_child_group();
    eprintln!("assay-engine: ended: {reason}");
    // SAFETY: ends the process; nothing of it is needed any more.
    unsafe { libc::_exit(1) }
}

/// The process lives until then, unless a later lease comes.
pub fn set_lease(until_ns: u64) {
    change(|deadlines| deadlines.lease_ns = until_ns);
}

/// The running phase must have ended a grace period after this; None = no phase is running.
pub fn set_hard_end(at_ns: Option<u64>) {
    change(|deadlines| {
        deadlines.hard_end_ns = at_ns.map_or(u64::MAX, |at| at.saturating_add(GRACE_NS));
    });
}

/// The process group that dies with this process; 0 = none.
pub fn set_child_group(group: i32) {
    CHILD_GROUP.store(group, Ordering::SeqCst);
}

/// Kills the group of the running child, if there is one.
pub fn kill_child_group() {
    let group = CHILD_GROUP.load(Ordering::SeqCst);
    if group > 0 {
        // SAFETY: the group is that of a child that has not been waited for, so its number is not another's.
        let _ = unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

fn change(apply: impl FnOnce(&mut Deadlines)) {
    apply(&mut DEADLINES.lock().unwrap_or_else(PoisonError::into_inner));
    CHANGED.notify_one();
}

fn keep_deadlines() {
    let mut deadlines = DEADLINES.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let now = assay_clock::monotonic_ns();
        if deadlines.lease_ns <= now {
            end("the lease ran out");
        }
        if deadlines.hard_end_ns <= now {
            end("the hard end of the phase passed");
        }
        let rest = deadlines.lease_ns.min(deadlines.hard_end_ns) - now;
        let wait = CHANGED.wait_timeout(deadlines, Duration::from_nanos(rest));
        deadlines = wait.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const IS_CHILD: &str = "ASSAY_TEST_BREAKS_DOWN";

    #[test]
    fn a_thread_that_breaks_down_ends_the_process() {
        if std::env::var_os(IS_CHILD).is_some() {
            guard();
            let _ = std::thread::spawn(|| panic!("broken")).join();
            std::process::exit(0);
        }
        let ended = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "--nocapture"])
            .arg("lifetime::tests::a_thread_that_breaks_down_ends_the_process")
            .env(IS_CHILD, "1")
            .output()
            .expect("it can be run");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("broken") && said.contains("a thread broke down"));
    }
}

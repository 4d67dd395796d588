//! When this machine was booted, and for how long a process ran.

use std::io;
use std::path::Path;

/// Pairs of readings of which the closest counts.
const TRIES: usize = 5;

/// `CLOCK_REALTIME` less `CLOCK_BOOTTIME` in nanoseconds: it moves only where somebody sets the wall clock.
#[must_use]
pub fn booted_ns() -> i64 {
    let tries = (0..TRIES).map(|_| {
        let before = now_ns(libc::CLOCK_BOOTTIME);
        let wall = now_ns(libc::CLOCK_REALTIME);
        let after = now_ns(libc::CLOCK_BOOTTIME);
        (after - before, wall - i64::midpoint(before, after))
    });
    tries.min().map_or(0, |(_, booted)| booted)
}

/// CPU time of a process in nanoseconds, that of its ended threads included; of `/proc/PID`.
///
/// # Errors
/// ENOENT where there is no such process.
pub fn cpu_clock(path: &Path) -> io::Result<i64> {
    let gone = || io::Error::from_raw_os_error(libc::ENOENT);
    let name = path.file_name().and_then(|name| name.to_str());
    let pid = name.and_then(|name| name.parse::<libc::pid_t>().ok());
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to this frame.
    if unsafe { libc::clock_getcpuclockid(pid.ok_or_else(gone)?, &raw mut clock) } != 0 {
        return Err(gone());
    }
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: as above.
    if unsafe { libc::clock_gettime(clock, &raw mut now) } != 0 {
        return Err(gone());
    }
    Ok(now.tv_sec * 1_000_000_000 + now.tv_nsec)
}

pub(crate) fn now_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to this frame; the clocks asked for exist since Linux 2.6.39.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

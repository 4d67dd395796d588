//! When this machine was booted.

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

pub(crate) fn now_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to this frame; the clocks asked for exist since Linux 2.6.39.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

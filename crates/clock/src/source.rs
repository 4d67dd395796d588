//! Which clock the stamps are read from, and why.

use crate::kernel::monotonic_ns;

/// The disagreement from which the cycle counter is not believed any more.
///
/// NTP turns `CLOCK_MONOTONIC` by tens of ppm at most while it tracks well; a counter that differs by more between two phases
/// was stopped, scaled or moved to another machine.
pub const LIMIT_PPM: u64 = 50;

/// What stamps are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `rdtsc`: about 20 cycles, no call.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)`: about 60 cycles through the vDSO.
    Gettime,
}

/// A clock to take stamps from.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
}

impl Clock {
    /// The time-stamp counter where it is constant, never stops, and is what the kernel itself uses now; else `clock_gettime`.
    ///
    /// The kernel's watchdog compares the counter with other clocks and across CPUs and leaves it as soon as it is unstable;
    /// that judgement is taken over, and asked for anew before every phase.
    #[must_use]
    pub fn choose() -> Self {
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let current = std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .unwrap_or_default();
        Self {
            source: judge(&flags, &current),
        }
    }

    /// `clock_gettime`, whatever the machine has.
    #[must_use]
    pub fn gettime() -> Self {
        Self {
            source: Source::Gettime,
        }
    }

    /// What the stamps are read from.
    #[must_use]
    pub fn source(self) -> Source {
        self.source
    }

    /// The name in results: `tsc` or `clock_gettime`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.source {
            Source::Tsc => "tsc",
            Source::Gettime => "clock_gettime",
        }
    }

    /// A stamp, in ticks of this clock.
    #[inline]
    #[must_use]
    pub fn now(self) -> u64 {
        match self.source {
            Source::Tsc => cycles(),
            Source::Gettime => monotonic_ns(),
        }
    }
}

fn judge(cpuinfo: &str, clocksource: &str) -> Source {
    let has = |flag: &str| cpuinfo.split_ascii_whitespace().any(|word| word == flag);
    let trusted = cfg!(target_arch = "x86_64")
        && has("constant_tsc")
        && has("nonstop_tsc")
        && clocksource.trim() == "tsc";
    if trusted {
        Source::Tsc
    } else {
        Source::Gettime
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn cycles() -> u64 {
    // SAFETY: every x86-64 CPU has rdtsc, and Linux leaves it allowed in user mode.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn cycles() -> u64 {
    monotonic_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_needs_both_flags_and_the_kernels_trust() {
        let good = "flags : fpu constant_tsc nonstop_tsc";
        assert_eq!(judge(good, "tsc\n"), Source::Tsc);
        assert_eq!(judge(good, "kvm-clock\n"), Source::Gettime);
        assert_eq!(judge("flags : fpu constant_tsc", "tsc\n"), Source::Gettime);
        assert_eq!(judge("", ""), Source::Gettime);
    }

    #[test]
    fn stamps_do_not_run_backwards() {
        for clock in [Clock::choose(), Clock::gettime()] {
            let stamps: Vec<u64> = (0..1000).map(|_| clock.now()).collect();
            assert!(stamps.is_sorted());
        }
    }
}

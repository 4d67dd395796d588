//! Ties between a clock's ticks and `CLOCK_MONOTONIC`.

use crate::kernel::{monotonic_ns, sleep_until};
use crate::source::{Clock, LIMIT_PPM, Source};

/// The shortest distance between two anchors that gives a rate: 10 ms, over which a bracket of 100 ns weighs 10 ppm.
const SHORTEST_NS: u64 = 10_000_000;
const ATTEMPTS: usize = 8;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    /// Ticks of the clock.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, the middle of the bracket.
    pub mono_ns: u64,
    /// How far apart the two readings of `CLOCK_MONOTONIC` around the stamp were.
    pub bracket_ns: u64,
}

impl Anchor {
    /// The tightest of several brackets.
    #[must_use]
    pub fn take(clock: Clock) -> Self {
        let mut best = Self::bracket(clock);
        for _ in 1..ATTEMPTS {
            let next = Self::bracket(clock);
            if next.bracket_ns < best.bracket_ns {
                best = next;
            }
        }
        best
    }

    /// An anchor far enough after an earlier one to give a rate with it; sleeps for what is missing.
    #[must_use]
    pub fn take_after(clock: Clock, earlier: Self) -> Self {
        if clock.source() == Source::Tsc {
            sleep_until(earlier.mono_ns + SHORTEST_NS);
        }
        Self::take(clock)
    }

    fn bracket(clock: Clock) -> Self {
        let before = monotonic_ns();
        let ticks = clock.now();
        let after = monotonic_ns();
        Self {
            ticks,
            mono_ns: before.midpoint(after),
            bracket_ns: after - before,
        }
    }
}

/// A straight line from ticks to nanoseconds through two anchors.
#[derive(Clone, Copy, Debug)]
pub struct Timebase {
    from: Anchor,
    to: Anchor,
    identity: bool,
}

impl Timebase {
    /// The line through two anchors of this clock.
    #[must_use]
    pub fn between(clock: Clock, from: Anchor, to: Anchor) -> Self {
        Self {
            from,
            to,
            identity: clock.source() == Source::Gettime,
        }
    }

    /// A span of ticks in nanoseconds.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        if self.identity {
            return ticks;
        }
        (u128::from(ticks) * u128::from(self.elapsed_ns()) / u128::from(self.elapsed_ticks()))
            as u64
    }

    /// A stamp as `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn mono_ns(&self, ticks: u64) -> u64 {
        if ticks >= self.from.ticks {
            self.from.mono_ns + self.span_ns(ticks - self.from.ticks)
        } else {
            self.from
                .mono_ns
                .saturating_sub(self.span_ns(self.from.ticks - ticks))
        }
    }

    /// The stamp that belongs to a `CLOCK_MONOTONIC` time.
    #[must_use]
    pub fn ticks_at(&self, mono_ns: u64) -> u64 {
        let span = mono_ns.saturating_sub(self.from.mono_ns);
        self.from.ticks.saturating_add(self.ticks_of(span))
    }

    /// A span of nanoseconds in ticks.
    #[must_use]
    pub fn ticks_of(&self, span_ns: u64) -> u64 {
        if self.identity {
            return span_ns;
        }
        let ticks =
            u128::from(span_ns) * u128::from(self.elapsed_ticks()) / u128::from(self.elapsed_ns());
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    fn elapsed_ticks(&self) -> u64 {
        (self.to.ticks - self.from.ticks).max(1)
    }

    fn elapsed_ns(&self) -> u64 {
        (self.to.mono_ns - self.from.mono_ns).max(1)
    }

    /// What the two brackets leave open, in ppm of the distance.
    fn open_ppm(&self) -> u64 {
        (self.from.bracket_ns + self.to.bracket_ns).saturating_mul(1_000_000) / self.elapsed_ns()
    }
}

/// By how much the rate of one line differs from that of another beyond what their brackets leave open, in ppm.
#[must_use]
pub fn error_ppm(before: &Timebase, during: &Timebase) -> u64 {
    if before.identity || during.identity {
        return 0;
    }
    let one = u128::from(before.elapsed_ticks()) * u128::from(during.elapsed_ns());
    let other = u128::from(during.elapsed_ticks()) * u128::from(before.elapsed_ns());
    let differs = (one.abs_diff(other) * 1_000_000 / one) as u64;
    differs.saturating_sub(before.open_ppm() + during.open_ppm())
}

impl Clock {
    /// The clock for the next phase after one that showed this error.
    #[must_use]
    pub fn after_error(self, ppm: u64) -> Self {
        if ppm > LIMIT_PPM {
            Self::gettime()
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(ticks: u64, mono_ns: u64) -> Anchor {
        Anchor {
            ticks,
            mono_ns,
            bracket_ns: 0,
        }
    }

    fn tsc() -> Option<Clock> {
        Some(Clock::choose()).filter(|clock| clock.source() == Source::Tsc)
    }

    #[test]
    fn ticks_and_nanoseconds_go_both_ways() {
        let Some(clock) = tsc() else { return };
        let line = Timebase::between(clock, anchor(1_000, 5_000), anchor(4_000, 6_000));
        assert_eq!(line.span_ns(300), 100);
        assert_eq!(line.mono_ns(1_600), 5_200);
        assert_eq!(line.mono_ns(700), 4_900);
        assert_eq!(line.ticks_at(5_200), 1_600);
        assert_eq!(line.ticks_of(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_counter_that_changes_its_rate_is_not_used_again() {
        let Some(clock) = tsc() else { return };
        let before = Timebase::between(clock, anchor(0, 0), anchor(3_000_000_000, 1_000_000_000));
        let during = Timebase::between(clock, anchor(0, 0), anchor(3_000_300_000, 1_000_000_000));
        assert_eq!(error_ppm(&before, &before), 0);
        assert_eq!(error_ppm(&before, &during), 100);
        assert_eq!(clock.after_error(100).source(), Source::Gettime);
        assert_eq!(clock.after_error(50).source(), Source::Tsc);
    }

    #[test]
    fn brackets_are_no_error() {
        let Some(clock) = tsc() else { return };
        let wide = |ticks, mono_ns| Anchor {
            ticks,
            mono_ns,
            bracket_ns: 1_000,
        };
        let before = Timebase::between(clock, wide(0, 0), wide(30_000_000, 10_000_000));
        let during = Timebase::between(clock, wide(0, 0), wide(30_001_500, 10_000_000));
        assert_eq!(error_ppm(&before, &during), 0);
    }

    #[test]
    fn this_machine_agrees_with_itself() {
        let clock = Clock::choose();
        let from = Anchor::take(clock);
        let to = Anchor::take_after(clock, from);
        let line = Timebase::between(clock, from, to);
        let ticks = clock.now();
        let mono = monotonic_ns();
        assert!(line.mono_ns(ticks).abs_diff(mono) < 1_000_000_000);
    }
}

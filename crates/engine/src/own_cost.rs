//! What the engine's own instruments cost: one stamp, and all of an operation with nothing in it.

use crate::control::Control;
use crate::recorder::{Live, Recorder, Schedule};
use assay_clock::{Clock, Timebase};
use std::hint::black_box;
use std::sync::Arc;

const TRIES: usize = 9;
const EACH: u64 = 256;

/// Measured one after another with warm caches, each rounded up to whole ns.
pub struct OwnCost {
    /// One reading of the clock.
    pub stamp_ns: u64,
    /// Two readings, the entry in the histogram, the sums: what the recorder does around each operation.
    pub operation_ns: u64,
}

impl OwnCost {
    /// Measures it now, which takes some tenths of a millisecond.
    pub fn measure(clock: Clock, timebase: &Timebase) -> Self {
        let live: Arc<[Live]> = [Live::default()].into();
        let mut recorder = Recorder::new(clock, live, Arc::new(Control::default()));
        recorder.start(Schedule {
            started: clock.now(),
            deadline: u64::MAX,
            look_every: u64::MAX,
            spread_every: u64::MAX,
        });
        Self {
            stamp_ns: each_ns(clock, timebase, || {
                black_box(clock.now());
            }),
            operation_ns: each_ns(clock, timebase, || {
                black_box(recorder.measure(0, || Ok(black_box(0))));
            }),
        }
    }
}

/// The middle of several tries, so that losing the processor in one of them does not count.
fn each_ns(clock: Clock, timebase: &Timebase, mut work: impl FnMut()) -> u64 {
    let mut tries = [0; TRIES];
    for ticks in &mut tries {
        let from = clock.now();
        for _ in 0..EACH {
            work();
        }
        *ticks = clock.now().saturating_sub(from);
    }
    tries.sort_unstable();
    timebase.span_ns(tries[TRIES / 2]).div_ceil(EACH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_clock::Anchor;

    #[test]
    fn an_operation_holds_two_stamps_and_costs_more_than_one() {
        for clock in [Clock::choose(), Clock::gettime()] {
            let first = Anchor::take(clock);
            let timebase = Timebase::between(clock, first, Anchor::take_after(clock, first));
            let cost = OwnCost::measure(clock, &timebase);
            assert!(cost.stamp_ns > 0);
            assert!(cost.operation_ns > cost.stamp_ns);
        }
    }

    #[test]
    fn a_try_that_lost_the_processor_does_not_count() {
        let clock = Clock::gettime();
        let first = Anchor::take(clock);
        let timebase = Timebase::between(clock, first, Anchor::take_after(clock, first));
        let mut calls = 0;
        let cost = each_ns(clock, &timebase, || {
            calls += 1;
            if calls == 300 {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        assert!(cost < 50_000_000 / EACH);
    }
}

//! How the latencies of each operation were spread in every interval of time: coarse latency buckets, bounded in number.
//!
//! A worker notes its counts between two operations at the first look after each whole interval; an operation that takes longer
//! than an interval belongs to the one in which it ended. Only buckets that have counts are kept.

use crate::tally::Tally;

/// The most intervals that are kept; beyond that two become one.
const MOST: usize = 240;

/// Cumulative counts by latency bucket, of one operation.
pub type Buckets = Vec<(u16, u64)>;

/// What one worker noted: at the end of which interval (from 1), the buckets of each operation.
pub struct Spread {
    pub every: u64,
    pub stride: u64,
    pub noted: Vec<(u64, Vec<Buckets>)>,
}

impl Spread {
    /// Nothing noted yet; intervals of so many ticks.
    pub fn new(every: u64) -> Self {
        Self {
            every: every.max(1),
            stride: 1,
            noted: Vec::with_capacity(MOST),
        }
    }

    /// How many ticks after the start it is to be noted again.
    pub fn due(&self, passed: u64) -> u64 {
        let span = self.every.saturating_mul(self.stride);
        (passed / span + 1).saturating_mul(span)
    }

    /// Notes the counts so far, when `passed` ticks have gone by.
    pub fn note(&mut self, passed: u64, tallies: &[Tally]) {
        // More than once where looks are so rare that every number is even.
        while self.noted.len() >= MOST {
            self.stride *= 2;
            self.noted.retain(|(at, _)| at % self.stride == 0);
        }
        let at = passed / self.every / self.stride * self.stride;
        if at > self.noted.last().map_or(0, |(last, _)| *last) {
            let buckets = tallies
                .iter()
                .map(|tally| tally.histogram.coarse_buckets().collect());
            self.noted.push((at, buckets.collect()));
        }
    }

    /// The counts at the end of an interval: those noted last.
    pub fn at(&self, interval: u64, slot: usize) -> &[(u16, u64)] {
        let next = self.noted.partition_point(|(at, _)| *at <= interval);
        next.checked_sub(1)
            .map_or(&[], |one| &self.noted[one].1[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tally(latencies: &[u64]) -> Vec<Tally> {
        let mut tally = Tally::new();
        for ticks in latencies {
            tally.record(0, 0, *ticks);
        }
        vec![tally]
    }

    #[test]
    fn what_was_noted_last_holds_until_the_next_note() {
        let mut spread = Spread::new(100);
        spread.note(105, &tally(&[7]));
        spread.note(310, &tally(&[7, 900]));
        assert_eq!(spread.at(0, 0), []);
        assert_eq!(spread.at(1, 0), spread.at(2, 0));
        assert_eq!(spread.at(1, 0).len(), 1);
        assert_eq!(spread.at(3, 0).len(), 2);
        assert_eq!((spread.due(0), spread.due(310)), (100, 400));
    }

    #[test]
    fn looks_at_even_intervals_only_are_bounded_too() {
        let mut spread = Spread::new(100);
        for time in 1..=1_000 {
            spread.note(time * 2_200, &tally(&[5]));
        }
        assert!(spread.noted.len() <= MOST);
        assert!(spread.noted.len() >= MOST / 2);
    }

    proptest! {
        #[test]
        fn long_phases_keep_a_bounded_number_of_intervals_in_order(step in 1..5_000_u64, times in 1..3_000_u64) {
            let mut spread = Spread::new(100);
            let done = tally(&[5]);
            for time in 1..=times {
                spread.note(time * step, &done);
            }
            prop_assert!(spread.noted.len() <= MOST);
            prop_assert!(spread.noted.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(spread.noted.iter().all(|(at, _)| at % spread.stride == 0));
        }
    }
}

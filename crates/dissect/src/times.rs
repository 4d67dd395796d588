//! Times of operations: exact while they are few, by buckets of 1/128 afterwards, so that memory has a bound.

use assay_hist::Histogram;
use serde::Serialize;

/// Times that are kept one by one.
const EXACT: usize = 4096;

/// Durations in nanoseconds.
#[derive(Default)]
pub struct Times {
    n: u64,
    sum: u64,
    max: u64,
    exact: Vec<u64>,
    buckets: Option<Histogram>,
}

impl Times {
    /// Counts one.
    pub fn record(&mut self, ns: u64) {
        self.n += 1;
        self.sum = self.sum.saturating_add(ns);
        self.max = self.max.max(ns);
        match &mut self.buckets {
            Some(buckets) => buckets.record(ns),
            None if self.exact.len() < EXACT => self.exact.push(ns),
            None => self.buckets = Some(self.in_buckets(ns)),
        }
    }

    fn in_buckets(&mut self, last: u64) -> Histogram {
        let mut made = Histogram::new();
        for ns in std::mem::take(&mut self.exact) {
            made.record(ns);
        }
        made.record(last);
        made
    }

    /// The figures; percentiles by nearest rank.
    pub fn figures(&self) -> Figures {
        let shares = [500, 900, 990, 999].map(|permille| self.at(permille));
        let [p50, p90, p99, p999] = shares;
        Figures {
            n: self.n,
            sum: self.sum,
            max: self.max,
            p50,
            p90,
            p99,
            p999,
            exact: self.buckets.is_none(),
        }
    }

    fn at(&self, permille: u64) -> Option<u64> {
        if self.n == 0 {
            return None;
        }
        let rank = (self.n * permille).div_ceil(1000).max(1);
        let Some(buckets) = &self.buckets else {
            let mut sorted = self.exact.clone();
            let (_, found, _) = sorted.select_nth_unstable(rank as usize - 1);
            return Some(*found);
        };
        let mut seen = 0;
        buckets
            .buckets()
            .find(|(_, count)| {
                seen += count;
                seen >= rank
            })
            .map(|(highest, _)| highest.min(self.max))
    }
}

/// What is reported of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    pub n: u64,
    pub sum: u64,
    pub max: u64,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    /// Whether the percentiles are exact, else at most 1/128 too high.
    pub exact: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn percentiles_are_exact_or_near(mut values in prop::collection::vec(1_u64..1 << 40, 1..9000)) {
            let mut times = Times::default();
            for ns in &values {
                times.record(*ns);
            }
            values.sort_unstable();
            let figures = times.figures();
            prop_assert_eq!(figures.exact, values.len() <= EXACT);
            for (found, permille) in [(figures.p50, 500), (figures.p90, 900), (figures.p99, 990), (figures.p999, 999)] {
                let truth = values[((values.len() * permille).div_ceil(1000)).max(1) - 1];
                let found = found.unwrap();
                let room = if figures.exact { 0 } else { truth / 128 };
                prop_assert!(found >= truth && found - truth <= room);
            }
        }
    }
}

//! Latency histograms: logarithmic buckets, each cut into linear ones, as in HDR histograms.
//!
//! Values below 256 are kept exactly; above, a bucket spans at most 1/128 of its lowest value (two significant figures and
//! a bit). Recording is a shift, an addition and an increment: no comparison with a range, no division, no resizing.

/// Bits of a value that are kept.
const BITS: u32 = 7;
const LINEAR: u64 = 1 << BITS;
/// Words that are left untouched before and after the counts: no other thread's memory is on a cache line (or on the neighbour
/// that the CPU fetches with it) that recording writes.
const MARGIN: usize = 16;
/// Every `u64` has a bucket: 2 x 128 exact ones, then 128 for each further power of two.
const BUCKETS: usize = ((64 - BITS as usize) + 1) << BITS;

/// Buckets that one coarse bucket holds: four coarse ones for each power of two.
const COARSE: usize = 1 << (BITS - 2);

/// Counts of values, by buckets.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS + 2 * MARGIN]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram; allocates about 58 KiB once.
    ///
    /// # Panics
    /// Never: the length is the constant of the type.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![0; BUCKETS + 2 * MARGIN]
            .into_boxed_slice()
            .try_into()
            .expect("the length is that of the type");
        Self { counts }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[MARGIN + index(value)] += 1;
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
    }

    /// Number and count of each coarse bucket that has counts, ascending.
    pub fn coarse_buckets(&self) -> impl Iterator<Item = (u16, u64)> {
        let counts = &self.counts[MARGIN..MARGIN + BUCKETS];
        (0_u16..)
            .zip(counts.chunks_exact(COARSE))
            .map(|(place, counts)| (place, counts.iter().sum()))
            .filter(|(_, count)| *count > 0)
    }

    /// Highest value and count of each bucket that has counts, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts[MARGIN..MARGIN + BUCKETS]
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| (highest(at), *count))
    }
}

#[inline]
fn index(value: u64) -> usize {
    let shift = (value | LINEAR).ilog2() - BITS;
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

/// The highest value that falls into a coarse bucket, which is at most a quarter of its lowest value wide.
#[must_use]
pub fn highest_of_coarse(place: u16) -> u64 {
    highest((usize::from(place) + 1) * COARSE - 1)
}

/// The highest value that falls into a bucket.
fn highest(at: usize) -> u64 {
    let at = at as u64;
    if at < 2 * LINEAR {
        return at;
    }
    let shift = (at >> BITS) - 1;
    let lowest = ((at & (LINEAR - 1)) + LINEAR) << shift;
    lowest + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_its_bucket() {
        assert_eq!(index(0), 0);
        assert_eq!(index(255), 255);
        assert_eq!(index(256), 256);
        assert_eq!(index(257), 256);
        assert_eq!(index(u64::MAX), BUCKETS - 1);
        assert_eq!(highest(BUCKETS - 1), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_bucket_is_at_most_one_part_in_128_wide(value: u64) {
            let high = highest(index(value));
            prop_assert!(high >= value);
            prop_assert!(high - value <= value / 128);
            prop_assert_eq!(index(high), index(value));
        }

        #[test]
        fn buckets_ascend(value in 0..u64::MAX) {
            prop_assert!(index(value) <= index(value + 1));
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn quantiles_agree_with_the_hdrhistogram_crate(values in prop::collection::vec(1_u64..1 << 40, 1..200)) {
            let mut own = Histogram::new();
            let mut reference = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for value in &values {
                own.record(*value);
                reference.record(*value).unwrap();
            }
            let mut seen = 0;
            for (upper, count) in own.buckets() {
                seen += count;
                let theirs = reference.value_at_quantile(seen as f64 / values.len() as f64 - 1e-9);
                prop_assert!(upper.abs_diff(theirs) <= upper / 100 + 1, "{} {}", upper, theirs);
            }
            prop_assert_eq!(seen as usize, values.len());
        }
    }

    proptest! {
        #[test]
        fn a_coarse_bucket_holds_the_values_of_its_buckets(values in prop::collection::vec(1_u64..1 << 50, 1..200)) {
            let mut own = Histogram::new();
            for value in &values {
                own.record(*value);
            }
            let coarse: Vec<(u16, u64)> = own.coarse_buckets().collect();
            prop_assert_eq!(coarse.iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            for (place, count) in coarse {
                let (low, high) = (place.checked_sub(1).map_or(0, |one| highest_of_coarse(one) + 1), highest_of_coarse(place));
                prop_assert_eq!(values.iter().filter(|value| (low..=high).contains(*value)).count() as u64, count);
                prop_assert!(high - low <= (low / 4).max(COARSE as u64));
            }
        }
    }

    #[test]
    fn merging_adds() {
        let mut one = Histogram::new();
        one.record(7);
        let mut other = Histogram::new();
        other.record(7);
        other.record(1_000_000);
        one.merge(&other);
        assert_eq!(
            one.buckets().map(|(_, count)| count).collect::<Vec<_>>(),
            [2, 1]
        );
    }
}

//! Numbers in random order: drawn independently, or each once.

use crate::block_data::mix;

/// Independent random numbers (`SplitMix64` with a shorter finaliser).
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// The next number below `limit`: the high half of a product takes the place of a division (Lemire, ACM TOMACS 29:1, 2019,
    /// without his rejection: the bias is at most limit / 2^64).
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = value ^ (value >> 29);
        ((u128::from(value) * u128::from(limit)) >> 64) as u64
    }
}

/// The numbers 0 .. count in an order of their own, each once, without a table.
///
/// Additions, multiplications by odd numbers and right shifts folded in are one-to-one modulo a power of two; what falls outside the
/// count is mixed again until it is inside (cycle walking: Black and Rogaway, CT-RSA 2002), less than twice on average.
#[derive(Clone)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Permutation {
    /// An order of the numbers below `count`.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let key = |number| mix(seed.wrapping_add(mix(number)));
        Self {
            count,
            mask: if bits == 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            },
            shift: (bits / 2).max(1),
            keys: [key(0), key(1) | 1, key(2) | 1],
        }
    }

    /// Another order of the same numbers.
    pub fn another(&self) -> Self {
        Self::new(self.count, mix(self.keys[0]))
    }

    /// The number at a place.
    #[inline]
    pub fn at(&self, place: u64) -> u64 {
        let mut value = self.mixed(place);
        while value >= self.count.max(1) {
            value = self.mixed(value);
        }
        value
    }

    #[inline]
    fn mixed(&self, value: u64) -> u64 {
        let fold = |value: u64| (value & self.mask) ^ ((value & self.mask) >> self.shift);
        let value = fold(value.wrapping_add(self.keys[0]).wrapping_mul(self.keys[1]));
        let value = fold(value.wrapping_add(self.keys[2]).wrapping_mul(self.keys[2]));
        fold(value.wrapping_mul(self.keys[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn random_numbers_reach_all_and_are_spread_evenly() {
        let mut random = Random::new(1);
        let mut counts = [0_u64; 64];
        (0..64_000).for_each(|_| counts[random.below(64) as usize] += 1);
        let square = |count: &u64| (*count as f64 - 1000.0).powi(2) / 1000.0;
        let chi_square: f64 = counts.iter().map(square).sum();
        assert!(chi_square < 120.0, "{chi_square}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_number_is_there_once(count in 1_u64..3000, seed: u64) {
            let order = Permutation::new(count, seed);
            let mut numbers: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_far_apart() {
        let count = 100_000;
        let order = Permutation::new(count, 5);
        let numbers: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
        let near = numbers
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) <= 8)
            .count();
        assert!(
            near < 100,
            "{near} of 100,000 next to each other; 16 expected by chance"
        );
        let mean = numbers
            .windows(2)
            .map(|pair| pair[0].abs_diff(pair[1]))
            .sum::<u64>()
            / count;
        assert!(mean.abs_diff(count / 3) < count / 30, "{mean}");
        let last = Permutation::new(u64::MAX, 1);
        assert_ne!(last.at(0), last.at(1));
    }
}

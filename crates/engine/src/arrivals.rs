//! When operations are due: an absolute schedule of steps, evenly spaced or as a Poisson process.
//!
//! A schedule is a process of rate one whose time is stretched by each step's gap. What is left of a gap at the end of a step is
//! stretched by the next step's, so that a change of rate neither loses nor invents an operation. All in fixed point; only
//! the crossing into another step divides.

use crate::block_data::mix;

/// Fraction bits of gaps, of times and of the process of rate one.
const FRACTION: u32 = 32;
const ONE: u64 = 1 << FRACTION;
/// ln 2 with 32 fraction bits.
const LN_2: u64 = 2_977_044_472;
/// Entries of the table of logarithms; with linear interpolation the error is below 1 / (8 * 1024^2) = 1.2e-7.
const TABLE_BITS: u32 = 10;

/// One rate for some time, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub end: u64,
    /// Ticks between two operations, with 32 fraction bits; `None` for a pause.
    pub gap: Option<u128>,
}

/// How operations follow each other.
enum Spacing {
    /// The first one after so much of a gap, the others a gap apart.
    Even { next: u64 },
    /// Exponential gaps.
    Poisson { state: u64, table: Box<[u32]> },
}

/// The times at which operations are due, one after the other.
pub struct Arrivals {
    at: u128,
    steps: Vec<Step>,
    current: usize,
    spacing: Spacing,
}

impl Arrivals {
    /// Evenly spaced from `start` on; worker `part` of `parts` begins that share of a gap later.
    pub fn even(start: u64, steps: Vec<Step>, part: u64, parts: u64) -> Self {
        let next = ((u128::from(part) << FRACTION) / u128::from(parts)) as u64;
        Self::new(start, steps, Spacing::Even { next })
    }

    /// A Poisson process from `start` on.
    pub fn poisson(start: u64, steps: Vec<Step>, seed: u64) -> Self {
        let table = logarithms();
        let state = mix(seed);
        Self::new(start, steps, Spacing::Poisson { state, table })
    }

    fn new(start: u64, steps: Vec<Step>, spacing: Spacing) -> Self {
        Self {
            at: u128::from(start) << FRACTION,
            steps,
            current: 0,
            spacing,
        }
    }

    /// When the next operation is due, in ticks; None at the end of the schedule. What falls on the end of a step, to a tick,
    /// is of the next step: gaps are rounded down, and a second at 1,000 a second has 1,000 operations.
    #[inline]
    pub fn next(&mut self) -> Option<u64> {
        let unit = self.spacing.next();
        let step = self.steps.get(self.current)?;
        if let Some(gap) = step.gap {
            let at = self.at + stretch(gap, unit);
            if (at >> FRACTION) + 1 < u128::from(step.end) {
                self.at = at;
                return Some((at >> FRACTION) as u64);
            }
        }
        self.cross(unit)
    }

    /// Goes on in the steps that follow with what is left of a gap.
    #[cold]
    fn cross(&mut self, mut unit: u64) -> Option<u64> {
        loop {
            let step = *self.steps.get(self.current)?;
            let end = u128::from(step.end) << FRACTION;
            if let Some(gap) = step.gap {
                let at = self.at + stretch(gap, unit);
                if at + u128::from(ONE) < end {
                    self.at = at;
                    return Some((at >> FRACTION) as u64);
                }
                let used = (end.saturating_sub(self.at) << FRACTION) / gap.max(1);
                unit = unit.saturating_sub(used as u64);
            }
            self.at = self.at.max(end);
            self.current += 1;
        }
    }
}

/// So much of a gap.
#[inline]
fn stretch(gap: u128, unit: u64) -> u128 {
    (gap * u128::from(unit)) >> FRACTION
}

impl Spacing {
    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            Self::Even { next } => std::mem::replace(next, ONE),
            Self::Poisson { state, table } => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                exponential(mix(*state), table)
            }
        }
    }
}

/// -ln(u) for u uniform in (0, 1], with 32 fraction bits: leading zeros are the whole powers of two, a table has the rest.
#[inline]
fn exponential(bits: u64, table: &[u32]) -> u64 {
    let bits = bits | 1;
    let zeros = bits.leading_zeros();
    let mantissa = (bits << zeros) << 1;
    let place = (mantissa >> (64 - TABLE_BITS)) as usize;
    let rest = (mantissa << TABLE_BITS) >> 32;
    let (low, high) = (u64::from(table[place]), u64::from(table[place + 1]));
    let logarithm = low + (((high - low) * rest) >> 32);
    (u64::from(zeros) + 1) * LN_2 - logarithm
}

/// ln(1 + k / 1024), with 32 fraction bits.
fn logarithms() -> Box<[u32]> {
    let entries = 1_u32 << TABLE_BITS;
    (0..=entries)
        .map(|k| ((f64::from(k) / f64::from(entries)).ln_1p() * ONE as f64).round() as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(end: u64, gap: u64) -> Step {
        let gap = (gap > 0).then(|| u128::from(gap) << FRACTION);
        Step { end, gap }
    }

    fn all(mut arrivals: Arrivals) -> Vec<u64> {
        std::iter::from_fn(|| arrivals.next()).collect()
    }

    #[test]
    fn an_even_schedule_is_exact_and_shared_by_workers_in_turn() {
        let one = all(Arrivals::even(100, vec![step(200, 10)], 0, 1));
        assert_eq!(one, [100, 110, 120, 130, 140, 150, 160, 170, 180, 190]);
        let second = all(Arrivals::even(100, vec![step(200, 20)], 1, 2));
        assert_eq!(second, [110, 130, 150, 170, 190]);
    }

    #[test]
    fn a_gap_that_is_no_whole_number_of_ticks_does_not_drift() {
        let gap = Some((u128::from(20_000_u64) << FRACTION) / 3);
        let end = 20_000_000_000;
        let due = all(Arrivals::even(0, vec![Step { end, gap }], 0, 1));
        assert!(
            due.len() - 3_000_000 <= 1,
            "the last one may fall on the very end"
        );
        assert!(due[2_999_999].abs_diff(end - 6_667) <= 1);
    }

    #[test]
    fn steps_follow_each_other_and_a_pause_has_none() {
        let steps = vec![step(100, 50), step(200, 0), step(300, 20)];
        let due = all(Arrivals::even(0, steps, 0, 1));
        assert_eq!(due, [0, 50, 200, 220, 240, 260, 280]);
        let half = vec![step(75, 50), step(200, 20)];
        assert_eq!(all(Arrivals::even(0, half, 0, 1))[..4], [0, 50, 85, 105]);
    }

    #[test]
    fn exponential_gaps_have_the_moments_and_the_tails_of_the_distribution() {
        let table = logarithms();
        let count = 1_000_000_u64;
        let draws: Vec<f64> = (0..count)
            .map(|at| exponential(mix(at), &table) as f64 / ONE as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / count as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64;
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        for level in [0.01, 0.5, 1.0, 3.0, 6.0] {
            let share = draws.iter().filter(|x| **x > level).count() as f64 / count as f64;
            let expected = f64::exp(-level);
            let error = 5.0 * (expected * (1.0 - expected) / count as f64).sqrt();
            assert!((share - expected).abs() < error, "{level} {share}");
        }
    }

    #[test]
    fn the_logarithm_is_exact_to_a_ten_millionth() {
        let table = logarithms();
        for bits in [u64::MAX, 1 << 63, 3 << 61, 0x1234_5678_9abc_def1, 1, 0xffff] {
            let exact = -((bits | 1) as f64 / 2_f64.powi(64)).ln();
            let found = exponential(bits, &table) as f64 / ONE as f64;
            assert!(
                (found - exact).abs() < 2e-7 * exact.max(1.0),
                "{bits}: {found} {exact}"
            );
        }
    }

    #[test]
    fn a_poisson_process_keeps_its_rate_over_a_change_of_steps() {
        let steps = vec![step(10_000_000, 100), step(20_000_000, 50)];
        let due = all(Arrivals::poisson(0, steps, 5));
        let first = due.iter().filter(|at| **at < 10_000_000).count();
        assert!(first.abs_diff(100_000) < 1_500, "{first}");
        assert!(
            (due.len() - first).abs_diff(200_000) < 2_200,
            "{}",
            due.len()
        );
        assert!(due.is_sorted());
    }
}

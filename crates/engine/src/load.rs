//! How much load is asked for: think time, or a schedule of rates that does not wait for answers.

use crate::arrivals::{Arrivals, Step};
use crate::fault::Fault;
use assay_clock::Timebase;
use serde::Deserialize;

/// Steps that a ramp is made of: 1/256 of its height each.
const RAMP_STEPS: u64 = 256;
/// From here on an operation counts as late.
const LATE_NS: u64 = 100_000;

/// How operations follow each other in an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    #[default]
    Constant,
    Poisson,
}

/// So many operations a second for so long; with `to` a straight line from one rate to the other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub duration_ns: u64,
    pub rate: f64,
    pub to: Option<f64>,
}

/// The settings of all engines that do many operations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    #[serde(default)]
    pub think_ns: u64,
    rate: Option<f64>,
    #[serde(default)]
    arrivals: Spacing,
    #[serde(default)]
    schedule: Vec<Stage>,
    #[serde(default = "late")]
    pub late_ns: u64,
}

fn late() -> u64 {
    LATE_NS
}

impl Load {
    /// Whether operations are due whether or not the earlier ones have ended.
    pub fn is_open(&self) -> bool {
        self.rate.is_some() || !self.schedule.is_empty()
    }

    /// How long a schedule lasts.
    pub fn lasts_ns(&self) -> Option<u64> {
        let total = self.schedule.iter().map(|stage| stage.duration_ns);
        (!self.schedule.is_empty()).then(|| total.fold(0, u64::saturating_add))
    }

    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), Fault> {
        let rates = self
            .schedule
            .iter()
            .flat_map(|stage| [Some(stage.rate), stage.to]);
        let impossible = |rate: f64| !(rate.is_finite() && (0.0..=1e9).contains(&rate));
        let wrong = [
            (
                self.rate.is_some() && !self.schedule.is_empty(),
                "found rate and schedule; expected one of them",
            ),
            (
                self.is_open() && self.think_ns > 0,
                "found think_ns in an open loop; expected a rate or a think time",
            ),
            (
                self.rate
                    .is_some_and(|rate| impossible(rate) || rate == 0.0),
                "found a rate that is not above 0 and at most 1,000,000,000 a second",
            ),
            (
                rates.flatten().any(impossible),
                "found a rate in schedule that is not from 0 to 1,000,000,000 a second",
            ),
            (
                self.schedule.iter().any(|stage| stage.duration_ns == 0),
                "found a stage of 0 ns in schedule; expected at least 1",
            ),
            (
                !self.is_open() && self.arrivals == Spacing::Poisson,
                "found arrivals without rate or schedule; expected one of them",
            ),
        ];
        Fault::of_settings(&wrong)
    }

    /// The arrivals of worker `part` of `parts` from `start_ns` on; None in a closed loop.
    pub fn arrivals(
        &self,
        timebase: &Timebase,
        start_ns: u64,
        seed: u64,
        (part, parts): (u64, u64),
    ) -> Option<Arrivals> {
        if !self.is_open() {
            return None;
        }
        let start = timebase.ticks_at(start_ns);
        let steps = self.steps(timebase, start_ns, parts);
        Some(match self.arrivals {
            Spacing::Constant => Arrivals::even(start, steps, part, parts),
            Spacing::Poisson => Arrivals::poisson(start, steps, seed),
        })
    }

    fn steps(&self, timebase: &Timebase, start_ns: u64, parts: u64) -> Vec<Step> {
        let ticks_a_second = timebase.ticks_of(1_000_000_000_000) as f64 / 1_000.0;
        let step = |end_ns: u64, rate: f64| {
            let gap = ticks_a_second * parts as f64 / rate * (1_u64 << 32) as f64;
            Step {
                end: timebase.ticks_at(end_ns),
                gap: (rate > 0.0).then_some(gap as u128),
            }
        };
        if let Some(rate) = self.rate {
            return vec![Step {
                end: u64::MAX,
                ..step(start_ns, rate)
            }];
        }
        let mut steps = Vec::new();
        let mut from_ns = start_ns;
        for stage in &self.schedule {
            let pieces = if stage.to.is_some() { RAMP_STEPS } else { 1 };
            for piece in 0..pieces {
                let share = (piece as f64 + 0.5) / pieces as f64;
                let rate = stage.rate + (stage.to.unwrap_or(stage.rate) - stage.rate) * share;
                let span =
                    u128::from(stage.duration_ns) * u128::from(piece + 1) / u128::from(pieces);
                steps.push(step(from_ns.saturating_add(span as u64), rate));
            }
            from_ns = from_ns.saturating_add(stage.duration_ns);
        }
        steps
    }
}

//! Requests of several sizes, some at random places and some one after the other: what the profile of a workload asks for.

use super::pattern::{Shape, Step, of_32_bits};
use super::settings::Settings;
use crate::order::Random;
use crate::regions::Span;
use serde::Deserialize;

/// What sizes and places are multiples of.
pub const SECTOR: u64 = 512;
/// The most sizes of one mix.
pub const MOST_SIZES: usize = 64;

/// A size of requests, and how often it is drawn in comparison with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub bytes: u64,
    pub weight: u32,
}

/// Requests of one size: random ones are so many bytes apart, at so many places.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: u64,
    align: u64,
    places: u64,
}

/// One of the equally likely columns of a table: below `keep` of the sum of all weights it is the one size, else the other.
#[derive(Clone, Copy, Debug)]
struct Column {
    keep: u64,
    other: usize,
}

/// What one worker draws its requests from.
pub struct RequestMix {
    random: Random,
    sizes: Box<[Size]>,
    columns: Box<[Column]>,
    weights: u64,
    /// Of 2^32 requests so many are reads, and so many are at random places.
    reads: u64,
    at_random: u64,
    base: u64,
    end: u64,
    /// Where the last request that was not at random ended.
    cursor: u64,
}

impl RequestMix {
    /// The mix of one worker in its region, which has room for the largest request.
    pub fn new(settings: &Settings, span: Span, seed: u64) -> Self {
        let size = |request: &Request| {
            let align = settings.align.unwrap_or(request.bytes);
            Size {
                bytes: request.bytes,
                align,
                places: span.size.saturating_sub(request.bytes) / align + 1,
            }
        };
        let weights: Vec<u64> = settings
            .requests
            .iter()
            .map(|request| u64::from(request.weight))
            .collect();
        Self {
            random: Random::new(seed),
            sizes: settings.requests.iter().map(size).collect(),
            columns: columns(&weights),
            weights: weights.iter().sum(),
            reads: of_32_bits(settings.read_share.unwrap_or(0.0)),
            at_random: of_32_bits(settings.random_share.unwrap_or(0.0)),
            base: span.offset,
            end: span.offset + span.size,
            cursor: span.offset,
        }
    }

    /// Draws the next requests.
    pub fn draw(&mut self, steps: &mut [Step]) {
        for step in steps {
            let size = self.size();
            let writes = self.random.below(1 << 32) >= self.reads;
            step.shape = Shape::of(writes, size.bytes);
            step.offset = if self.random.below(1 << 32) < self.at_random {
                self.base + self.random.below(size.places) * size.align
            } else {
                self.follow(size.bytes)
            };
        }
    }

    /// One of the sizes, by weight: two numbers and no division.
    #[inline]
    fn size(&mut self) -> Size {
        let first = self.random.below(self.columns.len() as u64) as usize;
        let Column { keep, other } = self.columns[first];
        let keeps = self.random.below(self.weights) < keep;
        self.sizes[if keeps { first } else { other }]
    }

    /// The place after the last request that was not at random; from the beginning where it does not fit before the end.
    #[inline]
    fn follow(&mut self, bytes: u64) -> u64 {
        let offset = if self.end - self.cursor < bytes {
            self.base
        } else {
            self.cursor
        };
        self.cursor = offset + bytes;
        offset
    }
}

/// The table of the alias method (Walker, Electronics Letters 10:8, 1974; made as by Vose, IEEE TSE 17:9, 1991), in whole numbers: the
/// shares are exact.
fn columns(weights: &[u64]) -> Box<[Column]> {
    let total: u64 = weights.iter().sum();
    let mut left: Vec<u64> = weights
        .iter()
        .map(|weight| weight * weights.len() as u64)
        .collect();
    let mut table: Vec<Column> = (0..weights.len())
        .map(|other| Column { keep: total, other })
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|index| left[*index] < total);
    while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
        table[poor] = Column {
            keep: left[poor],
            other: rich,
        };
        left[rich] -= total - left[poor];
        let next = if left[rich] < total {
            &mut small
        } else {
            &mut large
        };
        next.push(rich);
    }
    table.into_boxed_slice()
}

#[cfg(test)]
mod tests;

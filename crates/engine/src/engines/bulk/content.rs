//! What is written: unique and incompressible, or less so by known shares.

use crate::block_data::{fill, mix};
use crate::order::Permutation;
use serde::Deserialize;

/// The stretch within which a record compresses by its ratio: what most file systems compress at least at once.
const STRETCH: usize = 4096;
/// What a compressor needs to say that the rest of a stretch is zeros, and to step from one to the other: some 30 bytes of it for
/// zlib, some 10 for zstd and lz4. So much less is left uncompressible, and all of them come near the ratio.
const SEAM: usize = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    #[default]
    Unique,
}

/// How far data may be made smaller; all shares are of records.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    #[serde(default = "one")]
    pub compressible: f64,
    #[serde(default)]
    pub duplicates: f64,
    #[serde(default)]
    pub zeros: f64,
}

/// `"unique"`, or what may be made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Data {
    Word(Word),
    Shares(Shares),
}

fn one() -> f64 {
    1.0
}

impl Default for Data {
    fn default() -> Self {
        Self::Word(Word::Unique)
    }
}

impl Data {
    fn shares(self) -> Shares {
        match self {
            Self::Word(Word::Unique) => Shares {
                compressible: 1.0,
                duplicates: 0.0,
                zeros: 0.0,
            },
            Self::Shares(shares) => shares,
        }
    }

    /// Whether there can be such data.
    pub fn is_possible(self) -> bool {
        let Shares {
            compressible,
            duplicates,
            zeros,
        } = self.shares();
        let shares = [duplicates, zeros, duplicates + zeros];
        compressible.is_finite()
            && compressible >= 1.0
            && shares.iter().all(|share| (0.0..=1.0).contains(share))
    }

    /// Whether some records are like others.
    pub fn repeats(self) -> bool {
        let shares = self.shares();
        shares.duplicates > 0.0 || shares.zeros > 0.0
    }
}

/// Makes the content of each record of a region from where it is.
pub struct Content {
    seed: u64,
    /// None where all of it is unique and incompressible.
    shape: Option<Shape>,
}

struct Shape {
    /// Bytes of each stretch that do not compress.
    dense: usize,
    base: u64,
    record_size: u64,
    /// Records in an order of their own: first those of zeros, then the unique ones, then those that are like one of them.
    order: Permutation,
    zeros: u64,
    unique: u64,
}

impl Content {
    /// For so many records from `base` on.
    pub fn new(data: Data, seed: u64, base: u64, records: u64, record_size: u64) -> Self {
        let shares = data.shares();
        let of = |share: f64| (records as f64 * share).round() as u64;
        let zeros = of(shares.zeros);
        let shaped = shares.compressible > 1.0 || data.repeats();
        let shape = shaped.then(|| Shape {
            dense: dense(shares.compressible),
            base,
            record_size,
            order: Permutation::new(records, seed),
            zeros,
            unique: records.saturating_sub(zeros + of(shares.duplicates)).max(1),
        });
        Self { seed, shape }
    }

    /// Makes the record at this offset.
    #[inline]
    pub fn make(&self, block: &mut [u8], offset: u64) {
        match &self.shape {
            None => fill(block, self.seed ^ mix(offset)),
            Some(shape) => shape.make(block, self.seed, offset),
        }
    }
}

/// Bytes of a stretch that do not compress, for this ratio.
fn dense(ratio: f64) -> usize {
    let kept = (STRETCH as f64 / ratio).round() as usize;
    if kept == STRETCH {
        kept
    } else {
        kept.saturating_sub(SEAM)
    }
}

impl Shape {
    fn make(&self, block: &mut [u8], seed: u64, offset: u64) {
        let place = self.order.at((offset - self.base) / self.record_size);
        let Some(kind) = place.checked_sub(self.zeros) else {
            return block.fill(0);
        };
        // A duplicate is the copy of one of the unique records, taken in turn.
        let original = if kind < self.unique {
            kind
        } else {
            (kind - self.unique) % self.unique
        };
        // The regions of several workers may be stretches of one file, with one seed.
        let seed = seed ^ mix(self.base ^ mix(original));
        if self.dense == STRETCH {
            return fill(block, seed);
        }
        for (number, stretch) in (0_u64..).zip(block.chunks_mut(STRETCH)) {
            let dense = self.dense * stretch.len() / STRETCH;
            let (random, rest) = stretch.split_at_mut(dense);
            fill(random, seed.wrapping_add(mix(number)));
            rest.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn records(shares: Shares, count: u64) -> Vec<Vec<u8>> {
        let content = Content::new(Data::Shares(shares), 3, 4096, count, 512);
        let make = |record| {
            let mut block = vec![1; 512];
            content.make(&mut block, 4096 + record * 512);
            block
        };
        (0..count).map(make).collect()
    }

    #[test]
    fn shares_are_exact() {
        let made = records(
            Shares {
                compressible: 1.0,
                duplicates: 0.3,
                zeros: 0.2,
            },
            1000,
        );
        let zeros = made
            .iter()
            .filter(|block| block.iter().all(|byte| *byte == 0))
            .count();
        let distinct = made.iter().collect::<HashSet<_>>().len();
        assert_eq!((zeros, distinct), (200, 501));
        assert!(made[0..20] != made[20..40]);
    }

    #[test]
    fn two_stretches_of_one_file_have_no_record_in_common() {
        let shares = Shares {
            compressible: 2.0,
            duplicates: 0.0,
            zeros: 0.0,
        };
        let make = |base: u64, record: u64| {
            let mut block = vec![1; 512];
            let content = Content::new(Data::Shares(shares), 3, base, 100, 512);
            content.make(&mut block, base + record * 512);
            block
        };
        let stretches = [0, 51_200].map(|base| (0..100).map(move |record| make(base, record)));
        let distinct: HashSet<_> = stretches.into_iter().flatten().collect();
        assert_eq!(distinct.len(), 200);
    }

    #[test]
    fn most_may_be_duplicates() {
        let made = records(
            Shares {
                compressible: 1.0,
                duplicates: 0.9,
                zeros: 0.0,
            },
            1000,
        );
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 100);
        let all = records(
            Shares {
                compressible: 1.0,
                duplicates: 1.0,
                zeros: 0.0,
            },
            100,
        );
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 1);
    }

    #[test]
    fn a_ratio_leaves_its_share_of_zeros() {
        let made = records(
            Shares {
                compressible: 4.0,
                duplicates: 0.0,
                zeros: 0.0,
            },
            100,
        );
        let zeros = made.iter().flatten().filter(|byte| **byte == 0).count();
        assert!((zeros as f64 / 51_200.0 - 0.75).abs() < 0.01);
    }
}

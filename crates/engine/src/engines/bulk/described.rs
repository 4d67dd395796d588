//! Blocks that say what they are: where, from which run, of which generation, with a checksum.
//!
//! The first 64 bytes of each block of 4,096 are eight words: mark, offset, seed, generation, checksum, and three of data. The first
//! five are hidden behind a mask made of the offset, so that a block stays as incompressible as its data.

use crate::block_data::mix;

const BLOCK: usize = super::settings::BLOCK as usize;
const LANES: usize = 8;
/// "assaydat" in the order of bytes.
const MARK: u64 = u64::from_le_bytes(*b"assaydat");

/// What a block says of itself beside its offset.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub seed: u64,
    pub generation: u64,
}

/// Writes the header of each block of a record.
pub fn describe(record: &mut [u8], offset: u64, origin: Origin) {
    for (block, offset) in record.chunks_exact_mut(BLOCK).zip(offsets(offset)) {
        let mut words = [MARK, offset, origin.seed, origin.generation, 0];
        words[4] = checksum(block, &words);
        for (number, (place, word)) in (0..).zip(block.chunks_exact_mut(8).zip(words)) {
            place.copy_from_slice(&(word ^ mask(offset, number)).to_le_bytes());
        }
    }
}

/// Whether each block of a record is what was written there, by any run or by one of this generation.
pub fn is_right(record: &[u8], offset: u64, generation: Option<u64>) -> bool {
    let mut blocks = record.chunks_exact(BLOCK).zip(offsets(offset));
    blocks.all(|(block, offset)| is_block(block, offset, generation))
}

fn is_block(block: &[u8], offset: u64, generation: Option<u64>) -> bool {
    let word = |number: u64| word_at(block, number as usize) ^ mask(offset, number);
    let words = [word(0), word(1), word(2), word(3), 0];
    (words[0], words[1]) == (MARK, offset)
        && generation.is_none_or(|wanted| words[3] == wanted)
        && word(4) == checksum(block, &words)
}

fn offsets(first: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |number| first + number * BLOCK as u64)
}

fn mask(offset: u64, number: u64) -> u64 {
    mix(offset.wrapping_add(number))
}

fn word_at(block: &[u8], number: usize) -> u64 {
    let bytes = &block[8 * number..8 * number + 8];
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Sums and sums of sums (Fletcher, IEEE Trans. Comm. 30:1, 1982) side by side over the data, mixed with the words of the header.
fn checksum(block: &[u8], header: &[u64; 5]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has what the function was compiled for.
        return unsafe { checksum_wide(block, header) };
    }
    checksum_lanes(block, header)
}

/// The same code compiled for registers twice as wide.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn checksum_wide(block: &[u8], header: &[u64; 5]) -> u64 {
    checksum_lanes(block, header)
}

#[expect(
    clippy::inline_always,
    reason = "compiled into checksum_wide, with its registers"
)]
#[inline(always)]
fn checksum_lanes(block: &[u8], header: &[u64; 5]) -> u64 {
    let (mut sums, mut sums_of_sums) = ([0_u64; LANES], [0_u64; LANES]);
    for chunk in block[8 * LANES..].chunks_exact(8 * LANES) {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(word_at(chunk, lane));
            sums_of_sums[lane] = sums_of_sums[lane].wrapping_add(sums[lane]);
        }
    }
    let data = [word_at(block, 5), word_at(block, 6), word_at(block, 7)];
    let all = header.iter().chain(&data).chain(&sums).chain(&sums_of_sums);
    all.fold(0, |sum, word| mix(sum ^ word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_data::fill;

    const ORIGIN: Origin = Origin {
        seed: 7,
        generation: 3,
    };

    fn record() -> Vec<u8> {
        let mut record = vec![0; 2 * BLOCK];
        fill(&mut record, 1);
        describe(&mut record, 8192, ORIGIN);
        record
    }

    #[test]
    fn what_was_written_is_right() {
        assert!(is_right(&record(), 8192, None));
        assert!(is_right(&record(), 8192, Some(3)));
        assert!(is_right(&record()[BLOCK..], 8192 + BLOCK as u64, None));
        assert_eq!(
            checksum_lanes(&record()[..BLOCK], &[1; 5]),
            checksum(&record()[..BLOCK], &[1; 5])
        );
    }

    #[test]
    fn what_is_stale_misplaced_or_lost_is_wrong() {
        assert!(!is_right(&record(), 8192, Some(2)));
        assert!(!is_right(&record(), 4096, None));
        assert!(!is_right(&[0; BLOCK], 0, None));
        let mut half = record();
        half[BLOCK + 2048..].fill(0);
        assert!(!is_right(&half, 8192, None));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut block = record()[..BLOCK].to_vec();
        for bit in 0..8 * BLOCK {
            block[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_right(&block, 8192, None), "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn words_that_changed_places_are_seen() {
        let mut block = record()[..BLOCK].to_vec();
        for (one, other) in [(100, 108), (64, 128), (8, 16)] {
            block.swap(one, other);
            assert!(!is_right(&block, 8192, None));
            block.swap(one, other);
        }
    }
}

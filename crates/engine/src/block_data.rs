//! What is written: incompressible data, from a number that says where.

const LANES: usize = 8;

/// Mixes a 64-bit number well (the finaliser of `SplitMix64`: Steele, Lea and Flood, OOPSLA 2014).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A number for a text (FNV-1a), to seed with.
pub fn mix_text(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// Fills a block with data that neither compresses nor repeats, from a seed that says which file and where in it.
pub fn fill(block: &mut [u8], seed: u64) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has what the function was compiled for.
        return unsafe { fill_wide(block, seed) };
    }
    fill_lanes(block, seed);
}

/// The same code compiled for registers twice as wide.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_wide(block: &mut [u8], seed: u64) {
    fill_lanes(block, seed);
}

/// Generators of type xorshift128+ (Vigna, 2017) side by side: additions, shifts and exclusive-ors that the compiler turns
/// into vector instructions.
#[expect(
    clippy::inline_always,
    reason = "compiled into fill_wide, with its registers; four times the instructions otherwise"
)]
#[inline(always)]
fn fill_lanes(block: &mut [u8], seed: u64) {
    let mut one: [u64; LANES] = std::array::from_fn(|lane| mix(seed.wrapping_add(lane as u64)));
    let mut two: [u64; LANES] =
        std::array::from_fn(|lane| one[lane].wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut chunks = block.chunks_exact_mut(8 * LANES);
    for chunk in &mut chunks {
        let words = next(&mut one, &mut two);
        for (place, word) in chunk.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
    let words = next(&mut one, &mut two);
    for (place, word) in chunks.into_remainder().chunks_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
    }
}

#[expect(
    clippy::inline_always,
    reason = "compiled into fill_wide, with its registers; four times the instructions otherwise"
)]
#[inline(always)]
fn next(one: &mut [u64; LANES], two: &mut [u64; LANES]) -> [u64; LANES] {
    let mut words = [0; LANES];
    for lane in 0..LANES {
        let mut x = one[lane];
        let y = two[lane];
        x ^= x << 23;
        one[lane] = y;
        two[lane] = x ^ y ^ (x >> 18) ^ (y >> 5);
        words[lane] = two[lane].wrapping_add(y);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_sector_is_written_twice_and_every_byte_is_equally_likely() {
        let mut sectors = HashSet::new();
        let mut counts = [0_u64; 256];
        for block in 0..64_u64 {
            let mut data = vec![0; 65_536];
            fill(&mut data, mix(block * 65_536));
            for byte in &data {
                counts[usize::from(*byte)] += 1;
            }
            assert!(
                data.chunks(512)
                    .all(|sector| sectors.insert(sector.to_vec()))
            );
        }
        let expected = 64.0 * 65_536.0 / 256.0;
        let chi_square: f64 = counts
            .iter()
            .map(|count| (*count as f64 - expected).powi(2) / expected)
            .sum();
        assert!(chi_square < 400.0, "{chi_square}");
    }

    #[test]
    fn a_block_of_any_length_is_filled_to_its_end() {
        for length in [1, 7, 8, 63, 64, 65, 4095] {
            let mut data = vec![0; length + 1];
            fill(&mut data[..length], 3);
            assert_eq!(data[length], 0);
            assert!(data[..length].iter().any(|byte| *byte != 0));
        }
    }
}

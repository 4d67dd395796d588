//! A hash for tables whose keys come from captures: few multiplications, with a key of this process.
//!
//! That of the standard library costs more than the rest of the work on a segment; one without a key could be stalled by a capture.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A table of such keys.
pub type Table<K, V> = HashMap<K, V, Keyed>;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes hashes with a key.
#[derive(Clone)]
pub struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(FACTOR) | 1)
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded {
            key: self.0,
            state: self.0.rotate_left(32),
        }
    }
}

/// Bytes that were multiplied into one number.
pub struct Folded {
    key: u64,
    state: u64,
}

#[inline]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Folded {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.state = folded(self.state ^ word, self.key);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        folded(self.state, FACTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_have_hashes_that_differ_and_tables_have_keys_of_their_own() {
        let keyed = Keyed::default();
        let mut found: Vec<u64> = (0..10_000_u32)
            .map(|number| keyed.hash_one((number, [number as u8; 16])))
            .collect();
        found.sort_unstable();
        found.dedup();
        assert!(found.len() > 9_990);
        assert_ne!(Keyed::default().hash_one(7), Keyed::default().hash_one(7));
    }
}

//! How large each file is: all alike, or drawn by weight from a table.

use crate::block_data::mix;
use serde::Deserialize;

/// What a worker keeps in memory to write it at once.
const LARGEST: u64 = 1 << 30;
/// More files than any tree has; products of two such numbers fit 128 bits.
const MOST_WEIGHT: u64 = 1 << 53;

/// What the settings say: one size, or sizes and how often each is to come up.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "found file_bytes that is neither a number nor a table of bytes and weight; expected one of them"
)]
pub enum FileBytes {
    Same(u64),
    Drawn(Vec<Size>),
}

/// A size, and how often it is to come up beside the others.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    bytes: u64,
    weight: u64,
}

impl Default for FileBytes {
    fn default() -> Self {
        Self::Same(0)
    }
}

impl FileBytes {
    /// Whether any file has content.
    pub fn any(&self) -> bool {
        self.rows().iter().any(|size| size.bytes > 0)
    }

    /// What cannot be.
    pub fn wrong(&self) -> [(bool, &'static str); 2] {
        let rows = self.rows();
        let weight = rows.iter().map(|size| u128::from(size.weight));
        [
            (
                rows.iter().any(|size| size.bytes > LARGEST),
                "found file_bytes above 1 GiB; expected at most that",
            ),
            (
                !(1..=u128::from(MOST_WEIGHT)).contains(&weight.sum()),
                "expected weights of file_bytes from 1 to 2^53 together",
            ),
        ]
    }

    fn rows(&self) -> Vec<Size> {
        match self {
            Self::Same(bytes) => vec![Size {
                bytes: *bytes,
                weight: 1,
            }],
            Self::Drawn(rows) => rows.clone(),
        }
    }
}

/// The sizes as they are drawn: a number below `total` falls to the first row whose sum of weights is above it.
pub struct Sizes {
    rows: Vec<(u64, usize)>,
    total: u64,
    seed: u64,
}

impl Sizes {
    /// The sizes that one seed gives.
    pub fn new(file_bytes: &FileBytes, seed: u64) -> Self {
        let mut total = 0;
        let add = |size: Size| {
            total += size.weight;
            (total, size.bytes as usize)
        };
        Self {
            rows: file_bytes.rows().into_iter().map(add).collect(),
            total,
            seed: mix(seed),
        }
    }

    /// The largest of them.
    pub fn largest(&self) -> usize {
        self.rows.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0)
    }

    /// The size of the object of this number: the same for whoever asks with the same seed.
    pub fn of(&self, number: u64) -> usize {
        if let [(_, bytes)] = self.rows[..] {
            return bytes;
        }
        let drawn = (u128::from(mix(self.seed ^ number)) * u128::from(self.total)) >> 64;
        let row = self.rows.partition_point(|(sum, _)| *sum <= drawn as u64);
        self.rows[row].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn table(rows: &[(u64, u64)]) -> FileBytes {
        let size = |&(bytes, weight): &(u64, u64)| Size { bytes, weight };
        FileBytes::Drawn(rows.iter().map(size).collect())
    }

    #[test]
    fn sizes_come_up_by_their_weight() {
        let rows = [(0, 50), (4096, 30), (10_000, 0), (1 << 20, 20)];
        let sizes = Sizes::new(&table(&rows), 7);
        let mut counts = BTreeMap::new();
        for number in 0..100_000 {
            *counts.entry(sizes.of(number) as u64).or_insert(0_u64) += 1;
        }
        for (bytes, weight) in rows {
            let seen = counts.get(&bytes).copied().unwrap_or(0);
            // Five standard deviations of the count of one row are at most 800.
            assert!(seen.abs_diff(weight * 1_000) < 800, "{bytes}: {seen}");
        }
    }

    #[test]
    fn the_settings_are_a_number_or_a_table() {
        let read = serde_json::from_str::<FileBytes>;
        assert!(!read("0").expect("a number").any());
        assert!(
            read(r#"[{"bytes":5,"weight":1},{"bytes":0,"weight":3}]"#)
                .expect("a table")
                .any()
        );
        for wrong in [
            r#""4096""#,
            "-1",
            r#"[{"bytes":5}]"#,
            r#"[{"bytes":5,"weight":1,"x":1}]"#,
        ] {
            let error = read(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("found file_bytes"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |one: FileBytes| one.wrong().iter().filter(|(is_wrong, _)| *is_wrong).count();
        assert_eq!(refused(FileBytes::Same(LARGEST)), 0);
        assert_eq!(refused(FileBytes::Same(LARGEST + 1)), 1);
        assert_eq!(refused(table(&[])), 1);
        assert_eq!(refused(table(&[(1, 0), (2, 0)])), 1);
        assert_eq!(refused(table(&[(1, u64::MAX), (2, u64::MAX)])), 1);
    }

    proptest! {
        #[test]
        fn every_number_has_one_size_of_the_table(
            rows in prop::collection::vec((0..1_u64 << 30, 1..1_u64 << 40), 1..30),
            seed: u64,
            number: u64,
        ) {
            let sizes = Sizes::new(&table(&rows), seed);
            let size = sizes.of(number);
            prop_assert!(rows.iter().any(|(bytes, _)| *bytes as usize == size));
            prop_assert_eq!(size, Sizes::new(&table(&rows), seed).of(number));
            prop_assert!(size <= sizes.largest());
        }
    }
}

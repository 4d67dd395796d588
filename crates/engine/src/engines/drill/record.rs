//! A numbered, checksummed record, and what a place is found to hold where one should be.

use crate::block_data::{fill, mix};

/// Bytes before the content: mark, trial, number.
const HEAD: usize = 24;
/// Bytes of the checksum at the end.
const TAIL: usize = 8;
/// The shortest record.
pub const LEAST: usize = 64;
const MARK: &[u8; 8] = b"assaydrl";

/// What is where a record should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Intact,
    Lost,
    Changed,
}

/// The record of this number in a trial: no other number and no other trial has the same.
pub fn make(token: u64, number: u64, length: usize) -> Vec<u8> {
    let mut record = vec![0; length];
    let end = length - TAIL;
    record[..8].copy_from_slice(MARK);
    record[8..16].copy_from_slice(&token.to_le_bytes());
    record[16..HEAD].copy_from_slice(&number.to_le_bytes());
    fill(&mut record[HEAD..end], mix(token ^ mix(number)));
    let sum = checksum(&record[..end]);
    record[end..].copy_from_slice(&sum.to_le_bytes());
    record
}

/// Compares what was read with the record that was written.
pub fn judge(read: &[u8], written: &[u8]) -> Found {
    if read == written {
        Found::Intact
    } else if read.len() < written.len() || read.iter().all(|byte| *byte == 0) {
        Found::Lost
    } else {
        Found::Changed
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0, |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(sum ^ u64::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_from_every_other_and_from_nothing() {
        for length in [LEAST, 100, 4096] {
            let record = make(7, 3, length);
            assert_eq!(judge(&record, &make(7, 3, length)), Found::Intact);
            assert_eq!(judge(&make(7, 4, length), &record), Found::Changed);
            assert_eq!(judge(&make(8, 3, length), &record), Found::Changed);
            assert_eq!(judge(&vec![0; length], &record), Found::Lost);
            assert_eq!(judge(&record[..length - 1], &record), Found::Lost);
            assert_eq!(judge(&[], &record), Found::Lost);
        }
    }

    #[test]
    fn one_changed_bit_anywhere_is_seen() {
        let record = make(1, 1, 256);
        for place in 0..256 {
            let mut other = record.clone();
            other[place] ^= 1;
            assert_eq!(judge(&other, &record), Found::Changed);
        }
    }
}

//! Changes by lot: of bytes, and of the segments of a connection.

use crate::carried::Sent;

/// Numbers by lot, from a seed (splitmix64).
pub struct Lot(pub u64);

impl Lot {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.number() % most.max(1) as u64) as usize
    }
}

/// Changes bytes at some places, cuts, or puts a part in twice; the first bytes stay.
pub fn change_bytes(bytes: &mut Vec<u8>, kept: usize, lot: &mut Lot) {
    for _ in 0..=lot.below(8) {
        if bytes.len() <= kept {
            return;
        }
        let at = kept + lot.below(bytes.len() - kept);
        match lot.below(7) {
            0 => bytes.truncate(at),
            1 | 2 => {
                let most = if lot.below(8) == 0 { 4096 } else { 64 };
                let end = (at + lot.below(most)).min(bytes.len());
                let to = kept + lot.below(bytes.len() - kept);
                let part = bytes[at..end].to_vec();
                bytes.splice(to..to, part);
            }
            3 => bytes[at] ^= 1 << lot.below(8),
            4 => bytes[at] = [0, 1, 0x30, 0x7f, 0x80, 0x84, 0x88, 0xff][lot.below(8)],
            5 => {
                let end = (at + lot.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => bytes[at] = lot.below(256) as u8,
        }
    }
}

/// Loses, repeats, swaps, renumbers and mistimes segments.
pub fn change_segments(sent: &mut Vec<Sent<'_>>, lot: &mut Lot) {
    for _ in 0..=lot.below(12) {
        if sent.is_empty() {
            return;
        }
        let (at, to) = (lot.below(sent.len()), lot.below(sent.len()));
        match lot.below(8) {
            0 => {
                sent.remove(at);
            }
            1 => sent.insert(to, sent[at]),
            2 => sent.swap(at, to),
            3 => {
                sent[at].seq = sent[at]
                    .seq
                    .wrapping_add(lot.below(64) as u32)
                    .wrapping_sub(32);
            }
            4 => sent[at].seq = lot.number() as u32,
            5 => {
                sent[at].ack = sent[at]
                    .ack
                    .wrapping_add(lot.below(4096) as u32)
                    .wrapping_sub(2048);
            }
            6 => sent[at].flags = lot.below(64) as u8,
            _ => sent[at].t_ns = lot.number() >> lot.below(40),
        }
    }
}

//! Files of snoop (RFC 1761).

use super::{CHUNK, Ended, Receiver};
use crate::packet::{Frame, Link};
use std::io::{BufReader, Read};

const HEADER: usize = 16;
const RECORD: usize = 24;
/// Bytes of a record; more are damage.
const MOST_BYTES: u32 = 1 << 20;
/// IEEE 802.3 and Ethernet.
const ETHERNET: [u32; 2] = [0, 4];

/// Reads all records.
pub fn read(source: &mut impl Read, receiver: &mut dyn Receiver) -> (u64, Ended) {
    let (mut source, mut header) = (BufReader::with_capacity(CHUNK, source), [0; HEADER]);
    if filled(&mut source, &mut header) < HEADER {
        return (0, Ended::Cut { at_byte: 0 });
    }
    let number = word(&header, 12);
    let link = if ETHERNET.contains(&number) {
        Link::Ethernet
    } else {
        Link::Unknown(number)
    };
    let (mut at_byte, mut frames, mut dropped, mut body) = (HEADER as u64, 0, 0, Vec::new());
    let ended = loop {
        let mut record = [0; RECORD];
        match filled(&mut source, &mut record) {
            0 => break Ended::Whole,
            RECORD => {}
            _ => break Ended::Cut { at_byte },
        }
        let [original, included, length, drops, seconds, micros] =
            [0, 4, 8, 12, 16, 20].map(|at| word(&record, at));
        if length > MOST_BYTES
            || length
                .checked_sub(RECORD as u32)
                .is_none_or(|room| room < included)
        {
            break Ended::Damaged { at_byte };
        }
        body.resize(length as usize - RECORD, 0);
        if filled(&mut source, &mut body) < body.len() {
            break Ended::Cut { at_byte };
        }
        at_byte += u64::from(length);
        frames += 1;
        dropped = u64::from(drops);
        receiver.frame(&Frame {
            link,
            t_ns: u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000,
            wire_bytes: original.max(included),
            data: &body[..included as usize],
            unsummed: false,
        });
    };
    receiver.dropped(dropped);
    (frames, ended)
}

fn filled(source: &mut impl Read, bytes: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < bytes.len() {
        match source.read(&mut bytes[filled..]) {
            Ok(count) if count > 0 => filled += count,
            _ => break,
        }
    }
    filled
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4]
        .iter()
        .fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

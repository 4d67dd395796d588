//! Files of snoop (RFC 1761).

use super::{Ended, Receiver};
use crate::packet::{Frame, Link};
use std::io::{BufReader, Read};

const HEADER: usize = 16;
const RECORD: usize = 24;
/// Bytes of a record; more are damage.
const MOST_BYTES: u32 = 1 << 20;
/// IEEE 802.3 and Ethernet.
const ETHERNET: [u32; 2] = [0, 4];

/// Reads all records, so many bytes at once.
pub fn read(source: &mut impl Read, chunk: usize, receiver: &mut dyn Receiver) -> (u64, Ended) {
    let (mut source, mut header) = (BufReader::with_capacity(chunk, source), [0; HEADER]);
    if filled(&mut source, &mut header) < HEADER {
        return (0, Ended::Cut { at_byte: 0 });
    }
    let number = word(&header, 12);
    let link = if ETHERNET.contains(&number) {
        Link::Ethernet
    } else {
        Link::Unknown(number)
    };
    let (mut at_byte, mut frames, mut drops) = (HEADER as u64, 0, 0);
    let mut body = Vec::new();
    let ended = loop {
        let record = match Record::read(&mut source, &mut body, at_byte) {
            Ok(Some(record)) => record,
            Ok(None) => break Ended::Whole,
            Err(ended) => break ended,
        };
        at_byte += u64::from(record.length);
        frames += 1;
        drops = u64::from(record.drops);
        receiver.frame(&Frame {
            link,
            t_ns: record.t_ns,
            wire_bytes: record.original.max(record.included),
            data: &body[..record.included as usize],
            unsummed: false,
        });
    };
    receiver.dropped(drops);
    (frames, ended)
}

/// The header of a frame.
struct Record {
    original: u32,
    included: u32,
    length: u32,
    /// Frames that were dropped until then.
    drops: u32,
    t_ns: u64,
}

impl Record {
    /// The next header, with its frame in `body`; None at the end of the file.
    fn read(
        source: &mut impl Read,
        body: &mut Vec<u8>,
        at_byte: u64,
    ) -> Result<Option<Self>, Ended> {
        let mut bytes = [0; RECORD];
        match filled(source, &mut bytes) {
            0 => return Ok(None),
            RECORD => {}
            _ => return Err(Ended::Cut { at_byte }),
        }
        let [original, included, length, drops, seconds, micros] =
            [0, 4, 8, 12, 16, 20].map(|at| word(&bytes, at));
        let room = length.checked_sub(RECORD as u32);
        if length > MOST_BYTES || room.is_none_or(|room| room < included) {
            return Err(Ended::Damaged { at_byte });
        }
        body.resize(length as usize - RECORD, 0);
        if filled(source, body) < body.len() {
            return Err(Ended::Cut { at_byte });
        }
        let t_ns = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000;
        Ok(Some(Self {
            original,
            included,
            length,
            drops,
            t_ns,
        }))
    }
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

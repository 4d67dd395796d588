//! Files of libpcap: both byte orders, microseconds and nanoseconds, and the longer records of old Linux systems.

use super::{Parsed, SECOND_NS, Span};
use crate::packet::Link;

const HEADER: usize = 24;
/// Bytes of a frame that no capture has more of, unless its own limit is higher.
const MOST_BYTES: u32 = 262_144;
/// The lower half of the link type; above are flags.
const LINK_TYPE: u32 = 0xffff;

/// What the header of the file says of its frames.
pub struct Legacy {
    big_endian: bool,
    link: Link,
    unit_ns: u64,
    most_bytes: u32,
    /// Bytes before a frame.
    record: usize,
}

impl Legacy {
    /// Reads the header, and how long it is; None where the file ends in it.
    pub fn begin(data: &[u8]) -> Option<(Self, usize)> {
        let header: &[u8; HEADER] = data.first_chunk()?;
        let big_endian = header[0] == 0xa1;
        let word = |at| word(header, at, big_endian);
        let made = Self {
            big_endian,
            link: Link::of(word(20) & LINK_TYPE),
            unit_ns: if word(0) == 0xa1b2_3c4d { 1 } else { 1000 },
            most_bytes: word(16).max(MOST_BYTES),
            record: if word(0) == 0xa1b2_cd34 { 24 } else { 16 },
        };
        Some((made, HEADER))
    }

    /// Adds the frames that are there as a whole.
    pub fn frames(&self, data: &[u8], spans: &mut Vec<Span>) -> Parsed {
        let mut used = 0;
        while let Some(head) = data[used..].first_chunk::<16>() {
            let [seconds, units, captured, wire_bytes] =
                [0, 4, 8, 12].map(|at| word(head, at, self.big_endian));
            if captured > self.most_bytes {
                return Parsed {
                    used,
                    damaged: true,
                };
            }
            let (from, length) = (used + self.record, captured as usize);
            if from + length > data.len() {
                break;
            }
            spans.push(Span {
                t_ns: u64::from(seconds) * SECOND_NS + u64::from(units) * self.unit_ns,
                is_timed: true,
                wire_bytes: wire_bytes.max(captured),
                link: self.link,
                from,
                length,
            });
            used = from + length;
        }
        Parsed {
            used,
            damaged: false,
        }
    }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

//! Files of snoop (RFC 1761).

use super::{Parsed, SECOND_NS, Span};
use crate::packet::Link;

const HEADER: usize = 16;
const RECORD: usize = 24;
/// Bytes of a record; more are damage.
const MOST_BYTES: u32 = 1 << 20;
/// IEEE 802.3 and Ethernet.
const ETHERNET: [u32; 2] = [0, 4];

/// What the header of the file says, and the drops that the last record told.
pub struct Snoop {
    link: Link,
    pub dropped: u64,
}

impl Snoop {
    /// Reads the header, and how long it is; None where the file ends in it.
    pub fn begin(data: &[u8]) -> Option<(Self, usize)> {
        let header: &[u8; HEADER] = data.first_chunk()?;
        let number = word(header, 12);
        let link = if ETHERNET.contains(&number) {
            Link::Ethernet
        } else {
            Link::Unknown(number)
        };
        Some((Self { link, dropped: 0 }, HEADER))
    }

    /// Adds the frames that are there as a whole.
    pub fn frames(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Parsed {
        let mut used = 0;
        while let Some(head) = data[used..].first_chunk::<RECORD>() {
            let [original, included, length, drops, seconds, micros] =
                [0, 4, 8, 12, 16, 20].map(|at| word(head, at));
            let room = length.checked_sub(RECORD as u32);
            if length > MOST_BYTES || room.is_none_or(|room| room < included) {
                return Parsed {
                    used,
                    damaged: true,
                };
            }
            if used + length as usize > data.len() {
                break;
            }
            self.dropped = drops.into();
            spans.push(Span {
                t_ns: u64::from(seconds) * SECOND_NS + u64::from(micros) * 1000,
                is_timed: true,
                wire_bytes: original.max(included),
                link: self.link,
                from: used + RECORD,
                length: included as usize,
            });
            used += length as usize;
        }
        Parsed {
            used,
            damaged: false,
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4]
        .iter()
        .fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

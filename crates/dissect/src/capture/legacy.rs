//! Files of libpcap: both byte orders, microseconds and nanoseconds.

use super::{CHUNK, Ended, Receiver};
use crate::packet::{Frame, Link};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError};
use std::io::Read;

/// Bytes of a frame that no capture has more of, unless its own limit is higher.
const MOST_BYTES: u32 = 262_144;
/// The lower half of the link type; above are flags.
const LINK_TYPE: u32 = 0xffff;

/// Reads all frames, so many bytes at once; more for a frame that is larger, up to the usual number.
pub fn read(
    source: &mut (impl Read + Send),
    chunk: usize,
    receiver: &mut dyn Receiver,
) -> (u64, Ended) {
    let Ok(mut reader) = LegacyPcapReader::new(chunk, source) else {
        return (0, Ended::Cut { at_byte: 0 });
    };
    let (mut file, mut capacity) = (File::default(), chunk);
    let ended = loop {
        let at_byte = reader.consumed() as u64;
        match reader.next() {
            Ok((size, block)) => {
                if !file.block(&block, receiver) {
                    break Ended::Damaged { at_byte };
                }
                reader.consume(size);
            }
            Err(PcapError::Eof) => break Ended::Whole,
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    break Ended::Cut { at_byte };
                }
            }
            Err(PcapError::BufferTooSmall) if capacity < CHUNK => {
                capacity = CHUNK;
                reader.grow(capacity);
            }
            Err(PcapError::UnexpectedEof) => {
                let whole = reader.data().is_empty();
                break if whole {
                    Ended::Whole
                } else {
                    Ended::Cut { at_byte }
                };
            }
            Err(_) => break Ended::Damaged { at_byte },
        }
    };
    (file.frames, ended)
}

struct File {
    link: Link,
    unit_ns: u64,
    most_bytes: u32,
    frames: u64,
}

impl Default for File {
    fn default() -> Self {
        Self {
            link: Link::Unknown(0),
            unit_ns: 1000,
            most_bytes: MOST_BYTES,
            frames: 0,
        }
    }
}

impl File {
    /// Takes a block; whether it can be one.
    fn block(&mut self, block: &PcapBlockOwned<'_>, receiver: &mut dyn Receiver) -> bool {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.link = Link::of(header.network.0 as u32 & LINK_TYPE);
                self.unit_ns = if header.is_nanosecond_precision() {
                    1
                } else {
                    1000
                };
                self.most_bytes = header.snaplen.max(MOST_BYTES);
                true
            }
            PcapBlockOwned::Legacy(frame) => {
                if frame.caplen > self.most_bytes {
                    return false;
                }
                self.frames += 1;
                receiver.frame(&Frame {
                    link: self.link,
                    t_ns: u64::from(frame.ts_sec) * 1_000_000_000
                        + u64::from(frame.ts_usec) * self.unit_ns,
                    wire_bytes: frame.origlen.max(frame.caplen),
                    data: frame.data,
                    unsummed: false,
                });
                true
            }
            PcapBlockOwned::NG(_) => true,
        }
    }
}

//! Files of pcapng: sections of both byte orders, each with interfaces of their own clock and link layer.

use super::{Ended, MOST_CHUNK, Receiver};
use crate::packet::{Frame, Link};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{
    Block, InterfaceDescriptionBlock, PcapBlockOwned, PcapError, PcapNGOption, PcapNGReader,
};
use std::io::Read;

const SECOND_NS: u128 = 1_000_000_000;
/// Frames of an interface that were lost before this frame.
const DROPPED_BEFORE: u16 = 4;
/// Frames that the interface, and the system, dropped.
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;
/// The packet block of old writers (Wireshark before 1.8): half words of interface and drops, time, sizes, the frame.
const OBSOLETE: [u32; 2] = [2, 2_u32.swap_bytes()];
/// How it says that it does not know its drops.
const UNKNOWN_DROPS: u16 = 0xffff;
/// Interfaces of a section; more are damage.
const MOST_INTERFACES: usize = 4096;

/// Reads all frames of all sections, so many bytes at once; more for a block that is larger.
pub fn read(
    source: &mut (impl Read + Send),
    chunk: usize,
    receiver: &mut dyn Receiver,
) -> (u64, Ended) {
    let Ok(mut reader) = PcapNGReader::new(chunk, source) else {
        return (0, Ended::Cut { at_byte: 0 });
    };
    let (mut section, mut capacity) = (Section::default(), chunk);
    let ended = loop {
        let at_byte = reader.consumed() as u64;
        match reader.next() {
            Ok((size, block)) => {
                section.block(&block, receiver);
                reader.consume(size);
            }
            Err(PcapError::Eof) => break Ended::Whole,
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    break Ended::Cut { at_byte };
                }
            }
            Err(PcapError::BufferTooSmall) if capacity < MOST_CHUNK => {
                // A length that the file does not have is no reason for more memory.
                if reader.refill().is_err() || reader.data().len() < capacity {
                    break section.end(reader.data(), at_byte);
                }
                capacity *= 4;
                reader.grow(capacity);
            }
            Err(PcapError::UnexpectedEof) => break section.end(reader.data(), at_byte),
            Err(_) => break Ended::Damaged { at_byte },
        }
    };
    section.tell_drops(receiver);
    (section.frames, ended)
}

struct Interface {
    link: Link,
    units_per_s: u64,
    offset_s: i64,
    snap_bytes: u32,
    dropped: u64,
    dropped_before: u64,
}

#[derive(Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    last_ns: u64,
    frames: u64,
}

impl Section {
    fn block(&mut self, block: &PcapBlockOwned<'_>, receiver: &mut dyn Receiver) {
        let PcapBlockOwned::NG(block) = block else {
            return;
        };
        match block {
            Block::SectionHeader(header) => {
                self.tell_drops(receiver);
                self.interfaces.clear();
                self.big_endian = header.big_endian();
            }
            Block::InterfaceDescription(one) if self.interfaces.len() < MOST_INTERFACES => {
                self.interfaces.push(described(one, self.big_endian));
            }
            Block::InterfaceStatistics(one) => {
                let dropped = [DROPPED_BY_INTERFACE, DROPPED_BY_SYSTEM]
                    .map(|code| self.number(&one.options, code));
                if let Some(interface) = self.interfaces.get_mut(one.if_id as usize) {
                    interface.dropped = interface.dropped.max(dropped.iter().flatten().sum());
                }
            }
            Block::EnhancedPacket(packet) => {
                let before = self.number(&packet.options, DROPPED_BEFORE);
                let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                let units = (u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low);
                self.frame(packet.if_id, Some(units), packet.origlen, data, receiver);
                if let Some(interface) = self.interfaces.get_mut(packet.if_id as usize) {
                    interface.dropped_before += before.unwrap_or(0);
                }
            }
            Block::SimplePacket(packet) => {
                self.frame(0, None, packet.origlen, packet.data, receiver);
            }
            Block::Unknown(one) if OBSOLETE.contains(&one.block_type) => {
                self.obsolete(one.data, receiver);
            }
            _ => {}
        }
    }

    fn frame(
        &mut self,
        interface: u32,
        units: Option<u64>,
        wire_bytes: u32,
        data: &[u8],
        receiver: &mut dyn Receiver,
    ) {
        self.frames += 1;
        let Some(from) = self.interfaces.get(interface as usize) else {
            receiver.undescribed();
            return;
        };
        let data = if units.is_none() {
            let limit = if from.snap_bytes == 0 {
                u32::MAX
            } else {
                from.snap_bytes
            };
            &data[..data.len().min(wire_bytes.min(limit) as usize)]
        } else {
            data
        };
        let t_ns = units.map_or(self.last_ns, |units| {
            let ns = u128::from(units) * SECOND_NS / u128::from(from.units_per_s);
            u64::try_from(ns as i128 + i128::from(from.offset_s) * SECOND_NS as i128).unwrap_or(0)
        });
        self.last_ns = t_ns;
        let wire_bytes = wire_bytes.max(data.len() as u32);
        receiver.frame(&Frame {
            link: from.link,
            t_ns,
            wire_bytes,
            data,
            unsummed: false,
        });
    }

    fn obsolete(&mut self, body: &[u8], receiver: &mut dyn Receiver) {
        let Some((head, rest)) = body.split_first_chunk::<20>() else {
            return;
        };
        let word = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            self.word(bytes)
        };
        let half = |at: usize| {
            let bytes = [head[at], head[at + 1]];
            if self.big_endian {
                u16::from_be_bytes(bytes)
            } else {
                u16::from_le_bytes(bytes)
            }
        };
        let (interface, drops) = (half(0), half(2));
        let units = (u64::from(word(4)) << 32) | u64::from(word(8));
        let (captured, wire_bytes) = (word(12) as usize, word(16));
        let data = &rest[..rest.len().min(captured)];
        self.frame(
            u32::from(interface),
            Some(units),
            wire_bytes,
            data,
            receiver,
        );
        if let Some(from) = self.interfaces.get_mut(usize::from(interface))
            && drops != UNKNOWN_DROPS
        {
            from.dropped_before += u64::from(drops);
        }
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    /// Counts that came with frames and those that came at the end are the same losses.
    fn tell_drops(&self, receiver: &mut dyn Receiver) {
        let dropped = self
            .interfaces
            .iter()
            .map(|one| one.dropped.max(one.dropped_before))
            .sum();
        receiver.dropped(dropped);
    }

    fn number(&self, options: &[PcapNGOption<'_>], code: u16) -> Option<u64> {
        let value = options
            .iter()
            .find(|one| one.code.0 == code)?
            .value
            .get(..8)?
            .try_into()
            .ok()?;
        Some(if self.big_endian {
            u64::from_be_bytes(value)
        } else {
            u64::from_le_bytes(value)
        })
    }

    /// Where a file ends in the middle of a block: cut, unless the block is there as a whole.
    fn end(&self, rest: &[u8], at_byte: u64) -> Ended {
        let bytes = rest.get(4..8).and_then(|bytes| bytes.try_into().ok());
        let length = bytes.map(|bytes: [u8; 4]| self.word(bytes));
        match length {
            _ if rest.is_empty() => Ended::Whole,
            Some(length) if length as usize <= rest.len() => Ended::Damaged { at_byte },
            _ => Ended::Cut { at_byte },
        }
    }
}

/// The clock's resolution and the offset are read here: pcap-parser refuses powers of two, and reads the offset in one order.
fn described(one: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Interface {
    let resolution = one.if_tsresol;
    let power = u32::from(resolution & 0x7f);
    let units_per_s = if resolution & 0x80 == 0 {
        10_u64.checked_pow(power)
    } else {
        1_u64.checked_shl(power)
    };
    let offset_s = if big_endian {
        one.if_tsoffset.swap_bytes()
    } else {
        one.if_tsoffset
    };
    Interface {
        link: Link::of(u32::try_from(one.linktype.0).unwrap_or(u32::MAX)),
        units_per_s: units_per_s.unwrap_or(1_000_000),
        offset_s,
        snap_bytes: one.snaplen,
        dropped: 0,
        dropped_before: 0,
    }
}

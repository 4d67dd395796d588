//! Files of pcapng: sections of both byte orders, each with interfaces of their own clock and link layer.

use super::{Parsed, SECOND_NS, Span};
use crate::packet::Link;
use pcap_parser::pcapng::{parse_block_be, parse_block_le};
use pcap_parser::{Block, InterfaceDescriptionBlock, PcapNGOption};

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

struct Interface {
    link: Link,
    units_per_s: u64,
    offset_s: i64,
    snap_bytes: u32,
    dropped: u64,
    dropped_before: u64,
}

impl Interface {
    /// The time of so many units of its clock.
    fn ns(&self, units: u64) -> u64 {
        let second_ns = u128::from(SECOND_NS);
        let ns = u128::from(units) * second_ns / u128::from(self.units_per_s);
        u64::try_from(ns as i128 + i128::from(self.offset_s) * second_ns as i128).unwrap_or(0)
    }
}

/// A file: the section that is being read, and what was before.
#[derive(Default)]
pub struct NextGeneration {
    big_endian: bool,
    interfaces: Vec<Interface>,
    last_ns: u64,
    /// Frames that sections before this one dropped.
    dropped: u64,
    /// Frames of interfaces without a description.
    pub undescribed: u64,
}

impl NextGeneration {
    /// Adds the frames that are there as a whole.
    pub fn frames(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Parsed {
        let mut used = 0;
        loop {
            let rest = &data[used..];
            let parsed = if self.big_endian {
                parse_block_be(rest)
            } else {
                parse_block_le(rest)
            };
            let damaged = match parsed {
                Ok((left, block)) => {
                    self.block(&block, data, spans);
                    used = data.len() - left.len();
                    continue;
                }
                Err(error) => !error.is_incomplete(),
            };
            let damaged = damaged && !rest.is_empty();
            return Parsed { used, damaged };
        }
    }

    fn block(&mut self, block: &Block<'_>, data: &[u8], spans: &mut Vec<Span>) {
        let at = |part: &[u8]| part.as_ptr() as usize - data.as_ptr() as usize;
        match block {
            Block::SectionHeader(header) => {
                self.dropped = self.dropped();
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
                let length = packet.data.len().min(packet.caplen as usize);
                let units = (u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low);
                let span = (at(packet.data), length);
                self.frame(packet.if_id, Some(units), packet.origlen, span, spans);
                if let Some(interface) = self.interfaces.get_mut(packet.if_id as usize) {
                    interface.dropped_before += before.unwrap_or(0);
                }
            }
            Block::SimplePacket(packet) => {
                let span = (at(packet.data), packet.data.len());
                self.frame(0, None, packet.origlen, span, spans);
            }
            Block::Unknown(one) if OBSOLETE.contains(&one.block_type) => {
                self.obsolete(one.data, at(one.data), spans);
            }
            _ => {}
        }
    }

    /// Adds a frame: its bytes are so many from a place on.
    fn frame(
        &mut self,
        interface: u32,
        units: Option<u64>,
        wire_bytes: u32,
        (from, mut length): (usize, usize),
        spans: &mut Vec<Span>,
    ) {
        let Some(described) = self.interfaces.get(interface as usize) else {
            self.undescribed += 1;
            return;
        };
        if units.is_none() {
            let limit = match described.snap_bytes {
                0 => u32::MAX,
                limit => limit,
            };
            length = length.min(wire_bytes.min(limit) as usize);
        }
        if let Some(units) = units {
            self.last_ns = described.ns(units);
        }
        spans.push(Span {
            t_ns: self.last_ns,
            is_timed: units.is_some(),
            wire_bytes: wire_bytes.max(length as u32),
            link: described.link,
            from,
            length,
        });
    }

    fn obsolete(&mut self, body: &[u8], from: usize, spans: &mut Vec<Span>) {
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
        let span = (from + 20, rest.len().min(captured));
        self.frame(interface.into(), Some(units), wire_bytes, span, spans);
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

    /// Frames that were dropped so far: counts that came with frames and those that came at the end are the same losses.
    pub fn dropped(&self) -> u64 {
        let each = self.interfaces.iter();
        let dropped: u64 = each.map(|one| one.dropped.max(one.dropped_before)).sum();
        self.dropped + dropped
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

    /// Whether the block that begins these bytes is there as a whole, which is then damaged.
    pub fn has_whole_block(&self, rest: &[u8]) -> bool {
        let bytes = rest.get(4..8).and_then(|bytes| bytes.try_into().ok());
        bytes.is_some_and(|bytes| self.word(bytes) as usize <= rest.len())
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

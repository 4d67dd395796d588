//! Captures by hand: segments in packets, packets in frames, frames in files, of every kind that is read.

use crate::files::{Format, Writer};

/// One TCP segment on its way.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    pub t_ns: u64,
    pub client: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub bytes: &'a [u8],
}

/// The network layer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Net {
    Four,
    Six,
    /// With a header of hop-by-hop options.
    SixExtended,
    FourParts,
    SixParts,
}

/// The link layer, with its number in captures.
#[derive(Clone, Copy)]
pub enum Link {
    Ethernet = 1,
    Vlan = 4,
    DoubleVlan = 3,
    Cooked = 113,
    Cooked2 = 276,
    Raw = 101,
    Null = 0,
    Loop = 108,
    /// In tunnels.
    Vxlan = 2,
    Gre = 5,
    Erspan = 6,
    Mpls = 7,
    Pppoe = 8,
}

impl Link {
    fn number(self) -> u32 {
        match self {
            Self::Vlan | Self::DoubleVlan | Self::Vxlan | Self::Gre | Self::Erspan => 1,
            Self::Mpls | Self::Pppoe => 1,
            other => other as u32,
        }
    }
}

/// How a conversation is carried.
#[derive(Clone, Copy)]
pub struct Carrier {
    pub net: Net,
    pub link: Link,
    pub format: Format,
    /// Whether checksums are right; else they are left to the device, and changed bytes are not refused.
    pub summed: bool,
    /// Bytes of a frame that are captured.
    pub most: usize,
    pub port: u16,
}

/// The sum of words with carries folded in (RFC 1071).
fn sum(bytes: &[u8], start: u32) -> u32 {
    let pairs = bytes.chunks_exact(2);
    let odd = pairs
        .remainder()
        .first()
        .map_or(0, |last| u32::from(*last) << 8);
    let words = pairs.map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut total = start + odd + words.sum::<u32>();
    while total >> 16 > 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total
}

/// Client, server, client: the addresses of a packet, whichever end sends it.
const FOUR: [u8; 12] = [10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 1];
const SIX: [u8; 48] = {
    let mut made = [0; 48];
    let mut at = 0;
    while at < 3 {
        made[16 * at] = 0xfd;
        made[16 * at + 15] = if at == 1 { 2 } else { 1 };
        at += 1;
    }
    made
};

impl Carrier {
    fn is_four(self) -> bool {
        matches!(self.net, Net::Four | Net::FourParts)
    }

    /// The addresses of who sends and who receives.
    fn ends(self, client: bool) -> &'static [u8] {
        match (self.is_four(), client) {
            (true, true) => &FOUR[..8],
            (true, false) => &FOUR[4..],
            (false, true) => &SIX[..32],
            (false, false) => &SIX[16..],
        }
    }

    fn segment(self, one: &Sent<'_>, made: &mut Vec<u8>) {
        let ports = if one.client {
            [40_000, self.port]
        } else {
            [self.port, 40_000]
        };
        made.clear();
        made.extend(ports[0].to_be_bytes());
        made.extend(ports[1].to_be_bytes());
        made.extend(one.seq.to_be_bytes());
        made.extend(one.ack.to_be_bytes());
        made.extend([0x50, one.flags, 0xfa, 0, 0, 0, 0, 0]);
        made.extend(one.bytes);
        if self.summed {
            let pseudo = sum(self.ends(one.client), 6 + made.len() as u32);
            let value = !(sum(made, pseudo) as u16);
            made[16..18].copy_from_slice(&value.to_be_bytes());
        }
    }

    /// The packet of a part of a segment.
    fn packet(
        self,
        made: &mut Vec<u8>,
        part: &[u8],
        client: bool,
        id: u16,
        (at, more): (usize, bool),
    ) {
        let (ends, length) = (self.ends(client), part.len() as u16);
        if self.is_four() {
            let place = (at / 8) as u16 | u16::from(more) << 13;
            let begin = made.len();
            made.extend([0x45, 0]);
            for word in [20 + length, id, place, 0x4006, 0] {
                made.extend(word.to_be_bytes());
            }
            made.extend(ends);
            let value = !(sum(&made[begin..], 0) as u16);
            made[begin + 10..][..2].copy_from_slice(&value.to_be_bytes());
        } else {
            let [place, id] = [at as u16 | u16::from(more), id].map(u16::to_be_bytes);
            let parts = [6, 0, place[0], place[1], 0, 0, id[0], id[1]];
            let (next, chain): (u8, &[u8]) = match self.net {
                Net::SixParts => (44, &parts),
                Net::SixExtended => (0, &[6, 0, 1, 4, 0, 0, 0, 0]),
                _ => (6, &[]),
            };
            made.extend([0x60, 0, 0, 0]);
            made.extend((length + chain.len() as u16).to_be_bytes());
            made.extend([next, 64]);
            made.extend(ends);
            made.extend(chain);
        }
        made.extend(part);
    }

    /// What stands before a packet.
    fn link_header(self, made: &mut Vec<u8>) {
        let kind: [u8; 2] = if self.is_four() { [8, 0] } else { [0x86, 0xdd] };
        let family = if self.is_four() { 2 } else { 24 };
        let before: &[u8] = match self.link {
            Link::Ethernet => &[2; 12],
            Link::Vlan => &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x81, 0, 0, 7],
            Link::DoubleVlan => &[
                2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8,
            ],
            Link::Cooked => &[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0],
            Link::Cooked2 => {
                made.extend(kind);
                made.extend([0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0]);
                return;
            }
            Link::Vxlan | Link::Gre | Link::Erspan | Link::Mpls | Link::Pppoe => {
                return self.tunnel(made, kind);
            }
            Link::Raw => return,
            Link::Null => return made.extend([if self.is_four() { 2 } else { 30 }, 0, 0, 0]),
            Link::Loop => return made.extend([0, 0, 0, family]),
        };
        made.extend(before);
        made.extend(kind);
    }

    /// What stands before a packet in a tunnel; lengths of 0 are those of packets that a device is to cut.
    fn tunnel(self, made: &mut Vec<u8>, kind: [u8; 2]) {
        const BRIDGED: [u8; 12] = [2; 12];
        let outer = |made: &mut Vec<u8>, number: u8| {
            made.extend(BRIDGED);
            made.extend([8, 0, 0x45, 0, 0, 0, 0, 1, 0, 0, 64, number, 0, 0]);
            made.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        };
        match self.link {
            Link::Vxlan => {
                outer(made, 17);
                made.extend([0xc3, 0x50, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0]);
                made.extend(BRIDGED);
            }
            Link::Erspan => {
                outer(made, 47);
                made.extend([0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0]);
                made.extend(BRIDGED);
            }
            Link::Gre => {
                outer(made, 47);
                made.extend([0, 0]);
            }
            Link::Mpls => {
                made.extend(BRIDGED);
                return made.extend([0x88, 0x47, 0, 1, 1, 64]);
            }
            _ => {
                made.extend(BRIDGED);
                let protocol = if self.is_four() { 0x21 } else { 0x57 };
                return made.extend([0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, protocol]);
            }
        }
        made.extend(kind);
    }

    /// The file of a conversation.
    pub fn file(self, sent: &[Sent<'_>]) -> Vec<u8> {
        let (mut writer, mut segment) = (
            Writer::new(self.format, self.link.number()),
            Vec::with_capacity(2048),
        );
        for (number, one) in sent.iter().enumerate() {
            self.segment(one, &mut segment);
            let size = if matches!(self.net, Net::FourParts | Net::SixParts) {
                24
            } else {
                segment.len()
            };
            let count = segment.len().div_ceil(size);
            for (at, part) in segment.chunks(size).enumerate() {
                let place = (at * size, at + 1 < count);
                writer.frame(one.t_ns, self.most, |made| {
                    self.link_header(made);
                    self.packet(made, part, one.client, number as u16, place);
                });
            }
        }
        writer.ended()
    }
}

//! Captures by hand: segments in packets, packets in frames, frames in files, of every kind that is read.

use crate::files::Writer;

/// One TCP segment on its way.
#[derive(Clone)]
pub struct Sent {
    pub t_ns: u64,
    pub client: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub bytes: Vec<u8>,
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
    Vlan,
    DoubleVlan,
    Cooked = 113,
    Cooked2 = 276,
    Raw = 101,
    Null = 0,
    Loop = 108,
}

impl Link {
    fn number(self) -> u32 {
        match self {
            Self::Vlan | Self::DoubleVlan => 1,
            other => other as u32,
        }
    }
}

/// The file.
#[derive(Clone, Copy)]
pub enum Format {
    Pcap,
    /// The other byte order, in nanoseconds.
    PcapSwapped,
    NextGeneration,
    NextGenerationSwapped,
    Snoop,
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
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default()));
    let mut total = start + words.sum::<u32>();
    while total >> 16 > 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total
}

impl Carrier {
    fn ends(self, client: bool) -> (Vec<u8>, Vec<u8>) {
        let of = |last: u8| match self.net {
            Net::Four | Net::FourParts => vec![10, 0, 0, last],
            _ => [&[0xfd][..], &[0; 14], &[last]].concat(),
        };
        if client {
            (of(1), of(2))
        } else {
            (of(2), of(1))
        }
    }

    fn segment(self, one: &Sent) -> Vec<u8> {
        let ports = if one.client {
            [40_000, self.port]
        } else {
            [self.port, 40_000]
        };
        let mut made: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        made.extend(one.seq.to_be_bytes());
        made.extend(one.ack.to_be_bytes());
        made.extend([0x50, one.flags, 0xfa, 0, 0, 0, 0, 0]);
        made.extend(&one.bytes);
        if self.summed {
            let (from, to) = self.ends(one.client);
            let pseudo = sum(&[from, to].concat(), 6 + made.len() as u32);
            let value = !(sum(&made, pseudo) as u16);
            made[16..18].copy_from_slice(&value.to_be_bytes());
        }
        made
    }

    /// The packets of a segment.
    fn packets(self, one: &Sent, id: u16) -> Vec<Vec<u8>> {
        let segment = self.segment(one);
        let size = if matches!(self.net, Net::FourParts | Net::SixParts) {
            24
        } else {
            segment.len()
        };
        let count = segment.len().div_ceil(size);
        let parts = segment.chunks(size).enumerate();
        parts
            .map(|(at, part)| self.packet(part, one.client, id, (at * size, at + 1 < count)))
            .collect()
    }

    fn packet(self, part: &[u8], client: bool, id: u16, (at, more): (usize, bool)) -> Vec<u8> {
        let (from, to) = self.ends(client);
        let length = part.len() as u16;
        if matches!(self.net, Net::Four | Net::FourParts) {
            let place = (at / 8) as u16 | u16::from(more) << 13;
            let mut head = vec![0x45, 0];
            for word in [20 + length, id, place, 0x4006, 0] {
                head.extend(word.to_be_bytes());
            }
            head.extend([from, to].concat());
            let value = !(sum(&head, 0) as u16);
            head[10..12].copy_from_slice(&value.to_be_bytes());
            return [&head[..], part].concat();
        }
        let (mut chain, mut next) = (Vec::new(), 6);
        if self.net == Net::SixParts {
            chain = vec![6, 0];
            chain.extend((at as u16 | u16::from(more)).to_be_bytes());
            chain.extend(u32::from(id).to_be_bytes());
            next = 44;
        }
        if self.net == Net::SixExtended {
            chain = vec![6, 0, 1, 4, 0, 0, 0, 0];
            next = 0;
        }
        let mut made = vec![0x60, 0, 0, 0];
        made.extend((length + chain.len() as u16).to_be_bytes());
        made.extend([next, 64]);
        [&made[..], &from, &to, &chain, part].concat()
    }

    fn framed(self, packet: &[u8]) -> Vec<u8> {
        let six = packet[0] >> 4 == 6;
        let kind: [u8; 2] = if six { [0x86, 0xdd] } else { [8, 0] };
        let addresses = [2_u8; 12];
        let head = match self.link {
            Link::Ethernet => [&addresses[..], &kind].concat(),
            Link::Vlan => [&addresses[..], &[0x81, 0, 0, 7], &kind].concat(),
            Link::DoubleVlan => {
                [&addresses[..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8], &kind].concat()
            }
            Link::Cooked => [&[0, 0, 0, 1, 0, 6][..], &[0; 8], &kind].concat(),
            Link::Cooked2 => [&kind[..], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &[0; 8]].concat(),
            Link::Raw => Vec::new(),
            Link::Null => vec![if six { 30 } else { 2 }, 0, 0, 0],
            Link::Loop => vec![0, 0, 0, if six { 24 } else { 2 }],
        };
        [&head[..], packet].concat()
    }

    /// The file of a conversation.
    pub fn file(self, sent: &[Sent]) -> Vec<u8> {
        let frames = sent.iter().enumerate().flat_map(|(at, one)| {
            let packets = self.packets(one, at as u16);
            packets.into_iter().map(|packet| {
                let data = self.framed(&packet);
                let wire_bytes = data.len() as u32;
                let kept = data[..data.len().min(self.most)].to_vec();
                (one.t_ns, kept, wire_bytes)
            })
        });
        let writer = Writer {
            number: self.link.number(),
            swapped: matches!(
                self.format,
                Format::PcapSwapped | Format::NextGenerationSwapped
            ),
        };
        match self.format {
            Format::Pcap | Format::PcapSwapped => writer.pcap(frames),
            Format::NextGeneration | Format::NextGenerationSwapped => writer.blocks(frames),
            Format::Snoop => Writer::snoop(frames),
        }
    }
}

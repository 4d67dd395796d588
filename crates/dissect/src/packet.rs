//! A captured frame down to its TCP segment: link layer, IP, fragments, checksums.

use crate::fragments::{Datagram, Fragments};
use etherparse::{
    EtherType, IpAuthHeaderSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpv4Slice,
    LaxIpv6Slice, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice, checksum::Sum16BitWords,
    ip_number,
};
use std::collections::BTreeSet;

/// The link layers that are read, by their numbers in captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Ethernet,
    /// Linux cooked, version 1: 16 bytes.
    Cooked,
    /// Linux cooked, version 2: 20 bytes.
    Cooked2,
    /// IP at once.
    Raw,
    /// An address family in the order of the machine, or of the network.
    Loopback,
    Unknown(u32),
}

impl Link {
    /// By the number that pcap and pcapng use.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            0 | 108 => Self::Loopback,
            other => Self::Unknown(other),
        }
    }
}

/// A frame as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub link: Link,
    pub t_ns: u64,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Bytes that were captured.
    pub data: &'a [u8],
    /// The sender's kernel left the checksum to the device, and says so.
    pub unsummed: bool,
}

/// An end of a connection; IPv4 addresses as IPv6 ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: [u8; 16],
    pub port: u16,
}

/// What a checksum says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    Good,
    Bad,
    /// Left to the device that sends: what was captured is no checksum yet.
    Offloaded,
    /// The frame was cut short.
    Unchecked,
}

/// One TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub from: Endpoint,
    pub to: Endpoint,
    pub seq: u32,
    /// The number that is acknowledged, if one is.
    pub ack: Option<u32>,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub window: u16,
    pub payload: &'a [u8],
    /// Bytes of the payload that the capture cut off.
    pub missing: u32,
    pub sum: Sum,
}

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A segment to or from one of the ports.
    Segment,
    /// TCP between other ports.
    OtherPorts(u16, u16),
    /// A part of a datagram whose other parts are not there yet.
    Fragment,
    /// No TCP, or a link layer that is not read.
    Other,
    /// Cut or damaged before its ports.
    Unreadable,
}

/// Reads a frame and hands its segment on, if it is to or from one of the ports.
pub fn read(
    frame: &Frame<'_>,
    ports: &BTreeSet<u16>,
    fragments: &mut Fragments,
    mut use_segment: impl FnMut(&Segment<'_>),
) -> Content {
    let Some(packet) = sliced(frame.link, frame.data) else {
        return Content::Other;
    };
    let Some(net) = Net::of(&packet, frame) else {
        return Content::Other;
    };
    match &net.part {
        Part::Whole => {}
        Part::Other => return Content::Other,
        Part::Tcp(_) if net.missing > 0 => return Content::Unreadable,
        Part::Tcp(part) => {
            let Some(whole) = fragments.add(part) else {
                return Content::Fragment;
            };
            return match TcpSlice::from_slice(&whole) {
                Ok(tcp) => handed_on(&tcp, &net, frame, ports, &mut use_segment),
                Err(_) => Content::Unreadable,
            };
        }
    }
    match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => handed_on(tcp, &net, frame, ports, &mut use_segment),
        None if net.tcp => Content::Unreadable,
        _ => Content::Other,
    }
}

fn handed_on(
    tcp: &TcpSlice<'_>,
    net: &Net<'_>,
    frame: &Frame<'_>,
    ports: &BTreeSet<u16>,
    use_segment: &mut impl FnMut(&Segment<'_>),
) -> Content {
    let (from, to) = (tcp.source_port(), tcp.destination_port());
    if !ports.contains(&from) && !ports.contains(&to) {
        return Content::OtherPorts(from, to);
    }
    use_segment(&Segment {
        from: Endpoint {
            address: net.from,
            port: from,
        },
        to: Endpoint {
            address: net.to,
            port: to,
        },
        seq: tcp.sequence_number(),
        ack: tcp.ack().then(|| tcp.acknowledgment_number()),
        syn: tcp.syn(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        window: tcp.window_size(),
        payload: tcp.payload(),
        missing: net.missing,
        sum: summed(tcp, net, frame),
    });
    Content::Segment
}

fn sliced(link: Link, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let two = |at: usize| {
        Some(EtherType(u16::from_be_bytes(
            data.get(at..at + 2)?.try_into().ok()?,
        )))
    };
    match link {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(data).ok(),
        Link::Cooked => Some(LaxSlicedPacket::from_ether_type(two(14)?, data.get(16..)?)),
        Link::Cooked2 => Some(LaxSlicedPacket::from_ether_type(two(0)?, data.get(20..)?)),
        Link::Raw => LaxSlicedPacket::from_ip(data).ok(),
        Link::Loopback => match family(data)? {
            2 | 10 | 23 | 24 | 28 | 30 => LaxSlicedPacket::from_ip(data.get(4..)?).ok(),
            _ => None,
        },
        Link::Unknown(_) => None,
    }
}

/// The address family, whichever order its bytes have.
fn family(data: &[u8]) -> Option<u32> {
    let bytes: [u8; 4] = data.get(..4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes).min(u32::from_be_bytes(bytes)))
}

/// The network layer of a frame.
struct Net<'a> {
    from: [u8; 16],
    to: [u8; 16],
    tcp: bool,
    /// The header's own checksum does not fit.
    damaged: bool,
    /// Bytes of the payload that were cut off.
    missing: u32,
    part: Part<'a>,
}

/// Whether a packet is a part of a datagram.
enum Part<'a> {
    Whole,
    Tcp(Datagram<'a>),
    Other,
}

impl<'a> Net<'a> {
    fn of(packet: &LaxSlicedPacket<'a>, frame: &Frame<'_>) -> Option<Self> {
        match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(four) => Some(Self::four(four, frame)),
            LaxNetSlice::Ipv6(six) => Some(Self::six(six, frame)),
            LaxNetSlice::Arp(_) => None,
        }
    }

    fn four(four: &LaxIpv4Slice<'a>, frame: &Frame<'_>) -> Self {
        let (header, payload) = (four.header(), four.payload());
        let (from, to) = (mapped(header.source()), mapped(header.destination()));
        let tcp = payload.ip_number == ip_number::TCP;
        let sum = Sum16BitWords::new()
            .add_slice(header.slice())
            .ones_complement();
        let length = usize::from(header.total_len());
        let part = match (payload.fragmented, tcp) {
            (false, _) => Part::Whole,
            (true, false) => Part::Other,
            (true, true) => Part::Tcp(Datagram {
                from,
                to,
                identification: u32::from(header.identification()),
                offset: header.fragments_offset(),
                more: header.more_fragments(),
                payload: payload.payload,
            }),
        };
        Self {
            from,
            to,
            tcp,
            damaged: sum != 0 && header.header_checksum() != 0,
            missing: missing(length, header.slice(), payload.payload, frame),
            part,
        }
    }

    fn six(six: &LaxIpv6Slice<'a>, frame: &Frame<'_>) -> Self {
        let (header, payload) = (six.header(), six.payload());
        let (from, to) = (header.source(), header.destination());
        let tcp = payload.ip_number == ip_number::TCP;
        let length = match usize::from(header.payload_length()) {
            0 => 0,
            length => length + header.slice().len(),
        };
        let part = match fragment_header(six) {
            Some(part) if payload.fragmented && tcp => Part::Tcp(Datagram {
                from,
                to,
                identification: part.identification(),
                offset: part.fragment_offset(),
                more: part.more_fragments(),
                payload: payload.payload,
            }),
            _ if payload.fragmented => Part::Other,
            _ => Part::Whole,
        };
        Self {
            from,
            to,
            tcp,
            damaged: false,
            missing: missing(length, header.slice(), payload.payload, frame),
            part,
        }
    }

    /// Whether the addresses are those of IPv4.
    fn is_four(&self) -> bool {
        self.from.starts_with(&MAPPED)
    }
}

/// The fragment header of an IPv6 packet. The iterator of etherparse 0.21 reads on where a chain of headers was cut.
fn fragment_header<'a>(six: &LaxIpv6Slice<'a>) -> Option<Ipv6FragmentHeaderSlice<'a>> {
    use ip_number::{AUTH, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE};
    let chain = six.extensions();
    let (mut kind, mut rest) = (chain.first_header()?, chain.slice());
    loop {
        let (next, length) = match kind {
            IPV6_FRAG => return Ipv6FragmentHeaderSlice::from_slice(rest).ok(),
            IPV6_HOP_BY_HOP | IPV6_ROUTE | IPV6_DEST_OPTIONS => {
                let one = Ipv6RawExtHeaderSlice::from_slice(rest).ok()?;
                (one.next_header(), one.slice().len())
            }
            AUTH => {
                let one = IpAuthHeaderSlice::from_slice(rest).ok()?;
                (one.next_header(), one.slice().len())
            }
            _ => return None,
        };
        (kind, rest) = (next, rest.get(length..)?);
    }
}

/// What an IPv4 address begins with as an IPv6 one.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

fn mapped(address: [u8; 4]) -> [u8; 16] {
    let mut made = [0; 16];
    made[..12].copy_from_slice(&MAPPED);
    made[12..].copy_from_slice(&address);
    made
}

/// Bytes that a packet has and the capture lacks; a length of 0 is that of a segment which the device is to cut.
fn missing(length: usize, header: &[u8], payload: &[u8], frame: &Frame<'_>) -> u32 {
    let here = payload.as_ptr() as usize + payload.len() - header.as_ptr() as usize;
    if length < header.len() {
        return frame.wire_bytes.saturating_sub(frame.data.len() as u32);
    }
    length.saturating_sub(here) as u32
}

/// Verifies the checksums of a segment.
fn summed(tcp: &TcpSlice<'_>, net: &Net<'_>, frame: &Frame<'_>) -> Sum {
    if frame.unsummed {
        return Sum::Offloaded;
    }
    if net.missing > 0 {
        return Sum::Unchecked;
    }
    let length = tcp.slice().len() as u32;
    let mut pseudo = Sum16BitWords::new();
    if net.is_four() {
        pseudo = pseudo.add_slice(&net.from[12..]).add_slice(&net.to[12..]);
    } else {
        pseudo = pseudo.add_slice(&net.from).add_slice(&net.to);
    }
    pseudo = pseudo.add_2bytes([0, ip_number::TCP.0]);
    let with_length = pseudo.add_4bytes(length.to_be_bytes());
    let field = tcp.checksum().to_be();
    if net.damaged {
        return Sum::Bad;
    }
    if with_length.clone().add_slice(tcp.slice()).ones_complement() == 0 {
        return Sum::Good;
    }
    // The sum of the pseudo header alone: the device adds the rest, and where it cuts segments, each one's length.
    if field == 0 || field == !with_length.ones_complement() || field == !pseudo.ones_complement() {
        return Sum::Offloaded;
    }
    Sum::Bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn built(payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9)
            .tcp(40000, 389, 7, 8);
        let mut made = Vec::new();
        builder.write(&mut made, payload).unwrap();
        made
    }

    /// Number, payload, missing bytes, checksum.
    type Seen = (u32, Vec<u8>, u32, Sum);

    fn seen(data: &[u8], wire_bytes: u32) -> (Content, Vec<Seen>) {
        let frame = Frame {
            link: Link::Ethernet,
            t_ns: 0,
            wire_bytes,
            data,
            unsummed: false,
        };
        let mut found = Vec::new();
        let content = read(
            &frame,
            &BTreeSet::from([389]),
            &mut Fragments::default(),
            |one| {
                found.push((one.seq, one.payload.to_vec(), one.missing, one.sum));
            },
        );
        (content, found)
    }

    #[test]
    fn a_segment_is_read_and_its_checksum_verified() {
        let made = built(b"hello");
        assert_eq!(
            seen(&made, made.len() as u32),
            (Content::Segment, vec![(7, b"hello".to_vec(), 0, Sum::Good)])
        );
    }

    #[test]
    fn a_changed_byte_is_a_bad_checksum() {
        let mut made = built(b"hello");
        *made.last_mut().unwrap() ^= 1;
        assert_eq!(seen(&made, made.len() as u32).1[0].3, Sum::Bad);
    }

    #[test]
    fn the_sum_of_the_pseudo_header_is_offloaded() {
        let mut made = built(b"hello");
        let sum = Sum16BitWords::new()
            .add_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0, 25])
            .ones_complement();
        made[14 + 20 + 16..14 + 20 + 18].copy_from_slice(&(!sum).to_ne_bytes());
        assert_eq!(seen(&made, made.len() as u32).1[0].3, Sum::Offloaded);
    }

    /// IPv6 with these headers behind its own, all of which are captured up to `kept`.
    fn chained(kept: usize) -> bool {
        let mut made = vec![0x60, 0, 0, 0, 0, 24, 60, 64];
        made.extend([0xfd; 32]);
        made.extend([44, 0, 1, 4, 0, 0, 0, 0]); // options, then a fragment header, then the header of TCP
        made.extend([6, 0, 0, 1, 0, 0, 0, 7]);
        made.extend([0; 8]);
        let packet = LaxSlicedPacket::from_ip(&made[..kept]).expect("a header of IPv6");
        match packet.net {
            Some(LaxNetSlice::Ipv6(six)) => fragment_header(&six).is_some(),
            _ => panic!("no IPv6"),
        }
    }

    #[test]
    fn a_chain_of_headers_is_not_read_beyond_its_end() {
        assert!(chained(64));
        assert!(chained(56));
        for kept in 40..56 {
            assert!(!chained(kept), "{kept}");
        }
    }

    #[test]
    fn a_cut_frame_says_how_much_is_missing() {
        let made = built(b"hello");
        let cut = &made[..made.len() - 3];
        assert_eq!(
            seen(cut, made.len() as u32).1,
            [(7, b"he".to_vec(), 3, Sum::Unchecked)]
        );
    }
}

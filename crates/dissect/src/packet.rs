//! A captured frame down to its TCP segment: link layer, tunnels, IP, fragments, checksums.

pub use crate::endpoint::Endpoint;
use crate::fragments::{Datagram, Fragments};
use crate::ports::{Ports, Sender};
use crate::tunnels::{self, Inner, Tunnel};
use etherparse::{
    EtherType, IpAuthHeaderSlice, IpNumber, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice,
    LaxIpv4Slice, LaxIpv6Slice, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice, UdpSlice,
    checksum::Sum16BitWords, ip_number,
};

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
    /// A packet of PPP, with or without the header of HDLC.
    Ppp,
    /// A session of PPP over Ethernet.
    PppSession,
    /// Attributes of the netfilter log; one is the packet.
    Nflog,
    /// HDLC of Cisco: an address, a control byte, a type of Ethernet.
    Hdlc,
    /// What macOS puts before a frame of any interface: how long it is, and the link layer behind it.
    Pktap,
    /// The log of the packet filter of BSD: how long it is, a family.
    Pflog,
    /// The encapsulation of IP in BSD: a family, an index, flags.
    Enc,
    /// Not read.
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
            9 | 50 => Self::Ppp,
            51 => Self::PppSession,
            239 => Self::Nflog,
            104 => Self::Hdlc,
            149 | 258 => Self::Pktap,
            117 => Self::Pflog,
            109 => Self::Enc,
            other => Self::Unknown(other),
        }
    }
}

/// When and where something passed: the time of a frame, its file and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    pub t_ns: u64,
    /// File, whether the time is not known, number.
    place: u64,
}

const NO_TIME: u64 = 1 << 47;

impl At {
    /// A frame with the number of its file, and its own in that file.
    pub fn new(t_ns: u64, is_timed: bool, file: u16, number: u64) -> Self {
        let unknown = if is_timed { 0 } else { NO_TIME };
        Self {
            t_ns,
            place: u64::from(file) << 48 | unknown | number & (NO_TIME - 1),
        }
    }

    /// Whether the time is known.
    #[inline]
    pub fn is_timed(self) -> bool {
        self.place & NO_TIME == 0
    }

    /// The number of the file.
    pub fn file(self) -> u16 {
        (self.place >> 48) as u16
    }

    /// The number of the frame in its file, from 1 on.
    pub fn number(self) -> u64 {
        self.place & (NO_TIME - 1)
    }

    /// The later of two frames.
    #[inline]
    pub fn max(self, other: Self) -> Self {
        if other.t_ns > self.t_ns { other } else { self }
    }

    /// How long after another one; None where a time is unknown, or not later: no answer comes with its request.
    #[inline]
    pub fn since(self, before: Self) -> Option<u64> {
        let ns = self.t_ns.checked_sub(before.t_ns)?;
        (ns > 0 && self.is_timed() && before.is_timed()).then_some(ns)
    }
}

/// A frame as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub link: Link,
    pub at: At,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Bytes that were captured.
    pub data: &'a [u8],
    /// The sender's kernel left the checksum to the device, and says so.
    pub unsummed: bool,
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
    pub at: At,
    pub from: Endpoint,
    pub to: Endpoint,
    /// Who sends it, by its ports.
    pub sender: Sender,
    /// The number of its packet; 0 where it has none.
    pub identification: u16,
    /// The checksum as it is.
    pub checksum: u16,
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
    /// A datagram of UDP to or from one of the ports.
    Datagram,
    /// A part of a datagram whose other parts are not there yet.
    Fragment,
    /// No TCP, or a link layer that is not read.
    Other,
    /// Cut or damaged before its ports.
    Unreadable,
}

/// Takes what was found in frames.
pub trait Found {
    fn segment(&mut self, segment: &Segment<'_>);
    /// A datagram of UDP between these ends.
    fn datagram(&mut self, at: At, from: Endpoint, to: Endpoint, payload: &[u8]);
}

/// Tunnels in tunnels that are followed.
const MOST_DEEP: u32 = 8;

/// What the layers below TCP need.
pub struct Layers {
    pub ports: Ports,
    pub fragments: Fragments,
    /// Parts of datagrams that may hold a tunnel.
    tunnelled: Fragments,
    /// Frames by the tunnel they came in; one in several counts for each.
    pub tunnels: [u64; Tunnel::COUNT],
}

impl Layers {
    /// To these ports.
    pub fn new(ports: Ports) -> Self {
        Self {
            ports,
            fragments: Fragments::default(),
            tunnelled: Fragments::default(),
            tunnels: [0; Tunnel::COUNT],
        }
    }

    /// Reads a frame and hands its segment on, if it is to or from one of the ports.
    pub fn read(&mut self, frame: &Frame<'_>, out: &mut impl Found) -> Content {
        let mut pass = Pass {
            layers: self,
            frame,
            out,
            depth: 0,
        };
        match sliced(frame.link, frame.data) {
            Sliced::Packet(packet) => pass.packet(&packet),
            Sliced::Inner(inner) => pass.sliced(inner),
            Sliced::No => Content::Other,
        }
    }

    /// What of a frame's segment tells whether it follows another one; None where it has none.
    pub fn seen(&mut self, frame: &Frame<'_>) -> Option<Seen> {
        let mut first = First(None);
        self.read(frame, &mut first);
        first.0
    }
}

/// Takes the first segment.
struct First(Option<Seen>);

impl Found for First {
    fn segment(&mut self, one: &Segment<'_>) {
        let flags = u32::from(one.syn) + u32::from(one.fin);
        self.0 = Some(Seen {
            from: one.from,
            to: one.to,
            seq: one.seq,
            ack: one.ack,
            length: one.payload.len() as u32 + one.missing + flags,
        });
    }
    fn datagram(&mut self, _: At, _: Endpoint, _: Endpoint, _: &[u8]) {}
}

/// What the link layer of a frame holds.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack, for one frame"
)]
enum Sliced<'a> {
    Packet(LaxSlicedPacket<'a>),
    Inner(Inner<'a>),
    No,
}

/// One frame on its way through the layers.
struct Pass<'p, F> {
    layers: &'p mut Layers,
    frame: &'p Frame<'p>,
    out: &'p mut F,
    depth: u32,
}

impl<F: Found> Pass<'_, F> {
    fn packet(&mut self, packet: &LaxSlicedPacket<'_>) -> Content {
        let Some(net) = Net::of(packet, self.frame) else {
            return match packet.ether_payload() {
                Some(other) => self.other(other.ether_type.0, other.payload),
                None => Content::Other,
            };
        };
        match &net.part {
            Part::Whole => {}
            Part::Tcp(_) if net.missing > 0 => return Content::Unreadable,
            Part::Tcp(part) => {
                let Some(whole) = self.layers.fragments.add(part) else {
                    return Content::Fragment;
                };
                return match TcpSlice::from_slice(&whole) {
                    Ok(tcp) => self.handed_on(&tcp, &net),
                    Err(_) => Content::Unreadable,
                };
            }
            Part::Other(part) => {
                let Some(whole) = self.layers.tunnelled.add(part) else {
                    return Content::Other;
                };
                return self.tunnelled(net.number, &whole, &net);
            }
        }
        match &packet.transport {
            Some(TransportSlice::Tcp(tcp)) => self.handed_on(tcp, &net),
            None if net.number == ip_number::TCP => Content::Unreadable,
            _ => self.tunnelled(net.number, net.payload, &net),
        }
    }

    /// What is behind the header of IP and no TCP.
    fn tunnelled(&mut self, number: IpNumber, payload: &[u8], net: &Net<'_>) -> Content {
        if number == ip_number::TCP {
            return match TcpSlice::from_slice(payload) {
                Ok(tcp) => self.handed_on(&tcp, net),
                Err(_) => Content::Unreadable,
            };
        }
        if number != ip_number::UDP {
            return match tunnels::in_ip(number.0, payload) {
                Some((tunnel, inner)) => self.inside(Some(tunnel), inner),
                None => Content::Other,
            };
        }
        let Ok(udp) = UdpSlice::from_slice_lax(payload) else {
            return Content::Other;
        };
        let ports = [udp.source_port(), udp.destination_port()];
        if let Some((tunnel, inner)) = tunnels::in_udp(ports, udp.payload()) {
            return self.inside(Some(tunnel), inner);
        }
        let [from, to] = [(net.from, ports[0]), (net.to, ports[1])].map(Endpoint::of);
        if !self.layers.ports.is_server(&from) && !self.layers.ports.is_server(&to) {
            return Content::Other;
        }
        self.out.datagram(self.frame.at, from, to, udp.payload());
        Content::Datagram
    }

    /// What is behind the header of Ethernet and no IP.
    fn other(&mut self, ether_type: u16, payload: &[u8]) -> Content {
        match tunnels::in_ethernet(ether_type, payload) {
            Some((tunnel, inner)) => self.inside(tunnel, inner),
            None => Content::Other,
        }
    }

    fn inside(&mut self, tunnel: Option<Tunnel>, inner: Inner<'_>) -> Content {
        if self.depth >= MOST_DEEP {
            return Content::Other;
        }
        self.depth += 1;
        if let Some(tunnel) = tunnel {
            self.layers.tunnels[tunnel as usize] += 1;
        }
        self.sliced(inner)
    }

    /// Slices and reads; a packet in slices is large, so it is read where it is made.
    fn sliced(&mut self, inner: Inner<'_>) -> Content {
        match inner {
            Inner::Ip(packet) => match LaxSlicedPacket::from_ip(packet) {
                Ok(packet) => self.packet(&packet),
                Err(_) => Content::Other,
            },
            Inner::Ethernet(frame) => match LaxSlicedPacket::from_ethernet(frame) {
                Ok(packet) => self.packet(&packet),
                Err(_) => Content::Other,
            },
            Inner::Typed(ether_type @ (0x0800 | 0x86dd | 0x8100 | 0x88a8 | 0x9100), payload) => {
                self.packet(&LaxSlicedPacket::from_ether_type(
                    EtherType(ether_type),
                    payload,
                ))
            }
            Inner::Typed(other, payload) => self.other(other, payload),
        }
    }

    fn handed_on(&mut self, tcp: &TcpSlice<'_>, net: &Net<'_>) -> Content {
        let ports = (tcp.source_port(), tcp.destination_port());
        let [from, to] = [(net.from, ports.0), (net.to, ports.1)].map(Endpoint::of);
        let payload = tcp.payload();
        let Some(sender) = self.layers.ports.sender(&from, &to, payload) else {
            return Content::OtherPorts(ports.0, ports.1);
        };
        self.out.segment(&Segment {
            at: self.frame.at,
            from,
            to,
            sender,
            identification: net.identification,
            checksum: tcp.checksum(),
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            window: tcp.window_size(),
            payload,
            missing: net.missing,
            sum: summed(tcp, net, self.frame),
        });
        Content::Segment
    }
}

impl Endpoint {
    fn of((address, port): ([u8; 16], u16)) -> Self {
        Self { address, port }
    }
}

/// What of a segment tells whether it follows another one.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    from: Endpoint,
    to: Endpoint,
    seq: u32,
    ack: Option<u32>,
    /// Numbers that it takes.
    length: u32,
}

impl Seen {
    /// Whether it acknowledges bytes of the other one.
    pub fn follows(self, other: Option<Self>) -> bool {
        other.is_some_and(|other| {
            let ends = (self.from, self.to) == (other.to, other.from);
            let acknowledges = |ack: u32| ack.wrapping_sub(other.seq) as i32 > 0;
            ends && other.length > 0 && self.ack.is_some_and(acknowledges)
        })
    }
}

fn sliced(link: Link, data: &[u8]) -> Sliced<'_> {
    let two = |at: usize| {
        Some(EtherType(u16::from_be_bytes(
            data.get(at..at + 2)?.try_into().ok()?,
        )))
    };
    let cooked = |at: usize, length: usize| {
        let (ether_type, payload) = (two(at)?, data.get(length..)?);
        Some(
            match LaxSlicedPacket::from_ether_type(ether_type, payload) {
                packet if packet.net.is_none() && packet.link_exts.is_empty() => {
                    Sliced::Inner(Inner::Typed(ether_type.0, payload))
                }
                packet => Sliced::Packet(packet),
            },
        )
    };
    let ip = |data| Some(Sliced::Inner(Inner::Ip(data)));
    let found = match link {
        Link::Ethernet => Some(Sliced::Inner(Inner::Ethernet(data))),
        Link::Cooked => cooked(14, 16),
        Link::Cooked2 => cooked(0, 20),
        Link::Raw => ip(data),
        Link::Loopback => match family(data) {
            Some(2 | 10 | 23 | 24 | 28 | 30) => data.get(4..).and_then(ip),
            _ => None,
        },
        Link::Ppp => tunnels::in_ppp(data).map(Sliced::Inner),
        Link::PppSession => tunnels::in_session(data).map(Sliced::Inner),
        Link::Nflog => tunnels::in_log(data).map(Sliced::Inner),
        Link::Hdlc => cooked(2, 4),
        Link::Pktap => return tapped(data),
        Link::Pflog => data
            .first()
            .and_then(|length| data.get(usize::from(*length).next_multiple_of(4)..))
            .and_then(ip),
        Link::Enc => data.get(12..).and_then(ip),
        Link::Unknown(_) => None,
    };
    found.unwrap_or(Sliced::No)
}

/// What is behind the header of macOS; a header in a header is none.
fn tapped(data: &[u8]) -> Sliced<'_> {
    let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let inner = word(0).zip(word(8)).and_then(|(length, link)| {
        Some((Link::of(link), data.get(usize::try_from(length).ok()?..)?))
    });
    match inner {
        Some((link, rest)) if link != Link::Pktap => sliced(link, rest),
        _ => Sliced::No,
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
    number: IpNumber,
    identification: u16,
    payload: &'a [u8],
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
    Other(Datagram<'a>),
}

impl<'a> Part<'a> {
    fn of(number: IpNumber, part: Datagram<'a>) -> Self {
        if number == ip_number::TCP {
            Self::Tcp(part)
        } else {
            Self::Other(part)
        }
    }
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
        let sum = Sum16BitWords::new()
            .add_slice(header.slice())
            .ones_complement();
        let length = usize::from(header.total_len());
        let part = if payload.fragmented {
            Part::of(
                payload.ip_number,
                Datagram {
                    from,
                    to,
                    identification: u32::from(header.identification()),
                    offset: header.fragments_offset(),
                    more: header.more_fragments(),
                    payload: payload.payload,
                },
            )
        } else {
            Part::Whole
        };
        Self {
            from,
            to,
            number: payload.ip_number,
            identification: header.identification(),
            payload: payload.payload,
            damaged: sum != 0 && header.header_checksum() != 0,
            missing: missing(length, header.slice(), payload.payload, frame),
            part,
        }
    }

    fn six(six: &LaxIpv6Slice<'a>, frame: &Frame<'_>) -> Self {
        let (header, payload) = (six.header(), six.payload());
        let (from, to) = (header.source(), header.destination());
        let length = match usize::from(header.payload_length()) {
            0 => 0,
            length => length + header.slice().len(),
        };
        let part = match fragment_header(six) {
            Some(part) if payload.fragmented => Part::of(
                payload.ip_number,
                Datagram {
                    from,
                    to,
                    identification: part.identification(),
                    offset: part.fragment_offset(),
                    more: part.more_fragments(),
                    payload: payload.payload,
                },
            ),
            _ => Part::Whole,
        };
        Self {
            from,
            to,
            number: payload.ip_number,
            identification: 0,
            payload: payload.payload,
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

    struct All(Vec<Seen>);
    impl Found for All {
        fn segment(&mut self, one: &Segment<'_>) {
            self.0
                .push((one.seq, one.payload.to_vec(), one.missing, one.sum));
        }
        fn datagram(&mut self, _: At, _: Endpoint, _: Endpoint, _: &[u8]) {}
    }

    fn seen(data: &[u8], wire_bytes: u32) -> (Content, Vec<Seen>) {
        let frame = Frame {
            link: Link::Ethernet,
            at: At::default(),
            wire_bytes,
            data,
            unsummed: false,
        };
        let mut found = All(Vec::new());
        let content = Layers::new(Ports::new([389], false)).read(&frame, &mut found);
        let found = found.0;
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

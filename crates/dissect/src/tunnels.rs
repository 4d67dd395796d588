//! Packets in packets: what a mirror of a switch or a cloud, a provider's line or a network of containers puts around a frame.

/// The tunnels that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Tunnel {
    Vxlan,
    Gre,
    Erspan,
    Geneve,
    Ipip,
    Mpls,
    Pppoe,
    Tzsp,
}

impl Tunnel {
    pub const COUNT: usize = 8;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Vxlan,
        Self::Gre,
        Self::Erspan,
        Self::Geneve,
        Self::Ipip,
        Self::Mpls,
        Self::Pppoe,
        Self::Tzsp,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Gre => "gre",
            Self::Erspan => "erspan",
            Self::Geneve => "geneve",
            Self::Ipip => "ipip",
            Self::Mpls => "mpls",
            Self::Pppoe => "pppoe",
            Self::Tzsp => "tzsp",
        }
    }
}

/// What a tunnel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner<'a> {
    Ip(&'a [u8]),
    Ethernet(&'a [u8]),
    /// A payload of Ethernet of this type.
    Typed(u16, &'a [u8]),
}

const BRIDGED: u16 = 0x6558;
const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
/// IANA's port, that of Linux before it, and that with the generic extension.
const VXLAN: [u16; 2] = [4789, 8472];
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const MPLS: u16 = 6635;
const GRE: u16 = 4754;
const SERVICE_CHAIN: u16 = 0x894f;
/// Before a packet that a router handed to a cache; the second version has a word of its own.
const REDIRECTED: u16 = 0x883e;
const TZSP: u16 = 37_008;

/// By the number of IP's payload.
pub fn in_ip(number: u8, payload: &[u8]) -> Option<(Tunnel, Inner<'_>)> {
    match number {
        4 | 41 => Some((Tunnel::Ipip, Inner::Ip(payload))),
        47 => in_gre(payload),
        97 => Some((Tunnel::Gre, Inner::Ethernet(payload.get(2..)?))),
        137 => Some((Tunnel::Mpls, in_mpls(payload)?)),
        _ => None,
    }
}

/// By the ports of a datagram; the one that is sent to says what it is.
pub fn in_udp(ports: [u16; 2], payload: &[u8]) -> Option<(Tunnel, Inner<'_>)> {
    match ports[1] {
        port if VXLAN.contains(&port) => {
            let (head, rest) = payload.split_first_chunk::<8>()?;
            (head[0] & 0x08 != 0).then_some((Tunnel::Vxlan, Inner::Ethernet(rest)))
        }
        VXLAN_GPE => in_vxlan_gpe(payload),
        GENEVE => {
            let (head, rest) = payload.split_first_chunk::<8>()?;
            let (options, kind) = (usize::from(head[0] & 0x3f) * 4, two(head, 2)?);
            let inner = Inner::Typed(kind, rest.get(options..)?);
            (head[0] >> 6 == 0).then_some((Tunnel::Geneve, inner))
        }
        MPLS => Some((Tunnel::Mpls, in_mpls(payload)?)),
        GRE => in_gre(payload),
        TZSP => Some((Tunnel::Tzsp, in_tzsp(payload)?)),
        _ => None,
    }
}

/// By the type of a payload of Ethernet. A tag or a header that is no tunnel has no name.
pub fn in_ethernet(kind: u16, payload: &[u8]) -> Option<(Option<Tunnel>, Inner<'_>)> {
    match kind {
        0x8847 | 0x8848 => Some((Some(Tunnel::Mpls), in_mpls(payload)?)),
        0x8864 => Some((Some(Tunnel::Pppoe), in_session(payload)?)),
        BRIDGED => Some((None, Inner::Ethernet(payload))),
        _ if tag(kind).is_some() => Some((None, behind_tags(kind, payload)?)),
        SERVICE_CHAIN => Some((None, in_chain(payload)?)),
        // The header of a network's provider: before both there is what Ethernet begins with.
        0x88e7 => Some((None, Inner::Ethernet(payload.get(4..)?))),
        // A length: the header of IEEE 802.2 with a type of Ethernet.
        0..=1500 => match payload {
            [0xaa, 0xaa, 3, 0, 0, 0, high, low, rest @ ..] => {
                Some((None, Inner::Typed(u16::from_be_bytes([*high, *low]), rest)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Bytes of a tag of Ethernet without the type that follows: of VLANs by any number, of metadata, of a virtual and a bridge's port.
fn tag(kind: u16) -> Option<usize> {
    match kind {
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => Some(2),
        0x8909 | 0x8926 => Some(if kind == 0x8909 { 6 } else { 4 }),
        0x893f => Some(6),
        _ => None,
    }
}

/// What follows the tags, however many there are.
fn behind_tags(mut kind: u16, mut rest: &[u8]) -> Option<Inner<'_>> {
    while let Some(length) = tag(kind) {
        kind = two(rest, length)?;
        rest = rest.get(length + 2..)?;
    }
    Some(Inner::Typed(kind, rest))
}

/// Behind the header of a chain of services (RFC 8300), which tells its length and what follows.
fn in_chain(payload: &[u8]) -> Option<Inner<'_>> {
    let head = payload.first_chunk::<8>()?;
    let rest = payload.get(usize::from(head[1] & 0x3f) * 4..)?;
    match head[3] {
        1 | 2 => Some(Inner::Ip(rest)),
        3 => Some(Inner::Ethernet(rest)),
        5 => in_mpls(rest),
        _ => None,
    }
}

fn in_gre(payload: &[u8]) -> Option<(Tunnel, Inner<'_>)> {
    let (flags, kind) = (two(payload, 0)?, two(payload, 2)?);
    let word = |bit: u16| if flags & bit == 0 { 0 } else { 4 };
    let sequence = word(0x1000);
    let version = flags & 7;
    let options = word(0x8000).max(word(0x4000)) + word(0x2000) + sequence;
    match version {
        0 => {}
        // That of a line by PPTP: a key always, and an acknowledgement.
        1 if kind == 0x880b => {
            let rest = payload.get(8 + sequence + word(0x0080)..)?;
            return Some((Tunnel::Gre, in_ppp(rest)?));
        }
        _ => return None,
    }
    let rest = payload.get(4 + options..)?;
    match kind {
        ERSPAN_2 | ERSPAN_3 => in_erspan(rest, sequence > 0 || kind == ERSPAN_3),
        BRIDGED => Some((Tunnel::Gre, Inner::Ethernet(rest))),
        REDIRECTED => {
            let word = if matches!(rest.first()? >> 4, 4 | 6) {
                0
            } else {
                4
            };
            Some((Tunnel::Gre, Inner::Ip(rest.get(word..)?)))
        }
        kind => Some((Tunnel::Gre, Inner::Typed(kind, rest))),
    }
}

/// The first version has no header of its own, and no number.
fn in_erspan(rest: &[u8], is_numbered: bool) -> Option<(Tunnel, Inner<'_>)> {
    let header = match rest.first()? >> 4 {
        1 if is_numbered => 8,
        2 if is_numbered => 12 + if rest.get(11)? & 1 == 1 { 8 } else { 0 },
        _ => 0,
    };
    Some((Tunnel::Erspan, Inner::Ethernet(rest.get(header..)?)))
}

fn in_vxlan_gpe(payload: &[u8]) -> Option<(Tunnel, Inner<'_>)> {
    let (head, rest) = payload.split_first_chunk::<8>()?;
    let has_kind = head[0] & 0x04 != 0;
    let inner = match head[3] {
        1 | 2 if has_kind => Inner::Ip(rest),
        5 if has_kind => in_mpls(rest)?,
        4 if has_kind => in_chain(rest)?,
        3 => Inner::Ethernet(rest),
        _ if !has_kind => Inner::Ethernet(rest),
        _ => return None,
    };
    Some((Tunnel::Vxlan, inner))
}

/// Behind the last label is IP, or Ethernet with or without a word before it.
fn in_mpls(mut rest: &[u8]) -> Option<Inner<'_>> {
    loop {
        let (label, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        if label[2] & 1 == 1 {
            break;
        }
    }
    let is_ip = etherparse::LaxSlicedPacket::from_ip(rest).is_ok() && !is_framed(rest);
    match rest.first()? >> 4 {
        4 | 6 if is_ip => Some(Inner::Ip(rest)),
        0 if !is_framed(rest) => Some(Inner::Ethernet(rest.get(4..)?)),
        _ => Some(Inner::Ethernet(rest)),
    }
}

/// Whether this has a type of Ethernet where a frame has it.
fn is_framed(rest: &[u8]) -> bool {
    two(rest, 12).is_some_and(|kind| matches!(kind, 0x0800 | 0x86dd) || tag(kind).is_some())
}

/// A session of PPP over Ethernet.
pub fn in_session(payload: &[u8]) -> Option<Inner<'_>> {
    let (head, rest) = payload.split_first_chunk::<6>()?;
    if head[1] != 0 {
        return None;
    }
    in_ppp(rest)
}

/// A packet of PPP: its number has one byte or two.
pub fn in_ppp(rest: &[u8]) -> Option<Inner<'_>> {
    let rest = rest.strip_prefix(&[0xff, 3]).unwrap_or(rest);
    let (number, rest) = match rest {
        [one, rest @ ..] if one & 1 == 1 => (u16::from(*one), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return None,
    };
    match number {
        0x21 | 0x57 => Some(Inner::Ip(rest)),
        0x281 | 0x283 => in_mpls(rest),
        _ => None,
    }
}

/// The packet of a record of the netfilter log.
pub fn in_log(data: &[u8]) -> Option<Inner<'_>> {
    const PACKET: u16 = 9;
    let mut rest = data.get(4..)?;
    loop {
        let (head, behind) = rest.split_first_chunk::<4>()?;
        let little = [
            u16::from_le_bytes([head[0], head[1]]),
            u16::from_le_bytes([head[2], head[3]]),
        ];
        let big = [
            u16::from_be_bytes([head[0], head[1]]),
            u16::from_be_bytes([head[2], head[3]]),
        ];
        let [length, kind] = if little[1] & 0x7fff < 256 {
            little
        } else {
            big
        };
        let length = usize::from(length).checked_sub(4)?;
        if kind & 0x7fff == PACKET {
            return Some(Inner::Ip(&behind[..length.min(behind.len())]));
        }
        rest = behind.get(length.next_multiple_of(4)..)?;
    }
}

fn in_tzsp(payload: &[u8]) -> Option<Inner<'_>> {
    let (head, mut rest) = payload.split_first_chunk::<4>()?;
    if head[0] != 1 || two(head, 2)? != 1 {
        return None;
    }
    loop {
        match rest {
            [0, behind @ ..] => rest = behind,
            [1, behind @ ..] => return Some(Inner::Ethernet(behind)),
            [_, length, behind @ ..] => rest = behind.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}

fn two(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

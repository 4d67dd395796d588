//! Packets as a TUN device gives them: how many segments of the wire are in one, and how a part of them becomes a packet.
//!
//! In front of each packet is a `struct virtio_net_hdr` of `VNET` bytes. A super packet (`gso_size` in it) carries many segments
//! under one header, which a network card would cut up; a run of them is a packet again once lengths, identification, sequence
//! number, flags and the checksum of the pseudo header are mended. Sources: `linux/virtio_net.h`, `tcp_gso_segment`,
//! `__udp_gso_segment`.

/// Bytes of the header in front of each packet.
pub const VNET: usize = 10;
/// The longest packet with its header in front.
pub const MOST_BYTES: usize = VNET + 65_535;

const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// The form of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Segments of the wire.
    pub segments: u32,
    /// Bytes of the headers of IP and of the transport, which each segment has.
    pub headers: usize,
    /// Bytes behind the headers.
    pub payload: usize,
    /// Bytes of payload in each segment but the last.
    pub share: usize,
    /// Where the transport's header begins, from the begin of the IP header.
    transport: usize,
}

impl Form {
    /// The form of a packet with its header in front; what is no super packet is one segment.
    pub fn of(packet: &[u8]) -> Self {
        let length = packet.len().saturating_sub(VNET);
        let single = Self {
            segments: 1,
            headers: length,
            payload: 0,
            share: 0,
            transport: 0,
        };
        if length == 0 {
            return single;
        }
        let (share, transport) = (
            usize::from(native(packet, 4)),
            usize::from(native(packet, 6)),
        );
        let inside = VNET + transport;
        let headers = match packet[1] & !GSO_ECN {
            GSO_TCP4 | GSO_TCP6 if packet.len() > inside + 20 => {
                transport + usize::from(packet[inside + 12] >> 4) * 4
            }
            GSO_UDP if packet.len() > inside + 8 => transport + 8,
            _ => return single,
        };
        if share == 0 || transport < 20 || length <= headers {
            return single;
        }
        let payload = length - headers;
        Self {
            segments: payload.div_ceil(share) as u32,
            headers,
            payload,
            share,
            transport,
        }
    }

    /// Bytes of payload of the segments `from..to`.
    fn carried(&self, from: u32, to: u32) -> usize {
        let at = |segment: u32| (segment as usize * self.share).min(self.payload);
        at(to) - at(from)
    }

    /// Bytes of the segments `from..to` as IP packets of their own.
    pub fn bytes(&self, from: u32, to: u32) -> u64 {
        ((to - from) as usize * self.headers + self.carried(from, to)) as u64
    }
}

/// Makes a packet of the segments `from..to` of another; `piece` is overwritten.
pub fn cut(packet: &[u8], form: &Form, from: u32, to: u32, piece: &mut Vec<u8>) {
    piece.clear();
    let begin = VNET + form.headers + from as usize * form.share;
    piece.extend_from_slice(&packet[..VNET + form.headers]);
    piece.extend_from_slice(&packet[begin..begin + form.carried(from, to)]);
    if to - from == 1 {
        piece[1] = GSO_NONE;
        piece[4..6].copy_from_slice(&0_u16.to_ne_bytes());
    }
    let last = to == form.segments;
    let transport = if piece[VNET] >> 4 == 4 {
        mend_v4(piece, from)
    } else {
        mend_v6(piece)
    };
    let at = VNET + form.transport;
    match transport {
        TCP => mend_tcp(&mut piece[at..], from, from * form.share as u32, last),
        UDP => {
            let length = (piece.len() - at) as u16;
            piece[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        }
        _ => {}
    }
    let sum = pseudo(&piece[VNET..], form.transport, transport);
    let field = at + if transport == TCP { 16 } else { 6 };
    piece[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Mends length, identification and checksum of IPv4; the number of the transport.
fn mend_v4(piece: &mut [u8], from: u32) -> u8 {
    let ip = &mut piece[VNET..];
    let length = ip.len() as u16;
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    let id = big(ip, 4).wrapping_add(from as u16);
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip[10..12].copy_from_slice(&[0, 0]);
    let header = usize::from(ip[0] & 15) * 4;
    let sum = !folded(words(&ip[..header]));
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip[9]
}

/// Mends the length of IPv6; the number of the header behind it.
fn mend_v6(piece: &mut [u8]) -> u8 {
    let length = (piece.len() - VNET - 40) as u16;
    piece[VNET + 4..VNET + 6].copy_from_slice(&length.to_be_bytes());
    piece[VNET + 6]
}

/// Only the first segment says that the window was cut, only the last that no more comes.
fn mend_tcp(tcp: &mut [u8], from: u32, offset: u32, last: bool) {
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(offset);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !last {
        tcp[13] &= !TCP_FIN_PSH;
    }
    if from > 0 {
        tcp[13] &= !TCP_CWR;
    }
}

/// The sum over the pseudo header, which whoever completes the checksum begins with.
fn pseudo(ip: &[u8], transport: usize, protocol: u8) -> u16 {
    let addresses = if ip[0] >> 4 == 4 {
        &ip[12..20]
    } else {
        &ip[8..40]
    };
    let length = (ip.len() - transport) as u32;
    folded(words(addresses) + u32::from(protocol) + (length >> 16) + (length & 0xffff))
}

fn words(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn native(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn big(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A super packet of TCP over IPv4: 3,000 bytes in shares of 1,448, all flags of interest set.
    fn tcp4() -> Vec<u8> {
        let mut packet = vec![1, GSO_TCP4, 0, 0];
        for number in [1_448_u16, 20, 16] {
            packet.extend(number.to_ne_bytes());
        }
        packet.extend([
            0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, TCP, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
        ]);
        packet.extend([0x80, 0, 0x14, 0x51, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]);
        packet.extend([0x80, 0x10 | TCP_FIN_PSH | TCP_CWR, 1, 0, 0, 0, 0, 0]);
        packet.extend([1; 12]);
        packet.extend((0..3_000).map(|at| at as u8));
        packet
    }

    #[test]
    fn a_super_packet_has_as_many_segments_as_a_card_would_send() {
        let form = Form::of(&tcp4());
        assert_eq!((form.segments, form.headers, form.payload), (3, 52, 3_000));
        assert_eq!(form.bytes(0, 1), 1_500);
        assert_eq!(form.bytes(2, 3), 52 + 104);
        assert_eq!(form.bytes(0, 3), 3 * 52 + 3_000);
    }

    #[test]
    fn what_is_no_super_packet_is_one_segment() {
        let mut packet = tcp4();
        packet[1] = GSO_NONE;
        let form = Form::of(&packet);
        assert_eq!((form.segments, form.bytes(0, 1)), (1, 3_052));
        assert_eq!(Form::of(&[]).segments, 1);
        packet.truncate(30);
        packet[1] = GSO_TCP4;
        assert_eq!(Form::of(&packet).segments, 1);
    }

    #[test]
    fn a_middle_segment_has_its_own_number_and_neither_end_nor_begin() {
        let (packet, mut piece) = (tcp4(), Vec::new());
        cut(&packet, &Form::of(&packet), 1, 2, &mut piece);
        let ip = &piece[VNET..];
        assert_eq!(
            (piece[1], native(&piece, 4), piece.len()),
            (GSO_NONE, 0, VNET + 1_500)
        );
        assert_eq!((big(ip, 2), big(ip, 4)), (1_500, 0x1235));
        assert_eq!(ip[24..28], 1_447_u32.to_be_bytes()); // the number went over its end
        assert_eq!(ip[33], 0x10);
        assert_eq!(ip[52], (1_448 % 256) as u8);
    }

    #[test]
    fn the_last_segments_keep_the_end_and_stay_a_super_packet() {
        let (packet, mut piece) = (tcp4(), Vec::new());
        cut(&packet, &Form::of(&packet), 1, 3, &mut piece);
        let form = Form::of(&piece);
        assert_eq!((form.segments, form.payload), (2, 1_552));
        assert_eq!(piece[VNET + 33], 0x10 | TCP_FIN_PSH);
        cut(&packet, &Form::of(&packet), 0, 2, &mut piece);
        assert_eq!(piece[VNET + 33], 0x10 | TCP_CWR);
    }

    #[test]
    fn the_header_and_the_pseudo_header_add_up() {
        let (packet, mut piece) = (tcp4(), Vec::new());
        cut(&packet, &Form::of(&packet), 2, 3, &mut piece);
        let ip = &piece[VNET..];
        assert_eq!(folded(words(&ip[..20])), 0xffff);
        let whole = folded(words(&[198, 18, 0, 1, 198, 18, 0, 2]) + 6 + 136);
        assert_eq!(big(ip, 36), whole);
    }

    #[test]
    fn datagrams_over_ipv6_are_cut_by_their_length() {
        let mut packet = vec![1, GSO_UDP, 0, 0];
        for number in [1_000_u16, 40, 6] {
            packet.extend(number.to_ne_bytes());
        }
        packet.extend([0x60, 0, 0, 0, 0, 0, UDP, 64]);
        packet.extend([7; 32]);
        packet.extend([0, 1, 0, 2, 0, 0, 0, 0]);
        packet.extend([9; 2_500]);
        let (form, mut piece) = (Form::of(&packet), Vec::new());
        assert_eq!((form.segments, form.headers), (3, 48));
        cut(&packet, &form, 2, 3, &mut piece);
        let ip = &piece[VNET..];
        assert_eq!((big(ip, 4), big(ip, 44), ip.len()), (508, 508, 548));
        assert_eq!(big(ip, 46), folded(words(&[7; 32]) + 17 + 508));
    }
}

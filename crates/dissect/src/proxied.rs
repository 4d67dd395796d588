//! The header that a proxy puts before a client's first bytes: PROXY, version 1 in text, version 2 in bytes.

use std::net::{IpAddr, Ipv6Addr};

/// What version 2 begins with.
const SECOND: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIRST: &[u8; 6] = b"PROXY ";
/// Bytes of a header of version 1, with its end of line.
const MOST_OF_FIRST: usize = 107;
/// A header of version 2 that names more is none.
const MOST_OF_SECOND: usize = 4096;

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxied {
    /// A header of so many bytes, and the address of the client that it names.
    Header(usize, Option<[u8; 16]>),
    /// The begin of one.
    Perhaps,
    No,
}

/// Bytes of the header that begins here, where it is whole.
pub fn header(bytes: &[u8]) -> Option<usize> {
    match read(bytes) {
        Proxied::Header(length, _) => Some(length),
        _ => None,
    }
}

/// Reads the header that begins here.
pub fn read(bytes: &[u8]) -> Proxied {
    match bytes.first() {
        Some(b'P') => first(bytes),
        Some(b'\r') => second(bytes),
        _ => Proxied::No,
    }
}

fn first(bytes: &[u8]) -> Proxied {
    let known = bytes.len().min(FIRST.len());
    if bytes[..known] != FIRST[..known] {
        return Proxied::No;
    }
    let line = &bytes[..bytes.len().min(MOST_OF_FIRST)];
    let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
        return if line.len() < MOST_OF_FIRST {
            Proxied::Perhaps
        } else {
            Proxied::No
        };
    };
    let client = std::str::from_utf8(&line[..end]).ok().and_then(|text| {
        let address: IpAddr = text.split(' ').nth(2)?.parse().ok()?;
        Some(match address {
            IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
            IpAddr::V6(six) => six.octets(),
        })
    });
    Proxied::Header(end + 2, client)
}

fn second(bytes: &[u8]) -> Proxied {
    let known = bytes.len().min(SECOND.len());
    if bytes[..known] != SECOND[..known] {
        return Proxied::No;
    }
    let Some(head) = bytes.first_chunk::<16>() else {
        return Proxied::Perhaps;
    };
    let length = 16 + usize::from(u16::from_be_bytes([head[14], head[15]]));
    if head[12] >> 4 != 2 || length > MOST_OF_SECOND {
        return Proxied::No;
    }
    let Some(named) = bytes.get(16..length) else {
        return Proxied::Perhaps;
    };
    let client = match head[13] >> 4 {
        1 => named.first_chunk::<4>().map(|four| {
            let four = std::net::Ipv4Addr::from(*four);
            four.to_ipv6_mapped().octets()
        }),
        2 => named
            .first_chunk::<16>()
            .map(|six| Ipv6Addr::from(*six).octets()),
        _ => None,
    };
    Proxied::Header(length, client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read_from_any_number_of_bytes() {
        let text = b"PROXY TCP4 192.0.2.7 10.0.0.2 5000 389\r\n".to_vec();
        let bytes = [
            &SECOND[..],
            b"\x21\x11\0\x0c\xc0\0\x02\x07\x0a\0\0\x02\x13\x88\x01\x85",
        ]
        .concat();
        let local = [&SECOND[..], b"\x20\0\0\0"].concat();
        let unknown = b"PROXY UNKNOWN\r\n".to_vec();
        let seven = "::ffff:192.0.2.7".parse::<Ipv6Addr>().unwrap().octets();
        for (header, client) in [
            (text, Some(seven)),
            (bytes, Some(seven)),
            (local, None),
            (unknown, None),
        ] {
            let more = [&header[..], b"\x30\x05"].concat();
            assert_eq!(read(&more), Proxied::Header(header.len(), client));
            for end in 1..header.len() {
                assert_eq!(read(&header[..end]), Proxied::Perhaps, "{end}");
            }
        }
        assert_eq!(read(b"POST / HTTP/1.1\r\n"), Proxied::No);
        assert_eq!(read(&[b'P'; 200]), Proxied::No);
    }
}

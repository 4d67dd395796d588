//! How long a handshake of TLS takes, by the headers of its records.
//!
//! Both sides change the cipher near its end, in all versions; where one of version 1.3 does not, the client's first protected
//! record is that end.

use crate::message::Side;
use crate::packet::At;

const CHANGE: u8 = 20;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const HEADER: usize = 5;

#[derive(Default)]
struct Direction {
    head: Vec<u8>,
    /// Bytes of the record that come.
    left: usize,
    changed: bool,
    greeted: bool,
}

/// A handshake that goes on.
#[derive(Default)]
pub struct Handshake {
    began: Option<At>,
    sides: [Direction; 2],
}

impl Handshake {
    /// Takes bytes of a side: the duration at its end, or that there is none.
    pub fn bytes(&mut self, side: Side, mut data: &[u8], at: At) -> Option<Option<u64>> {
        while !data.is_empty() {
            let one = &mut self.sides[side as usize];
            if one.left > 0 {
                let count = one.left.min(data.len());
                one.left -= count;
                data = &data[count..];
                continue;
            }
            let room = (HEADER - one.head.len()).min(data.len());
            one.head.extend_from_slice(&data[..room]);
            data = &data[room..];
            if one.head.len() < HEADER {
                return None;
            }
            let head = std::mem::take(&mut one.head);
            one.left = usize::from(u16::from_be_bytes([head[3], head[4]]));
            if head[1] != 3 {
                return Some(None);
            }
            if let Some(ended) = self.record(head[0], side, at) {
                return Some(ended);
            }
        }
        None
    }

    fn record(&mut self, kind: u8, side: Side, at: At) -> Option<Option<u64>> {
        let one = &mut self.sides[side as usize];
        match (kind, side) {
            (HANDSHAKE, Side::Client) if !one.greeted => {
                one.greeted = true;
                self.began.get_or_insert(at);
            }
            (HANDSHAKE, _) => one.greeted = true,
            (CHANGE, _) => one.changed = true,
            (DATA, _) if self.began.is_none() => return Some(None),
            (DATA, Side::Client) => return Some(self.lasted(at)),
            _ => {}
        }
        let changed = self.sides.iter().all(|one| one.changed);
        changed.then(|| self.lasted(at))
    }

    fn lasted(&self, at: At) -> Option<u64> {
        self.began.and_then(|began| at.since(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8) -> Vec<u8> {
        [&[kind, 3, 3, 0, 40][..], &[7; 40]].concat()
    }

    #[test]
    fn the_end_is_found_in_all_versions() {
        use Side::{Client, Server};
        let twelve = [
            (Client, 22),
            (Server, 22),
            (Client, 22),
            (Client, 20),
            (Server, 20),
        ];
        let resumed = [(Client, 22), (Server, 22), (Server, 20), (Client, 20)];
        let thirteen = [(Client, 22), (Server, 22), (Server, 23), (Client, 23)];
        for records in [&twelve[..], &resumed, &thirteen] {
            for size in [1, 3, 100] {
                let mut handshake = Handshake::default();
                let mut ended = None;
                for (number, (side, kind)) in records.iter().enumerate() {
                    for piece in record(*kind).chunks(size) {
                        assert_eq!(ended, None);
                        let at = At::new(1_000 + number as u64, true, 0, 0);
                        ended = ended.or(handshake.bytes(*side, piece, at));
                        if ended.is_some() {
                            break;
                        }
                    }
                }
                assert_eq!(ended, Some(Some(records.len() as u64 - 1)));
            }
        }
        let mut late = Handshake::default();
        assert_eq!(late.bytes(Server, &record(23), At::default()), Some(None));
    }
}

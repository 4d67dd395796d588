//! Datagrams that came in parts; so many at a time, that memory has a bound.

use etherparse::{IpFragOffset, defrag::IpDefragBuf, ip_number};
use std::collections::HashMap;

/// Datagrams in the making; each has at most 64 KiB.
const MOST: usize = 256;

/// A part of a datagram.
pub struct Datagram<'a> {
    pub from: [u8; 16],
    pub to: [u8; 16],
    pub identification: u32,
    pub offset: IpFragOffset,
    pub more: bool,
    pub payload: &'a [u8],
}

type Key = ([u8; 16], [u8; 16], u32);

/// Datagrams whose parts did not all come yet.
#[derive(Default)]
pub struct Fragments {
    active: HashMap<Key, (IpDefragBuf, u64)>,
    parts: u64,
    given_up: u64,
}

impl Fragments {
    /// Adds a part; the datagram, where it is the last that was missing.
    pub fn add(&mut self, part: &Datagram<'_>) -> Option<Vec<u8>> {
        self.parts += 1;
        let key = (part.from, part.to, part.identification);
        if self.active.len() >= MOST && !self.active.contains_key(&key) {
            self.drop_oldest();
        }
        let age = self.parts;
        let (buffer, last) = self.active.entry(key).or_insert_with(|| {
            (
                IpDefragBuf::new(ip_number::TCP, Vec::new(), Vec::new()),
                age,
            )
        });
        *last = age;
        if buffer.add(part.offset, part.more, part.payload).is_err() {
            self.active.remove(&key);
            self.given_up += 1;
            return None;
        }
        if !buffer.is_complete() {
            return None;
        }
        self.active
            .remove(&key)
            .map(|(whole, _)| whole.take_bufs().0)
    }

    fn drop_oldest(&mut self) {
        let oldest = self
            .active
            .iter()
            .min_by_key(|(_, (_, last))| *last)
            .map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.active.remove(&key);
            self.given_up += 1;
        }
    }

    /// Parts that were seen.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Datagrams that never became whole.
    pub fn incomplete(&self) -> u64 {
        self.given_up + self.active.len() as u64
    }
}

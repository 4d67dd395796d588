//! One connection of the load: requests under way by message id, bytes that wait.

use super::answers::Pending;
use super::wire::Wire;
use assay_ldap::template::FIRST_ID;

/// Ids have 31 bits; the highest one that is used is set in all of them, so that each has four bytes.
const HIGH: u32 = 1 << 30;
const _: () = assert!(HIGH >= FIRST_ID);

/// A connection with its requests under way.
pub struct Connection {
    pub wire: Wire,
    /// Bytes of requests that are not sent yet, and how many of them are.
    pub out: Vec<u8>,
    pub sent: usize,
    /// The beginning of an answer whose end is not there yet.
    pub held: Vec<u8>,
    pub pending: Vec<Pending>,
    pub free: Vec<u16>,
    /// Whether the socket takes no more for now.
    pub is_full: bool,
    /// Whether `out` has something that no one has tried to send.
    pub is_dirty: bool,
    pub is_lost: bool,
    serial: u32,
    bits: u32,
}

impl Connection {
    /// With room for so many requests at a time.
    pub fn new(wire: Wire, depth: usize) -> Self {
        Self {
            wire,
            out: Vec::with_capacity(1 << 10),
            sent: 0,
            held: Vec::new(),
            pending: std::iter::repeat_with(Pending::default)
                .take(depth)
                .collect(),
            free: (0..depth as u16).rev().collect(),
            is_full: false,
            is_dirty: false,
            is_lost: false,
            serial: 0,
            bits: usize::BITS - (depth - 1).leading_zeros(),
        }
    }

    /// A new id for the request at this place. It says the place, and comes again only after at least a million others.
    #[inline]
    pub fn id(&mut self, place: u16) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        HIGH | (self.serial << self.bits | u32::from(place)) & (HIGH - 1)
    }

    /// The place of the request with this id; None where none is under way.
    #[inline]
    pub fn place(&self, id: u32) -> Option<usize> {
        let place = (id & ((1 << self.bits) - 1)) as usize;
        let is_own = |pending: &&Pending| pending.id == id && id != 0;
        self.pending.get(place).filter(is_own).map(|_| place)
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.pending.len() - self.free.len()
    }

    /// Sends what is there; what the socket does not take waits.
    #[inline]
    pub fn flush(&mut self) -> rustix::io::Result<()> {
        self.is_dirty = false;
        if self.sent < self.out.len() {
            self.sent += self.wire.send(&self.out[self.sent..])?;
        } else {
            self.wire.push()?;
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        }
        self.is_full = !self.out.is_empty() || self.wire.is_blocked();
        Ok(())
    }
}

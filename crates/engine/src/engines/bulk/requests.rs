//! The requests of one ring: which are free, which wait to be submitted, and what each of them moves.

use super::ring::Kind;

/// A request: `from` is the stamp of its latency, `rest` is what is still to be moved of its length.
#[derive(Clone, Copy)]
pub struct Request {
    pub from: u64,
    pub offset: u64,
    pub length: u32,
    pub rest: u32,
    pub kind: Kind,
    /// The operation that it counts as.
    pub slot: u8,
    /// Whether its entry for the ring fits it but for the offset.
    pub made: bool,
}

impl Request {
    const NONE: Self = Self {
        from: 0,
        offset: 0,
        length: 0,
        rest: 0,
        kind: Kind::Read,
        slot: 0,
        made: false,
    };

    /// A flush of all that is written.
    pub fn flush(kind: Kind, slot: usize) -> Self {
        Self {
            kind,
            slot: slot as u8,
            ..Self::NONE
        }
    }

    /// Where its record begins.
    pub fn start(&self) -> u64 {
        self.offset - u64::from(self.length - self.rest)
    }
}

/// Numbers of requests, with room for all of them from the beginning.
pub struct Stack {
    numbers: Box<[u32]>,
    length: usize,
}

impl Stack {
    fn new(depth: usize) -> Self {
        Self {
            numbers: vec![0; depth].into_boxed_slice(),
            length: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, number: usize) {
        self.numbers[self.length] = number as u32;
        self.length += 1;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<usize> {
        self.length = self.length.checked_sub(1)?;
        Some(self.numbers[self.length] as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of them, and none is left.
    #[inline]
    pub fn drain(&mut self) -> &[u32] {
        &self.numbers[..std::mem::take(&mut self.length)]
    }
}

/// All requests of one ring.
pub struct Requests {
    pub list: Box<[Request]>,
    pub free: Stack,
    /// Those that get the stamp of their submission.
    pub fresh: Stack,
    /// Those that have their stamp already: begun before, or due at a time.
    pub stamped: Stack,
}

impl Requests {
    /// So many, all free.
    pub fn new(depth: usize) -> Self {
        let mut requests = Self {
            list: vec![Request::NONE; depth].into_boxed_slice(),
            free: Stack::new(depth),
            fresh: Stack::new(depth),
            stamped: Stack::new(depth),
        };
        (0..depth)
            .rev()
            .for_each(|number| requests.free.push(number));
        requests
    }

    /// Whether any waits to be submitted.
    pub fn are_waiting(&self) -> bool {
        !(self.fresh.is_empty() && self.stamped.is_empty())
    }
}

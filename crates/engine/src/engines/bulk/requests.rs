//! The requests of one ring: which are free, which wait to be submitted, and what each of them moves.

use super::pattern::Shape;
use super::ring::Kind;
use io_uring::opcode;
use io_uring::squeue::Entry;

/// The most requests in flight of one worker.
pub const MOST: usize = 4096;

/// A request: `from` is the stamp of its latency, `rest` is what is still to be moved of its length.
#[derive(Clone)]
pub struct Request {
    pub entry: Entry,
    /// The step that the entry fits; a write fits none, because its data are to be made.
    pub shape: Shape,
    pub from: u64,
    pub offset: u64,
    pub length: u32,
    pub rest: u32,
    pub kind: Kind,
    /// The operation that it counts as.
    pub slot: usize,
}

impl Request {
    /// Nothing yet.
    pub fn none() -> Self {
        Self {
            entry: opcode::Nop::new().build(),
            shape: Shape::NONE,
            from: 0,
            offset: 0,
            length: 0,
            rest: 0,
            kind: Kind::Read,
            slot: 0,
        }
    }

    /// Goes to another offset of the file.
    #[inline]
    pub fn go(&mut self, offset: u64) {
        self.offset = offset;
        // SAFETY: the second eight bytes of a submission entry are its offset, by the kernel's interface (io_uring_enter(2)).
        unsafe { (&raw mut self.entry).cast::<u64>().add(1).write(offset) };
    }

    /// Becomes something that needs another entry.
    pub fn change(&mut self, kind: Kind, slot: usize, length: u32, entry: Entry) {
        self.entry = entry;
        self.shape = Shape::NONE;
        self.kind = kind;
        self.slot = slot;
        self.length = length;
        self.rest = length;
    }

    /// Where its record begins.
    pub fn start(&self) -> u64 {
        self.offset - u64::from(self.length - self.rest)
    }
}

/// Numbers of requests, with room for all of them from the beginning.
pub struct Stack {
    numbers: Box<[u16; MOST]>,
    length: usize,
}

impl Stack {
    fn new() -> Self {
        Self {
            numbers: Box::new([0; MOST]),
            length: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, number: usize) {
        self.numbers[self.length % MOST] = number as u16;
        self.length += 1;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<usize> {
        self.length = self.length.checked_sub(1)?;
        Some(usize::from(self.numbers[self.length % MOST]))
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of them, and none is left.
    #[inline]
    pub fn drain(&mut self) -> &[u16] {
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
            list: vec![Request::none(); depth].into_boxed_slice(),
            free: Stack::new(),
            fresh: Stack::new(),
            stamped: Stack::new(),
        };
        (0..depth)
            .rev()
            .for_each(|number| requests.free.push(number));
        requests
    }

    /// How many wait to be submitted.
    pub fn waiting(&self) -> usize {
        self.fresh.length + self.stamped.length
    }
}

//! The slowest operations, with the frames of their requests and answers.

use crate::asked::Asked;
use crate::packet::At;

const MOST: usize = 10;

/// An operation that took long.
#[derive(Clone, Copy)]
pub struct Slow {
    pub asked: Asked,
    /// How long it took, or waited at least.
    pub ns: u64,
    /// The frame of its result, and the code; None where none came.
    pub answer: Option<(At, Option<u32>)>,
}

/// The slowest first.
#[derive(Default)]
pub struct Slowest {
    pub operations: Vec<Slow>,
    /// What takes no longer than that is not among them.
    least_ns: u64,
}

impl Slowest {
    /// Whether an operation of so long is among them.
    #[inline]
    pub fn is_among(&self, ns: u64) -> bool {
        ns > self.least_ns
    }

    /// Adds one.
    pub fn add(&mut self, one: Slow) {
        let at = self.operations.partition_point(|other| other.ns >= one.ns);
        self.operations.insert(at, one);
        self.operations.truncate(MOST);
        if let [.., last] = self.operations[..]
            && self.operations.len() == MOST
        {
            self.least_ns = last.ns;
        }
    }
}

//! A request and the codes of answers, as all that counts them has them.

use crate::message::Kind;
use crate::packet::At;
use std::collections::BTreeMap;

const MOST_CODES: usize = 256;
/// What stands for a filter or a client that has no place of its own.
pub const TOGETHER: u32 = u32::MAX;

/// Counts by result code.
#[derive(Default)]
pub struct Codes(pub BTreeMap<u32, u64>);

impl Codes {
    pub fn count(&mut self, code: u32) {
        if self.0.len() < MOST_CODES || self.0.contains_key(&code) {
            *self.0.entry(code).or_default() += 1;
        }
    }
}

/// A request, as far as its time is concerned.
#[derive(Clone, Copy)]
pub struct Asked {
    pub kind: Kind,
    pub client: u32,
    pub filter: u32,
    pub at: Option<At>,
}

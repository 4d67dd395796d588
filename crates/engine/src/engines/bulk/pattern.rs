//! Which record comes next: the pattern of one worker.

use super::request_mix::RequestMix;
use super::settings::{Operation, Order, Settings};
use crate::block_data::mix;
use crate::order::{Permutation, Random};
use crate::regions::{Layout, Span};

/// What is to be done with a record, as one word: bytes, and whether it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(u64);

impl Shape {
    /// Like no other.
    pub const NONE: Self = Self(u64::MAX);

    /// A read or a write of so many bytes.
    pub fn of(writes: bool, length: u64) -> Self {
        Self(length << 1 | u64::from(writes))
    }

    #[inline]
    pub fn writes(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub fn length(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// One record to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub offset: u64,
    pub shape: Shape,
}

/// The order in which a worker's own records 0 .. count come.
enum Sequence {
    Forward(u64),
    Backward(u64),
    Stride {
        cursor: u64,
        first: u64,
        records: u64,
    },
    Uniform(Random),
    Permuted(u64, Permutation),
    Same,
}

/// Records that are dealt out at random among the workers, without any in two hands.
struct Dealt {
    part: u64,
    parts: u64,
    of: Permutation,
}

impl Dealt {
    fn new(span: Span, total: u64, seed: u64) -> Self {
        Self {
            part: span.part,
            parts: span.parts,
            of: Permutation::new(total, seed),
        }
    }
}

/// Steps that are worked out at once, so that the kind of pattern is looked at once for all of them.
const AHEAD: usize = 64;

/// What one worker does, step by step.
pub struct Pattern {
    steps: [Step; AHEAD],
    next: usize,
    known: usize,
    sequence: Sequence,
    dealt: Option<Dealt>,
    mix: Option<RequestMix>,
    count: u64,
    left: u64,
    base: u64,
    pitch: u64,
    end: u64,
    record_size: u64,
    /// Whether some steps write and some read, or some record is shorter than the others.
    differs: bool,
    /// Of 2^32 operations so many are reads, and what decides.
    reads: u64,
    choice: Random,
}

impl Pattern {
    /// The pattern of one worker in its region; `shared_seed` is the same for all that share a region.
    pub fn new(settings: &Settings, span: Span, seed: u64, shared_seed: u64) -> Self {
        let size = settings.largest();
        let total = span.size / size;
        let shared = span.layout != Layout::Segments;
        let count = own_records(settings, span, total);
        let endless = settings.duration_ns.or(settings.load.lasts_ns()).is_some();
        let all = if endless { u64::MAX } else { count };
        let reads = share_of_reads(settings);
        let (base, pitch) = match span.layout {
            Layout::Interleaved => (span.offset + span.part * size, size * span.parts),
            _ => (span.offset, size),
        };
        let end = if shared {
            u64::MAX
        } else {
            span.offset + span.size
        };
        Self {
            steps: [Step {
                offset: 0,
                shape: Shape::NONE,
            }; AHEAD],
            next: 0,
            known: 0,
            sequence: Sequence::new(settings, count, seed),
            dealt: (span.layout == Layout::Random).then(|| Dealt::new(span, total, shared_seed)),
            mix: (settings.operation == Operation::RequestMix)
                .then(|| RequestMix::new(settings, span, seed)),
            count,
            left: settings.ops.unwrap_or(all),
            base,
            pitch,
            end,
            record_size: size,
            differs: (reads > 0.0 && reads < 1.0) || end - base < count * size,
            reads: of_32_bits(reads),
            choice: Random::new(mix(seed)),
        }
    }

    /// Whether any of it writes.
    pub fn writes(&self) -> bool {
        self.reads < 1 << 32
    }

    /// The next record; None when all is done.
    #[inline]
    pub fn next(&mut self) -> Option<Step> {
        if self.next >= self.known && !self.look_ahead() {
            return None;
        }
        let step = self.steps[self.next % AHEAD];
        self.next += 1;
        Some(step)
    }

    /// Works out the next steps; false where there are none.
    #[inline(never)]
    fn look_ahead(&mut self) -> bool {
        self.next = 0;
        self.known = self.left.min(AHEAD as u64) as usize;
        self.left -= self.known as u64;
        if let Some(mix) = &mut self.mix {
            mix.draw(&mut self.steps[..self.known]);
            return self.known > 0;
        }
        let mut numbers = [0; AHEAD];
        let numbers = &mut numbers[..self.known];
        self.sequence.number(numbers, self.count);
        if let Some(Dealt { part, parts, of }) = &self.dealt {
            for number in &mut *numbers {
                *number = of.at(*number * parts + part);
            }
        }
        let shape = Shape::of(self.reads == 0, self.record_size);
        for (step, number) in self.steps.iter_mut().zip(numbers) {
            step.offset = self.base + *number * self.pitch;
            step.shape = shape;
        }
        if self.differs {
            self.shape();
        }
        self.known > 0
    }

    /// Says of each step by itself whether it writes, and how much.
    fn shape(&mut self) {
        for step in &mut self.steps[..self.known] {
            let writes = self.choice.below(1 << 32) >= self.reads;
            step.shape = Shape::of(writes, self.record_size.min(self.end - step.offset));
        }
    }
}

impl Sequence {
    /// The next numbers among `count`; begins anew after the last one.
    fn number(&mut self, ahead: &mut [u64], count: u64) {
        match self {
            Self::Uniform(random) => ahead.fill_with(|| random.below(count)),
            Self::Same => ahead.fill(0),
            Self::Forward(cursor) => ahead.fill_with(|| next(cursor, count)),
            Self::Backward(cursor) => ahead.fill_with(|| count - 1 - next(cursor, count)),
            Self::Permuted(cursor, order) => {
                for number in ahead {
                    *number = order.at(next(cursor, count));
                    if *cursor == 0 {
                        *order = order.another();
                    }
                }
            }
            Self::Stride {
                cursor,
                first,
                records,
            } => {
                for number in ahead {
                    *number = *cursor;
                    *cursor += *records;
                    if *cursor >= count {
                        next(first, count.min(*records));
                        *cursor = *first;
                    }
                }
            }
        }
    }

    fn new(settings: &Settings, count: u64, seed: u64) -> Self {
        match settings.operation {
            Operation::Write
            | Operation::Rewrite
            | Operation::Read
            | Operation::Reread
            | Operation::RequestMix => Self::Forward(0),
            Operation::BackwardRead => Self::Backward(0),
            Operation::RecordRewrite => Self::Same,
            Operation::StrideRead => Self::Stride {
                cursor: 0,
                first: 0,
                records: settings.stride.unwrap_or(0) / settings.record_size,
            },
            Operation::RandomRead | Operation::RandomWrite | Operation::RandomMix => {
                match settings.order {
                    Order::Uniform => Self::Uniform(Random::new(seed)),
                    Order::Permutation => Self::Permuted(0, Permutation::new(count, seed)),
                }
            }
        }
    }
}

/// A share as so many of 2^32.
pub fn of_32_bits(share: f64) -> u64 {
    (share * (1_u64 << 32) as f64) as u64
}

/// How many records a worker has for itself.
fn own_records(settings: &Settings, span: Span, total: u64) -> u64 {
    match (span.layout, settings.operation.is_random()) {
        (Layout::Segments, true) => total,
        (Layout::Segments, false) => span.size.div_ceil(settings.largest()),
        _ => total.saturating_sub(span.part).div_ceil(span.parts),
    }
}

fn share_of_reads(settings: &Settings) -> f64 {
    if settings.operation.writes() {
        settings.read_share.unwrap_or(0.0)
    } else {
        1.0
    }
}

/// Takes a number and counts on, from the start after the last one.
#[inline]
fn next(cursor: &mut u64, count: u64) -> u64 {
    let number = *cursor;
    *cursor = if number + 1 < count { number + 1 } else { 0 };
    number
}

#[cfg(test)]
mod tests;

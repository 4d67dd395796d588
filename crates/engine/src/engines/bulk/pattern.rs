//! Which record comes next: the pattern of one worker.

use super::settings::{Operation, Order, Settings};
use crate::block_data::mix;
use crate::order::{Permutation, Random};
use crate::regions::{Layout, Span};

/// One record to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub writes: bool,
    pub offset: u64,
    pub length: usize,
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

/// Steps that are worked out at once, so that the kind of pattern is looked at once for all of them.
const AHEAD: usize = 64;

/// What one worker does, step by step.
pub struct Pattern {
    ahead: [u64; AHEAD],
    /// Of each of them one bit: whether it writes.
    writing: u64,
    next: usize,
    known: usize,
    sequence: Sequence,
    dealt: Option<Dealt>,
    count: u64,
    left: u64,
    base: u64,
    pitch: u64,
    end: u64,
    record_size: u64,
    /// Of 2^32 operations so many are reads, and what decides.
    reads: u64,
    choice: Random,
}

impl Pattern {
    /// The pattern of one worker in its region; `shared_seed` is the same for all that share a region.
    pub fn new(settings: &Settings, span: Span, seed: u64, shared_seed: u64) -> Self {
        let size = settings.record_size;
        let total = span.size / size;
        let shared = span.layout != Layout::Segments;
        let count = match (shared, settings.operation.is_random()) {
            (true, _) => total.saturating_sub(span.part).div_ceil(span.parts),
            (false, true) => total,
            (false, false) => span.size.div_ceil(size),
        };
        let endless = settings.duration_ns.or(settings.load.lasts_ns()).is_some();
        let all = if endless { u64::MAX } else { count };
        let reads = if settings.operation.writes() {
            settings.read_share.unwrap_or(0.0)
        } else {
            1.0
        };
        Self {
            ahead: [0; AHEAD],
            writing: if reads > 0.0 { 0 } else { u64::MAX },
            next: 0,
            known: 0,
            sequence: Sequence::new(settings, count, seed),
            dealt: (span.layout == Layout::Random).then(|| Dealt {
                part: span.part,
                parts: span.parts,
                of: Permutation::new(total, shared_seed),
            }),
            count,
            left: settings.ops.unwrap_or(all),
            base: match span.layout {
                Layout::Interleaved => span.offset + span.part * size,
                _ => span.offset,
            },
            pitch: match span.layout {
                Layout::Interleaved => size * span.parts,
                _ => size,
            },
            end: if shared {
                u64::MAX
            } else {
                span.offset + span.size
            },
            record_size: size,
            reads: (reads * (1_u64 << 32) as f64) as u64,
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
        let at = self.next % AHEAD;
        self.next += 1;
        let offset = self.base + self.ahead[at] * self.pitch;
        Some(Step {
            writes: self.writing >> at & 1 != 0,
            offset,
            length: self.record_size.min(self.end - offset) as usize,
        })
    }

    /// Works out the next steps; false where there are none.
    #[inline(never)]
    fn look_ahead(&mut self) -> bool {
        self.next = 0;
        self.known = self.left.min(AHEAD as u64) as usize;
        self.left -= self.known as u64;
        self.sequence
            .number(&mut self.ahead[..self.known], self.count);
        if let Some(Dealt { part, parts, of }) = &self.dealt {
            for number in &mut self.ahead[..self.known] {
                *number = of.at(*number * parts + part);
            }
        }
        if !matches!(self.reads, 0 | 0x1_0000_0000) {
            self.writing = (0..AHEAD).fold(0, |bits, at| {
                bits | u64::from(self.choice.below(1 << 32) >= self.reads) << at
            });
        }
        self.known > 0
    }
}

impl Sequence {
    /// The next numbers among `count`; begins anew after the last one.
    fn number(&mut self, ahead: &mut [u64], count: u64) {
        match self {
            Self::Uniform(random) => ahead
                .iter_mut()
                .for_each(|number| *number = random.below(count)),
            Self::Same => ahead.fill(0),
            Self::Forward(cursor) => ahead
                .iter_mut()
                .for_each(|number| *number = next(cursor, count)),
            Self::Backward(cursor) => {
                ahead
                    .iter_mut()
                    .for_each(|number| *number = count - 1 - next(cursor, count));
            }
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
            Operation::Write | Operation::Rewrite | Operation::Read | Operation::Reread => {
                Self::Forward(0)
            }
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

/// Takes a number and counts on, from the start after the last one.
#[inline]
fn next(cursor: &mut u64, count: u64) -> u64 {
    let number = *cursor;
    *cursor = if number + 1 < count { number + 1 } else { 0 };
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashSet;

    fn settings(more: serde_json::Value) -> Settings {
        let mut all = json!({"operation": "read", "record_size": 100, "regions": [{"path": "/x", "size": 0}]});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn records(more: serde_json::Value, size: u64) -> Vec<u64> {
        let span = Span::alone(1000, size);
        let mut pattern = Pattern::new(&settings(more), span, 1, 2);
        std::iter::from_fn(|| pattern.next())
            .map(|step| (step.offset - 1000) / 100)
            .collect()
    }

    #[test]
    fn each_pattern_has_its_order() {
        assert_eq!(records(json!({}), 350), [0, 1, 2, 3]);
        assert_eq!(records(json!({"ops": 6}), 350), [0, 1, 2, 3, 0, 1]);
        assert_eq!(
            records(json!({"operation": "backward_read"}), 350),
            [3, 2, 1, 0]
        );
        assert_eq!(
            records(json!({"operation": "record_rewrite"}), 300),
            [0, 0, 0]
        );
        let strides = json!({"operation": "stride_read", "stride": 300, "ops": 10});
        assert_eq!(records(strides, 800), [0, 3, 6, 1, 4, 7, 2, 5, 0, 3]);
        let far = json!({"operation": "stride_read", "stride": 90_000, "ops": 4});
        assert_eq!(records(far, 300), [0, 1, 2, 0]);
    }

    #[test]
    fn only_the_last_record_of_a_sequence_is_shorter() {
        let mut pattern = Pattern::new(&settings(json!({})), Span::alone(0, 250), 1, 2);
        let lengths: Vec<usize> = std::iter::from_fn(|| pattern.next())
            .map(|step| step.length)
            .collect();
        assert_eq!(lengths, [100, 100, 50]);
        let random = json!({"operation": "random_read", "ops": 1000});
        assert!(records(random, 250).iter().all(|record| *record < 2));
    }

    #[test]
    fn a_permutation_has_every_record_once_a_pass_and_another_order_in_the_next() {
        let found = records(
            json!({"operation": "random_read", "order": "permutation", "ops": 2000}),
            100_000,
        );
        let (first, second) = found.split_at(1000);
        for pass in [first, second] {
            assert_eq!(pass.iter().collect::<HashSet<_>>().len(), 1000);
            assert!(pass.iter().all(|record| *record < 1000));
        }
        assert_ne!(first, second);
        assert!(!first.is_sorted());
    }

    #[test]
    fn workers_that_share_a_region_have_every_record_once() {
        for layout in [Layout::Interleaved, Layout::Random] {
            let mut seen = Vec::new();
            for part in 0..3 {
                let span = Span {
                    offset: 500,
                    size: 10_050,
                    part,
                    parts: 3,
                    layout,
                };
                let mut pattern = Pattern::new(&settings(json!({})), span, part, 9);
                seen.extend(
                    std::iter::from_fn(|| pattern.next()).map(|step| (step.offset, step.length)),
                );
            }
            seen.sort_unstable();
            let expected: Vec<_> = (0..100).map(|record| (500 + record * 100, 100)).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        for share in [0.0, 0.3, 1.0] {
            let mix =
                settings(json!({"operation": "random_mix", "read_share": share, "ops": 100_000}));
            let mut pattern = Pattern::new(&mix, Span::alone(0, 100_000), 1, 2);
            let writes = std::iter::from_fn(|| pattern.next())
                .filter(|step| step.writes)
                .count();
            assert!(
                (writes as f64 / 100_000.0 - (1.0 - share)).abs() < 0.008,
                "{share} {writes}"
            );
        }
    }
}

//! One direction of a TCP connection in order: loss, repetition, overlap, other order, wrapped numbers.
//!
//! What the receiver acknowledged and the capture lacks was lost by the capture: it is given up at once. What stands behind
//! such a gap keeps the time of its own frame, so that no operation becomes slow by waiting for bytes that never come.

use crate::packet::At;
use std::collections::VecDeque;

/// Bytes and segments that wait behind a hole; with more the hole is taken for a loss of the capture.
const MOST_HELD_BYTES: usize = 4 << 20;
const MOST_HELD: usize = 4096;
/// A number farther away belongs to another connection, or the capture paused.
const FARTHEST: u32 = 1 << 29;

/// What comes out, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes, and the frame that had them.
    Bytes(&'a [u8], At),
    /// Bytes that the capture lost.
    Gap(u32),
    /// Bytes that the capture cut off a frame.
    Cut(u32, At),
    /// The numbers start anew.
    Restart,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Nothing,
    /// What was to come next, or lies ahead.
    New,
    /// Bytes that were there already.
    Repeated,
    /// Bytes that were missing before others.
    Late,
}

struct Held {
    seq: u32,
    at: At,
    missing: u32,
    bytes: Box<[u8]>,
}

impl Held {
    fn end(&self) -> u32 {
        self.seq
            .wrapping_add(self.bytes.len() as u32)
            .wrapping_add(self.missing)
    }
}

/// A segment's payload.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    pub seq: u32,
    pub at: At,
    pub bytes: &'a [u8],
    pub missing: u32,
}

impl Payload<'_> {
    fn len(&self) -> u32 {
        self.bytes.len() as u32 + self.missing
    }

    fn end(&self) -> u32 {
        self.seq.wrapping_add(self.len())
    }

    /// Without the first bytes.
    fn behind(self, count: u32) -> Self {
        let cut = (count as usize).min(self.bytes.len());
        Self {
            seq: self.seq.wrapping_add(count),
            bytes: &self.bytes[cut..],
            missing: self.missing.saturating_sub(count - cut as u32),
            ..self
        }
    }

    /// Only the first bytes.
    fn before(self, count: u32) -> Self {
        let kept = (count as usize).min(self.bytes.len());
        Self {
            bytes: &self.bytes[..kept],
            missing: count - kept as u32,
            ..self
        }
    }
}

/// One direction.
#[derive(Default)]
pub struct Order {
    known: bool,
    acked_known: bool,
    next: u32,
    highest: u32,
    acked: u32,
    fin: Option<u32>,
    held: VecDeque<Held>,
    held_bytes: usize,
}

/// How far `to` lies ahead of `from`, over the end of the numbers.
fn ahead(to: u32, from: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

impl Order {
    /// Starts before a first byte of this number: a SYN was there, or the other end named what it expects.
    pub fn begin(&mut self, next: u32) {
        *self = Self {
            known: true,
            next,
            highest: next,
            ..Self::default()
        };
    }

    /// Whether the number of the next byte is known.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Bytes that wait behind a hole.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Whether the receiver has bytes that the capture lacks so far.
    pub fn is_behind(&self) -> bool {
        self.known && self.acked_known && ahead(self.acked, self.next) > 0
    }

    /// Whether bytes are new: they are not before the next one, and none that waits has their place.
    pub fn lacks(&self, payload: &Payload<'_>) -> bool {
        let is_held =
            |one: &Held| ahead(one.seq, payload.seq) <= 0 && ahead(one.end(), payload.end()) >= 0;
        (!self.known || ahead(payload.end(), self.next) > 0) && !self.held.iter().any(is_held)
    }

    /// The sender has no more after this number.
    pub fn ends_at(&mut self, seq: u32) {
        self.fin.get_or_insert(seq);
    }

    /// Takes a number that the receiver acknowledged: holes before it are given up.
    pub fn acknowledged(&mut self, ack: u32, out: &mut impl FnMut(Piece<'_>)) {
        if !self.known {
            self.begin(ack);
        }
        let distance = ahead(ack, self.next);
        if distance.unsigned_abs() > FARTHEST || (self.acked_known && ahead(ack, self.acked) <= 0) {
            return;
        }
        (self.acked, self.acked_known) = (ack, true);
        self.give_up_acknowledged(out);
    }

    fn give_up_acknowledged(&mut self, out: &mut impl FnMut(Piece<'_>)) {
        while let Some(first) = self.held.front() {
            if !self.acked_known || ahead(self.acked, first.seq) < 0 {
                return;
            }
            self.give_up_first(out);
        }
    }

    /// Gives up the hole before the first segment that waits, and hands on what is in order then.
    fn give_up_first(&mut self, out: &mut impl FnMut(Piece<'_>)) {
        let Some(first) = self.held.front() else {
            return;
        };
        let hole = ahead(first.seq, self.next);
        if hole > 0 {
            self.next = first.seq;
            out(Piece::Gap(hole as u32));
        }
        self.hand_on_held(out);
    }

    fn hand_on_held(&mut self, out: &mut impl FnMut(Piece<'_>)) {
        while let Some(first) = self.held.front() {
            let distance = ahead(first.seq, self.next);
            if distance > 0 {
                return;
            }
            let Some(held) = self.held.pop_front() else {
                return;
            };
            self.held_bytes -= held.bytes.len();
            if ahead(held.end(), self.next) > 0 {
                let payload = Payload {
                    seq: held.seq,
                    at: held.at,
                    bytes: &held.bytes,
                    missing: held.missing,
                };
                self.hand_on(payload.behind(distance.unsigned_abs()), out);
            }
        }
    }

    fn hand_on(&mut self, payload: Payload<'_>, out: &mut impl FnMut(Piece<'_>)) {
        self.next = payload.end();
        if !payload.bytes.is_empty() {
            out(Piece::Bytes(payload.bytes, payload.at));
        }
        if payload.missing > 0 {
            out(Piece::Cut(payload.missing, payload.at));
        }
    }

    /// Takes a segment's payload. Without `room` nothing is held back.
    pub fn take(
        &mut self,
        payload: Payload<'_>,
        room: bool,
        out: &mut impl FnMut(Piece<'_>),
    ) -> Brought {
        if payload.len() == 0 {
            return Brought::Nothing;
        }
        if !self.known {
            self.begin(payload.seq);
        }
        let distance = ahead(payload.seq, self.next);
        if distance.unsigned_abs() > FARTHEST {
            self.restart(payload.seq, out);
        }
        let late = ahead(payload.seq, self.highest) < 0;
        let brought = self.placed(payload, out);
        if ahead(payload.end(), self.highest) > 0 {
            self.highest = payload.end();
        }
        self.give_up_acknowledged(out);
        while self.held_bytes > MOST_HELD_BYTES
            || self.held.len() > MOST_HELD
            || (!room && !self.held.is_empty())
        {
            self.give_up_first(out);
        }
        if brought == Brought::New && late {
            Brought::Late
        } else {
            brought
        }
    }

    fn restart(&mut self, seq: u32, out: &mut impl FnMut(Piece<'_>)) {
        self.finish_held(out);
        self.begin(seq);
        out(Piece::Restart);
    }

    fn placed(&mut self, payload: Payload<'_>, out: &mut impl FnMut(Piece<'_>)) -> Brought {
        let distance = ahead(payload.seq, self.next);
        if distance > 0 {
            return self.hold(payload);
        }
        let old = distance.unsigned_abs();
        if old >= payload.len() {
            // One byte before the next is how TCP asks whether the other end is alive.
            return if payload.len() == 1 && old == 1 {
                Brought::Nothing
            } else {
                Brought::Repeated
            };
        }
        self.hand_on(payload.behind(old), out);
        self.hand_on_held(out);
        if old > 0 {
            Brought::Repeated
        } else {
            Brought::New
        }
    }

    /// Keeps what lies behind a hole; bytes that are there already stay as they came first.
    fn hold(&mut self, payload: Payload<'_>) -> Brought {
        let mut rest = payload;
        let mut at = self
            .held
            .partition_point(|one| ahead(one.seq, rest.seq) <= 0);
        if let Some(before) = at.checked_sub(1).and_then(|before| self.held.get(before)) {
            let covered = ahead(before.end(), rest.seq);
            if covered > 0 {
                if covered as u32 >= rest.len() {
                    return Brought::Repeated;
                }
                rest = rest.behind(covered as u32);
            }
        }
        let mut overlapped = rest.len() < payload.len();
        loop {
            let following = self
                .held
                .get(at)
                .map(|one| (ahead(one.seq, rest.seq).max(0) as u32, one.end()));
            let Some((room, end)) = following.filter(|(room, _)| *room < rest.len()) else {
                self.insert(at, rest);
                break;
            };
            overlapped = true;
            if room > 0 {
                self.insert(at, rest.before(room));
                at += 1;
            }
            let covered = ahead(end, rest.seq) as u32;
            if covered >= rest.len() {
                break;
            }
            rest = rest.behind(covered);
            at += 1;
        }
        if overlapped {
            Brought::Repeated
        } else {
            Brought::New
        }
    }

    fn insert(&mut self, at: usize, payload: Payload<'_>) {
        self.held_bytes += payload.bytes.len();
        let held = Held {
            seq: payload.seq,
            at: payload.at,
            missing: payload.missing,
            bytes: payload.bytes.into(),
        };
        self.held.insert(at, held);
    }

    fn finish_held(&mut self, out: &mut impl FnMut(Piece<'_>)) {
        while !self.held.is_empty() {
            self.give_up_first(out);
        }
    }

    /// Hands on all that waits, and counts what the receiver acknowledged beyond it; `closed`: the other end has closed, too.
    pub fn finish(&mut self, closed: bool, out: &mut impl FnMut(Piece<'_>)) {
        if !self.known {
            return;
        }
        self.finish_held(out);
        let mut lost = if self.acked_known {
            ahead(self.acked, self.next).max(0)
        } else {
            0
        };
        match self.fin {
            Some(end) => lost = lost.min(ahead(end, self.next).max(0)),
            // The number behind the last byte is that of a FIN which the capture lacks.
            None if closed || lost == 1 => lost = (lost - 1).max(0),
            None => {}
        }
        if lost > 0 {
            self.next = self.next.wrapping_add(lost as u32);
            out(Piece::Gap(lost as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(order: &mut Order, segments: &[(u32, &[u8])]) -> Vec<u8> {
        let mut found = Vec::new();
        for (seq, bytes) in segments {
            order.take(
                Payload {
                    seq: *seq,
                    at: At::default(),
                    bytes,
                    missing: 0,
                },
                true,
                &mut |piece| match piece {
                    Piece::Bytes(bytes, _) => found.extend_from_slice(bytes),
                    _ => panic!("{piece:?}"),
                },
            );
        }
        found
    }

    #[test]
    fn an_acknowledged_hole_is_given_up_and_its_bytes_counted() {
        let (mut order, mut found) = (Order::default(), Vec::new());
        order.begin(100);
        let held = Payload {
            seq: 105,
            at: At::new(7, true, 0, 1),
            bytes: b"later",
            missing: 0,
        };
        assert_eq!(
            order.take(held, true, &mut |_| panic!("not yet")),
            Brought::New
        );
        order.acknowledged(110, &mut |piece| match piece {
            Piece::Gap(count) => found.push((count, 0)),
            Piece::Bytes(bytes, at) => found.push((bytes.len() as u32, at.t_ns)),
            _ => panic!("{piece:?}"),
        });
        assert_eq!(found, [(5, 0), (5, 7)]);
    }

    #[test]
    fn what_lies_half_the_numbers_away_begins_anew() {
        let (mut order, mut found) = (Order::default(), Vec::new());
        order.begin(100);
        let far = Payload {
            seq: 100 + (1 << 31),
            at: At::new(7, true, 0, 1),
            bytes: b"anew",
            missing: 0,
        };
        order.take(far, true, &mut |piece| {
            if let Piece::Bytes(bytes, _) = piece {
                found.extend_from_slice(bytes);
            }
        });
        assert_eq!(found, b"anew");
    }

    #[test]
    fn what_is_acknowledged_at_the_end_is_lost_but_for_a_fin() {
        let lost = |fin: Option<u32>, closed: bool| {
            let (mut order, mut lost) = (Order::default(), 0);
            order.begin(100);
            order.acknowledged(111, &mut |_| {});
            if let Some(fin) = fin {
                order.ends_at(fin);
            }
            order.finish(closed, &mut |piece| {
                if let Piece::Gap(count) = piece {
                    lost += count;
                }
            });
            lost
        };
        assert_eq!(lost(None, false), 11);
        assert_eq!(lost(None, true), 10);
        assert_eq!(lost(Some(110), true), 10);
    }

    proptest! {
        #[test]
        fn any_order_with_overlaps_gives_the_bytes(
            start: u32,
            cuts in prop::collection::btree_set(1_usize..500, 0..20),
            extra in prop::collection::vec((0_usize..500, 1_usize..100), 0..20),
            shuffle in prop::collection::vec(any::<prop::sample::Index>(), 60),
        ) {
            let text: Vec<u8> = (0..500_u32).map(|at| (at * 7 % 251) as u8).collect();
            let mut edges: Vec<usize> = cuts.into_iter().collect();
            edges.insert(0, 0);
            edges.push(500);
            let mut parts: Vec<(usize, usize)> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
            parts.extend(extra.into_iter().map(|(from, long)| (from, (from + long).min(500))).filter(|(from, to)| from < to));
            for (at, other) in shuffle.iter().enumerate().take(parts.len()) {
                let with = other.index(parts.len());
                parts.swap(at, with);
            }
            let segments: Vec<(u32, &[u8])> = parts.iter().map(|(from, to)| (start.wrapping_add(*from as u32), &text[*from..*to])).collect();
            let mut order = Order::default();
            order.begin(start);
            prop_assert_eq!(bytes_of(&mut order, &segments), text);
            prop_assert_eq!(order.held_bytes(), 0);
        }
    }
}

//! Frames in order of time: several queues of a device, interfaces and files do not write theirs in one order.
//!
//! A frame is put in order within a window; while time does not go back, only the frames at the end of what was read are copied.
//! A frame never goes ahead of one that it acknowledges: where clocks disagree, the order of the file is right.

use super::{Receiver, Run};
use crate::packet::{Frame, Layers, Seen};
use crate::ports::Ports;
use std::collections::VecDeque;

/// Frames that are held back, and their bytes.
const MOST: usize = 1024;
const MOST_BYTES: usize = 512 << 10;

/// A frame without its bytes, which are so many from a place on.
struct Held {
    /// Its time, or that of a frame which it must not go ahead of.
    order_ns: u64,
    frame: Frame<'static>,
    from: usize,
    length: usize,
    /// Its segment, once it was looked at.
    seen: Option<Option<Seen>>,
}

/// The window.
pub struct InTime<'r> {
    receiver: &'r mut dyn Receiver,
    held: VecDeque<Held>,
    bytes: Vec<u8>,
    held_bytes: usize,
    /// The order of the last frame that was handed on.
    last_ns: u64,
    layers: Layers,
}

impl<'r> InTime<'r> {
    /// Before a receiver.
    pub fn new(receiver: &'r mut dyn Receiver) -> Self {
        Self {
            receiver,
            held: VecDeque::new(),
            bytes: Vec::new(),
            held_bytes: 0,
            last_ns: 0,
            layers: Layers::new(Ports::all()),
        }
    }

    /// Takes frames of one file.
    pub fn take(&mut self, run: &Run<'_>) {
        let mut last_ns = self.latest_ns();
        let in_order = run.spans.iter().all(|one| {
            let follows = one.is_timed && one.t_ns >= last_ns;
            last_ns = one.t_ns;
            follows
        });
        if in_order {
            self.follow(run);
            return;
        }
        for at in 0..run.spans.len() {
            self.insert(&run.frame(at));
            while self.held.len() > MOST || self.held_bytes > MOST_BYTES {
                self.hand_on_first();
            }
        }
    }

    fn latest_ns(&self) -> u64 {
        self.held.back().map_or(self.last_ns, |one| one.order_ns)
    }

    /// Takes frames that follow those that are held, and each other.
    fn follow(&mut self, run: &Run<'_>) {
        let (count, mut passed, mut kept_bytes) = (run.spans.len(), run.spans.len(), 0);
        while passed > 0 && count - passed < MOST {
            let bytes = kept_bytes + run.spans[passed - 1].length;
            if bytes > MOST_BYTES {
                break;
            }
            (passed, kept_bytes) = (passed - 1, bytes);
        }
        while !self.held.is_empty()
            && (passed > 0
                || self.held.len() + count > MOST
                || self.held_bytes + kept_bytes > MOST_BYTES)
        {
            self.hand_on_first();
        }
        for at in 0..passed {
            let frame = run.frame(at);
            self.last_ns = frame.at.t_ns;
            self.receiver.frame(&frame);
        }
        for at in passed..count {
            let frame = run.frame(at);
            self.hold(self.held.len(), frame.at.t_ns, &frame);
        }
    }

    /// Puts a frame among those that are held.
    fn insert(&mut self, frame: &Frame<'_>) {
        let (mut order_ns, mut at) = (frame.at.t_ns, self.held.len());
        if !frame.at.is_timed() {
            order_ns = self.latest_ns();
        } else if self.latest_ns() > order_ns {
            let seen = self.layers.seen(frame);
            while let Some(before) = at.checked_sub(1)
                && self.held[before].order_ns > order_ns
            {
                let other = self.seen(before);
                if seen.is_some_and(|seen| seen.follows(other)) {
                    order_ns = self.held[before].order_ns;
                    break;
                }
                at = before;
            }
            self.receiver.went_back(at < self.held.len());
        }
        self.hold(at, order_ns, frame);
    }

    fn seen(&mut self, at: usize) -> Option<Seen> {
        let held = &mut self.held[at];
        if held.seen.is_none() {
            let data = &self.bytes[held.from..held.from + held.length];
            let frame = Frame { data, ..held.frame };
            held.seen = Some(self.layers.seen(&frame));
        }
        held.seen.flatten()
    }

    fn hold(&mut self, at: usize, order_ns: u64, frame: &Frame<'_>) {
        if self.bytes.len() > 2 * (self.held_bytes + MOST_BYTES) {
            self.tidy();
        }
        let (from, length) = (self.bytes.len(), frame.data.len());
        self.bytes.extend_from_slice(frame.data);
        self.held_bytes += length;
        let held = Held {
            order_ns,
            frame: Frame {
                data: &[],
                ..*frame
            },
            from,
            length,
            seen: None,
        };
        if at == self.held.len() {
            self.held.push_back(held);
        } else {
            self.held.insert(at, held);
        }
    }

    /// Leaves the bytes of frames that were handed on.
    fn tidy(&mut self) {
        let mut bytes = Vec::with_capacity(self.held_bytes);
        for one in &mut self.held {
            let place = one.from..one.from + one.length;
            one.from = bytes.len();
            bytes.extend_from_slice(&self.bytes[place]);
        }
        self.bytes = bytes;
    }

    fn hand_on_first(&mut self) {
        let Some(first) = self.held.pop_front() else {
            return;
        };
        self.held_bytes -= first.length;
        self.last_ns = first.order_ns;
        let frame = Frame {
            data: &self.bytes[first.from..first.from + first.length],
            ..first.frame
        };
        self.receiver.frame(&frame);
        if self.held.is_empty() {
            self.bytes.clear();
        }
    }

    /// Hands on all that is held.
    pub fn finish(&mut self) {
        while !self.held.is_empty() {
            self.hand_on_first();
        }
    }

    /// The receiver, for what is no frame.
    pub fn receiver(&mut self) -> &mut dyn Receiver {
        self.receiver
    }
}

//! One direction of a link in a thread of its own: reads packets at one end, and writes them at the other when they are due.

use crate::chance::Chance;
use crate::counts::Counts;
use crate::packet::{Form, MOST_BYTES, cut};
use crate::protocol::Way;
use crate::shaper::Shaper;
use assay_clock::monotonic_ns;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A super packet that takes longer on the wire is delivered in pieces, as a receiver would see it.
const PIECE_NS: u64 = 1_000_000;
/// Packets up to this length are kept in buffers of their own size: acknowledgements would fill the memory.
const SMALL: usize = 4_096;
/// What may be under way: a sender without limit over a long way would fill the memory.
const MOST_HELD: u64 = 1 << 30;
/// Buffers that are kept for later.
const MOST_SPARE: usize = 4_096;
/// So long before a lone packet is due the thread is awake: to wake an idle machine up takes about as long.
const EARLY_NS: u64 = 120_000;
/// It stays awake for no other packet within this time, so that it costs a tenth of a CPU at most.
const CALM_NS: u64 = 1_000_000;
/// In `Setup.rate`: without limit.
pub const NO_RATE: u64 = u64::MAX;

/// What the control of a link changes.
#[derive(Default)]
pub struct Switch {
    pub cut: AtomicBool,
}

/// What a direction is made of.
pub struct Setup {
    pub input: Arc<OwnedFd>,
    pub output: Arc<OwnedFd>,
    pub way: Way,
    pub seed: u64,
    pub switch: Arc<Switch>,
    /// Bytes a second from now on.
    pub rate: Arc<AtomicU64>,
    pub counts: Arc<Counts>,
}

struct Held {
    due_ns: u64,
    segments: u32,
    bytes: u64,
    buffer: Vec<u8>,
    length: usize,
}

/// The thread's own things.
pub struct Direction {
    setup: Setup,
    shaper: Shaper,
    chance: Chance,
    rate: u64,
    held: VecDeque<Held>,
    held_bytes: u64,
    /// When the last packet was due that the thread was awake for.
    awake_for_ns: u64,
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    incoming: Vec<u8>,
}

impl Direction {
    pub fn new(setup: Setup) -> Self {
        Self {
            shaper: Shaper::new(&setup.way),
            chance: Chance::new(setup.way.loss, setup.seed),
            rate: setup.rate.load(Ordering::Relaxed),
            held: VecDeque::new(),
            held_bytes: 0,
            awake_for_ns: 0,
            small: Vec::new(),
            large: Vec::new(),
            incoming: vec![0; MOST_BYTES],
            setup,
        }
    }

    /// Works until the process ends.
    pub fn run(mut self) -> ! {
        loop {
            self.deliver();
            match read(&self.setup.input, &mut self.incoming) {
                Some(length) => self.take(length),
                None => self.wait(),
            }
        }
    }

    /// Sleeps until a packet comes or one is due; a lone packet finds the thread awake.
    fn wait(&mut self) {
        let (now, due) = (monotonic_ns(), self.held.front().map(|one| one.due_ns));
        let mut rest = due.map(|at| at.saturating_sub(now));
        if let (Some(at), Some(ns)) = (due, rest)
            && self.held.len() == 1
            && (at == self.awake_for_ns || now.saturating_sub(self.awake_for_ns) > CALM_NS)
        {
            if ns <= EARLY_NS {
                self.awake_for_ns = at;
                std::hint::spin_loop();
                return;
            }
            rest = Some(ns - EARLY_NS);
        }
        let time = rest.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let mut asked = libc::pollfd {
            fd: self.setup.input.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let limit = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: one pollfd and one timespec of this frame.
        unsafe { libc::ppoll(&raw mut asked, 1, limit, std::ptr::null()) };
    }

    /// Decides about a packet that came in: what of it is lost, and when the rest is due.
    fn take(&mut self, length: usize) {
        let (now, form) = (monotonic_ns(), Form::of(&self.incoming[..length]));
        let counts = Arc::clone(&self.setup.counts);
        counts.packets.add(1);
        counts.segments.add(u64::from(form.segments));
        counts.bytes.add(form.bytes(0, form.segments));
        if self.setup.switch.cut.load(Ordering::Relaxed) {
            counts.cut_segments.add(u64::from(form.segments));
            return;
        }
        self.follow_rate();
        let admitted = if self.held_bytes > MOST_HELD {
            counts.overrun_segments.add(u64::from(form.segments));
            0
        } else {
            let room = self.shaper.admits(&form, now);
            counts.dropped_segments.add(u64::from(form.segments - room));
            room
        };
        self.send(length, &form, admitted, now);
        counts
            .queue_most_bytes
            .raise(self.shaper.waiting(now) as u64);
    }

    /// The first `admitted` segments go on the wire, where some are lost.
    fn send(&mut self, length: usize, form: &Form, admitted: u32, now: u64) {
        let mut from = 0;
        while from < admitted {
            let loss = self.chance.next_loss(admitted - from);
            let until = loss.map_or(admitted, |at| from + at);
            self.hold_run(length, form, (from, until), now);
            from = until;
            if loss.is_some() {
                self.setup.counts.lost_segments.add(1);
                let bytes = self.shaper.on_wire(form, from, from + 1);
                self.shaper.send(bytes, now);
                from += 1;
            }
        }
    }

    /// Segments in a row that arrive, in pieces that take no longer than `PIECE_NS`.
    fn hold_run(&mut self, length: usize, form: &Form, (mut from, until): (u32, u32), now: u64) {
        let most = self.shaper.within(form, PIECE_NS);
        while from < until {
            let to = until.min(from.saturating_add(most));
            let due_ns = self.shaper.send(self.shaper.on_wire(form, from, to), now);
            let whole = to - from == form.segments;
            let (buffer, length) = if whole {
                self.keep(length)
            } else {
                self.piece(length, form, from, to)
            };
            self.held_bytes += buffer.len() as u64;
            self.held.push_back(Held {
                due_ns,
                segments: to - from,
                bytes: form.bytes(from, to),
                buffer,
                length,
            });
            from = to;
        }
    }

    /// The packet that came in, as it is.
    fn keep(&mut self, length: usize) -> (Vec<u8>, usize) {
        if length <= SMALL {
            let mut buffer = self
                .small
                .pop()
                .unwrap_or_else(|| Vec::with_capacity(length));
            buffer.clear();
            buffer.extend_from_slice(&self.incoming[..length]);
            return (buffer, length);
        }
        let fresh = self.large.pop().unwrap_or_else(|| vec![0; MOST_BYTES]);
        (std::mem::replace(&mut self.incoming, fresh), length)
    }

    fn piece(&mut self, length: usize, form: &Form, from: u32, to: u32) -> (Vec<u8>, usize) {
        let mut buffer = self.small.pop().unwrap_or_default();
        cut(&self.incoming[..length], form, from, to, &mut buffer);
        let length = buffer.len();
        (buffer, length)
    }

    /// Writes all that is due.
    fn deliver(&mut self) {
        while let Some(front) = self.held.front() {
            let now = monotonic_ns();
            if front.due_ns > now {
                return;
            }
            let Some(one) = self.held.pop_front() else {
                return;
            };
            self.held_bytes -= one.buffer.len() as u64;
            self.hand_over(&one, now);
            self.give_back(one.buffer);
        }
    }

    fn hand_over(&self, one: &Held, now: u64) {
        let counts = &self.setup.counts;
        let segments = u64::from(one.segments);
        if self.setup.switch.cut.load(Ordering::Relaxed) {
            counts.cut_segments.add(segments);
            return;
        }
        let late = now - one.due_ns;
        counts.late_ns.add(late);
        counts.latest_ns.raise(late);
        counts
            .late_packets
            .add(u64::from(late > self.setup.way.late_ns));
        if write(&self.setup.output, &one.buffer[..one.length]) {
            counts.delivered_packets.add(1);
            counts.delivered_segments.add(segments);
            counts.delivered_bytes.add(one.bytes);
        } else {
            counts.overrun_segments.add(segments);
        }
    }

    /// A large buffer keeps its length: it is read into.
    fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.len() == MOST_BYTES && self.large.len() < MOST_SPARE {
            self.large.push(buffer);
        } else if buffer.capacity() <= SMALL && self.small.len() < MOST_SPARE {
            self.small.push(buffer);
        }
    }

    fn follow_rate(&mut self) {
        let rate = self.setup.rate.load(Ordering::Relaxed);
        if rate != self.rate {
            self.rate = rate;
            self.shaper.set_rate((rate != NO_RATE).then_some(rate));
        }
    }
}

fn read(device: &OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the buffer is ours and as long as said.
    let length =
        unsafe { libc::read(device.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(length).ok().filter(|length| *length > 0)
}

fn write(device: &OwnedFd, packet: &[u8]) -> bool {
    // SAFETY: the packet is ours and as long as said.
    let length = unsafe { libc::write(device.as_raw_fd(), packet.as_ptr().cast(), packet.len()) };
    usize::try_from(length) == Ok(packet.len())
}

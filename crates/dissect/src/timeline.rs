//! What happened over time, in at most so many intervals: they widen as the capture grows.

use crate::message::Kind;
use serde::Serialize;

const MOST: usize = 1024;
const FIRST_WIDTH_NS: u64 = 1_000_000;
pub const KINDS: usize = Kind::ALL.len();

/// What happened in one interval.
#[derive(Clone, Copy, Default)]
pub struct Slot {
    pub bytes: u64,
    pub frames: u64,
    pub requests: [u64; KINDS],
    pub answered: u64,
    pub response_sum_ns: u64,
    pub response_max_ns: u64,
}

impl Slot {
    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.frames += other.frames;
        self.answered += other.answered;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        for (mine, theirs) in self.requests.iter_mut().zip(other.requests) {
            *mine += theirs;
        }
    }
}

/// Intervals since the first frame.
pub struct Timeline {
    start_ns: Option<u64>,
    width_ns: u64,
    slots: Vec<Slot>,
    /// The interval of the last time: its begin and its place.
    latest: (u64, usize),
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            start_ns: None,
            width_ns: FIRST_WIDTH_NS,
            slots: Vec::new(),
            latest: (u64::MAX, 0),
        }
    }
}

impl Timeline {
    /// The interval of a time; times before the first frame belong to the first.
    #[inline]
    pub fn at(&mut self, t_ns: u64) -> &mut Slot {
        let (from_ns, at) = self.latest;
        if t_ns >= from_ns && t_ns - from_ns < self.width_ns {
            return &mut self.slots[at];
        }
        self.found(t_ns)
    }

    fn found(&mut self, t_ns: u64) -> &mut Slot {
        let since = t_ns.saturating_sub(*self.start_ns.get_or_insert(t_ns));
        while since / self.width_ns >= MOST as u64 {
            self.widen();
        }
        let at = (since / self.width_ns) as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        let start_ns = self.start_ns.unwrap_or(t_ns);
        self.latest = (start_ns + at as u64 * self.width_ns, at);
        &mut self.slots[at]
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        let wide = self.slots.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        });
        self.slots = wide.collect();
    }

    /// The columns, for JSON.
    pub fn columns(&self) -> Columns {
        let of = |get: fn(&Slot) -> u64| self.slots.iter().map(get).collect::<Vec<u64>>();
        let requests = Kind::ALL
            .iter()
            .enumerate()
            .filter(|(at, _)| self.slots.iter().any(|slot| slot.requests[*at] > 0))
            .map(|(at, kind)| {
                (
                    kind.name(),
                    self.slots.iter().map(|slot| slot.requests[at]).collect(),
                )
            })
            .collect();
        Columns {
            start_ns: self.start_ns.unwrap_or(0),
            interval_ns: self.width_ns,
            bytes: of(|slot| slot.bytes),
            frames: of(|slot| slot.frames),
            requests,
            answered: of(|slot| slot.answered),
            response_sum_ns: of(|slot| slot.response_sum_ns),
            response_max_ns: of(|slot| slot.response_max_ns),
        }
    }
}

/// The intervals in columns.
#[derive(Serialize)]
pub struct Columns {
    start_ns: u64,
    interval_ns: u64,
    bytes: Vec<u64>,
    frames: Vec<u64>,
    requests: std::collections::BTreeMap<&'static str, Vec<u64>>,
    answered: Vec<u64>,
    response_sum_ns: Vec<u64>,
    response_max_ns: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_widen_and_lose_nothing() {
        let mut timeline = Timeline::default();
        for second in 0..5000 {
            timeline.at(7_000_000_000 + second * 1_000_000_000).frames += 1;
        }
        let columns = timeline.columns();
        assert!(columns.frames.len() <= MOST);
        assert_eq!(columns.frames.iter().sum::<u64>(), 5000);
        assert_eq!(columns.start_ns, 7_000_000_000);
    }
}

//! When a packet that comes in now is out at the other end: rate, queue and delay by arithmetic, without a clock of its own.

use crate::packet::Form;
use crate::protocol::Way;

/// One direction of a link.
pub struct Shaper {
    /// Bytes a second, framing included; None is without limit.
    rate: Option<f64>,
    delay_ns: u64,
    queue_bytes: f64,
    frame_bytes: u64,
    /// When the last byte that was taken is on the wire (ns).
    free_at: f64,
}

impl Shaper {
    pub fn new(way: &Way) -> Self {
        Self {
            rate: way.rate_bytes_per_s.map(|rate| rate as f64),
            delay_ns: way.delay_ns,
            queue_bytes: way.queue_bytes.map_or(f64::INFINITY, |bytes| bytes as f64),
            frame_bytes: way.frame_bytes,
            free_at: 0.0,
        }
    }

    /// What is taken from now on leaves at this rate; what waits already leaves as it was planned.
    pub fn set_rate(&mut self, bytes_per_s: Option<u64>) {
        self.rate = bytes_per_s.map(|rate| rate as f64);
    }

    /// Bytes on the wire of the segments `from..to`.
    pub fn on_wire(&self, form: &Form, from: u32, to: u32) -> u64 {
        form.bytes(from, to) + u64::from(to - from) * self.frame_bytes
    }

    /// Bytes that wait or are being sent.
    pub fn waiting(&self, now_ns: u64) -> f64 {
        let rest = self.free_at - now_ns as f64;
        self.rate.map_or(0.0, |rate| (rest * rate / 1e9).max(0.0))
    }

    /// How many segments of a packet find room, the first ones; an idle wire takes one always.
    pub fn admits(&self, form: &Form, now_ns: u64) -> u32 {
        let (waiting, all) = (self.waiting(now_ns), form.segments);
        let room = self.queue_bytes - waiting;
        if self.on_wire(form, 0, all) as f64 <= room {
            return all;
        }
        let fitting = (room / self.on_wire(form, 0, 1) as f64).max(0.0) as u32;
        fitting.max(u32::from(waiting <= 0.0)).min(all)
    }

    /// Puts bytes on the wire; when the last of them is at the other end.
    pub fn send(&mut self, bytes: u64, now_ns: u64) -> u64 {
        let takes = self.rate.map_or(0.0, |rate| bytes as f64 * 1e9 / rate);
        self.free_at = self.free_at.max(now_ns as f64) + takes;
        self.free_at as u64 + self.delay_ns
    }

    /// How many segments of a packet are on the wire within `longest_ns`, at least one.
    pub fn within(&self, form: &Form, longest_ns: u64) -> u32 {
        let each = self.on_wire(form, 0, 1) as f64;
        self.rate.map_or(u32::MAX, |rate| {
            ((rate * longest_ns as f64 / 1e9 / each) as u32).max(1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn way(rate: Option<u64>, queue: Option<u64>) -> Way {
        Way {
            rate_bytes_per_s: rate,
            delay_ns: 2 * MS,
            queue_bytes: queue,
            loss: 0.0,
            frame_bytes: 38,
            late_ns: 0,
        }
    }

    fn single(bytes: usize) -> Form {
        Form::of(&vec![0; bytes + crate::packet::VNET])
    }

    #[test]
    fn a_packet_takes_its_time_on_the_wire_and_the_delay() {
        let mut shaper = Shaper::new(&way(Some(1_000_000), None));
        let wire = shaper.on_wire(&single(962), 0, 1);
        assert_eq!(wire, 1_000);
        assert_eq!(shaper.send(wire, 10 * MS), 13 * MS);
        assert_eq!(shaper.send(wire, 10 * MS), 14 * MS); // behind the first
        assert_eq!(shaper.send(wire, 100 * MS), 103 * MS); // the wire was idle
    }

    #[test]
    fn without_a_rate_there_is_the_delay_alone() {
        let mut shaper = Shaper::new(&way(None, None));
        assert_eq!(shaper.send(1 << 20, 5 * MS), 7 * MS);
        assert_eq!(shaper.admits(&single(1_500), 0), 1);
    }

    #[test]
    fn a_full_queue_admits_nothing_and_an_idle_wire_one_packet() {
        let mut shaper = Shaper::new(&way(Some(1_000_000), Some(3_000)));
        let form = single(962);
        for _ in 0..3 {
            assert_eq!(shaper.admits(&form, 0), 1);
            shaper.send(1_000, 0);
        }
        assert_eq!(shaper.admits(&form, 0), 0);
        assert_eq!(shaper.admits(&form, MS), 1); // one has left
        let narrow = Shaper::new(&way(Some(1_000_000), Some(100)));
        assert_eq!(narrow.admits(&form, 0), 1);
    }

    #[test]
    fn a_rate_that_changes_holds_from_the_next_packet_on() {
        let mut shaper = Shaper::new(&way(Some(1_000_000), None));
        assert_eq!(shaper.send(1_000, 0), 3 * MS);
        shaper.set_rate(Some(100_000));
        assert_eq!(shaper.send(1_000, 0), 13 * MS);
        assert_eq!(shaper.within(&single(962), 5 * MS), 1);
    }
}

//! What a worker notes of each operation: the only code of the driver that runs inside the clock.

use crate::control::{Control, Stopped};
use crate::failures::{Failures, HOPELESS, is_final};
use crate::pacer::{Backlog, Pacer};
use crate::spread::Spread;
use crate::tally::Tally;
use assay_clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one worker and one operation that the driver reads while they are written, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    pub count: AtomicU64,
    pub bytes: AtomicU64,
    pub busy: AtomicU64,
}

/// Cumulative work of every operation at one moment (ticks).
#[derive(Clone, Debug)]
pub struct Mark {
    pub at: u64,
    pub done: Vec<(u64, u64, u64)>,
}

/// When the worker looks up from its work, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub started: u64,
    pub deadline: u64,
    pub look_every: u64,
    /// After how many ticks each the spread of the latencies is noted.
    pub spread_every: u64,
}

/// What one worker notes.
pub struct Recorder {
    clock: Clock,
    pub tallies: Vec<Tally>,
    pub failures: Failures,
    pub marks: Vec<Mark>,
    pub spread: Spread,
    pub stopped: Stopped,
    pub path: String,
    pacer: Option<Box<Pacer>>,
    schedule: Schedule,
    look_at: u64,
    spread_at: u64,
    live: Arc<[Live]>,
    control: Arc<Control>,
}

impl Recorder {
    /// A recorder for so many operations, with everything allocated that it will need.
    pub fn new(clock: Clock, live: Arc<[Live]>, control: Arc<Control>) -> Self {
        Self {
            clock,
            tallies: (0..live.len()).map(|_| Tally::new()).collect(),
            failures: Failures::new(),
            marks: Vec::new(),
            spread: Spread::new(u64::MAX),
            stopped: Stopped::Work,
            path: String::new(),
            pacer: None,
            schedule: Schedule {
                started: 0,
                deadline: u64::MAX,
                look_every: u64::MAX,
                spread_every: u64::MAX,
            },
            look_at: 0,
            spread_at: u64::MAX,
            live,
            control,
        }
    }

    /// Sets the times of this phase; false where there is nothing to be done any more.
    pub fn start(&mut self, schedule: Schedule) -> bool {
        self.schedule = schedule;
        self.look_at = 0;
        self.spread = Spread::new(schedule.spread_every);
        self.spread_at = schedule.started.saturating_add(self.spread.due(0));
        self.look(schedule.started)
    }

    /// When this worker woke up, in ticks.
    pub fn started(&self) -> u64 {
        self.schedule.started
    }

    /// Holds operations back from now on.
    pub fn pace(&mut self, pacer: Option<Pacer>) {
        self.pacer = pacer.map(Box::new);
    }

    /// The pacer, where operations are held back.
    #[inline]
    pub fn pacer(&mut self) -> Option<&mut Pacer> {
        self.pacer.as_deref_mut()
    }

    /// What stamps are read from.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A stamp.
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Does one operation under the clock, when it is due; `body` gives the bytes that it moved. False = stop.
    #[inline]
    pub fn measure(
        &mut self,
        slot: usize,
        body: impl FnOnce() -> rustix::io::Result<usize>,
    ) -> bool {
        if self.pacer.is_some() {
            return self.paced(slot, body);
        }
        self.follow(slot, body)
    }

    /// Does one operation under the clock at once: what belongs to the operation before it.
    #[inline]
    pub fn follow(
        &mut self,
        slot: usize,
        body: impl FnOnce() -> rustix::io::Result<usize>,
    ) -> bool {
        let clock = self.clock;
        let sampled = self.tallies[slot].count == self.tallies[slot].sample_at;
        let outer = if sampled { clock.now() } else { 0 };
        let from = clock.now();
        let outcome = body();
        let to = clock.now();
        let tally = &mut self.tallies[slot];
        match outcome {
            Ok(bytes) => {
                if sampled {
                    tally.sample(clock.now().saturating_sub(outer));
                }
                tally.record(bytes, from, to);
                to < self.look_at || self.look(to)
            }
            Err(errno) => self.fail(slot, errno.raw_os_error(), to),
        }
    }

    #[inline(never)]
    fn paced(&mut self, slot: usize, body: impl FnOnce() -> rustix::io::Result<usize>) -> bool {
        let Some(from) = self.pacer().and_then(Pacer::wait) else {
            return self.out_of_time();
        };
        let outcome = body();
        let to = self.clock.now();
        if let Some(pacer) = self.pacer() {
            pacer.ended(to);
        }
        match outcome {
            Ok(bytes) => self.complete(slot, bytes, from, to),
            Err(errno) => self.fail(slot, errno.raw_os_error(), to),
        }
    }

    /// Notes an operation that was begun at one stamp and seen to be complete at another. False = stop.
    #[inline]
    pub fn complete(&mut self, slot: usize, bytes: usize, from: u64, to: u64) -> bool {
        let clock = self.clock;
        let tally = &mut self.tallies[slot];
        if tally.count == tally.sample_at {
            tally.sample(clock.now().saturating_sub(from));
        }
        tally.record(bytes, from, to);
        to < self.look_at || self.look(to)
    }

    /// Adds the time from a stamp until now to the last operation: what it left in memory of this process has gone out.
    pub fn prolong(&mut self, slot: usize, from: u64) {
        let to = self.clock.now();
        self.tallies[slot].prolong(from, to);
    }

    /// Notes an operation that was under way since a stamp when the phase ended, and is given up.
    #[cold]
    pub fn leave(&mut self, slot: usize, from: u64) {
        let now = self.clock.now();
        self.tallies[slot].leave(from.max(self.schedule.started), now);
    }

    /// Nothing is due any more: the schedule is at its end, or the phase was ended during a wait. Always false.
    #[cold]
    pub fn out_of_time(&mut self) -> bool {
        let reason = self.control.reason().unwrap_or(Stopped::Time);
        self.stopped = self.stopped.max(reason);
        false
    }

    /// Counts a record whose content is not what was written there; the transfer itself counts as done.
    #[cold]
    #[inline(never)]
    pub fn refuse_content(&mut self, slot: usize) {
        self.refuse(slot, "verify");
    }

    /// Counts a record that is not as it should be, and in which way.
    #[cold]
    #[inline(never)]
    pub fn refuse(&mut self, slot: usize, what: &'static str) {
        self.tallies[slot].record_error();
        self.failures
            .note(slot, libc::EILSEQ, Some(what), &self.path);
    }

    /// What an open loop fell behind by.
    pub fn backlog(&mut self) -> Option<Backlog> {
        let at_its_time = self.stopped == Stopped::Time;
        let pacer = self.pacer()?;
        if at_its_time {
            pacer.close();
        }
        pacer.backlog()
    }

    /// Notes the work done so far of every operation, at this very moment.
    pub fn mark(&mut self) {
        let at = self.clock.now();
        let done = self.tallies.iter().map(Tally::sums).collect();
        self.marks.push(Mark { at, done });
    }

    /// Publishes, and asks whether to go on. Costs nothing per operation: it runs once a `look_every` of time.
    #[cold]
    #[inline(never)]
    fn look(&mut self, now: u64) -> bool {
        self.publish();
        if now >= self.spread_at {
            let passed = now - self.schedule.started;
            self.spread.note(passed, &self.tallies);
            self.spread_at = self
                .schedule
                .started
                .saturating_add(self.spread.due(passed));
        }
        self.look_at = now
            .saturating_add(self.schedule.look_every)
            .min(self.schedule.deadline);
        let reason = self
            .control
            .reason()
            .or((now >= self.schedule.deadline).then_some(Stopped::Time));
        if let Some(reason) = reason {
            self.stopped = self.stopped.max(reason);
        }
        reason.is_none()
    }

    /// What may end the phase from outside.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// The counters that the driver reads.
    pub fn live(&self) -> Arc<[Live]> {
        Arc::clone(&self.live)
    }

    /// Notes why the work ended, where it was ended from outside during the last operation.
    pub fn recheck(&mut self) {
        self.stopped = self
            .control
            .reason()
            .map_or(self.stopped, |reason| self.stopped.max(reason));
    }

    /// Lets the driver see the work done so far.
    pub fn publish(&self) {
        for (live, tally) in self.live.iter().zip(&self.tallies) {
            live.count.store(tally.count, Ordering::Relaxed);
            live.bytes.store(tally.bytes, Ordering::Relaxed);
            live.busy.store(tally.busy, Ordering::Relaxed);
        }
    }

    /// Counts an operation that failed. False = stop.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, slot: usize, errno: i32, now: u64) -> bool {
        let in_a_row = self.tallies[slot].record_error();
        let hopeless = is_final(errno) || in_a_row >= HOPELESS;
        self.failures.note(slot, errno, None, &self.path);
        if hopeless {
            self.give_up();
        }
        !hopeless && self.look(now)
    }

    /// Counts an operation that failed among many that do not depend on it: the work goes on, whatever the error. False = stop.
    #[cold]
    #[inline(never)]
    pub fn excuse(&mut self, slot: usize, errno: i32, now: u64) -> bool {
        self.tallies[slot].record_error();
        self.failures.note(slot, errno, None, &self.path);
        self.look(now)
    }

    /// Whether to go on, for a worker that waits. False = stop.
    pub fn goes_on(&mut self, now: u64) -> bool {
        now < self.look_at || self.look(now)
    }

    /// Counts an answer of a directory server that is not as it should be; the work goes on. False = stop.
    #[cold]
    #[inline(never)]
    pub fn refuse_answer(&mut self, slot: usize, code: u32, what: &'static str, now: u64) -> bool {
        self.tallies[slot].record_error();
        self.failures.note_answer(slot, code, what, &self.path);
        self.goes_on(now)
    }

    /// Ends the phase for all workers, as failed.
    pub fn give_up(&mut self) {
        self.stopped = Stopped::Error;
        self.control.end(&self.control.error);
    }
}

#[cfg(test)]
mod tests;

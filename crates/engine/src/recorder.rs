//! What a worker notes of each operation: the only code of the driver that runs inside the clock.

use crate::control::{Control, Stopped};
use crate::tally::Tally;
use assay_clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// After so many errors without one success in between, nothing more can be done.
const HOPELESS: u64 = 100;
/// Distinct (operation, errno) pairs that are told apart.
const MOST_KINDS: usize = 32;

/// Counters of one worker and one operation that the driver reads while they are written, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    pub count: AtomicU64,
    pub bytes: AtomicU64,
    pub busy: AtomicU64,
}

/// An error as the worker saw it: operation, errno, how often, where first.
#[derive(Clone, Debug)]
pub struct Failure {
    pub slot: usize,
    pub errno: i32,
    pub count: u64,
    pub path: String,
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
}

/// What one worker notes.
pub struct Recorder {
    clock: Clock,
    pub tallies: Vec<Tally>,
    pub failures: Vec<Failure>,
    pub marks: Vec<Mark>,
    pub stopped: Stopped,
    pub path: String,
    schedule: Schedule,
    look_at: u64,
    live: Arc<[Live]>,
    control: Arc<Control>,
}

impl Recorder {
    /// A recorder for so many operations, with everything allocated that it will need.
    pub fn new(clock: Clock, live: Arc<[Live]>, control: Arc<Control>) -> Self {
        Self {
            clock,
            tallies: (0..live.len()).map(|_| Tally::new()).collect(),
            failures: Vec::with_capacity(MOST_KINDS),
            marks: Vec::new(),
            stopped: Stopped::Work,
            path: String::new(),
            schedule: Schedule {
                started: 0,
                deadline: u64::MAX,
                look_every: u64::MAX,
            },
            look_at: 0,
            live,
            control,
        }
    }

    /// Sets the times of this phase; false where there is nothing to be done any more.
    pub fn start(&mut self, schedule: Schedule) -> bool {
        self.schedule = schedule;
        self.look_at = 0;
        self.look(schedule.started)
    }

    /// When this worker woke up, in ticks.
    pub fn started(&self) -> u64 {
        self.schedule.started
    }

    /// Does one operation under the clock; `body` gives the bytes that it moved. False = stop.
    #[inline]
    pub fn measure(
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

    #[cold]
    #[inline(never)]
    fn fail(&mut self, slot: usize, errno: i32, now: u64) -> bool {
        let in_a_row = self.tallies[slot].record_error();
        let hopeless = is_final(errno) || in_a_row >= HOPELESS;
        self.note(slot, errno);
        if hopeless {
            self.give_up();
        }
        !hopeless && self.look(now)
    }

    /// Ends the phase for all workers, as failed.
    pub fn give_up(&mut self) {
        self.stopped = Stopped::Error;
        self.control.error.store(true, Ordering::Relaxed);
    }

    fn note(&mut self, slot: usize, errno: i32) {
        let known = self
            .failures
            .iter_mut()
            .find(|failure| failure.slot == slot && failure.errno == errno);
        if let Some(failure) = known {
            failure.count += 1;
        } else if self.failures.len() < MOST_KINDS {
            self.failures.push(Failure {
                slot,
                errno,
                count: 1,
                path: self.path.clone(),
            });
        }
    }
}

/// Errors after which the next try cannot do better.
fn is_final(errno: i32) -> bool {
    matches!(
        errno,
        libc::ENOSPC
            | libc::EDQUOT
            | libc::EROFS
            | libc::EBADF
            | libc::EINVAL
            | libc::EFBIG
            | libc::ENODATA
            | libc::EACCES
            | libc::EPERM
            | libc::ENODEV
            | libc::ENXIO
            | libc::ESTALE
            | libc::ENOTCONN
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::sample_place;
    use rustix::io::Errno;

    fn recorder(clock: Clock) -> Recorder {
        let live: Arc<[Live]> = (0..1).map(|_| Live::default()).collect();
        let mut recorder = Recorder::new(clock, live, Arc::default());
        let schedule = Schedule {
            started: recorder.clock.now(),
            deadline: u64::MAX,
            look_every: 1,
        };
        assert!(recorder.start(schedule));
        recorder
    }

    #[test]
    fn one_of_64_operations_is_stamped_twice() {
        for clock in [Clock::choose(), Clock::gettime()] {
            check_samples(recorder(clock));
        }
    }

    fn check_samples(mut recorder: Recorder) {
        for _ in 0..256 {
            assert!(recorder.measure(0, || Ok(10)));
        }
        let tally = &recorder.tallies[0];
        assert_eq!(
            (tally.count, tally.bytes, tally.sampled_count),
            (256, 2560, 4)
        );
        assert_eq!(
            tally
                .histogram
                .buckets()
                .map(|(_, count)| count)
                .sum::<u64>(),
            256
        );
        assert!(tally.min <= tally.max && tally.max <= tally.busy && tally.first < tally.last);
    }

    #[test]
    fn the_stamped_one_keeps_no_step_with_what_comes_every_64th_time() {
        let mut places = [0; 64];
        for block in 0..6400 {
            let place = sample_place(block);
            assert_eq!(place / 64, block);
            places[(place % 64) as usize] += 1;
        }
        assert!(places.iter().all(|times| (95..=105).contains(times)));
        assert_ne!(
            sample_place(0),
            0,
            "the first of all is seldom like the others"
        );
    }

    #[test]
    fn an_error_that_may_pass_is_counted_and_work_goes_on() {
        let mut recorder = recorder(Clock::choose());
        assert!(recorder.measure(0, || Err(Errno::IO)));
        assert!(recorder.measure(0, || Ok(1)));
        assert_eq!(
            (recorder.tallies[0].errors, recorder.tallies[0].count),
            (1, 1)
        );
        assert_eq!(recorder.stopped, Stopped::Work);
    }

    #[test]
    fn a_full_disk_ends_the_phase_for_all() {
        let mut recorder = recorder(Clock::choose());
        assert!(!recorder.measure(0, || Err(Errno::NOSPC)));
        assert_eq!(recorder.stopped, Stopped::Error);
        assert_eq!(recorder.control.reason(), Some(Stopped::Error));
    }

    #[test]
    fn a_hundred_errors_in_a_row_end_the_phase() {
        let mut recorder = recorder(Clock::choose());
        let tried = (1..1000).find(|_| !recorder.measure(0, || Err(Errno::IO)));
        assert_eq!(tried, Some(100));
        assert_eq!(recorder.failures[0].count, 100);
    }
}

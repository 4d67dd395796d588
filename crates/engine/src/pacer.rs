//! Holds operations back until they are due.

use crate::arrivals::Arrivals;
use crate::control::Control;
use crate::load::Load;
use assay_clock::{Clock, Timebase, monotonic_ns, sleep_until};
use std::sync::Arc;

/// The end of a wait that is not slept through: a sleeper may come back that much too late.
const SPIN_NS: u64 = 60_000;
/// The longest sleep in which a worker does not ask whether to go on.
const DOZE_NS: u64 = 100_000_000;
/// By how much the end of a phase and an operation that is due just then may differ by rounding: such a one is after the end.
const ROUNDING_TICKS: u64 = 2;
/// The most operations that are counted as never started.
const MOST_UNSTARTED: u64 = 100_000_000;

/// What the phase's start tells a pacer.
pub struct Start {
    pub clock: Clock,
    pub timebase: Timebase,
    pub at_ns: u64,
    pub deadline: u64,
    pub seed: u64,
    /// Which worker this is, of how many.
    pub worker: (u64, u64),
    pub control: Arc<Control>,
}

enum Pace {
    /// So many ticks from the end of one operation to the start of the next.
    Think { ticks: u64, free_at: u64 },
    /// The next time that is due.
    Open {
        arrivals: Arrivals,
        due: Option<u64>,
    },
}

/// What an open loop fell behind by, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    pub late: u64,
    pub unstarted: u64,
    pub longest: u64,
}

/// Says when the next operation of one worker begins.
pub struct Pacer {
    pace: Pace,
    start: Start,
    late_after: u64,
    spin: u64,
    backlog: Backlog,
}

impl Pacer {
    /// The pacer of one worker; None where operations follow each other at once.
    pub fn new(load: &Load, mut start: Start) -> Option<Self> {
        let arrivals = load.arrivals(&start.timebase, start.at_ns, start.seed, start.worker);
        let pace = match arrivals {
            Some(mut arrivals) => {
                start.deadline = start.deadline.saturating_sub(ROUNDING_TICKS);
                let due = arrivals.next();
                Pace::Open { arrivals, due }
            }
            None if load.think_ns > 0 => Pace::Think {
                ticks: start.timebase.ticks_of(load.think_ns),
                free_at: 0,
            },
            None => return None,
        };
        Some(Self {
            pace,
            late_after: start.timebase.ticks_of(load.late_ns),
            spin: start.timebase.ticks_of(SPIN_NS),
            backlog: Backlog::default(),
            start,
        })
    }

    /// Whether latencies count from when an operation was due.
    pub fn is_open(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }

    /// What an open loop fell behind by; None in a closed one.
    pub fn backlog(&self) -> Option<Backlog> {
        self.is_open().then_some(self.backlog)
    }

    /// When the next operation may begin, in ticks; None at the end of the schedule or of the phase.
    #[inline]
    pub fn due(&self) -> Option<u64> {
        let due = match &self.pace {
            Pace::Think { ticks, free_at } => free_at
                .checked_add(*ticks)
                .filter(|_| *free_at > 0)
                .or(Some(0)),
            Pace::Open { due, .. } => *due,
        };
        due.filter(|due| *due < self.start.deadline)
    }

    /// Begins the operation that is due, at `now`; gives the stamp that its latency counts from.
    #[inline]
    pub fn take(&mut self, now: u64) -> u64 {
        let Pace::Open { arrivals, due } = &mut self.pace else {
            return now;
        };
        let intended = due.unwrap_or(now);
        *due = arrivals.next();
        let lag = now.saturating_sub(intended);
        self.backlog.late += u64::from(lag > self.late_after);
        self.backlog.longest = self.backlog.longest.max(lag);
        intended
    }

    /// Notes the end of an operation, from which think time counts.
    #[inline]
    pub fn ended(&mut self, at: u64) {
        if let Pace::Think { free_at, .. } = &mut self.pace {
            *free_at = at;
        }
    }

    /// Waits for the next operation, and begins it; None where there is none any more.
    #[inline]
    pub fn wait(&mut self) -> Option<u64> {
        let now = self.idle()?;
        Some(self.take(now))
    }

    /// Waits until the next operation is due; gives the time, or None where there is none any more.
    pub fn idle(&mut self) -> Option<u64> {
        let due = self.due()?;
        let mut now = self.start.clock.now();
        while now < due {
            if due - now > self.spin {
                self.doze(due - now)?;
            } else {
                std::hint::spin_loop();
            }
            now = self.start.clock.now();
        }
        Some(now)
    }

    /// Sleeps for most of so many ticks; None where the phase has been ended from outside.
    #[cold]
    fn doze(&self, ticks: u64) -> Option<()> {
        if self.start.control.reason().is_some() {
            return None;
        }
        let span_ns = self.start.timebase.span_ns(ticks - self.spin);
        sleep_until(monotonic_ns() + span_ns.min(DOZE_NS));
        Some(())
    }

    /// How long until the next operation is due, without the part that is not slept through; None where it is due by now.
    pub fn pause_ns(&self, now: u64) -> Option<u64> {
        let ahead = self.due().unwrap_or(u64::MAX).saturating_sub(now);
        (ahead > self.spin).then(|| self.start.timebase.span_ns(ahead - self.spin).min(DOZE_NS))
    }

    /// At the end of the phase's time: counts what was due and never begun.
    pub fn close(&mut self) {
        let deadline = self.start.deadline;
        let Pace::Open { arrivals, due } = &mut self.pace else {
            return;
        };
        if let Some(first) = due.filter(|first| *first < deadline) {
            self.backlog.longest = self.backlog.longest.max(deadline - first);
        }
        while due.is_some_and(|at| at < deadline) && self.backlog.unstarted < MOST_UNSTARTED {
            self.backlog.unstarted += 1;
            *due = arrivals.next();
        }
    }
}

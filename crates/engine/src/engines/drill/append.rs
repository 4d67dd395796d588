//! Appends records when they are due, and tries again until the target acknowledges each.

use super::hands::{Hands, Task};
use super::journal::Journal;
use super::{Settings, record};
use crate::drill_result::{DrillResult, TimeAway};
use crate::engines::{Finished, Worker};
use crate::pacer::Pacer;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use assay_clock::{monotonic_ns, sleep_until};
use std::sync::Arc;

/// A record that took longer than this was kept waiting by a target that was away, also without an error.
const AWAY_NS: u64 = 500_000_000;
/// The most times away that are kept one by one.
const MOST_OUTAGES: usize = 1_000;
/// The longest sleep between two tries in which nobody asks whether to go on.
const DOZE_NS: u64 = 100_000_000;

pub struct Append {
    settings: Settings,
    token: u64,
    number: u64,
    hands: Hands,
    journal: Journal,
    account: DrillResult,
}

impl Append {
    pub fn new(settings: Settings) -> Result<Self, Fault> {
        Ok(Self {
            token: settings.identity(),
            number: 0,
            hands: settings.hands(),
            journal: Journal::create(&settings.journal)?,
            account: DrillResult::default(),
            settings,
        })
    }

    /// One record, from when it is due until it is acknowledged. False = stop.
    fn append(&mut self, recorder: &mut Recorder) -> bool {
        self.note_idle(recorder);
        let Some(due) = recorder.pacer().and_then(Pacer::wait) else {
            return recorder.out_of_time();
        };
        let began_ns = monotonic_ns();
        let tries = self.account.failed_tries;
        let acknowledged = self.put(recorder);
        let ended_ns = monotonic_ns();
        let failed = self.account.failed_tries - tries;
        if failed > 0 || ended_ns - began_ns >= AWAY_NS {
            self.note_away(began_ns, acknowledged.then_some(ended_ns), failed);
        }
        if !acknowledged {
            self.account.unacknowledged += 1;
            return recorder.out_of_time();
        }
        if self.journal.note(self.number, ended_ns).is_err() {
            recorder.give_up(); // without the note nothing can be said of the record later
            return false;
        }
        self.account.acknowledged += 1;
        self.number += 1;
        let to = recorder.now();
        recorder.complete(0, self.settings.record_size, due, to)
    }

    /// Notes the moment at which nothing that is due has to wait: the backlog of every time away is gone.
    fn note_idle(&mut self, recorder: &mut Recorder) {
        let waiting = |one: &TimeAway| one.to_ns.is_some() && one.caught_up_ns.is_none();
        if !self.account.outages.last().is_some_and(waiting) {
            return;
        }
        let now = recorder.now();
        let next = recorder.pacer().and_then(|pacer| pacer.due());
        if next.is_none_or(|due| due > now) {
            let at_ns = monotonic_ns();
            let waiting = self.account.outages.iter_mut().filter(|one| waiting(one));
            waiting.for_each(|one| one.caught_up_ns = Some(at_ns));
        }
    }

    fn note_away(&mut self, from_ns: u64, to_ns: Option<u64>, failed_tries: u64) {
        if self.account.outages.len() < MOST_OUTAGES {
            self.account.outages.push(TimeAway {
                from_ns,
                to_ns,
                caught_up_ns: None,
                failed_tries,
            });
        }
    }

    /// Tries until the record is acknowledged; false at the end of the phase.
    fn put(&mut self, recorder: &mut Recorder) -> bool {
        let length = self.settings.record_size;
        let data: Arc<[u8]> = record::make(self.token, self.number, length).into();
        let offset = self.number * length as u64;
        let control = recorder.control();
        loop {
            let data = Arc::clone(&data);
            let Err(errno) = self.hands.make(Task::Append { offset, data }, &control) else {
                return true;
            };
            self.account.failed_tries += 1;
            if !recorder.excuse(0, errno, recorder.now()) || !self.rest(recorder) {
                return false;
            }
        }
    }

    /// The pause between two tries. False = stop.
    fn rest(&self, recorder: &mut Recorder) -> bool {
        let until_ns = monotonic_ns().saturating_add(self.settings.retry_ns);
        while monotonic_ns() < until_ns {
            sleep_until(until_ns.min(monotonic_ns() + DOZE_NS));
            if !recorder.goes_on(recorder.now()) {
                return false;
            }
        }
        true
    }
}

impl Worker for Append {
    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path.clone_from(&self.settings.path);
        while self.append(recorder) {}
        self.note_idle(recorder);
    }

    fn finish(&mut self) -> Finished {
        self.account.hung = self.hands.left;
        Finished::Drill(Box::new(std::mem::take(&mut self.account)))
    }
}

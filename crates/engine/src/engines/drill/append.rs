//! Appends records when they are due, and tries again until the target acknowledges each.

use super::hands::{Hands, Task};
use super::journal::Journal;
use super::{Settings, record};
use crate::drill_result::{DrillResult, TimeAway};
use crate::pacer::Pacer;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::{Finished, Worker};
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
    /// The end of the first time away beyond those kept one by one whose backlog is not gone.
    waits_since_ns: Option<u64>,
}

impl Append {
    pub fn new(settings: Settings) -> Result<Self, Fault> {
        Ok(Self {
            token: settings.identity(),
            number: 0,
            hands: settings.hands(),
            journal: Journal::create(&settings.journal)?,
            account: DrillResult::default(),
            waits_since_ns: None,
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
        if self.waits_since_ns.is_none() && !self.account.outages.last().is_some_and(waits) {
            return;
        }
        let now = recorder.now();
        let next = recorder.pacer().and_then(|pacer| pacer.due());
        if next.is_none_or(|due| due > now) {
            self.note_caught_up(monotonic_ns());
        }
    }

    fn note_caught_up(&mut self, at_ns: u64) {
        let waiting = self.account.outages.iter_mut().rev();
        waiting
            .take_while(|one| waits(one))
            .for_each(|one| one.caught_up_ns = Some(at_ns));
        self.end_wait(at_ns);
    }

    /// The backlog of the times away that are not kept one by one is gone, or the phase has ended.
    fn end_wait(&mut self, at_ns: u64) {
        if let Some(since_ns) = self.waits_since_ns.take() {
            let further = &mut self.account.further;
            further.backlog_ns = further.backlog_ns.max(at_ns.saturating_sub(since_ns));
        }
    }

    /// Notes a time away: one by one up to a bound, and the last one, which has no end; all others in sum.
    fn note_away(&mut self, from_ns: u64, to_ns: Option<u64>, failed_tries: u64) {
        let outages = &mut self.account.outages;
        if let (Some(to_ns), true) = (to_ns, outages.len() >= MOST_OUTAGES) {
            self.account.further.count += 1;
            self.account.further.away_ns += to_ns.saturating_sub(from_ns);
            self.waits_since_ns.get_or_insert(to_ns);
            return;
        }
        outages.push(TimeAway {
            from_ns,
            to_ns,
            caught_up_ns: None,
            failed_tries,
        });
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
        self.end_wait(monotonic_ns());
    }

    fn finish(&mut self) -> Finished {
        self.account.hung = self.hands.left;
        Finished::Drill(Box::new(std::mem::take(&mut self.account)))
    }
}

/// Whether a time away is over, and what was due in it is not done yet.
fn waits(one: &TimeAway) -> bool {
    one.to_ns.is_some() && one.caught_up_ns.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill_result::FurtherAway;

    fn append(word: &str) -> Append {
        let name = format!("assay-drill-{word}-{}", std::process::id());
        let journal = std::env::temp_dir().join(name);
        let settings = serde_json::json!({
            "operation": "append", "path": "/none", "journal": journal, "token": "a-0",
        });
        let made = Append::new(serde_json::from_value(settings).expect("settings"));
        std::fs::remove_file(&journal).expect("its journal");
        made.unwrap_or_else(|fault| panic!("{}", fault.message))
    }

    /// So many times away of 10 ns, one every 100 ns, then one without an end.
    fn away(made: &mut Append, times: u64) {
        for number in 0..times {
            made.note_away(number * 100, Some(number * 100 + 10), 1);
        }
        made.note_away(times * 100, None, 1);
    }

    #[test]
    fn as_many_times_away_as_are_kept_are_kept_one_by_one() {
        let mut made = append("few");
        away(&mut made, MOST_OUTAGES as u64);
        assert_eq!(made.account.outages.len(), MOST_OUTAGES + 1);
        assert_eq!(made.account.further, FurtherAway::default());
    }

    #[test]
    fn further_times_away_are_counted_and_summed() {
        let mut made = append("many");
        away(&mut made, MOST_OUTAGES as u64 + 500);
        let account = &made.account;
        assert_eq!(account.outages.len(), MOST_OUTAGES + 1);
        assert_eq!(account.outages.last().expect("the last").to_ns, None);
        assert_eq!(
            (account.further.count, account.further.away_ns),
            (500, 5_000)
        );
    }

    #[test]
    fn the_longest_backlog_is_that_of_the_first_further_time_away() {
        let mut made = append("backlog");
        for number in 0..MOST_OUTAGES as u64 + 2 {
            made.note_away(number * 100, Some(number * 100 + 10), 1);
        }
        made.note_caught_up(200_000);
        assert!(made.account.outages.iter().all(|one| !waits(one)));
        assert_eq!(made.account.further.backlog_ns, 200_000 - 100_010);
        made.end_wait(900_000);
        assert_eq!(
            made.account.further.backlog_ns,
            200_000 - 100_010,
            "it was gone"
        );
    }
}

//! Looks for every acknowledged record, and says of each that is not intact how it was found.

use super::hands::{Hands, Task};
use super::record::{self, Found};
use super::{Settings, journal};
use crate::drill_result::DrillResult;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::{Finished, Worker};
use assay_clock::{monotonic_ns, sleep_until};

pub struct Check {
    settings: Settings,
    numbers: Box<dyn Iterator<Item = u64> + Send>,
    hands: Hands,
    account: DrillResult,
    /// How long reads that fail may still be tried again, over all records.
    patience_ns: u64,
    /// Whether the last try did not end within its deadline.
    hangs: bool,
}

impl Check {
    pub fn new(settings: Settings) -> Result<Self, Fault> {
        Ok(Self {
            numbers: Box::new(journal::numbers(&settings.journal)?),
            hands: settings.hands(),
            account: DrillResult::default(),
            patience_ns: settings.patience_ns,
            hangs: false,
            settings,
        })
    }

    /// One record. False = stop.
    fn check(&mut self, recorder: &mut Recorder, number: u64) -> bool {
        self.account.acknowledged += 1;
        let length = self.settings.record_size;
        let from = recorder.now();
        let read = self.read(recorder, number * length as u64);
        let to = recorder.now();
        let Some(read) = read else {
            self.account.unreadable += 1;
            return self.note_bad(recorder, number, "unreadable");
        };
        let going = recorder.complete(0, read.len(), from, to);
        let written = record::make(self.settings.identity(), number, length);
        match record::judge(&read, &written) {
            Found::Intact => {
                self.account.intact += 1;
                going
            }
            Found::Lost => {
                self.account.lost += 1;
                self.note_bad(recorder, number, "lost") && going
            }
            Found::Changed => {
                self.account.changed += 1;
                self.note_bad(recorder, number, "changed") && going
            }
        }
    }

    /// Reads a record, and tries again as long as the patience lasts; None where it cannot be read.
    ///
    /// Without patience each record is still tried once, until a try hangs: one bad record says nothing of the next one.
    fn read(&mut self, recorder: &mut Recorder, offset: u64) -> Option<Vec<u8>> {
        let length = self.settings.record_size;
        while self.patience_ns > 0 || !self.hangs {
            let began_ns = monotonic_ns();
            let control = recorder.control();
            let outcome = self.hands.make(Task::Read { offset, length }, &control);
            self.hangs = outcome == Err(libc::ETIMEDOUT);
            if let Ok(read) = outcome {
                return Some(read);
            }
            self.account.failed_tries += 1;
            if self.patience_ns == 0 {
                return None;
            }
            sleep_until(monotonic_ns() + self.settings.retry_ns);
            self.patience_ns = self.patience_ns.saturating_sub(monotonic_ns() - began_ns);
            if self.patience_ns == 0 || !recorder.goes_on(recorder.now()) {
                return None;
            }
        }
        None
    }

    fn note_bad(&mut self, recorder: &mut Recorder, number: u64, what: &'static str) -> bool {
        let bad = &mut self.account;
        bad.first_bad = Some(bad.first_bad.map_or(number, |first| first.min(number)));
        bad.last_bad = Some(bad.last_bad.map_or(number, |last| last.max(number)));
        recorder.refuse(0, what);
        recorder.goes_on(recorder.now())
    }
}

impl Worker for Check {
    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path.clone_from(&self.settings.path);
        while let Some(number) = self.numbers.next() {
            if !self.check(recorder, number) {
                return;
            }
        }
    }

    fn finish(&mut self) -> Finished {
        self.account.hung = self.hands.left;
        Finished::Drill(Box::new(std::mem::take(&mut self.account)))
    }
}

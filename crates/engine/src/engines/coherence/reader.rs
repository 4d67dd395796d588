//! The reader's end of every step, and what it notes of it.

use super::Next;
use super::files::{Files, Lock};
use super::settings::{Settings, Step};
use super::talk::{Ended, Talk, Word};
use super::writer::{increments, records, tries};
use crate::coherence_result::{CoherenceResult, StepResult};
use crate::fault::errno_text;
use crate::recorder::Recorder;
use assay_clock::{monotonic_ns, sleep_until};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Errors that waiting does not mend.
const REFUSALS: [Errno; 6] = [
    Errno::INVAL,
    Errno::OPNOTSUPP,
    Errno::NOSYS,
    Errno::ACCESS,
    Errno::PERM,
    Errno::NOLCK,
];

/// One end at work.
pub struct Reader<'a> {
    settings: &'a Settings,
    files: Files,
    talk: Talk,
    result: &'a mut CoherenceResult,
    step: StepResult,
    resolutions_ns: Vec<u64>,
}

/// How looks ended.
#[derive(Clone, Copy)]
struct Looked {
    seen: bool,
    looks: u64,
    resolution_ns: u64,
}

impl<'a> Reader<'a> {
    pub fn new(
        settings: &'a Settings,
        files: Files,
        talk: Talk,
        result: &'a mut CoherenceResult,
    ) -> Self {
        Self {
            settings,
            files,
            talk,
            result,
            step: StepResult::default(),
            resolutions_ns: Vec::new(),
        }
    }

    /// All steps, as the writer does them.
    pub fn run(&mut self, recorder: &mut Recorder) -> Result<(), Ended> {
        for (slot, step) in self.settings.steps.iter().copied().enumerate() {
            let mut outcome = Ok(Next::Try);
            for number in 0..tries(step, self.settings.times) {
                outcome = self.once(step, number, slot, recorder);
                if !matches!(outcome, Ok(Next::Try)) {
                    break;
                }
            }
            self.note(step);
            outcome?;
        }
        Ok(())
    }

    /// Keeps what is known of a step.
    fn note(&mut self, step: Step) {
        let mut noted = std::mem::take(&mut self.step);
        let mut all = std::mem::take(&mut self.resolutions_ns);
        all.sort_unstable();
        noted.resolution_p50_ns = all.get(all.len() / 2).copied().unwrap_or(0);
        noted.resolution_max_ns = all.last().copied().unwrap_or(0);
        self.result.steps.insert(step.name(), noted);
    }

    fn once(
        &mut self,
        step: Step,
        number: u64,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        let ready = self.talk.hear(recorder)?;
        if ready.word == Word::Refused {
            return Ok(self.refused(ready.value));
        }
        let kept = match self.prime(step, number, recorder)? {
            Ok(kept) => kept,
            Err(errno) if REFUSALS.contains(&errno) => return self.refuse(errno),
            Err(_) => {
                self.step.unprepared += 1;
                self.talk.say(Word::Over, 0)?;
                return Ok(Next::Try);
            }
        };
        self.talk.say(Word::Ready, 0)?;
        let done = self.talk.hear(recorder)?;
        if done.word == Word::Refused {
            return Ok(self.refused(done.value));
        }
        self.step.tries += 1;
        let next = match (step, kept) {
            (Step::PosixLock, Some(file)) => self.contend(Lock::Posix, &file, slot, recorder),
            (Step::Flock, Some(file)) => self.contend(Lock::Flock, &file, slot, recorder),
            (Step::Counter, Some(file)) => self.count(file, slot, recorder),
            (Step::DirectWrite, Some(file)) => self.write(file, slot, recorder),
            (_, kept) => self.watch(step, number, (slot, done.at), kept.as_ref(), recorder),
        }?;
        if next == Next::Try {
            self.talk.say(Word::Over, 0)?;
        }
        Ok(next)
    }

    fn refused(&mut self, errno: u64) -> Next {
        let errno = errno as i32;
        self.step.refused_errno = Some(errno);
        self.step.refused = Some(errno_text(errno));
        Next::Step
    }

    fn refuse(&mut self, errno: Errno) -> Result<Next, Ended> {
        self.talk.refuse(errno)?;
        Ok(self.refused(errno.raw_os_error() as u64))
    }

    /// Looks until the set-up is there; what stays open, or why it is not.
    fn prime(
        &mut self,
        step: Step,
        number: u64,
        recorder: &mut Recorder,
    ) -> Result<Result<Option<OwnedFd>, Errno>, Ended> {
        let mut outcome = Err(Errno::AGAIN);
        let files = &self.files;
        look(self.settings, recorder, || {
            outcome = files.prime(step, number);
            let hopeless = outcome
                .as_ref()
                .is_err_and(|errno| REFUSALS.contains(errno));
            Ok(outcome.is_ok() || hopeless)
        })?;
        Ok(outcome)
    }

    /// Looks for what the writer did.
    fn watch(
        &mut self,
        step: Step,
        number: u64,
        (slot, done_at): (usize, u64),
        kept: Option<&OwnedFd>,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        let files = &self.files;
        let looked = look(self.settings, recorder, || files.shows(step, number, kept))?;
        self.step.stale += u64::from(step == Step::Reopen && looked.looks > 1);
        self.record(looked, (slot, done_at), recorder);
        Ok(Next::Try)
    }

    /// Notes a try: one that was never seen counts with the time for which it was looked for.
    fn record(&mut self, looked: Looked, (slot, since): (usize, u64), recorder: &mut Recorder) {
        if looked.seen {
            self.step.seen += 1;
            self.resolutions_ns.push(looked.resolution_ns);
        } else {
            self.step.never += 1;
        }
        let now = recorder.now();
        recorder.complete(slot, 0, since.min(now), now);
    }

    /// Tries to have a lock that the writer holds, then waits until the writer has given it back.
    fn contend(
        &mut self,
        lock: Lock,
        file: &OwnedFd,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        match lock.take(file) {
            Ok(()) => {
                self.step.granted_twice += 1;
                let _ = lock.release(file);
            }
            Err(Errno::AGAIN) => {}
            Err(errno) => return self.refuse(errno),
        }
        self.talk.say(Word::Over, 0)?;
        let released = self.talk.hear(recorder)?;
        if released.word == Word::Refused {
            return Ok(self.refused(released.value));
        }
        let looked = look(self.settings, recorder, || Ok(lock.take(file).is_ok()))?;
        let _ = lock.release(file);
        self.record(looked, (slot, released.at), recorder);
        Ok(Next::Try)
    }

    /// Increments under the lock as the writer does, and compares what the file has with what both ends made.
    fn count(
        &mut self,
        file: OwnedFd,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        let own = increments(&file, self.settings, slot, recorder);
        drop(file);
        let expected = own + self.talk.hear(recorder)?.value;
        let (files, mut found) = (&self.files, 0);
        look(self.settings, recorder, || {
            let Some(file) = files.prime(Step::Counter, 0)? else {
                return Ok(false);
            };
            found = Files::counted(&file)?;
            Ok(found == expected)
        })?;
        self.step.expected = expected;
        self.step.lost = expected.saturating_sub(found);
        Ok(Next::Try)
    }

    /// Writes every second record past the page cache as the writer does, and looks for all of them.
    fn write(
        &mut self,
        file: OwnedFd,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        let own = records(&file, 1, self.settings.times, slot, recorder);
        drop(file);
        let theirs = self.talk.hear(recorder)?.value;
        let (files, mut lost) = (&self.files, own + theirs);
        look(self.settings, recorder, || {
            lost = files.missing(own, theirs)?;
            Ok(lost == 0)
        })?;
        self.step.expected = own + theirs;
        self.step.lost = lost;
        Ok(Next::Try)
    }
}

/// Looks again and again until it is shown or the limit is over; an error shows nothing.
fn look(
    settings: &Settings,
    recorder: &mut Recorder,
    mut shows: impl FnMut() -> rustix::io::Result<bool>,
) -> Result<Looked, Ended> {
    let (began, mut looks) = (monotonic_ns(), 0);
    let mut before = began;
    loop {
        let at = monotonic_ns();
        let seen = shows().unwrap_or(false);
        let now = monotonic_ns();
        looks += 1;
        if seen || now - began >= settings.within_ns {
            return Ok(Looked {
                seen,
                looks,
                resolution_ns: now - before,
            });
        }
        before = at;
        sleep_until(at + settings.look_every_ns);
        let stamp = recorder.now();
        if !recorder.goes_on(stamp) {
            return Err(Ended);
        }
    }
}

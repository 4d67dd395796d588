//! The writer's end of every step.

use super::Next;
use super::files::{Files, Lock, record};
use super::settings::{Settings, Step};
use super::talk::{Ended, Talk, Word};
use crate::recorder::Recorder;
use crate::transfer::write_all;
use assay_clock::{monotonic_ns, sleep_until};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// One end at work.
pub struct Writer<'a> {
    settings: &'a Settings,
    files: Files,
    talk: Talk,
}

impl<'a> Writer<'a> {
    pub fn new(settings: &'a Settings, files: Files, talk: Talk) -> Self {
        Self {
            settings,
            files,
            talk,
        }
    }

    /// All steps, each as often as wanted, or until the file system refuses it.
    pub fn run(&mut self, recorder: &mut Recorder) -> Result<(), Ended> {
        for (slot, step) in self.settings.steps.iter().copied().enumerate() {
            let times = tries(step, self.settings.times);
            for number in 0..times {
                let next = self.once(step, number, slot, recorder)?;
                self.files.clean(step, number);
                if next == Next::Step {
                    break;
                }
            }
        }
        Ok(())
    }

    fn once(
        &mut self,
        step: Step,
        number: u64,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        let kept = match self.files.set_up(step, number) {
            Ok(kept) => kept,
            Err(errno) => return self.refuse(errno),
        };
        self.talk.say(Word::Ready, 0)?;
        match self.talk.hear(recorder)?.word {
            Word::Ready => {}
            Word::Over => return Ok(Next::Try),
            _ => return Ok(Next::Step),
        }
        match (step, kept) {
            (Step::PosixLock, Some(file)) => self.hold(Lock::Posix, &file, recorder),
            (Step::Flock, Some(file)) => self.hold(Lock::Flock, &file, recorder),
            (Step::Counter, Some(file)) => self.count(&file, slot, recorder),
            (Step::DirectWrite, _) => self.write(slot, recorder),
            (_, kept) => self.act(step, number, kept.as_ref(), recorder),
        }
    }

    fn refuse(&mut self, errno: Errno) -> Result<Next, Ended> {
        self.talk.refuse(errno)?;
        Ok(Next::Step)
    }

    fn act(
        &mut self,
        step: Step,
        number: u64,
        kept: Option<&OwnedFd>,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        if let Err(errno) = self.files.act(step, number, kept) {
            return self.refuse(errno);
        }
        self.talk.say(Word::Done, 0)?;
        self.talk.hear(recorder)?;
        Ok(Next::Try)
    }

    /// Holds a lock while the reader tries to have it, then gives it back.
    fn hold(&mut self, lock: Lock, file: &OwnedFd, recorder: &mut Recorder) -> Result<Next, Ended> {
        if let Err(errno) = lock.take(file) {
            return self.refuse(errno);
        }
        self.talk.say(Word::Done, 0)?;
        if self.talk.hear(recorder)?.word == Word::Refused {
            return Ok(Next::Step);
        }
        if let Err(errno) = lock.release(file) {
            return self.refuse(errno);
        }
        self.talk.say(Word::Done, 0)?;
        self.talk.hear(recorder)?;
        Ok(Next::Try)
    }

    fn count(
        &mut self,
        file: &OwnedFd,
        slot: usize,
        recorder: &mut Recorder,
    ) -> Result<Next, Ended> {
        if let Err(errno) = Lock::Posix.take(file) {
            return self.refuse(errno);
        }
        let _ = Lock::Posix.release(file);
        self.talk.say(Word::Done, 0)?;
        let done = increments(file, self.settings, slot, recorder);
        self.talk.say(Word::Done, done)?;
        self.talk.hear(recorder)?;
        Ok(Next::Try)
    }

    fn write(&mut self, slot: usize, recorder: &mut Recorder) -> Result<Next, Ended> {
        let file = match self.files.open_direct() {
            Ok(file) => file,
            Err(errno) => return self.refuse(errno),
        };
        self.talk.say(Word::Done, 0)?;
        let done = records(&file, 0, self.settings.times, slot, recorder);
        drop(file);
        self.talk.say(Word::Done, done)?;
        self.talk.hear(recorder)?;
        Ok(Next::Try)
    }
}

/// How often a step is tried: both ends work as often as wanted within one try of these two.
pub fn tries(step: Step, times: u64) -> u64 {
    match step {
        Step::Counter | Step::DirectWrite => 1,
        _ => times,
    }
}

/// Increments under the lock, each with the limit's time to get it; how many were made.
pub fn increments(
    file: &OwnedFd,
    settings: &Settings,
    slot: usize,
    recorder: &mut Recorder,
) -> u64 {
    let mut done = 0;
    for _ in 0..settings.times {
        let (from, deadline) = (recorder.now(), monotonic_ns() + settings.within_ns);
        loop {
            match Lock::Posix.take(file) {
                Ok(()) => break,
                Err(Errno::AGAIN) if monotonic_ns() < deadline => {
                    sleep_until(monotonic_ns() + settings.look_every_ns);
                }
                Err(_) => return done,
            }
        }
        let made = Files::increment(file);
        if Lock::Posix.release(file).is_err() || made.is_err() {
            return done;
        }
        done += 1;
        let to = recorder.now();
        if !recorder.complete(slot, 0, from, to) {
            return done;
        }
    }
    done
}

/// Writes every second record past the page cache, from the first or the second one on, and flushes; how many were written.
pub fn records(
    file: &OwnedFd,
    parity: u64,
    times: u64,
    slot: usize,
    recorder: &mut Recorder,
) -> u64 {
    let mut done = 0;
    for place in (0..times).map(|number| 2 * number + parity) {
        let block = record(place + 1);
        let from = recorder.now();
        if write_all(file, &block, place * block.len() as u64).is_err() {
            break;
        }
        done += 1;
        let to = recorder.now();
        if !recorder.complete(slot, 0, from, to) {
            break;
        }
    }
    let _ = rustix::fs::fsync(file);
    done
}

//! What becomes of requests that the kernel says are complete.

use super::Uring;
use crate::engines::bulk::pattern::Shape;
use crate::engines::bulk::ring::{Kind, Target};
use crate::recorder::Recorder;
use io_uring::IoUring;

impl Uring {
    /// Notes all that is complete. False = stop.
    #[inline]
    pub(super) fn reap(
        &mut self,
        ring: &mut IoUring,
        target: &mut Target,
        recorder: &mut Recorder,
    ) -> bool {
        let to = recorder.now();
        let mut goes_on = true;
        let plain = self.at_once && !self.follows;
        let completions = ring.completion();
        self.in_flight -= completions.len();
        for completion in completions {
            let number = completion.user_data() as usize;
            let request = &mut self.requests.list[number];
            if completion.result() != request.rest as i32 {
                goes_on &= self.incomplete(target, recorder, number, completion.result(), to);
                continue;
            }
            let length = request.length as usize;
            goes_on &= recorder.complete(request.slot, length, request.from, to);
            if plain
                && goes_on
                && let Some(step) = self.job.pattern.next()
            {
                request.go(step.offset);
                if request.shape != step.shape {
                    self.prepare_step(target, number, step);
                }
                self.requests.fresh.push(number);
                continue;
            }
            goes_on &= self.go_on(target, recorder, number, goes_on);
        }
        if let Some(pacer) = recorder.pacer() {
            pacer.ended(to);
        }
        goes_on
    }

    /// What a request does next after a completion that has consequences, or where operations are held back.
    #[inline(never)]
    fn go_on(
        &mut self,
        target: &mut Target,
        recorder: &mut Recorder,
        number: usize,
        goes_on: bool,
    ) -> bool {
        if self.follows && self.follow(target, recorder, number) {
            return true;
        }
        if !self.at_once || !goes_on {
            self.requests.free.push(number);
            return true;
        }
        if !self.next(target, number) {
            return false;
        }
        self.requests.fresh.push(number);
        true
    }

    /// What comes after a completion: a look at what was read, or the flush of what was written, which takes the request over.
    fn follow(&mut self, target: &mut Target, recorder: &mut Recorder, number: usize) -> bool {
        let request = &mut self.requests.list[number];
        match request.kind {
            Kind::Read => {
                let block = target.buffer(number, request.length as usize);
                let start = request.start();
                self.job.check(recorder, block, start);
            }
            Kind::Write => {
                let flushing = &mut self.job.flushing;
                if flushing.is_due(request.start(), request.length as usize) {
                    let entry = target.flush_entry(flushing, number);
                    request.change(Kind::Flush, flushing.slot, 0, entry);
                    self.requests.fresh.push(number);
                    return true;
                }
            }
            Kind::Flush => {}
        }
        false
    }

    /// What was done in part goes on, what was only interrupted is tried again, the rest is an error.
    #[cold]
    fn incomplete(
        &mut self,
        target: &mut Target,
        recorder: &mut Recorder,
        number: usize,
        result: i32,
        to: u64,
    ) -> bool {
        let request = &mut self.requests.list[number];
        let errno = match (result, request.kind) {
            (1.., _) => {
                request.rest -= result as u32;
                let done = request.length - request.rest;
                request.entry = target.entry(request.kind, number, done as usize, request.rest);
                request.shape = Shape::NONE;
                request.go(request.offset + result as u64);
                self.requests.stamped.push(number);
                return true;
            }
            (0, Kind::Read) => libc::ENODATA,
            (0, _) => libc::ENOSPC,
            (negative, _) => -negative,
        };
        if matches!(errno, libc::EINTR | libc::EAGAIN) {
            self.requests.stamped.push(number);
            return true;
        }
        let slot = request.slot;
        self.requests.free.push(number);
        recorder.fail(slot, errno, to)
    }
}

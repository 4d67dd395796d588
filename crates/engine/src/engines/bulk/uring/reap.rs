//! What becomes of requests that the kernel says are complete.

use super::Uring;
use crate::engines::bulk::requests::Request;
use crate::engines::bulk::ring::{Kind, Target};
use crate::engines::bulk::settings::FlushCall;
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
        for completion in ring.completion() {
            let number = completion.user_data() as usize;
            self.in_flight -= 1;
            let request = &self.requests.list[number];
            if completion.result() != request.rest as i32 {
                goes_on &= self.incomplete(recorder, number, completion.result(), to);
                continue;
            }
            let (slot, length) = (usize::from(request.slot), request.length as usize);
            goes_on &= recorder.complete(slot, length, request.from, to);
            if self.follows && self.follow(target, recorder, number) {
                continue;
            }
            if self.at_once && goes_on {
                goes_on = self.next(target, number);
                if goes_on {
                    self.requests.fresh.push(number);
                }
            } else {
                self.requests.free.push(number);
            }
        }
        if let Some(pacer) = recorder.pacer() {
            pacer.ended(to);
        }
        goes_on
    }

    /// What comes after a completion: a look at what was read, or the flush of what was written, which takes the request over.
    #[inline(never)]
    fn follow(&mut self, target: &mut Target, recorder: &mut Recorder, number: usize) -> bool {
        let request = &mut self.requests.list[number];
        match request.kind {
            Kind::Read => {
                let block = target.buffer(number, request.length as usize);
                self.job.check(recorder, block, request.start());
            }
            Kind::Write if self.job.flushing.is_due() => {
                let kind = match self.job.flushing.call {
                    FlushCall::Fsync => Kind::Fsync,
                    FlushCall::Fdatasync => Kind::Fdatasync,
                };
                *request = Request::flush(kind, self.job.flushing.slot);
                self.requests.fresh.push(number);
                return true;
            }
            _ => {}
        }
        false
    }

    /// What was done in part goes on, what was only interrupted is tried again, the rest is an error.
    #[cold]
    fn incomplete(&mut self, recorder: &mut Recorder, number: usize, result: i32, to: u64) -> bool {
        let request = &mut self.requests.list[number];
        let errno = match (result, request.kind) {
            (1.., _) => {
                request.rest -= result as u32;
                request.offset += result as u64;
                request.made = false;
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
        let slot = usize::from(request.slot);
        self.requests.free.push(number);
        recorder.fail(slot, errno, to)
    }
}

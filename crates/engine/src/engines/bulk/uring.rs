//! Many requests in flight through an `io_uring`: all that are free go in one call, all that are done come out at once.

use super::pattern::Step;
use super::requests::Requests;
use super::ring::{self, Kind, Target};
use super::settings::{Register, Settings, Verify};
use super::{Job, punting};
use crate::block_data::fill;
use crate::pacer::Pacer;
use crate::protocol::{Fault, QueueResult};
use crate::recorder::Recorder;
use crate::work::{Finished, Worker};
use io_uring::IoUring;
use io_uring::squeue::{Entry, SubmissionQueue};
use io_uring::types::{SubmitArgs, Timespec};
use rustix::io::Errno;

mod reap;

pub struct Uring {
    job: Job,
    ready: Option<(IoUring, Target)>,
    register: Register,
    depth: usize,
    batch: usize,
    requests: Requests,
    in_flight: usize,
    /// Whether a request that is complete is used again at once, because nothing holds operations back.
    at_once: bool,
    /// Whether a completion has consequences: verification, or flushes on the way.
    follows: bool,
    result: QueueResult,
}

impl Uring {
    pub fn new(job: Job, settings: &Settings) -> Self {
        let register = match settings.register {
            Register::Probe if !settings.direct => Register::Off,
            register => register,
        };
        let follows = settings.verify != Verify::None || job.flushing.counts();
        Self {
            job,
            ready: None,
            register,
            depth: settings.depth() as usize,
            batch: settings.batch.unwrap_or(1) as usize,
            requests: Requests::new(0),
            in_flight: 0,
            at_once: true,
            follows,
            result: QueueResult {
                depth: settings.depth(),
                ..QueueResult::default()
            },
        }
    }

    /// Prepares as many requests as are free and due. False where nothing will come any more.
    #[inline]
    fn gather(&mut self, target: &mut Target, recorder: &mut Recorder) -> bool {
        if !self.at_once {
            return self.gather_due(target, recorder);
        }
        while let Some(number) = self.requests.free.pop() {
            if !self.next(target, number) {
                return false;
            }
            self.requests.fresh.push(number);
        }
        true
    }

    #[inline(never)]
    fn gather_due(&mut self, target: &mut Target, recorder: &mut Recorder) -> bool {
        let now = recorder.now();
        while let Some(number) = self.requests.free.pop() {
            let Some(due) = recorder.pacer().and_then(|pacer| pacer.due()) else {
                self.requests.free.push(number);
                return recorder.out_of_time();
            };
            if due > now {
                self.requests.free.push(number);
                return true;
            }
            if !self.next(target, number) {
                return false;
            }
            if let Some(pacer) = recorder.pacer() {
                self.requests.list[number].from = pacer.take(now);
                if pacer.is_open() {
                    self.requests.stamped.push(number);
                } else {
                    self.requests.fresh.push(number);
                }
            }
        }
        true
    }

    /// Makes the next request of the pattern; false where there is none, and the request is free again.
    fn next(&mut self, target: &mut Target, number: usize) -> bool {
        let Some(step) = self.job.pattern.next() else {
            self.requests.free.push(number);
            return false;
        };
        self.prepare_step(target, number, step);
        true
    }

    /// Makes the entry of a request that does something else than before, and the data of a write.
    #[inline(never)]
    fn prepare_step(&mut self, target: &mut Target, number: usize, step: Step) {
        let (kind, slot) = if step.shape.writes() {
            (Kind::Write, self.job.write_slot)
        } else {
            (Kind::Read, 0)
        };
        let length = step.shape.length();
        let request = &mut self.requests.list[number];
        let entry = target.entry(kind, number, 0, length as u32);
        request.change(kind, slot, length as u32, entry);
        request.go(step.offset);
        if step.shape.writes() {
            self.job.make(target.buffer(number, length), step.offset);
        } else {
            request.shape = step.shape;
        }
    }

    /// Puts what waits into the ring, under one stamp.
    #[inline]
    fn push(&mut self, ring: &mut IoUring, recorder: &Recorder) {
        if self.requests.waiting() == 0 {
            return;
        }
        let stamp = recorder.now();
        let mut queue = ring.submission();
        self.in_flight += self.requests.waiting();
        let Requests {
            list,
            fresh,
            stamped,
            ..
        } = &mut self.requests;
        for number in fresh.drain() {
            let request = &mut list[usize::from(*number)];
            request.from = stamp;
            submit(&mut queue, &request.entry);
        }
        for number in stamped.drain() {
            submit(&mut queue, &list[usize::from(*number)].entry);
        }
    }

    /// Submits, and waits for at least a batch of completions, or until the next operation is due.
    #[inline]
    fn enter(&mut self, ring: &IoUring, recorder: &mut Recorder) -> std::io::Result<()> {
        self.result.submissions += 1;
        let waits_for_more = !self.at_once && !self.requests.free.is_empty();
        let outcome = if waits_for_more {
            let now = recorder.now();
            let pause_ns = recorder
                .pacer()
                .and_then(|pacer| pacer.pause_ns(now))
                .unwrap_or(0);
            let span = Timespec::new()
                .sec(pause_ns / 1_000_000_000)
                .nsec((pause_ns % 1_000_000_000) as u32);
            let until = SubmitArgs::new().timespec(&span);
            ring.submitter().submit_with_args(1, &until)
        } else {
            ring.submit_and_wait(self.batch.min(self.in_flight))
        };
        match outcome {
            Err(error) if !may_pass(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Works until nothing is left or the ring fails; false where requests may still be in flight.
    fn work(&mut self, ring: &mut IoUring, target: &mut Target, recorder: &mut Recorder) -> bool {
        let mut goes_on = true;
        loop {
            goes_on = goes_on && self.gather(target, recorder);
            self.push(ring, recorder);
            if self.in_flight == 0 {
                if !goes_on {
                    return true;
                }
                goes_on =
                    recorder.pacer().and_then(Pacer::idle).is_some() || recorder.out_of_time();
                continue;
            }
            if let Err(error) = self.enter(ring, recorder) {
                recorder.fail(0, error.raw_os_error().unwrap_or(libc::EIO), recorder.now());
                recorder.give_up();
                return false;
            }
            goes_on &= self.reap(ring, target, recorder);
        }
    }
}

/// Puts one request into the queue of submissions.
#[inline]
fn submit(queue: &mut SubmissionQueue, entry: &Entry) {
    // SAFETY: buffers and file outlive the request: they are dropped when none is in flight.
    let full = unsafe { queue.push(entry) }.is_err();
    debug_assert!(!full, "the ring has an entry for each request");
}

/// Errors of a submission after which completions make room again, or none at all.
fn may_pass(error: &std::io::Error) -> bool {
    let passing = [Errno::INTR, Errno::TIME, Errno::AGAIN, Errno::BUSY];
    passing
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

impl Worker for Uring {
    fn prepare(&mut self) -> Result<(), Fault> {
        let ring = ring::make(self.depth as u64, &self.job.path)?;
        let mut target = Target::new(&self.job.file, self.depth, self.job.record_size)
            .ok_or_else(|| Fault::settings("the record_size is too large"))?;
        fill(target.memory(), self.job.seed);
        if self.register != Register::Off {
            let registered = target.register(&ring);
            if let (Err(error), Register::On) = (registered, self.register) {
                let errno = Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO));
                return Err(Fault::call("io_uring_register", &self.job.path, errno));
            }
        }
        self.result.registered = target.registered;
        self.requests = Requests::new(self.depth);
        self.ready = Some((ring, target));
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some((mut ring, mut target)) = self.ready.take() else {
            return;
        };
        recorder.path.clone_from(&self.job.path);
        self.at_once = recorder.pacer().is_none();
        let drained = self.work(&mut ring, &mut target, recorder);
        self.result.punted_threads = punting::workers_of_this_thread();
        self.result.punted = self.result.punted_threads > 0;
        if !drained {
            std::mem::forget(target); // the kernel may still write there
            return;
        }
        let job = &mut self.job;
        if job.flushing.is_left() {
            recorder.follow(job.flushing.slot, || job.flushing.flush(&job.file));
        }
    }

    fn finish(&mut self) -> Finished {
        Finished::Queue(self.result)
    }
}

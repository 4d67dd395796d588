//! One thread for many connections of one kind: whichever is ready is served.

use super::flow::{Flow, Kind, Outcome};
use super::hall::Hall;
use super::kernel::span;
use super::stream::drain;
use super::work::{close, end_sending, lose, take};
use crate::aligned::Aligned;
use crate::pacer::Pacer;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::Worker;
use assay_clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Events that one call gives.
const EVENTS: usize = 256;
/// How often a server looks for connections that are not there yet.
const NEWCOMERS_NS: u64 = 10_000_000;

pub struct Many {
    pub hall: Arc<Hall>,
    /// The places of this worker's connections.
    pub places: Vec<usize>,
    pub kind: Kind,
    pub slot: usize,
    pub seed: u64,
    pub work: Option<Work>,
}

/// What `run` works with: allocated before the start.
pub struct Work {
    /// What is sent, and where to receive.
    out: Aligned,
    into: Aligned,
    epoll: OwnedFd,
    flows: Vec<Flow>,
    ready: VecDeque<usize>,
    idle: Vec<usize>,
    /// Flows that have not ended.
    open: usize,
    until_ns: u64,
    goes_on: bool,
}

impl Worker for Many {
    fn prepare(&mut self) -> Result<(), Fault> {
        let (out, into) = self.kind.buffers(&self.hall, self.seed)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| Fault::call("epoll", "connections", errno))?;
        let places = self.places.len();
        self.work = Some(Work {
            out,
            into,
            epoll,
            flows: Vec::with_capacity(places),
            ready: VecDeque::with_capacity(places),
            idle: Vec::with_capacity(places),
            open: 0,
            until_ns: 0,
            goes_on: true,
        });
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut work) = self.work.take() else {
            return;
        };
        if take(&self.hall, self.places[0], recorder).is_none() {
            return;
        }
        work.until_ns = monotonic_ns().saturating_add(self.hall.settings.patience_ns);
        while self.welcome(&mut work) {
            Self::begin_due(&mut work, recorder);
            self.serve(&mut work, recorder);
            if !self.wait(&mut work, recorder) {
                return;
            }
        }
        if self.kind == Kind::Receive {
            let cut = work.flows.iter().filter(|flow| flow.is_cut);
            cut.for_each(|flow| drain(&flow.connection, &mut work.into));
        }
    }
}

impl Many {
    /// Takes connections that are new; false when all have ended and no other will come.
    fn welcome(&self, work: &mut Work) -> bool {
        while let Some(connection) = self
            .places
            .get(work.flows.len())
            .and_then(|place| self.hall.at(*place))
        {
            let number = work.flows.len();
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            let data = epoll::EventData::new_u64(number as u64);
            let _ = epoll::add(&work.epoll, &connection.socket, data, flags);
            work.flows
                .push(Flow::new(connection, self.hall.settings.ops));
            work.open += 1;
            if self.kind.leads() {
                work.idle.push(number);
            }
        }
        work.open > 0 || self.is_waiting(work)
    }

    fn is_waiting(&self, work: &Work) -> bool {
        work.flows.len() < self.places.len() && monotonic_ns() < work.until_ns && work.goes_on
    }

    /// Begins operations on idle connections as far as they are due; at the end, ends those connections.
    fn begin_due(work: &mut Work, recorder: &mut Recorder) {
        while let Some(number) = work.idle.pop() {
            let flow = &mut work.flows[number];
            if !work.goes_on || flow.left == 0 {
                end_sending(&flow.connection);
                work.open -= 1;
                continue;
            }
            let now = recorder.now();
            let from = match recorder.pacer() {
                None => now,
                Some(pacer) => match pacer.due() {
                    Some(due) if due > now => {
                        work.idle.push(number);
                        return;
                    }
                    Some(_) => pacer.take(now),
                    None => {
                        work.goes_on = recorder.out_of_time();
                        work.idle.push(number);
                        continue;
                    }
                },
            };
            flow.begin(from);
            work.ready.push_back(number);
        }
    }

    /// Serves each connection that is ready once.
    fn serve(&self, work: &mut Work, recorder: &mut Recorder) {
        for _ in 0..work.ready.len() {
            let Some(number) = work.ready.pop_front() else {
                return;
            };
            let flow = &mut work.flows[number];
            if flow.is_over {
                continue;
            }
            let outcome = flow.advance(self.kind, self.slot, (&work.out, &mut work.into), recorder);
            let connection = Arc::clone(&flow.connection);
            let at = (self.slot, flow.waits_since(self.kind));
            let leads = self.kind.leads();
            match outcome {
                Outcome::Waits => continue,
                Outcome::Again => {
                    work.ready.push_back(number);
                    continue;
                }
                Outcome::Complete(goes_on) => {
                    work.goes_on &= goes_on;
                    if leads {
                        work.idle.push(number);
                        continue;
                    }
                    if goes_on {
                        continue; // the next request comes after this response, with an event of its own
                    }
                    if self.kind == Kind::Answer {
                        end_sending(&connection);
                    }
                    flow.is_cut = true;
                }
                Outcome::Closed(in_order) => {
                    close(&self.hall, &connection, recorder, at, in_order);
                }
                Outcome::Failed(errno) => lose(&self.hall, &connection, recorder, at, errno),
            }
            work.flows[number].is_over = true;
            work.open -= 1;
        }
    }

    /// How long to wait for events: not at all while there is work, else until the next operation is due.
    fn rest_ns(&self, work: &Work, recorder: &mut Recorder) -> u64 {
        let has_work = !work.ready.is_empty() || !work.goes_on && !work.idle.is_empty();
        let due_ns = if work.idle.is_empty() {
            u64::MAX
        } else {
            let now = recorder.now();
            recorder.pacer().map_or(0, |pacer| pause(pacer, now))
        };
        let newcomers_ns = if self.is_waiting(work) {
            NEWCOMERS_NS
        } else {
            u64::MAX
        };
        if has_work {
            0
        } else {
            due_ns.min(newcomers_ns)
        }
    }

    /// Waits until a connection is ready, or the next operation is due; false where waiting is impossible.
    fn wait(&self, work: &mut Work, recorder: &mut Recorder) -> bool {
        if work.open == 0 && !self.is_waiting(work) {
            return true;
        }
        let rest_ns = self.rest_ns(work, recorder);
        let now_or_never = span(0);
        let timeout = if rest_ns == u64::MAX {
            None
        } else {
            if rest_ns > 0 && !pause_for(&work.epoll, rest_ns) {
                return true;
            }
            Some(&now_or_never)
        };
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        match epoll::wait(&work.epoll, &mut room, timeout) {
            Ok((events, _)) => {
                let numbers = events.iter().map(|event| event.data.u64() as usize);
                work.ready.extend(numbers);
                true
            }
            Err(Errno::INTR) => true,
            Err(errno) => {
                recorder.fail(self.slot, errno.raw_os_error(), recorder.now());
                recorder.give_up();
                false
            }
        }
    }
}

fn pause(pacer: &Pacer, now: u64) -> u64 {
    pacer.pause_ns(now).unwrap_or(0)
}

/// Waits for events, to the nanosecond; whether there are any.
fn pause_for(epoll: &OwnedFd, ns: u64) -> bool {
    let mut fds = [PollFd::new(epoll, PollFlags::IN)];
    poll(&mut fds, Some(&span(ns))).is_ok_and(|ready| ready > 0)
}

//! One phase: workers that wait for T, the thread that watches them, and what they did.

use crate::beside::Beside;
use crate::block_data::mix;
use crate::checkpoints::Checkpoints;
use crate::control::Control;
use crate::cost::{Meter, Usage};
use crate::lifetime;
use crate::load::Load;
use crate::protocol::{Config, Fault, Moved, PhaseResult, Reply, send};
use crate::recorder::Live;
use crate::result;
use crate::thread::{Done, Go, Thread};
use crate::work::{Armed, Worker};
use assay_clock::{Anchor, Clock, Timebase, monotonic_ns};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A phase that waits for its start.
pub struct Phase {
    pub config: Config,
    pub operations: Vec<String>,
    pub clock: Clock,
    pub calibrated: Timebase,
    pub control: Arc<Control>,
    pub armed_ns: u64,
    pub beside: Option<Arc<dyn Beside>>,
    duration_ns: Option<u64>,
    load: Load,
    live: Vec<Arc<[Live]>>,
    start: Vec<Sender<Go>>,
    done: Receiver<Done>,
    meter: Meter,
    at_arming: Usage,
}

/// What is known once the last worker has ended.
pub struct Ended {
    pub done: Vec<Done>,
    pub checkpoints: Checkpoints,
    pub meter: Meter,
    pub at_arming: Usage,
    pub at_start: Usage,
    pub at_end: Usage,
    pub during: Timebase,
    /// When time was to end the phase.
    pub ends_ns: Option<u64>,
}

/// Workers that have finished and whose threads wait, so that observers can still read what they used.
pub struct Parked(#[allow(dead_code, reason = "dropping it lets the threads go")] Vec<Sender<Go>>);

impl Phase {
    /// Starts the workers and waits until each is ready.
    pub fn arm(
        config: Config,
        armed: Armed,
        control: Arc<Control>,
        calibrated: (Clock, Timebase),
    ) -> Result<Self, Fault> {
        if config.interval_ns == 0 {
            return Err(Fault::settings("found interval_ns 0; expected at least 1"));
        }
        if let Some(beside) = &armed.beside {
            let _ = control.beside.set(Arc::clone(beside));
        }
        let (finish, done) = channel();
        let mut phase = Self {
            operations: armed.operations,
            clock: calibrated.0,
            calibrated: calibrated.1,
            control,
            armed_ns: 0,
            duration_ns: armed.duration_ns.or_else(|| armed.load.lasts_ns()),
            load: armed.load,
            beside: armed.beside,
            live: Vec::new(),
            start: Vec::new(),
            done,
            meter: Meter::open(),
            at_arming: Usage::default(),
            config,
        };
        let (ready, readiness) = channel();
        for (part, worker) in (0_u64..).zip(armed.workers) {
            phase.spawn(part, worker, ready.clone(), finish.clone())?;
        }
        drop(ready);
        for _ in 0..phase.start.len() {
            readiness
                .recv()
                .unwrap_or_else(|_| Err(Fault::settings("a worker ended while it was armed")))?;
        }
        phase.at_arming = Usage::now();
        phase.armed_ns = monotonic_ns();
        Ok(phase)
    }

    /// Where others reach this client.
    pub fn address(&self) -> Option<String> {
        self.beside.as_ref().and_then(|beside| beside.address())
    }

    /// How many threads do the work.
    pub fn workers(&self) -> usize {
        self.start.len()
    }

    fn spawn(
        &mut self,
        part: u64,
        worker: Box<dyn Worker>,
        ready: Sender<Result<(), Fault>>,
        finish: Sender<Done>,
    ) -> Result<(), Fault> {
        let (start, wait) = channel::<Go>();
        let live: Arc<[Live]> = self.operations.iter().map(|_| Live::default()).collect();
        self.start.push(start);
        self.live.push(Arc::clone(&live));
        let thread = Thread {
            clock: self.clock,
            control: Arc::clone(&self.control),
            cpus: self.config.cpus.clone(),
            load: self.load.clone(),
            seed: mix(self.config.seed ^ mix(self.config.client << 32 | part)),
            part,
            live,
        };
        std::thread::Builder::new()
            .spawn(move || thread.serve(worker, &ready, &wait, &finish))
            .map_err(|error| Fault {
                what: "thread",
                path: None,
                errno: error.raw_os_error(),
                message: format!("the thread of worker {part} cannot be started: {error}"),
            })?;
        Ok(())
    }

    /// Runs the armed phase from `at_ns` to its end. The workers stay parked as long as what comes with the result lives.
    pub fn run(mut self, at_ns: u64) -> (PhaseResult, Parked) {
        let anchor = Anchor::take(self.clock);
        let at_start = Usage::now();
        let limit_ns = self
            .config
            .limit_ns
            .map(|limit| at_ns.saturating_add(limit));
        lifetime::set_hard_end(limit_ns);
        let go = Go {
            at_ns,
            end_ns: self.duration_ns.map(|span| at_ns.saturating_add(span)),
            timebase: self.calibrated,
            interval_ns: self.config.interval_ns,
            parts: self.workers() as u64,
        };
        self.meter.start();
        for start in &self.start {
            let _ = start.send(go);
        }
        let (done, checkpoints) = self.watch(at_ns, limit_ns.unwrap_or(u64::MAX), go.end_ns);
        self.meter.stop();
        let at_end = Usage::now();
        lifetime::set_hard_end(None);
        let during = Timebase::between(self.clock, anchor, Anchor::take_after(self.clock, anchor));
        let meter = std::mem::take(&mut self.meter);
        let at_arming = std::mem::take(&mut self.at_arming);
        let ended = Ended {
            done,
            checkpoints,
            meter,
            at_arming,
            at_start,
            at_end,
            during,
            ends_ns: go.end_ns,
        };
        (result::assemble(&self, ended), Parked(self.start))
    }

    /// Waits for the workers; meanwhile notes and reports their progress, and keeps the limit.
    fn watch(&self, at_ns: u64, limit_ns: u64, end_ns: Option<u64>) -> (Vec<Done>, Checkpoints) {
        let mut done = Vec::with_capacity(self.workers());
        let mut checkpoints = Checkpoints::new();
        let mut next_ns = at_ns.saturating_add(self.config.interval_ns);
        let mut patience_ns = self.patience_ns(end_ns);
        while done.len() < self.workers() {
            let now = monotonic_ns();
            if now >= limit_ns && !self.control.limit.load(Ordering::Relaxed) {
                self.control.end(&self.control.limit);
                lifetime::kill_child_group();
            }
            if now >= patience_ns {
                self.control.interrupt();
                patience_ns = u64::MAX;
            }
            if now >= next_ns {
                self.report(&mut checkpoints);
                next_ns += (now - next_ns) / self.config.interval_ns * self.config.interval_ns
                    + self.config.interval_ns;
            }
            let ends = [limit_ns, patience_ns].into_iter().filter(|at| *at > now);
            let wake_ns = ends.fold(next_ns, u64::min);
            match self
                .done
                .recv_timeout(Duration::from_nanos(wake_ns.saturating_sub(now)))
            {
                Ok(one) => done.push(one),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        (done, checkpoints)
    }

    /// When the workers' system calls are ended, because the phase's time has long been over.
    fn patience_ns(&self, end_ns: Option<u64>) -> u64 {
        let beside = self.beside.as_ref();
        beside.zip(end_ns).map_or(u64::MAX, |(beside, end)| {
            end.saturating_add(beside.patience_ns())
        })
    }

    fn report(&self, checkpoints: &mut Checkpoints) {
        let at_ns = monotonic_ns();
        let sums: Vec<(u64, u64, u64)> = (0..self.operations.len())
            .map(|slot| self.sum(slot))
            .collect();
        let operations = self.operations.iter().zip(&sums);
        let operations = operations
            .map(|(name, &(count, bytes, _))| (name.as_str(), Moved { count, bytes }))
            .collect();
        send(&Reply::Progress {
            phase: &self.config.phase,
            at_ns,
            operations,
        });
        checkpoints.push(at_ns, sums);
        if let Some(beside) = &self.beside {
            beside.look(at_ns);
        }
    }

    /// Gives up what an armed phase holds open.
    pub fn abandon(self) {
        if let Some(beside) = &self.beside {
            beside.finish();
        }
    }

    fn sum(&self, slot: usize) -> (u64, u64, u64) {
        self.live
            .iter()
            .map(|live| &live[slot])
            .fold((0, 0, 0), |(count, bytes, busy), live| {
                (
                    count + live.count.load(Ordering::Relaxed),
                    bytes + live.bytes.load(Ordering::Relaxed),
                    busy + live.busy.load(Ordering::Relaxed),
                )
            })
    }
}

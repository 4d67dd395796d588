//! The thread of one worker: prepares, sleeps to T, works, and waits so that what it used can still be read.

use crate::control::Control;
use crate::load::Load;
use crate::pacer::{Backlog, Pacer, Start};
use crate::protocol::Fault;
use crate::recorder::{Live, Recorder, Schedule};
use crate::work::{Finished, Worker};
use assay_clock::{Clock, Timebase, monotonic_ns, sleep_until};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// How often a worker publishes its counters and asks whether to go on; slower operations do so each time.
const LOOK_EVERY_NS: u64 = 1_000_000;
/// The shortest interval whose latencies are noted by themselves: a note looks through a whole histogram.
const SPREAD_EVERY_NS: u64 = 50_000_000;
/// The longest sleep before T in which a worker does not ask whether to go on.
const DOZE_NS: u64 = 100_000_000;

/// The start, as workers are told it.
#[derive(Clone, Copy)]
pub struct Go {
    pub at_ns: u64,
    pub end_ns: Option<u64>,
    pub timebase: Timebase,
    pub interval_ns: u64,
    pub parts: u64,
}

/// What a worker leaves behind.
pub struct Done {
    pub recorder: Recorder,
    pub finished: Finished,
    pub backlog: Option<Backlog>,
}

/// What a thread knows of its phase.
pub struct Thread {
    pub clock: Clock,
    pub control: Arc<Control>,
    pub cpus: Option<Vec<usize>>,
    pub load: Load,
    pub seed: u64,
    pub part: u64,
    pub live: Arc<[Live]>,
}

impl Thread {
    /// The whole life of the thread.
    pub fn serve(
        self,
        mut worker: Box<dyn Worker>,
        ready: &Sender<Result<(), Fault>>,
        wait: &Receiver<Go>,
        finish: &Sender<Done>,
    ) {
        let live = Arc::clone(&self.live);
        let mut recorder = Recorder::new(self.clock, live, Arc::clone(&self.control));
        let prepared = settle(self.cpus.as_deref()).and_then(|()| worker.prepare());
        let failed = prepared.is_err();
        let _ = ready.send(prepared);
        if failed {
            return;
        }
        if let Ok(go) = wait.recv() {
            wake(&mut recorder, &self, go).then(|| worker.run(&mut recorder));
            recorder.publish();
            let finished = worker.finish();
            let backlog = recorder.backlog();
            drop(worker); // its files must be closed before the result: the target may be unmounted then
            let _ = finish.send(Done {
                recorder,
                finished,
                backlog,
            });
            let _ = wait.recv(); // parked: the thread's counters in /proc stay readable until the next phase
        }
    }
}

/// Pins the calling thread (and what it will start), and asks for timers without slack.
fn settle(cpus: Option<&[usize]>) -> Result<(), Fault> {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let Some(cpus) = cpus else { return Ok(()) };
    let most = rustix::thread::CpuSet::MAX_CPU;
    if cpus.is_empty() || cpus.iter().any(|cpu| *cpu >= most) {
        return Err(Fault::settings(format!(
            "found cpus {cpus:?}; expected at least one, each below {most}"
        )));
    }
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|errno| Fault::call("pin", &format!("cpus {cpus:?}"), errno))
}

/// Sleeps to T. False where there is nothing to be done any more.
fn wake(recorder: &mut Recorder, thread: &Thread, go: Go) -> bool {
    let deadline = go.end_ns.map_or(u64::MAX, |end| go.timebase.ticks_at(end));
    let start = Start {
        clock: thread.clock,
        timebase: go.timebase,
        at_ns: go.at_ns,
        deadline,
        seed: thread.seed,
        worker: (thread.part, go.parts),
        control: Arc::clone(&thread.control),
    };
    recorder.pace(Pacer::new(&thread.load, start));
    while monotonic_ns() < go.at_ns && thread.control.reason().is_none() {
        sleep_until(go.at_ns.min(monotonic_ns() + DOZE_NS));
    }
    recorder.start(Schedule {
        started: thread.clock.now(),
        deadline,
        look_every: go.timebase.ticks_of(LOOK_EVERY_NS),
        spread_every: go.timebase.ticks_of(go.interval_ns.max(SPREAD_EVERY_NS)),
    })
}

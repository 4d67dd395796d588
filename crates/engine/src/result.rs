//! What the workers noted, put together and turned into nanoseconds.

use crate::bars;
use crate::checkpoints::{Checkpoints, Sums};
use crate::control::Stopped;
use crate::marks;
use crate::own_cost::OwnCost;
use crate::phase::{Ended, Phase};
use crate::protocol::Bars;
use crate::protocol::{
    Buckets, ClockResult, CoherenceResult, Cost, Curve, DirectoryResult, DrillResult, ErrorCount,
    Io, LoadResult, OperationResult, PhaseResult, QueueResult, TreeResult, Unfinished,
};
use crate::recorder::Recorder;
use crate::tally::Tally;
use crate::thread::Done;
use crate::work::{Finished, Ran};
use assay_clock::{Timebase, error_ppm};
use std::collections::BTreeMap;

/// The result of a phase that has ended.
pub fn assemble(phase: &Phase, mut ended: Ended) -> PhaseResult {
    let rest = left(&mut ended.done);
    let (cost, io) = used(&ended, rest.child.as_deref());
    let tallies = merge_tallies(&ended.done, phase.operations.len());
    let during = ended.during;
    let (started, first, last) = edges(&ended.done, &tallies);
    let points = timeline(&ended.done, ended.checkpoints, &tallies, &during);
    let recorders: Vec<&Recorder> = ended.done.iter().map(|one| &one.recorder).collect();
    let known = (0..).zip(&tallies).map(|(slot, tally)| {
        let spread = bars::together(&recorders, slot, &during);
        operation(tally, spread, curve(&points, slot, &during), &during)
    });
    PhaseResult {
        phase: phase.config.phase.clone(),
        client: phase.config.client,
        pid: std::process::id(),
        workers: phase.workers(),
        armed_ns: phase.armed_ns,
        started_ns: during.mono_ns(started),
        first_ns: during.mono_ns(first),
        last_ns: during.mono_ns(last),
        ends_ns: ended.ends_ns,
        stopped_by: stopped(phase, &ended.done).word(),
        operations: phase.operations.iter().cloned().zip(known).collect(),
        errors: errors(&ended.done, &phase.operations),
        load: load(&ended.done, &during),
        queue: rest.queue,
        tree: rest.tree,
        directory: rest.directory,
        coherence: rest.coherence,
        drill: rest.drill,
        net: phase.beside.as_ref().map(|beside| beside.finish()),
        cost,
        io,
        clock: clock(phase, &during),
        command: rest.child.map(|child| child.command),
    }
}

/// The phase's clock, and what one look at it and one empty operation cost.
fn clock(phase: &Phase, during: &Timebase) -> ClockResult {
    let own = OwnCost::measure(phase.clock, during);
    ClockResult {
        source: phase.clock.name(),
        error_ppm: error_ppm(&phase.calibrated, during),
        stamp_ns: own.stamp_ns,
        operation_ns: own.operation_ns,
    }
}

/// What the workers left behind beside their operations, summed up.
#[derive(Default)]
struct Left {
    child: Option<Box<Ran>>,
    queue: Option<QueueResult>,
    tree: Option<TreeResult>,
    directory: Option<DirectoryResult>,
    coherence: Option<CoherenceResult>,
    drill: Option<DrillResult>,
}

/// The external command and the sums of queues, trees and directories, where there were such.
fn left(done: &mut [Done]) -> Left {
    let mut left = Left::default();
    for one in done {
        match std::mem::replace(&mut one.finished, Finished::Nothing) {
            Finished::Nothing => {}
            Finished::Command(ran) => left.child = Some(ran),
            Finished::Queue(queue) => {
                left.queue = Some(left.queue.map_or(queue, |sum| sum.and(queue)));
            }
            Finished::Tree(tree) => {
                left.tree = Some(left.tree.unwrap_or_default().and(tree));
            }
            Finished::Coherence(coherence) => left.coherence = Some(coherence),
            Finished::Directory(directory) => {
                left.directory = Some(left.directory.unwrap_or_default().and(*directory));
            }
            Finished::Drill(drill) => left.drill = Some(*drill),
        }
    }
    left
}

/// What all workers of an open loop fell behind by.
fn load(done: &[Done], during: &Timebase) -> Option<LoadResult> {
    done.iter()
        .filter_map(|one| one.backlog)
        .fold(None, |sum, backlog| {
            let sum: LoadResult = sum.unwrap_or_default();
            Some(LoadResult {
                late: sum.late + backlog.late,
                unstarted: sum.unstarted + backlog.unstarted,
                backlog_max_ns: sum.backlog_max_ns.max(during.span_ns(backlog.longest)),
            })
        })
}

/// What the child used where there was one, else this process.
fn used(ended: &Ended, child: Option<&Ran>) -> (Cost, Io) {
    let own = || {
        let cost = ended.meter.cost(&ended.at_start, &ended.at_end);
        (cost, ended.at_end.io.since(&ended.at_arming.io))
    };
    child.map_or_else(own, |child| (child.cost, child.io))
}

/// First waking, first start and last completion, in ticks; the waking where no operation was completed.
fn edges(done: &[Done], tallies: &[Tally]) -> (u64, u64, u64) {
    let started = done
        .iter()
        .map(|one| one.recorder.started())
        .min()
        .unwrap_or(0);
    let first = tallies
        .iter()
        .filter(|tally| tally.count > 0)
        .map(|tally| tally.first)
        .min()
        .unwrap_or(started);
    let last = tallies
        .iter()
        .map(|tally| tally.last)
        .max()
        .unwrap_or(0)
        .max(first);
    (started, first, last)
}

fn stopped(phase: &Phase, done: &[Done]) -> Stopped {
    let lost = (done.len() < phase.workers()).then_some(Stopped::Error);
    done.iter()
        .map(|one| one.recorder.stopped)
        .chain(lost)
        .max()
        .unwrap_or(Stopped::Error)
}

fn merge_tallies(done: &[Done], slots: usize) -> Vec<Tally> {
    let mut sums: Vec<Tally> = (0..slots).map(|_| Tally::new()).collect();
    for one in done {
        for (sum, tally) in sums.iter_mut().zip(&one.recorder.tallies) {
            sum.merge(tally);
        }
    }
    sums
}

fn operation(
    tally: &Tally,
    spread: Bars,
    checkpoints: Curve,
    during: &Timebase,
) -> OperationResult {
    let at = |ticks: u64| {
        if tally.count > 0 {
            during.mono_ns(ticks)
        } else {
            0
        }
    };
    let max_ns = during.span_ns(tally.max);
    OperationResult {
        count: tally.count,
        bytes: tally.bytes,
        errors: tally.errors,
        busy_ns: during.span_ns(tally.busy),
        first_ns: at(tally.first),
        last_ns: at(tally.last),
        min_ns: if tally.count > 0 {
            during.span_ns(tally.min)
        } else {
            0
        },
        max_ns,
        sampled_count: tally.sampled_count,
        sampled_ns: during.span_ns(tally.sampled),
        histogram: buckets(tally, max_ns, during),
        checkpoints,
        spread,
        unfinished: (tally.unfinished > 0).then(|| Unfinished {
            count: tally.unfinished,
            from_ns: during.mono_ns(tally.unfinished_from),
            waited_ns: during.span_ns(tally.waited),
            longest_ns: during.span_ns(tally.longest_wait),
        }),
    }
}

/// The buckets in nanoseconds; those that fall on the same nanosecond are one.
fn buckets(tally: &Tally, max_ns: u64, during: &Timebase) -> Buckets {
    let mut buckets = Buckets::default();
    for (upper, count) in tally.histogram.buckets() {
        let upper_ns = during.span_ns(upper).min(max_ns);
        if buckets.upper_ns.last() == Some(&upper_ns) {
            *buckets.count.last_mut().expect("as long as the other") += count;
        } else {
            buckets.upper_ns.push(upper_ns);
            buckets.count.push(count);
        }
    }
    buckets
}

fn curve(points: &[(u64, Sums)], slot: usize, during: &Timebase) -> Curve {
    Curve {
        at_ns: points.iter().map(|(at, _)| *at).collect(),
        count: points.iter().map(|(_, sums)| sums[slot].0).collect(),
        bytes: points.iter().map(|(_, sums)| sums[slot].1).collect(),
        busy_ns: points
            .iter()
            .map(|(_, sums)| during.span_ns(sums[slot].2))
            .collect(),
    }
}

/// The points of the watcher, the marks of the workers and the end, in order of time.
///
/// What the watcher saw is up to a millisecond old, a mark is not: sums never go back.
fn timeline(
    done: &[Done],
    checkpoints: Checkpoints,
    tallies: &[Tally],
    during: &Timebase,
) -> Vec<(u64, Sums)> {
    let mut points = checkpoints.into_points();
    let marks = marks::together(done.iter().map(|one| &one.recorder));
    points.extend(
        marks
            .into_iter()
            .map(|(at, sums)| (during.mono_ns(at), sums)),
    );
    points.sort_by_key(|(at, _)| *at);
    let last = tallies.iter().map(|tally| tally.last).max().unwrap_or(0);
    if last > 0 {
        points.retain(|(at, _)| *at < during.mono_ns(last));
        points.push((
            during.mono_ns(last),
            tallies
                .iter()
                .map(|tally| (tally.count, tally.bytes, tally.busy))
                .collect(),
        ));
    }
    for at in 1..points.len() {
        let (before, after) = points.split_at_mut(at);
        for (earlier, later) in before[at - 1].1.iter().zip(&mut after[0].1) {
            *later = (
                later.0.max(earlier.0),
                later.1.max(earlier.1),
                later.2.max(earlier.2),
            );
        }
    }
    points
}

fn errors(done: &[Done], operations: &[String]) -> Vec<ErrorCount> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for failure in done.iter().flat_map(|one| &one.recorder.failures.0) {
        let kind = (failure.errno, failure.what, failure.space);
        *counts
            .entry((failure.slot, kind, failure.path.as_str()))
            .or_default() += failure.count;
    }
    let named = |((slot, (errno, what, space), path), count): ((usize, _, &str), _)| ErrorCount {
        operation: operations[slot].clone(),
        errno,
        what,
        space,
        count,
        path: path.to_owned(),
    };
    counts.into_iter().map(named).collect()
}

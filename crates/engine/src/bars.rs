//! The latencies over time of all workers of a phase together.

use crate::protocol::Bars;
use crate::recorder::Recorder;
use crate::spread::Buckets;
use assay_clock::Timebase;
use std::collections::BTreeMap;

/// The intervals of all workers and the end, for one operation.
pub fn together(recorders: &[&Recorder], slot: usize, during: &Timebase) -> Bars {
    let whole: Vec<Buckets> = recorders
        .iter()
        .map(|one| one.tallies[slot].histogram.coarse_buckets().collect())
        .collect();
    let mut rows: Vec<(u64, BTreeMap<u16, u64>)> = intervals(recorders)
        .map(|(at, ticks)| (ticks, sum(recorders, &whole, slot, (at, ticks))))
        .collect();
    let end = recorders
        .iter()
        .map(|one| one.tallies[slot].last)
        .max()
        .unwrap_or(0);
    rows.retain(|(ticks, _)| *ticks < end);
    let all = add(whole.iter().map(Vec::as_slice));
    let seen: Vec<u16> = all.keys().copied().collect();
    if !seen.is_empty() {
        rows.push((end, all));
    }
    Bars {
        at_ns: rows
            .iter()
            .map(|(ticks, _)| during.mono_ns(*ticks))
            .collect(),
        upper_ns: seen
            .iter()
            .map(|bucket| during.span_ns(assay_hist::highest_of_coarse(*bucket)))
            .collect(),
        count: rows
            .iter()
            .map(|(_, row)| {
                let counts = seen
                    .iter()
                    .map(|bucket| row.get(bucket).copied().unwrap_or(0));
                counts.collect()
            })
            .collect(),
    }
}

/// The numbers of the intervals that every worker can tell, and when each ended (ticks).
fn intervals(recorders: &[&Recorder]) -> impl Iterator<Item = (u64, u64)> {
    let stride = recorders.iter().map(|one| one.spread.stride).max();
    let stride = stride.unwrap_or(1);
    let most = recorders
        .iter()
        .filter_map(|one| one.spread.noted.last().map(|(at, _)| *at))
        .max();
    let from = recorders.iter().map(|one| one.started()).min().unwrap_or(0);
    let every = recorders.first().map_or(1, |one| one.spread.every);
    (1..=most.unwrap_or(0) / stride).map(move |number| {
        let at = number * stride;
        (at, from.saturating_add(at.saturating_mul(every)))
    })
}

/// All workers at the end of an interval (number, ticks); one that had ended has all of its work.
fn sum(
    recorders: &[&Recorder],
    whole: &[Buckets],
    slot: usize,
    (at, ticks): (u64, u64),
) -> BTreeMap<u16, u64> {
    add(recorders.iter().zip(whole).map(|(one, all)| {
        if one.tallies[slot].last <= ticks {
            all.as_slice()
        } else {
            one.spread.at(at, slot)
        }
    }))
}

fn add<'a>(parts: impl Iterator<Item = &'a [(u16, u64)]>) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    for (bucket, count) in parts.flatten() {
        *sums.entry(*bucket).or_default() += count;
    }
    sums
}

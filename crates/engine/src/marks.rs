//! What each worker noted of its own work, put together as the work of all.

use crate::checkpoints::Sums;
use crate::recorder::Recorder;
use crate::tally::Tally;

/// The most moments that are kept.
const MOST: usize = 1_000;

/// Cumulative work at moments (ticks), in order of time.
type Track = Vec<(u64, Sums)>;

/// The work of all at each moment at which one of them noted its own; where there are too many moments, evenly fewer.
pub fn together<'a>(recorders: impl Iterator<Item = &'a Recorder>) -> Track {
    let tracks: Vec<Track> = recorders.map(track).collect();
    let mut moments: Vec<u64> = tracks.iter().flat_map(marked).collect();
    moments.sort_unstable();
    moments.dedup();
    let stride = moments.len().div_ceil(MOST).max(1);
    let kept = moments.into_iter().skip(stride - 1).step_by(stride);
    kept.map(|at| (at, sum(&tracks, at))).collect()
}

/// The marks of one worker between its start and its end.
fn track(recorder: &Recorder) -> Track {
    let nothing = vec![(0, 0, 0); recorder.tallies.len()];
    let end = recorder.tallies.iter().map(|tally| tally.last).max();
    let all = recorder.tallies.iter().map(Tally::sums).collect();
    let mut track = vec![(recorder.started(), nothing)];
    track.extend(
        recorder
            .marks
            .iter()
            .map(|mark| (mark.at, mark.done.clone())),
    );
    let last = track.last().map_or(0, |(at, _)| *at);
    track.push((end.unwrap_or(0).max(last), all));
    track
}

fn marked(track: &Track) -> impl Iterator<Item = u64> {
    track[1..track.len() - 1].iter().map(|(at, _)| *at)
}

fn sum(tracks: &[Track], at: u64) -> Sums {
    let mut sums = vec![(0, 0, 0); tracks.first().map_or(0, |track| track[0].1.len())];
    for track in tracks {
        for (sum, one) in sums.iter_mut().zip(done_by(track, at)) {
            *sum = (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2);
        }
    }
    sums
}

/// The work of one worker at a moment: between two of its marks it is taken to have gone on evenly.
fn done_by(track: &Track, at: u64) -> Sums {
    let next = track.partition_point(|(mark, _)| *mark <= at);
    let (Some(after), Some(before)) = (track.get(next), next.checked_sub(1).map(|one| &track[one]))
    else {
        return track[next.saturating_sub(1)].1.clone();
    };
    let (passed, span) = (u128::from(at - before.0), u128::from(after.0 - before.0));
    let part = |from: u64, to: u64| from + (u128::from(to - from) * passed / span) as u64;
    let pairs = before.1.iter().zip(&after.1);
    pairs
        .map(|(one, two)| (part(one.0, two.0), part(one.1, two.1), part(one.2, two.2)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steady(step: u64, marks: u64) -> Track {
        (0..=marks)
            .map(|mark| (mark * step, vec![(mark * 10, mark * 40_960, mark * step)]))
            .collect()
    }

    #[test]
    fn a_worker_goes_on_evenly_between_its_marks() {
        let track = steady(100, 3);
        assert_eq!(done_by(&track, 0), [(0, 0, 0)]);
        assert_eq!(done_by(&track, 100), [(10, 40_960, 100)]);
        assert_eq!(done_by(&track, 250), [(25, 102_400, 250)]);
        assert_eq!(done_by(&track, 999), [(30, 122_880, 300)]);
        assert_eq!(sum(&[track, steady(50, 2)], 75), [(22, 92_160, 150)]);
    }

    proptest! {
        #[test]
        fn sums_never_go_back_and_end_with_all_the_work(
            steps in prop::collection::vec((1..1_000_u64, 2..40_u64), 1..6),
            times in prop::collection::vec(0..50_000_u64, 1..50),
        ) {
            let tracks: Vec<Track> = steps.iter().map(|(step, marks)| steady(*step, *marks)).collect();
            let mut times = times;
            times.sort_unstable();
            let counts: Vec<u64> = times.iter().map(|at| sum(&tracks, *at)[0].0).collect();
            prop_assert!(counts.is_sorted());
            let all = steps.iter().map(|(_, marks)| marks * 10).sum::<u64>();
            prop_assert_eq!(sum(&tracks, u64::MAX)[0].0, all);
        }
    }
}

use super::*;
use crate::tally::sample_place;
use rustix::io::Errno;

fn recorder(clock: Clock) -> Recorder {
    let live: Arc<[Live]> = (0..1).map(|_| Live::default()).collect();
    let mut recorder = Recorder::new(clock, live, Arc::default());
    let schedule = Schedule {
        started: recorder.clock.now(),
        deadline: u64::MAX,
        look_every: 1,
        spread_every: u64::MAX,
    };
    assert!(recorder.start(schedule));
    recorder
}

#[test]
fn one_of_64_operations_is_stamped_twice() {
    for clock in [Clock::choose(), Clock::gettime()] {
        check_samples(recorder(clock));
    }
}

fn check_samples(mut recorder: Recorder) {
    for _ in 0..256 {
        assert!(recorder.measure(0, || Ok(10)));
    }
    let tally = &recorder.tallies[0];
    assert_eq!(
        (tally.count, tally.bytes, tally.sampled_count),
        (256, 2560, 4)
    );
    assert_eq!(
        tally
            .histogram
            .buckets()
            .map(|(_, count)| count)
            .sum::<u64>(),
        256
    );
    assert!(tally.min <= tally.max && tally.max <= tally.busy && tally.first < tally.last);
}

#[test]
fn the_stamped_one_keeps_no_step_with_what_comes_every_64th_time() {
    let mut places = [0; 64];
    for block in 0..6400 {
        let place = sample_place(block);
        assert_eq!(place / 64, block);
        places[(place % 64) as usize] += 1;
    }
    assert!(places.iter().all(|times| (95..=105).contains(times)));
    assert_ne!(
        sample_place(0),
        0,
        "the first of all is seldom like the others"
    );
}

#[test]
fn an_error_that_may_pass_is_counted_and_work_goes_on() {
    let mut recorder = recorder(Clock::choose());
    assert!(recorder.measure(0, || Err(Errno::IO)));
    assert!(recorder.measure(0, || Ok(1)));
    assert_eq!(
        (recorder.tallies[0].errors, recorder.tallies[0].count),
        (1, 1)
    );
    assert_eq!(recorder.stopped, Stopped::Work);
}

#[test]
fn a_full_disk_ends_the_phase_for_all() {
    let mut recorder = recorder(Clock::choose());
    assert!(!recorder.measure(0, || Err(Errno::NOSPC)));
    assert_eq!(recorder.stopped, Stopped::Error);
    assert_eq!(recorder.control.reason(), Some(Stopped::Error));
}

#[test]
fn a_hundred_errors_in_a_row_end_the_phase() {
    let mut recorder = recorder(Clock::choose());
    let tried = (1..1000).find(|_| !recorder.measure(0, || Err(Errno::IO)));
    assert_eq!(tried, Some(100));
    assert_eq!(recorder.failures.0[0].count, 100);
}

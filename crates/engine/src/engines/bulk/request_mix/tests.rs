use super::*;
use proptest::prelude::*;
use serde_json::json;

const FILE_SERVER: [(u64, u64); 8] = [
    (512, 10),
    (1024, 5),
    (2048, 5),
    (4096, 60),
    (8192, 2),
    (16_384, 4),
    (32_768, 4),
    (65_536, 10),
];
const BASE: u64 = 1 << 20;

fn settings(requests: &[(u64, u64)], read_share: f64, random_share: f64) -> Settings {
    let requests: Vec<_> = requests
        .iter()
        .map(|(bytes, weight)| json!({"bytes": bytes, "weight": weight}))
        .collect();
    let all = json!({"operation": "request_mix", "requests": requests, "read_share": read_share,
        "random_share": random_share, "regions": [{"path": "/x", "size": 0}]});
    serde_json::from_value(all).unwrap()
}

fn drawn(settings: &Settings, size: u64, count: usize, seed: u64) -> Vec<Step> {
    let none = Step {
        offset: 0,
        shape: Shape::NONE,
    };
    let mut steps = vec![none; count];
    let mut mix = RequestMix::new(settings, Span::alone(BASE, size), seed);
    steps.chunks_mut(64).for_each(|some| mix.draw(some));
    steps
}

/// Pearson's sum over what was counted and what was to be expected.
fn chi_square(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let square = |(found, expected): (f64, f64)| (found - expected).powi(2) / expected;
    pairs.into_iter().map(square).sum()
}

#[test]
fn sizes_directions_and_places_have_their_shares_whatever_the_others_are() {
    let mix = settings(&FILE_SERVER, 0.8, 0.5);
    let steps = drawn(&mix, 1 << 30, 400_000, 7);
    let mut cells = Vec::new();
    for (bytes, weight) in FILE_SERVER {
        for (writes, share) in [(false, 0.8), (true, 0.2)] {
            let found = steps
                .iter()
                .filter(|step| step.shape.length() as u64 == bytes && step.shape.writes() == writes)
                .count();
            cells.push((found as f64, 4_000.0 * weight as f64 * share));
        }
    }
    // 15 degrees of freedom: above 44 once in 10,000 seeds.
    let sum = chi_square(cells);
    assert!(sum < 44.0, "{sum}");
}

#[test]
fn random_places_are_spread_evenly() {
    let steps = drawn(&settings(&FILE_SERVER, 0.5, 1.0), 1 << 26, 160_000, 3);
    for (bytes, _) in FILE_SERVER {
        let mut sixteenths = [0_u64; 16];
        let of_size = steps
            .iter()
            .filter(|step| step.shape.length() as u64 == bytes);
        of_size.for_each(|step| sixteenths[((step.offset - BASE) >> 22) as usize] += 1);
        let expected = sixteenths.iter().sum::<u64>() as f64 / 16.0;
        let sum = chi_square(sixteenths.map(|found| (found as f64, expected)));
        assert!(sum < 44.0, "{bytes}: {sum}");
    }
}

#[test]
fn what_is_not_at_random_follows_the_last_that_was_not() {
    let steps = drawn(&settings(&[(512, 1), (1024, 1)], 1.0, 0.0), 4096, 1000, 1);
    let mut at = BASE;
    for step in steps {
        let bytes = step.shape.length() as u64;
        if at + bytes > BASE + 4096 {
            at = BASE;
        }
        assert_eq!(step.offset, at);
        at += bytes;
    }
}

#[test]
fn random_requests_do_not_move_the_others() {
    let mix = settings(&[(4096, 1)], 1.0, 0.3);
    let steps = drawn(&mix, 1 << 40, 10_000, 5);
    let in_turn = steps
        .iter()
        .filter(|step| step.offset < BASE + 4096 * 10_000);
    let offsets: Vec<u64> = in_turn.map(|step| (step.offset - BASE) / 4096).collect();
    assert!(offsets.iter().copied().eq(0..offsets.len() as u64));
    assert!(
        offsets.len().abs_diff(7_000) < 230,
        "five standard deviations"
    );
}

#[test]
fn an_alignment_may_be_given() {
    let mut mix = settings(&[(65_536, 1)], 1.0, 1.0);
    mix.align = Some(512);
    let steps = drawn(&mix, 1 << 20, 10_000, 9);
    assert!(steps.iter().all(|step| step.offset % 512 == 0));
    let aligned = steps
        .iter()
        .filter(|step| step.offset % 65_536 == 0)
        .count();
    assert!(aligned < 200, "1 of 128 by chance: {aligned}");
    let last = steps.iter().map(|step| step.offset).max();
    assert_eq!(last, Some(BASE + (1 << 20) - 65_536));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_table_has_exactly_the_shares_of_the_weights(weights in proptest::collection::vec(1_u64..=u64::from(u32::MAX), 1..=64)) {
        let total: u64 = weights.iter().sum();
        let mut shares = vec![0; weights.len()];
        for (index, column) in columns(&weights).iter().enumerate() {
            prop_assert!(column.keep <= total);
            shares[index] += column.keep;
            shares[column.other] += total - column.keep;
        }
        let expected: Vec<u64> = weights.iter().map(|weight| weight * weights.len() as u64).collect();
        prop_assert_eq!(shares, expected);
    }

    #[test]
    fn every_request_is_inside_the_region_and_aligned(
        requests in proptest::collection::vec((1_u64..=256, 1_u64..=100), 1..=64),
        room in 0_u64..5000,
        random_share in 0.0_f64..=1.0,
        align in proptest::option::of(1_u64..=64),
        seed: u64,
    ) {
        let requests: Vec<_> = requests.iter().map(|(sectors, weight)| (sectors * SECTOR, *weight)).collect();
        let largest = requests.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
        let mut mix = settings(&requests, 0.5, random_share);
        mix.align = align.map(|sectors| sectors * SECTOR);
        let size = largest + room * 100;
        for step in drawn(&mix, size, 640, seed) {
            let bytes = step.shape.length() as u64;
            prop_assert!(requests.iter().any(|(known, _)| *known == bytes));
            prop_assert!(step.offset >= BASE && step.offset + bytes <= BASE + size);
            prop_assert_eq!((step.offset - BASE) % SECTOR, 0);
            if random_share >= 1.0 {
                prop_assert_eq!((step.offset - BASE) % mix.align.unwrap_or(bytes), 0);
            }
        }
    }

    #[test]
    fn random_requests_are_aligned(sectors in 1_u64..=256, align in 1_u64..=256, seed: u64) {
        let mut mix = settings(&[(sectors * SECTOR, 1)], 0.5, 1.0);
        for wanted in [None, Some(align * SECTOR)] {
            mix.align = wanted;
            let unit = wanted.unwrap_or(sectors * SECTOR);
            for step in drawn(&mix, 1 << 24, 64, seed) {
                prop_assert_eq!((step.offset - BASE) % unit, 0);
            }
        }
    }
}

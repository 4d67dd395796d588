use super::*;
use serde_json::json;
use std::collections::HashSet;

fn settings(more: &serde_json::Value) -> Settings {
    let mut all =
        json!({"operation": "read", "record_size": 100, "regions": [{"path": "/x", "size": 0}]});
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn records(more: &serde_json::Value, size: u64) -> Vec<u64> {
    let span = Span::alone(1000, size);
    let mut pattern = Pattern::new(&settings(more), span, 1, 2);
    std::iter::from_fn(|| pattern.next())
        .map(|step| (step.offset - 1000) / 100)
        .collect()
}

#[test]
fn each_pattern_has_its_order() {
    assert_eq!(records(&json!({}), 350), [0, 1, 2, 3]);
    assert_eq!(records(&json!({"ops": 6}), 350), [0, 1, 2, 3, 0, 1]);
    assert_eq!(
        records(&json!({"operation": "backward_read"}), 350),
        [3, 2, 1, 0]
    );
    assert_eq!(
        records(&json!({"operation": "record_rewrite"}), 300),
        [0, 0, 0]
    );
    let strides = json!({"operation": "stride_read", "stride": 300, "ops": 10});
    assert_eq!(records(&strides, 800), [0, 3, 6, 1, 4, 7, 2, 5, 0, 3]);
    let far = json!({"operation": "stride_read", "stride": 90_000, "ops": 4});
    assert_eq!(records(&far, 300), [0, 1, 2, 0]);
}

#[test]
fn only_the_last_record_of_a_sequence_is_shorter() {
    let mut pattern = Pattern::new(&settings(&json!({})), Span::alone(0, 250), 1, 2);
    let lengths: Vec<usize> = std::iter::from_fn(|| pattern.next())
        .map(|step| step.shape.length())
        .collect();
    assert_eq!(lengths, [100, 100, 50]);
    let random = json!({"operation": "random_read", "ops": 1000});
    assert!(records(&random, 250).iter().all(|record| *record < 2));
}

#[test]
fn a_permutation_has_every_record_once_a_pass_and_another_order_in_the_next() {
    let found = records(
        &json!({"operation": "random_read", "order": "permutation", "ops": 2000}),
        100_000,
    );
    let (first, second) = found.split_at(1000);
    for pass in [first, second] {
        assert_eq!(pass.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(pass.iter().all(|record| *record < 1000));
    }
    assert_ne!(first, second);
    assert!(!first.is_sorted());
}

#[test]
fn workers_that_share_a_region_have_every_record_once() {
    for layout in [Layout::Interleaved, Layout::Random] {
        let mut seen = Vec::new();
        for part in 0..3 {
            let span = Span {
                offset: 500,
                size: 10_050,
                part,
                parts: 3,
                layout,
            };
            let mut pattern = Pattern::new(&settings(&json!({})), span, part, 9);
            seen.extend(
                std::iter::from_fn(|| pattern.next())
                    .map(|step| (step.offset, step.shape.length())),
            );
        }
        seen.sort_unstable();
        let expected: Vec<_> = (0..100).map(|record| (500 + record * 100, 100)).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_mix_has_its_share_of_reads() {
    for share in [0.0, 0.3, 1.0] {
        let mix =
            settings(&json!({"operation": "random_mix", "read_share": share, "ops": 100_000}));
        let mut pattern = Pattern::new(&mix, Span::alone(0, 100_000), 1, 2);
        let writes = std::iter::from_fn(|| pattern.next())
            .filter(|step| step.shape.writes())
            .count();
        assert!(
            (writes as f64 / 100_000.0 - (1.0 - share)).abs() < 0.008,
            "{share} {writes}"
        );
    }
}

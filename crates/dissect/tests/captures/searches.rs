//! Searches by filter, scope, attributes and size limit: exact counts, their bound, and what losses make of them.

use crate::talk::message;
use crate::{file, frame};
use assay_dissect::dissect_bytes;
use assay_ldap::build::{self, Search};
use assay_ldap::op;
use assay_ldap::template::Node;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const FILTERS: [(&str, &str); 3] = [
    ("(uid=a)", "(uid=?)"),
    ("(&(CN=b*)(uid=c))", "(&(cn=?*)(uid=?))"),
    ("(cn=*)", "(cn=*)"),
];
const SCOPES: [&str; 4] = ["base", "one", "sub", "children"];
const WANTED: [&[&str]; 5] = [&[], &["1.1"], &["cn"], &["cn", "*"], &["cn", "sn", "+"]];

fn wanted(which: usize) -> Value {
    [
        json!("all"),
        json!("none"),
        json!(1),
        json!("all"),
        json!(3),
    ][which]
        .clone()
}

/// A search: which filter, scope, attributes, its size limit, and how many entries it finds.
type Made = (usize, u32, usize, u32, usize);

fn request(filter: &str, (_, scope, attributes, size_limit, _): Made, id: u32) -> Vec<u8> {
    let attributes: Vec<String> = WANTED[attributes].iter().map(ToString::to_string).collect();
    let search = Search {
        base: "dc=x",
        scope,
        filter,
        attributes: &attributes,
        size_limit,
    };
    message(&build::search(&search).expect("a search"), id)
}

fn entry(id: u32) -> Vec<u8> {
    let parts = vec![Node::bytes(4, b"cn=a,dc=x"), Node::Tlv(0x30, vec![])];
    message(&Node::Tlv(op::SEARCH_ENTRY, parts), id)
}

fn done(id: u32) -> Vec<u8> {
    let text = || Node::bytes(4, b"");
    let parts = vec![Node::number(0x0a, 0), text(), text()];
    message(&Node::Tlv(op::SEARCH_DONE, parts), id)
}

/// A capture of a connection, of which the frames with these numbers are missing.
fn capture(turns: &[(bool, Vec<u8>)], missing: &[usize]) -> Value {
    let (mut frames, mut next) = (Vec::new(), [1_000_u32, 9_000]);
    for (at, (client, bytes)) in turns.iter().enumerate() {
        let (mine, theirs) = if *client { (0, 1) } else { (1, 0) };
        if !missing.contains(&at) {
            frames.push(frame(*client, next[mine], next[theirs], bytes));
        }
        next[mine] += bytes.len() as u32;
    }
    dissect_bytes(&file(&frames))
}

fn turns(searches: &[Made]) -> Vec<(bool, Vec<u8>)> {
    let mut turns = Vec::new();
    for (id, made) in (1_u32..).zip(searches) {
        turns.push((true, request(FILTERS[made.0].0, *made, id)));
        turns.extend((0..made.4).map(|_| (false, entry(id))));
        turns.push((false, done(id)));
    }
    turns
}

/// Every search of a result by what makes it another one, with its counts.
fn found(result: &Value) -> BTreeMap<String, [u64; 5]> {
    let searches = result["profile"]["searches"].as_array().expect("a list");
    let count = |one: &Value, name: &str| one[name].as_u64().expect("a count");
    let key = |one: &Value| {
        let fields = ["filter", "scope", "attributes", "size_limit"];
        json!(fields.map(|name| one[name].clone())).to_string()
    };
    let counts = ["count", "answered", "entries", "empty", "bytes"];
    searches
        .iter()
        .map(|one| (key(one), counts.map(|name| count(one, name))))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn searches_are_counted_by_all_that_makes_them_another_one(
        searches in prop::collection::vec((0..3_usize, 0..4_u32, 0..5_usize, prop::sample::select(vec![0, 1, 500, 0x7fff_ffff]), 0..4_usize), 1..60)
    ) {
        let mut expected: BTreeMap<String, [u64; 5]> = BTreeMap::new();
        for (id, (filter, scope, attributes, limit, entries)) in (1_u32..).zip(&searches) {
            let key = json!([FILTERS[*filter].1, SCOPES[*scope as usize], wanted(*attributes), limit]).to_string();
            let counts = expected.entry(key).or_default();
            let bytes = entries * entry(id).len() + done(id).len();
            let each = [1, 1, *entries as u64, u64::from(*entries == 0), bytes as u64];
            for (sum, one) in counts.iter_mut().zip(each) {
                *sum += one;
            }
        }
        let result = capture(&turns(&searches), &[]);
        prop_assert_eq!(found(&result), expected);
        prop_assert_eq!(result["profile"]["searches_together"].as_u64(), Some(0));
    }
}

#[test]
fn the_searches_that_are_kept_apart_have_a_bound() {
    let limits = (0..600).chain(0..600);
    let searches: Vec<Made> = limits.map(|limit| (0, 2, 1, limit, 1)).collect();
    let result = capture(&turns(&searches), &[]);
    let apart = found(&result);
    assert_eq!(apart.len(), 512);
    assert!(apart.values().all(|one| one[..4] == [2, 2, 2, 0]));
    assert_eq!(result["profile"]["searches_together"], 2 * (600 - 512));
    assert_eq!(result["filters"][0]["count"], 1_200);
}

#[test]
fn searches_with_filters_beyond_their_bound_are_counted_together() {
    let turns: Vec<_> = (0..600)
        .flat_map(|id| {
            let made = request(&format!("(a{id}=x)"), (0, 2, 1, 0, 0), id);
            [(true, made), (false, done(id))]
        })
        .collect();
    let result = capture(&turns, &[]);
    assert_eq!(found(&result).len(), 512);
    assert_eq!(result["profile"]["searches_together"], 600 - 512);
    assert_eq!(result["filters_together"], 600 - 512);
}

#[test]
fn an_answer_whose_entry_may_be_lost_is_not_empty() {
    let searches = [(0, 2, 1, 0, 1), (0, 2, 1, 0, 0), (0, 2, 1, 0, 0)];
    let counts = |missing: &[usize]| {
        let result = capture(&turns(&searches), missing);
        let counts: Vec<_> = found(&result).into_values().collect();
        assert_eq!(counts.len(), 1);
        counts[0]
    };
    assert_eq!(counts(&[])[..4], [3, 3, 1, 2]);
    assert_eq!(counts(&[1])[..4], [3, 3, 0, 2]);
}

/// Bytes of a search behind its scope: aliases, size limit, time limit, types only, filter, attributes.
const BEHIND_SCOPE: usize = 3 + 3 + 3 + 3 + 10 + 6;

#[test]
fn a_search_that_was_cut_short_lacks_what_was_cut_off() {
    let whole = request(FILTERS[0].0, (0, 1, 2, 7, 0), 1);
    let cut = |kept: usize| {
        let mut bytes = file(&[frame(true, 1_000, 9_000, &whole)]);
        bytes.truncate(bytes.len() - (whole.len() - kept));
        let captured = (bytes.len() - 24 - 16) as u32;
        bytes[24 + 8..24 + 12].copy_from_slice(&captured.to_le_bytes());
        let result = dissect_bytes(&bytes);
        result["profile"]["searches"][0].clone()
    };
    let one = cut(whole.len());
    assert_eq!(
        (&one["attributes"], &one["size_limit"]),
        (&json!(1), &json!(7))
    );
    let one = cut(whole.len() - 1);
    assert_eq!(
        (&one["filter"], &one["attributes"]),
        (&json!("(uid=?)"), &Value::Null)
    );
    let one = cut(whole.len() - BEHIND_SCOPE);
    let known = ["filter", "scope", "attributes", "size_limit"].map(|name| one[name].clone());
    assert_eq!(
        known,
        [json!("(…)"), json!("one"), Value::Null, Value::Null]
    );
}

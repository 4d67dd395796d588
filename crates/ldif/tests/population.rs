//! What holds of every population.

use assay_ldif::{Own, Population, Suffix, Template, Written};
use std::collections::HashSet;

/// Of the first 5,000 entries with seed 7.
const PERSONS: u64 = 0x26b7_92cb_9050_b570;
const ACCOUNTS: u64 = 0x266e_233c_99bc_f170;

fn bytes(template: Template, entries: u64, seed: u64) -> (Vec<u8>, Written) {
    with_own(template, entries, seed, &[])
}

fn with_own(template: Template, entries: u64, seed: u64, own: &[Own]) -> (Vec<u8>, Written) {
    let population = Population {
        template,
        entries,
        seed,
        suffix: Suffix::parse("dc=example,dc=com").unwrap(),
        own: own.to_vec(),
    };
    let mut out = Vec::new();
    let written = population.write(&mut out).unwrap();
    (out, written)
}

#[test]
fn the_same_bytes_for_the_same_seed_and_others_for_another() {
    assert_eq!(
        bytes(Template::Person, 100, 1).0,
        bytes(Template::Person, 100, 1).0
    );
    assert_ne!(
        bytes(Template::Person, 100, 1).0,
        bytes(Template::Person, 100, 2).0
    );
}

#[test]
fn a_smaller_population_is_the_beginning_of_a_larger_one() {
    for template in [Template::Person, Template::Account] {
        let (large, _) = bytes(template, 3000, 7);
        for entries in [0, 1, 12, 13, 2999] {
            assert!(large.starts_with(&bytes(template, entries, 7).0));
        }
    }
}

#[test]
fn entries_and_bytes_are_counted_and_names_are_unique() {
    let (text, written) = bytes(Template::Account, 1000, 3);
    assert_eq!(written.bytes, text.len() as u64);
    let text = String::from_utf8(text).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("dn: "))
        .collect();
    assert_eq!(names.len() as u64, written.entries);
    assert_eq!(written.entries, 1004);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    assert!(names.contains(&"dn: uid=u00000999,ou=people,dc=example,dc=com"));
}

#[test]
fn a_manager_is_an_entry_that_came_before() {
    let (text, _) = bytes(Template::Person, 500, 3);
    let text = String::from_utf8(text).unwrap();
    let mut seen = HashSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("dn: ") {
            seen.insert(name.to_owned());
        }
        if let Some(name) = line.strip_prefix("manager: ") {
            assert!(seen.contains(name), "{name}");
        }
    }
}

#[test]
fn entries_of_a_load_come_after_the_population_and_are_counted() {
    let letters = ['d', 'r'].map(|letter| Own { letter, entries: 2 });
    let (people, without) = bytes(Template::Person, 20, 3);
    let (text, written) = with_own(Template::Person, 20, 3, &letters);
    assert_eq!(written.entries, without.entries + 4);
    assert_eq!(written.bytes, text.len() as u64);
    assert!(text.starts_with(&people));
    let own = String::from_utf8(text[people.len()..].to_vec()).unwrap();
    let first = "dn: uid=d00000000,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: d00000000\n";
    assert!(own.starts_with(&format!("{first}cn: Own d00000000\nsn: d00000000\n\n")));
    assert!(own.contains("\n\ndn: uid=r00000001,dc=example,dc=com\n"));
}

/// FNV-1a of the first entries: an experiment that is repeated in years has the same entries.
#[test]
fn the_entries_of_a_seed_stay_what_they_are() {
    let sum = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    assert_eq!(sum(&bytes(Template::Person, 5000, 7).0), PERSONS);
    assert_eq!(sum(&bytes(Template::Account, 5000, 7).0), ACCOUNTS);
}

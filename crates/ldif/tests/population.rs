//! What holds of every population.

use assay_ldif::{Population, Suffix, Template, Written};
use std::collections::HashSet;

fn bytes(template: Template, entries: u64, seed: u64) -> (Vec<u8>, Written) {
    let population = Population {
        template,
        entries,
        seed,
        suffix: Suffix::parse("dc=example,dc=com").unwrap(),
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

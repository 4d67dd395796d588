//! Captures in bytes: ldap-parser as the oracle for what messages are, and changed bytes that must neither crash nor stall.

use assay_dissect::dissect_bytes;
use assay_ldap::build::{self, Change, Search};
use assay_ldap::template::{FIRST_ID, Node, Template};
use etherparse::PacketBuilder;
use ldap_parser::FromBer;
use ldap_parser::ldap::{LdapMessage, ProtocolOp};
use proptest::prelude::*;
use serde_json::Value;
use std::time::{Duration, Instant};

/// A frame of one connection.
fn frame(client: bool, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let (from, to) = if client {
        ([10, 0, 0, 1], [10, 0, 0, 2])
    } else {
        ([10, 0, 0, 2], [10, 0, 0, 1])
    };
    let (source, destination) = if client { (40_000, 389) } else { (389, 40_000) };
    let mut made = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(from, to, 9)
        .tcp(source, destination, seq, 64_000)
        .ack(ack)
        .write(&mut made, payload)
        .expect("room for a frame");
    made
}

fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut made = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        made.extend_from_slice(&word.to_le_bytes());
    }
    for (at, frame) in frames.iter().enumerate() {
        for word in [1, at as u32 * 1000, frame.len() as u32, frame.len() as u32] {
            made.extend_from_slice(&word.to_le_bytes());
        }
        made.extend_from_slice(frame);
    }
    made
}

/// The same frames in a file of snoop.
fn snoop(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut made = b"snoop\0\0\0".to_vec();
    for word in [2_u32, 4] {
        made.extend_from_slice(&word.to_be_bytes());
    }
    for (at, frame) in frames.iter().enumerate() {
        let size = frame.len() as u32;
        for word in [size, size, 24 + size, 0, 1, at as u32] {
            made.extend_from_slice(&word.to_be_bytes());
        }
        made.extend_from_slice(frame);
    }
    made
}

/// The same frames in a file of pcapng, with the number of dropped frames before the last one and at the end.
fn next_generation(frames: &[Vec<u8>]) -> Vec<u8> {
    let dropped = [&[4, 0, 8, 0][..], &0_u64.to_le_bytes(), &[0; 4]].concat();
    let header = [[0x4d, 0x3c, 0x2b, 0x1a], [1, 0, 0, 0], [0xff; 4], [0xff; 4]];
    let nanoseconds = [[9, 0, 1, 0], [9, 0, 0, 0], [0; 4]];
    let mut made = block(0x0a0d_0d0a, &header.concat());
    made.extend(block(
        1,
        &[&[1, 0, 0, 0, 0, 0, 4, 0][..], &nanoseconds.concat()].concat(),
    ));
    for (at, frame) in frames.iter().enumerate() {
        let size = (frame.len() as u32).to_le_bytes();
        let mut body = [[0; 4], [0; 4], (at as u32).to_le_bytes(), size, size].concat();
        body.extend_from_slice(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        if at + 1 == frames.len() {
            body.extend_from_slice(&dropped);
        }
        made.extend(block(6, &body));
    }
    made.extend(block(5, &[&[0; 12][..], &[5], &dropped[1..]].concat()));
    made
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &size, body, &size].concat()
}

fn search(filter: &str) -> Node {
    let search = Search {
        base: "dc=x",
        scope: 2,
        filter,
        attributes: &["cn".to_owned()],
        size_limit: 0,
    };
    build::search(&search).expect("a search")
}

fn message(node: &Node, id: u32) -> Vec<u8> {
    Template::new(node, 3).patch(FIRST_ID + id, 1, 1).to_vec()
}

/// A request and the answer to it.
fn pair(which: u8, id: u32) -> (Vec<u8>, Vec<u8>) {
    let values = ("cn".to_owned(), vec!["v".to_owned()]);
    let (node, tag) = match which % 7 {
        0 => (search("(&(uid=a)(cn=b*))"), 0x65),
        1 => (build::bind("cn=m", b"secret"), 0x61),
        2 => (build::compare("dc=x", "cn", "a").expect("a compare"), 0x6f),
        3 => (build::delete("dc=x").expect("a delete"), 0x6b),
        4 => (build::add("dc=x", &[values]).expect("an add"), 0x69),
        5 => (
            build::modify("dc=x", &[(Change::Add, values)]).expect("a modify"),
            0x67,
        ),
        _ => (build::rename("dc=x", "dc=y", None).expect("a rename"), 0x6d),
    };
    let result = Node::Tlv(
        tag,
        vec![
            Node::number(0x0a, u32::from(which)),
            Node::bytes(4, b""),
            Node::bytes(4, b""),
        ],
    );
    (message(&node, id), message(&result, id))
}

/// A connection with these operations, whose bytes are cut into segments of this size.
fn conversation(operations: &[u8], size: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut frames, mut all, mut seqs) = (Vec::new(), Vec::new(), [1_000_u32, 9_000]);
    for (at, which) in operations.iter().enumerate() {
        let (request, answer) = pair(*which, at as u32);
        for (side, bytes) in [(0, &request), (1, &answer)] {
            for part in bytes.chunks(size) {
                frames.push(frame(side == 0, seqs[side], seqs[1 - side], part));
                seqs[side] = seqs[side].wrapping_add(part.len() as u32);
            }
            all.extend_from_slice(bytes);
        }
    }
    (frames, all)
}

fn count(found: &Value, kind: &str, field: &str) -> u64 {
    let operations = found["operations"].as_array().expect("a list");
    operations
        .iter()
        .filter(|one| one["operation"] == kind)
        .map(|one| one[field].as_u64().expect("a count"))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn operations_are_those_that_another_parser_finds(operations in prop::collection::vec(0_u8..7, 1..40), size in 5_usize..200) {
        let (frames, mut bytes) = conversation(&operations, size);
        let found = dissect_bytes(&file(&frames));
        let (mut searches, mut binds, mut messages) = (0, 0, 0);
        while !bytes.is_empty() {
            let (rest, message) = LdapMessage::from_ber(&bytes).expect("a message");
            messages += 1;
            match message.protocol_op {
                ProtocolOp::SearchRequest(_) => searches += 1,
                ProtocolOp::BindRequest(_) => binds += 1,
                _ => {}
            }
            bytes = rest.to_vec();
        }
        prop_assert_eq!(found["messages"].as_u64(), Some(messages));
        prop_assert_eq!(count(&found, "search", "answered"), searches);
        prop_assert_eq!(count(&found, "bind", "requests"), binds);
        prop_assert_eq!(found["skipped_bytes"].as_u64(), Some(0));
    }
}

/// Bytes that differ at some places, are cut, or have a part twice.
fn mutated(bytes: &[u8], seed: &mut u64) -> Vec<u8> {
    let mut made = bytes.to_vec();
    let mut next = |most: usize| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed % most.max(1) as u64) as usize
    };
    for _ in 0..=next(8) {
        let at = next(made.len());
        match next(6) {
            0 => made.truncate(at.max(25)),
            1 => {
                let end = (at + next(64)).min(made.len());
                let part = made[at..end].to_vec();
                made.splice(at..at, part);
            }
            2 => made[at] ^= 1 << next(8),
            3 => made[at] = [0, 0x7f, 0x80, 0xff, 0x84, 0x30][next(6)],
            _ => made[at] = next(256) as u8,
        }
    }
    made
}

/// Changed captures of all kinds; `ASSAY_MUTATIONS` has another number of them.
#[test]
fn changed_captures_neither_crash_nor_stall() {
    let number: u64 = std::env::var("ASSAY_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4000);
    let operations: Vec<u8> = (0..20).collect();
    let (pieces, whole) = (
        conversation(&operations, 30).0,
        conversation(&operations, 1000).0,
    );
    let originals = [
        file(&pieces),
        file(&whole),
        next_generation(&pieces),
        snoop(&whole),
    ];
    for original in &originals {
        let found = dissect_bytes(original);
        assert_eq!(count(&found, "search", "answered"), 3, "{found}");
        assert_eq!(found["files"][0]["ended"]["kind"], "whole");
    }
    let (mut seed, mut slowest) = (0x9e37_79b9_7f4a_7c15_u64, Duration::ZERO);
    for at in 0..number {
        let bytes = mutated(&originals[at as usize % originals.len()], &mut seed);
        let start = Instant::now();
        let found = dissect_bytes(&bytes);
        slowest = slowest.max(start.elapsed());
        if !found.is_null() {
            assert!(count(&found, "search", "answered") <= 20, "{found}");
        }
    }
    println!("{number} inputs, the slowest {slowest:?}");
}

/// One segment after another with these numbers and bytes.
fn segments(count: u32, number: fn(u32) -> u32, client: bool, bytes: &[u8]) -> Vec<u8> {
    let frames: Vec<Vec<u8>> = (0..count)
        .map(|at| frame(client, 1_000 + number(at), 1, bytes))
        .collect();
    file(&frames)
}

/// What takes long where code is careless: each about a megabyte.
#[test]
fn no_input_is_slow() {
    let delete = message(&build::delete("").expect("a delete"), 1);
    let nested = "(!".repeat(60) + "(cn=a)" + &")".repeat(60);
    let deep = message(&search(&nested), 1);
    let sequences = vec![0x30; 65_000];
    let long = [0x30, 0x84, 0, 0, 0x7f].repeat(13_000);
    let inputs = [
        segments(14_000, |at| 2 * at, true, b"0"),
        segments(14_000, |at| 1_000_000 - 2 * at, true, b"0"),
        segments(14_000, |at| (at * 7919) % 1_000_000, true, b"0"),
        segments(
            60,
            |at| at * 19_500,
            true,
            &delete.repeat(19_500 / delete.len()),
        ),
        segments(6_000, |_| 0, true, &deep),
        segments(16, |at| at * 65_000, true, &sequences),
        segments(16, |at| at * 65_000, false, &long),
    ];
    let mut slowest = 0.0_f64;
    for (at, bytes) in inputs.iter().enumerate() {
        let start = Instant::now();
        assert!(!dissect_bytes(bytes).is_null());
        let seconds_each = start.elapsed().as_secs_f64() / (bytes.len() as f64 / 1e6);
        assert!(seconds_each < 20.0, "input {at}: {seconds_each} s a MB");
        slowest = slowest.max(seconds_each);
    }
    println!(
        "{} crafted inputs, the slowest {slowest:.3} s a MB",
        inputs.len()
    );
}

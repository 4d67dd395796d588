//! Captures in bytes: ldap-parser as the oracle for what messages are, and changed bytes that must neither crash nor stall.

mod carried;
mod changed;
mod files;
mod lot;
mod searches;
mod talk;

use assay_dissect::dissect_bytes;
use assay_ldap::build;
use etherparse::PacketBuilder;
use ldap_parser::FromBer;
use ldap_parser::ldap::{LdapMessage, ProtocolOp};
use proptest::prelude::*;
use serde_json::Value;
use std::time::Instant;
use talk::{message, pair, search};

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

/// One segment after another with these numbers and bytes.
fn segments(count: u32, number: fn(u32) -> u32, client: bool, bytes: &[u8]) -> Vec<u8> {
    let frames: Vec<Vec<u8>> = (0..count)
        .map(|at| frame(client, 1_000 + number(at), 1, bytes))
        .collect();
    file(&frames)
}

/// Frames each of which is earlier than all before it.
fn backwards() -> Vec<u8> {
    let mut bytes = segments(14_000, |at| 2 * at, true, b"0");
    let size = 16 + 54 + 1;
    for (at, record) in bytes[24..].chunks_exact_mut(size).enumerate() {
        record[4..8].copy_from_slice(&(900_000 - at as u32).to_le_bytes());
    }
    bytes
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
        backwards(),
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

//! Changed captures of all kinds: none may crash, take more than a second a megabyte, or be counted with a contradiction.
//!
//! Each input follows from its number alone. `ASSAY_MUTATIONS=FIRST..LAST` has other numbers than the first ones, and all CPUs.

use crate::carried::{Carrier, Link, Net};
use crate::count;
use crate::files::Format;
use crate::lot::{Lot, change_bytes, change_segments};
use crate::talk::{self, Turn};
use assay_dissect::{dissect_by, dissect_bytes};
use serde_json::Value;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Inputs of a usual run.
const USUAL: Range<u64> = 0..8000;
/// Seconds that a megabyte may take.
const MOST_S_PER_MB: f64 = 1.0;
/// Smaller inputs count as so many bytes: a result over a long time takes about a millisecond, whatever the size.
const LEAST_BYTES: usize = 4096;
/// An input that seems to take more is read so many times, and the least counts: what is slow is so each time, and the time of
/// interrupts and of cold caches counts with that of a thread.
const DOUBTFUL_S_PER_MB: f64 = 0.1;
const TRIES: u32 = 5;
/// Inputs that are read with more room, too.
const ROOMY: Range<u64> = 0..2000;
/// Inputs that ended the process with an early reader: headers of IPv6 that were cut.
const CRASHED: [u64; 1] = [456_224];
/// The room that files are read with.
const ROOM: usize = 1 << 20;

/// A capture before it is changed.
struct Original {
    turns: Vec<Turn>,
    size: usize,
    whole: bool,
    carrier: Carrier,
}

impl Original {
    fn file(&self) -> Vec<u8> {
        let sent = talk::sent(&self.turns, self.size, self.whole);
        self.carrier.file(&sent)
    }
}

/// Network layer, link layer, file, bytes of a segment, conversation.
type Kind = (Net, Link, Format, usize, Vec<Turn>);

/// Each kind of packet, frame, file and conversation at least once.
fn kinds() -> [Kind; 12] {
    use Format::{NextGeneration, NextGenerationSwapped as Swapped, Pcap, PcapSwapped, Snoop};
    use Link::{Cooked, Cooked2, DoubleVlan, Ethernet, Loop, Null, Raw, Vlan};
    use Net::{Four, FourParts, Six, SixExtended, SixParts};
    let (all, many) = (talk::operations, talk::pipelined());
    [
        (Four, Ethernet, Pcap, 30, all()),
        (Six, Vlan, PcapSwapped, 700, all()),
        (SixExtended, DoubleVlan, NextGeneration, 5, many.clone()),
        (FourParts, Cooked, Swapped, 90, all()),
        (SixParts, Cooked2, Pcap, 120, all()),
        (Four, Raw, PcapSwapped, 1400, many),
        (Six, Null, NextGeneration, 50, all()),
        (Four, Loop, Pcap, 60, talk::start_tls()),
        (Six, Ethernet, Snoop, 40, all()),
        (Four, Ethernet, Snoop, 200, talk::sasl()),
        (Four, Cooked, Pcap, 200, talk::tls()),
        (SixExtended, Raw, Swapped, 80, talk::sasl()),
    ]
}

/// What may lie around packets and messages, with numbers of its own.
fn wrapped() -> [Kind; 6] {
    use Format::{NextGeneration, Pcap, PcapSwapped};
    use Link::{Erspan, Ethernet, Gre, Mpls, Pppoe, Vxlan};
    use Net::{Four, FourParts, Six};
    [
        (Four, Vxlan, Pcap, 300, talk::operations()),
        (Six, Gre, NextGeneration, 90, talk::signed()),
        (FourParts, Erspan, Pcap, 200, talk::operations()),
        (Six, Mpls, PcapSwapped, 50, talk::proxied()),
        (Four, Pppoe, Pcap, 400, talk::operations()),
        (Four, Ethernet, Pcap, 500, talk::signed()),
    ]
}

/// Every kind with checksums left to the device and with right ones; some without a begin, some of cut frames.
fn originals(kinds: &[Kind]) -> Vec<Original> {
    let made = kinds.iter().cloned().enumerate();
    made.flat_map(|(at, (net, link, format, size, turns))| {
        [false, true].map(|summed| Original {
            turns: turns.clone(),
            size,
            whole: at % 3 != 2,
            carrier: Carrier {
                net,
                link,
                format,
                summed,
                most: if at % 4 == 3 { 110 } else { 65_535 },
                port: if at == 10 { 636 } else { 389 },
            },
        })
    })
    .collect()
}

/// The input of a number: a capture whose file, conversation or segments were changed.
fn input(originals: &[(Original, Vec<u8>)], number: u64) -> Vec<u8> {
    let mut lot = Lot(number);
    let (original, file) = &originals[lot.below(originals.len())];
    let how = lot.below(4);
    if how < 2 {
        let mut bytes = file.clone();
        let kept = if lot.below(16) == 0 { 0 } else { 24 };
        change_bytes(&mut bytes, kept, &mut lot);
        return bytes;
    }
    let mut turns = original.turns.clone();
    for _ in 0..=lot.below(3) {
        let at = lot.below(turns.len());
        change_bytes(&mut turns[at].1, 0, &mut lot);
    }
    let size = if lot.below(4) == 0 {
        1 + lot.below(60)
    } else {
        original.size
    };
    let mut sent = talk::sent(&turns, size, original.whole);
    if how == 3 {
        change_segments(&mut sent, &mut lot);
    }
    original.carrier.file(&sent)
}

/// What holds for the counts of any bytes.
fn contradiction(found: &Value) -> Option<String> {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let total = |values: &Value| {
        values
            .as_array()
            .map_or(0, |all| all.iter().map(number).sum::<u64>())
    };
    let (mut answered, mut timed, mut requests) = (0, 0, 0);
    for one in found["operations"].as_array()? {
        let [wanted, got, never] =
            ["requests", "answered", "unanswered"].map(|name| number(&one[name]));
        if got + never > wanted || number(&one["response_ns"]["n"]) > got {
            return Some(format!("{one}"));
        }
        (answered, requests) = (answered + got, requests + wanted);
        timed += number(&one["response_ns"]["n"]);
    }
    let filters = found["filters"].as_array()?.iter();
    let searched: u64 = filters.map(|one| number(&one["count"])).sum();
    let pairs = [
        (timed + number(&found["untimed"]), answered),
        (
            searched + number(&found["filters_together"]),
            count(found, "search", "requests"),
        ),
        (total(&found["timeline"]["bytes"]), number(&found["bytes"])),
        (total(&found["timeline"]["answered"]), answered),
        (
            number(&found["messages"]).max(requests + answered),
            number(&found["messages"]),
        ),
    ];
    let wrong = pairs.iter().position(|(one, other)| one != other)?;
    Some(format!("{wrong}: {:?}", pairs[wrong]))
}

/// CPU time of this thread in seconds.
fn thread_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock is one of this thread, and the place is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The slowest input: seconds of CPU time a megabyte, its number, its bytes.
type Slowest = (f64, u64, usize);

/// Reads one input, again where it seems slow; panics with its number where it crashes or contradicts itself.
fn tried(bytes: &[u8], number: u64) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..TRIES {
        let start = thread_s();
        let found = catch_unwind(AssertUnwindSafe(|| dissect_bytes(bytes)));
        least = least.min((thread_s() - start) * 1e6 / bytes.len().max(LEAST_BYTES) as f64);
        let found = found.unwrap_or_else(|_| panic!("input {number} crashes"));
        let wrong = contradiction(&found);
        assert!(
            wrong.is_none(),
            "input {number}: {}",
            wrong.unwrap_or_default()
        );
        if least <= DOUBTFUL_S_PER_MB {
            break;
        }
    }
    assert!(
        least <= MOST_S_PER_MB,
        "input {number}: {least:.3} s a MB of {} bytes",
        bytes.len()
    );
    least
}

fn numbers() -> Range<u64> {
    let Ok(text) = std::env::var("ASSAY_MUTATIONS") else {
        return USUAL;
    };
    let (first, last) = text.split_once("..").expect("FIRST..LAST");
    first.parse().expect("a number")..last.parse().expect("a number")
}

#[test]
fn each_original_is_read_as_a_whole() {
    let (all, around) = (originals(&kinds()), originals(&wrapped()));
    for (at, original) in all.iter().chain(&around).enumerate() {
        let found = dissect_bytes(&original.file());
        assert_eq!(found["files"][0]["ended"]["kind"], "whole", "{at}");
        assert_eq!(found["unreadable_frames"], 0, "{at}");
        assert_eq!(found["incomplete_datagrams"], 0, "{at}");
        assert_eq!(contradiction(&found), None, "{at}");
        let wanted = original.turns.iter().any(|(_, bytes)| bytes[0] == 0x30);
        assert_eq!(
            found["messages"].as_u64() > Some(1),
            wanted,
            "{at}: {found}"
        );
        let sums = &found["checksums"];
        let good = sums["good"].as_u64() > Some(0);
        assert_eq!(good, original.carrier.summed, "{at}: {sums}");
        assert_eq!(sums["bad"], 0, "{at}");
    }
}

fn made(kinds: &[Kind]) -> Vec<(Original, Vec<u8>)> {
    originals(kinds)
        .into_iter()
        .map(|one| {
            let file = one.file();
            (one, file)
        })
        .collect()
}

#[test]
fn room_changes_nothing_in_what_is_found() {
    for made in [made(&kinds()), made(&wrapped())] {
        for number in ROOMY {
            let bytes = input(&made, number);
            let same = dissect_bytes(&bytes) == dissect_by(&bytes, ROOM);
            assert!(same, "{number}");
        }
    }
}

#[test]
fn inputs_that_ended_the_process_are_read() {
    let made = made(&kinds());
    for number in CRASHED {
        tried(&input(&made, number), number);
    }
}

#[test]
fn what_lies_around_messages_may_be_changed_too() {
    let made = made(&wrapped());
    for number in USUAL {
        tried(&input(&made, number), number);
    }
}

#[test]
fn changed_captures_neither_crash_nor_stall() {
    let made = made(&kinds());
    let numbers = numbers();
    let threads = if numbers == USUAL {
        1
    } else {
        std::thread::available_parallelism().map_or(1, usize::from)
    };
    let (made, last) = (&made, numbers.end);
    let read = |number| {
        let bytes = input(made, number);
        (tried(&bytes, number), number, bytes.len())
    };
    let slower = |one: Slowest, other: Slowest| if other.0 > one.0 { other } else { one };
    let slowest = std::thread::scope(|scope| {
        let running: Vec<_> = (numbers.start..numbers.start + threads as u64)
            .map(|first| {
                let mine = (first..last).step_by(threads);
                scope.spawn(move || mine.map(read).fold((0.0, 0, 0), slower))
            })
            .collect();
        let each = running.into_iter().map(|one| one.join().expect("no crash"));
        each.fold((0.0, 0, 0), slower)
    });
    let (s_per_mb, number, bytes) = slowest;
    let count = numbers.end - numbers.start;
    println!("{count} inputs, the slowest {s_per_mb:.3} s a MB (input {number}, {bytes} bytes)");
}

//! Captures of directory traffic: frames, streams, LDAP messages, operations, in one pass and in memory that has a bound.
//!
//! The order of the files is that of the layers: `capture` gives frames, `packet` segments, `order` bytes in order,
//! `framing` messages, `exchange` operations, `tallies` counts, `report` JSON. `tunnels`, `proxied`, `sasl` and `tls` are what may
//! lie around them.

#![recursion_limit = "512"]

mod asked;
mod bindings;
mod capture;
mod cldap;
mod connections;
mod endpoint;
mod exchange;
mod fragments;
mod framing;
mod hashing;
mod message;
mod order;
mod packet;
mod ports;
mod proxied;
mod report;
mod sasl;
mod searches;
mod slowest;
mod tallies;
mod timeline;
mod times;
mod tls;
mod tunnels;
mod uses;

use capture::{FileRead, Receiver, live};
use connections::Connections;
use message::Kind;
use packet::{At, Content, Endpoint, Found, Frame, Layers, Link, Segment};
use ports::Ports;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;
use tallies::{Limit, Tallies};

/// The word that makes an executable a dissector; its one argument is a JSON object.
const MODE: &str = "dissect";
/// The object is the first line of standard input: an argument has a longest length, a list of files has none.
const FROM_INPUT: &str = "-";

/// What to read, and what to count in it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Paths of captures; `-` is standard input.
    pub files: Vec<String>,
    /// An interface instead.
    pub interface: Option<String>,
    /// How long an interface is read; until standard input ends without it.
    pub duration_ns: Option<u64>,
    /// The servers' ports.
    pub ports: BTreeSet<u16>,
    /// Response times whose violations are counted.
    pub limits: Vec<LimitOption>,
}

/// A limit on response times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitOption {
    /// A kind of operation; all without it.
    pub operation: Option<String>,
    /// The longest response that keeps the limit.
    pub ns: u64,
}

/// Serves as a dissector where the arguments ask for one, and then never returns.
pub fn serve_if_asked() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, options] = arguments.as_slice() else {
        return;
    };
    if mode != MODE {
        return;
    }
    let mut line = String::new();
    let options = if options == FROM_INPUT {
        let _ = std::io::stdin().read_line(&mut line); // without a line it is no object
        line.as_str()
    } else {
        options
    };
    let found = match serde_json::from_str(options) {
        Ok(options) => run(&options),
        Err(error) => json!({"refused": [{"kind": "options", "reason": error.to_string()}]}),
    };
    println!("{found}");
    std::process::exit(0);
}

/// Reads what the options name: the report, or `refused` with every reason.
#[must_use]
pub fn run(options: &Options) -> Value {
    let mut dissector = Dissector::new(options);
    if let Some(interface) = &options.interface {
        let duration = options.duration_ns.map(Duration::from_nanos);
        let ports = dissector.ports.clone();
        if let Err(refused) = live::read(interface, duration, &ports, &mut dissector) {
            return json!({"refused": [refused]});
        }
    }
    match capture::read(&options.files, &mut dissector) {
        Ok(files) => dissector.finish(&files),
        Err(refused) => json!({"refused": refused}),
    }
}

/// Bytes of a capture as a file would have them: what a fuzzer feeds.
#[must_use]
pub fn dissect_bytes(bytes: &[u8]) -> Value {
    dissect_by(bytes, capture::SMALL_CHUNK)
}

/// The same with room for so many bytes at once, which changes nothing in what is found.
#[must_use]
pub fn dissect_by(bytes: &[u8], chunk: usize) -> Value {
    let mut dissector = Dissector::new(&Options::default());
    match capture::read_bytes(bytes, chunk, &mut dissector) {
        Some(read) => dissector.finish(&[read]),
        None => Value::Null,
    }
}

/// The state of a pass.
struct Dissector {
    ports: BTreeSet<u16>,
    layers: Layers,
    streams: Streams,
}

/// What is above the packets.
struct Streams {
    connections: Connections,
    tallies: Tallies,
}

impl Found for Streams {
    fn segment(&mut self, segment: &Segment<'_>) {
        self.connections.segment(segment, &mut self.tallies);
    }

    fn datagram(&mut self, at: At, from: Endpoint, to: Endpoint, payload: &[u8]) {
        self.tallies.datagrams.datagram(at, from, to, payload);
    }
}

const PORTS: [u16; 4] = [389, 636, 3268, 3269];

impl Dissector {
    fn new(options: &Options) -> Self {
        let mut ports = options.ports.clone();
        ports.extend(PORTS);
        let kind_of = |name: &String| Kind::ALL.into_iter().find(|kind| kind.name() == name);
        let limits = options.limits.iter().map(|one| Limit {
            kind: one.operation.as_ref().and_then(kind_of),
            ns: one.ns,
            n: 0,
            slower: 0,
        });
        // On an interface the bodies of other frames are not even copied.
        let by_content = options.interface.is_none();
        Self {
            layers: Layers::new(Ports::new(ports.iter().copied(), by_content)),
            ports,
            streams: Streams {
                connections: Connections::new(),
                tallies: Tallies::new(limits.collect()),
            },
        }
    }

    fn finish(mut self, files: &[FileRead]) -> Value {
        self.streams.connections.finish(&mut self.streams.tallies);
        report::report(&self.streams.tallies, files, &self.layers)
    }
}

impl Receiver for Dissector {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.streams.tallies.frame(frame.at, frame.wire_bytes);
        let content = self.layers.read(frame, &mut self.streams);
        let tallies = &mut self.streams.tallies;
        match content {
            Content::OtherPorts(one, other) => tallies.other_ports(one, other),
            Content::Unreadable => tallies.unreadable_frames += 1,
            Content::Other => {
                if let Link::Unknown(number) = frame.link
                    && (tallies.unknown_links.len() < 16
                        || tallies.unknown_links.contains_key(&number))
                {
                    *tallies.unknown_links.entry(number).or_default() += 1;
                }
            }
            Content::Segment | Content::Fragment | Content::Datagram => {}
        }
    }

    fn dropped(&mut self, frames: u64) {
        self.streams.tallies.capture_drops += frames;
    }

    fn undescribed(&mut self, frames: u64) {
        self.streams.tallies.undescribed_frames += frames;
    }

    fn went_back(&mut self, in_order: bool) {
        self.streams.tallies.backwards += 1;
        self.streams.tallies.reordered += u64::from(in_order);
    }

    fn asked(&mut self) {
        let mut output = std::io::stdout().lock();
        let _ = writeln!(output, "{}", report::counts(&self.streams.tallies)); // who asked may be gone
    }
}

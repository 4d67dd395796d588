//! Captures: what kind a file is, and its frames, those of all files in order of time.

mod bytes;
mod in_time;
mod legacy;
pub mod live;
mod missed;
mod next_generation;
mod snap;
mod snoop;

use crate::packet::{At, Frame, Link};
use bytes::{Bytes, Input};
use in_time::InTime;
use legacy::Legacy;
use next_generation::NextGeneration;
use serde::Serialize;
use snoop::Snoop;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

const SECOND_NS: u64 = 1_000_000_000;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Bytes that are read at once where all are in memory, or many files are open: a larger room would cost more than a small
/// capture in it.
pub const SMALL_CHUNK: usize = 1 << 16;
/// Files that are read with much room each.
const FEW: usize = 8;
/// A larger frame or block is taken for damage.
const MOST_CHUNK: usize = 64 << 20;
/// Files that are read beside each other, where their times overlap; more are read one after another.
const MOST_OPEN: usize = 256;

/// How a file ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ended {
    /// At its end.
    Whole,
    /// In the middle of a frame: bytes that were read to there.
    Cut { at_byte: u64 },
    /// Something there is no frame.
    Damaged { at_byte: u64 },
    /// The system refused to read on.
    Unread { at_byte: u64, reason: String },
}

/// What was read of a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileRead {
    pub path: String,
    pub format: &'static str,
    /// How the file is packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packed: Option<&'static str>,
    pub frames: u64,
    pub ended: Ended,
}

/// Receives frames and what a capture says of its losses.
pub trait Receiver {
    fn frame(&mut self, frame: &Frame<'_>);
    /// Frames that the capture or the interface says it dropped.
    fn dropped(&mut self, frames: u64);
    /// Frames of interfaces that have no description.
    fn undescribed(&mut self, frames: u64);
    /// A frame is earlier than one before it; whether it was put in order.
    fn went_back(&mut self, _: bool) {}
    /// Somebody wants to know the counts now.
    fn asked(&mut self) {}
}

/// Why a file is no capture.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Refused {
    /// Not opened, or not read.
    Unreadable { path: String, reason: String },
    /// What it is instead.
    NoCapture { path: String, found: &'static str },
}

/// A frame in the bytes that are held: so many from a place on.
struct Span {
    t_ns: u64,
    /// Whether the file tells its time; else it is that of the frame before.
    is_timed: bool,
    wire_bytes: u32,
    link: Link,
    from: usize,
    length: usize,
}

/// Frames of one file, one after another.
struct Run<'a> {
    spans: &'a [Span],
    data: &'a [u8],
    file: u16,
    /// The number of the first.
    number: u64,
}

impl<'a> Run<'a> {
    fn frame(&self, at: usize) -> Frame<'a> {
        let span = &self.spans[at];
        let number = self.number + at as u64;
        Frame {
            link: span.link,
            at: At::new(span.t_ns, span.is_timed, self.file, number),
            wire_bytes: span.wire_bytes,
            data: &self.data[span.from..span.from + span.length],
            unsummed: false,
        }
    }
}

/// How far frames were found in the bytes that are held.
struct Parsed {
    used: usize,
    /// No frame begins there.
    damaged: bool,
}

/// What a file is.
enum Format {
    Legacy(Legacy),
    NextGeneration(NextGeneration),
    Snoop(Snoop),
}

impl Format {
    fn frames(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Parsed {
        match self {
            Self::Legacy(file) => file.frames(data, spans),
            Self::NextGeneration(file) => file.frames(data, spans),
            Self::Snoop(file) => file.frames(data, spans),
        }
    }

    /// Bytes of the largest frame or block.
    fn most(&self) -> usize {
        match self {
            Self::Legacy(_) => CHUNK,
            Self::NextGeneration(_) => MOST_CHUNK,
            Self::Snoop(_) => 2 * CHUNK,
        }
    }

    /// Whether the bytes at the end of a file are no frame, rather than a part of one.
    fn is_damaged(&self, rest: &[u8]) -> bool {
        matches!(self, Self::NextGeneration(file) if file.has_whole_block(rest))
    }
}

/// A file that is being read.
struct Source<'a> {
    bytes: Bytes<'a>,
    format: Option<Format>,
    spans: Vec<Span>,
    /// The frame that comes next, and the bytes of those that are here.
    next: usize,
    used: usize,
    index: u16,
    read: FileRead,
    ended: bool,
}

impl<'a> Source<'a> {
    /// Opens a file, or standard input for `-`, with room for so many bytes.
    fn open(path: &str, room: usize, index: usize) -> Result<Source<'static>, Refused> {
        let unreadable = |error: &std::io::Error| Refused::Unreadable {
            path: path.into(),
            reason: reason(error),
        };
        let input: Input<'static> = if path == "-" {
            Box::new(std::io::stdin())
        } else {
            if Path::new(path).is_dir() {
                return Err(Refused::NoCapture {
                    path: path.into(),
                    found: "directory",
                });
            }
            Box::new(File::open(path).map_err(|error| unreadable(&error))?)
        };
        let (head, input) = bytes::peeked(input).map_err(|error| unreadable(&error))?;
        let (packed, input) = bytes::unpacked(&head, input);
        let (head, input) = match packed {
            Some(found) => bytes::peeked(input).map_err(|_| Refused::NoCapture {
                path: path.into(),
                found,
            })?,
            None => (head, input),
        };
        let made = Source::of(&head, input, room, index);
        let mut made = made.map_err(|found| Refused::NoCapture {
            path: path.into(),
            found: packed.unwrap_or(found),
        })?;
        (made.read.path, made.read.packed) = (path.into(), packed);
        Ok(made)
    }

    /// Of an input that begins with these bytes; what it is instead of a capture.
    fn of(head: &[u8], input: Input<'a>, room: usize, index: usize) -> Result<Self, &'static str> {
        let format = match kind(head) {
            Kind::Other(found) => return Err(found),
            kind => kind.name(),
        };
        let mut made = Self {
            bytes: Bytes::new(input, room),
            format: None,
            spans: Vec::new(),
            next: 0,
            used: 0,
            index: u16::try_from(index).unwrap_or(u16::MAX),
            read: FileRead {
                path: String::new(),
                format,
                packed: None,
                frames: 0,
                ended: Ended::Whole,
            },
            ended: false,
        };
        made.bytes.refill(CHUNK);
        let begun = match kind(head) {
            Kind::Legacy => {
                Legacy::begin(made.bytes.data()).map(|(file, used)| (Format::Legacy(file), used))
            }
            Kind::Snoop => {
                Snoop::begin(made.bytes.data()).map(|(file, used)| (Format::Snoop(file), used))
            }
            _ => Some((Format::NextGeneration(NextGeneration::default()), 0)),
        };
        match begun {
            Some((format, used)) => (made.format, made.used) = (Some(format), used),
            None => made.end(Ended::Cut { at_byte: 0 }),
        }
        Ok(made)
    }

    fn end(&mut self, ended: Ended) {
        let at_byte = self.bytes.passed();
        self.ended = true;
        self.read.ended = match self.bytes.failed.take() {
            Some(reason) => Ended::Unread { at_byte, reason },
            None => ended,
        };
    }

    /// Goes on to the next frames, if all that are here were used; false where there is none.
    fn fill(&mut self) -> bool {
        while self.next >= self.spans.len() {
            if self.ended {
                return false;
            }
            self.bytes.consume(self.used);
            self.spans.clear();
            (self.next, self.used) = (0, 0);
            let Some(format) = &mut self.format else {
                return false;
            };
            let parsed = format.frames(self.bytes.data(), &mut self.spans);
            self.used = parsed.used;
            self.read.frames += self.spans.len() as u64;
            if parsed.damaged {
                let at_byte = self.bytes.passed() + parsed.used as u64;
                self.end(Ended::Damaged { at_byte });
            } else if self.spans.is_empty() {
                self.bytes.consume(std::mem::take(&mut self.used));
                self.refill();
            }
        }
        true
    }

    fn refill(&mut self) {
        let Some(format) = &self.format else { return };
        if self.bytes.refill(format.most()) {
            return;
        }
        let at_byte = self.bytes.passed();
        let rest = self.bytes.data();
        let ended = if rest.is_empty() {
            Ended::Whole
        } else if !self.bytes.ended() || format.is_damaged(rest) {
            Ended::Damaged { at_byte }
        } else {
            Ended::Cut { at_byte }
        };
        self.end(ended);
    }

    /// The time of the next frame.
    fn next_ns(&self) -> u64 {
        self.spans[self.next].t_ns
    }

    /// Hands the next frames on, up to the first that is later.
    fn hand_on(&mut self, last_ns: u64, window: &mut InTime<'_>) {
        let rest = &self.spans[self.next..];
        let count = if last_ns == u64::MAX {
            rest.len()
        } else {
            rest.iter().take_while(|one| one.t_ns <= last_ns).count()
        };
        window.take(&Run {
            spans: &rest[..count],
            data: self.bytes.data(),
            file: self.index,
            number: self.read.frames - rest.len() as u64 + 1,
        });
        self.next += count;
    }

    /// Tells what the file says of its losses; what was read of it.
    fn finish(self, receiver: &mut dyn Receiver) -> FileRead {
        match &self.format {
            Some(Format::NextGeneration(file)) => {
                receiver.dropped(file.dropped());
                receiver.undescribed(file.undescribed);
            }
            Some(Format::Snoop(file)) => receiver.dropped(file.dropped),
            _ => {}
        }
        self.read
    }
}

/// Reads files, those whose times overlap beside each other: what was read of each, or why some are refused.
pub fn read(paths: &[String], receiver: &mut dyn Receiver) -> Result<Vec<FileRead>, Vec<Refused>> {
    let mut waiting = in_order(paths)?;
    let room = if waiting.len() > FEW {
        SMALL_CHUNK
    } else {
        CHUNK
    };
    let (mut window, mut open, mut done) = (InTime::new(receiver), Vec::new(), Vec::new());
    let mut refused = Vec::new();
    let mut count = 0;
    loop {
        let earliest = open.iter().map(Source::next_ns).min();
        while let Some((first_ns, path)) = waiting.front()
            && open.len() < MOST_OPEN
            && (open.is_empty() || earliest.is_none_or(|earliest| *first_ns <= earliest))
        {
            match Source::open(path, room, count) {
                Ok(mut source) => {
                    if source.fill() {
                        open.push(source);
                    } else {
                        done.push((count, source.finish(window.receiver())));
                    }
                }
                Err(reason) => refused.push(reason),
            }
            count += 1;
            waiting.pop_front();
        }
        if open.is_empty() && waiting.is_empty() {
            break;
        }
        if let Some((at, last_ns)) = turn(&open, waiting.front()) {
            open[at].hand_on(last_ns, &mut window);
            if !open[at].fill() {
                let source = open.swap_remove(at);
                done.push((usize::from(source.index), source.finish(window.receiver())));
            }
        }
    }
    window.finish();
    if !refused.is_empty() {
        return Err(refused);
    }
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, read)| read).collect())
}

/// The source whose frame comes first, and until when its frames come before those of the others.
fn turn(open: &[Source<'_>], waiting: Option<&(u64, String)>) -> Option<(usize, u64)> {
    let mut times: Vec<(u64, usize)> = open.iter().map(Source::next_ns).zip(0..).collect();
    let (first, at) = times.iter().min().copied()?;
    times.swap_remove(at);
    let others = times.iter().map(|(next_ns, _)| *next_ns);
    let last_ns = others.chain(waiting.map(|(first_ns, _)| *first_ns)).min();
    Some((at, last_ns.unwrap_or(u64::MAX).max(first)))
}

/// Files by the time of their first frames: a name says little about which piece of a capture came first.
fn in_order(paths: &[String]) -> Result<VecDeque<(u64, String)>, Vec<Refused>> {
    let is_file = |path: &String| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if paths.len() < 2 || !paths.iter().all(is_file) {
        return Ok(paths.iter().map(|path| (u64::MAX, path.clone())).collect());
    }
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for path in paths {
        match Source::open(path, SMALL_CHUNK, 0) {
            Ok(mut source) => {
                let first_ns = source.fill().then(|| source.next_ns());
                found.push((first_ns.unwrap_or(u64::MAX), path.clone()));
            }
            Err(reason) => refused.push(reason),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    found.sort_by_key(|(first_ns, _)| *first_ns);
    Ok(found.into())
}

/// Reads bytes as if they were a file's, so many at once; None where they are no capture.
pub fn read_bytes(bytes: &[u8], chunk: usize, receiver: &mut dyn Receiver) -> Option<FileRead> {
    let mut source = Source::of(bytes, Box::new(Cursor::new(bytes)), chunk, 0).ok()?;
    let mut window = InTime::new(receiver);
    while source.fill() {
        source.hand_on(u64::MAX, &mut window);
    }
    window.finish();
    Some(source.finish(window.receiver()))
}

/// The system's words without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

enum Kind {
    Legacy,
    NextGeneration,
    Snoop,
    Other(&'static str),
}

impl Kind {
    /// The format's name in results.
    fn name(&self) -> &'static str {
        match self {
            Self::Legacy => "pcap",
            Self::NextGeneration => "pcapng",
            Self::Snoop => "snoop",
            Self::Other(found) => found,
        }
    }
}

/// What a file is, by its first bytes.
fn kind(head: &[u8]) -> Kind {
    const OTHERS: [(&[u8], &str); 12] = [
        (&[0x1f, 0x8b], "gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
        (b"BZh", "bzip2"),
        (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
        (b"PK\x03\x04", "zip"),
        (b"\x7fELF", "program"),
        (b"RTSS", "netmon"),
        (b"GMBU", "netmon"),
        (b"{", "json"),
        (b"dn:", "ldif"),
        (b"ERF", "erf"),
    ];
    match head.get(..4) {
        Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x34, 0xcd, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]) => {
            return Kind::Legacy;
        }
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] | [0xa1, 0xb2, 0xcd, 0x34]) => {
            return Kind::Legacy;
        }
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => return Kind::NextGeneration,
        _ => {}
    }
    if head.starts_with(b"snoop\0\0\0") {
        return Kind::Snoop;
    }
    if let Some((_, name)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Kind::Other(name);
    }
    Kind::Other(match head {
        [] => "empty",
        _ if is_text(head) => "text",
        _ => "unknown",
    })
}

/// Whether bytes are UTF-8 without control characters, but for a last letter that was cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty()
        && text
            .chars()
            .all(|letter| !letter.is_control() || letter.is_whitespace())
}

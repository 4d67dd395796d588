//! Captures: what kind a file is, and its frames one after another.

mod legacy;
pub mod live;
mod missed;
mod next_generation;
mod snap;
mod snoop;

use crate::packet::Frame;
use serde::Serialize;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Bytes that are read at once where all are in memory: a larger room would cost more than a small capture in it.
pub const SMALL_CHUNK: usize = 1 << 16;
/// A larger frame or block is taken for damage.
const MOST_CHUNK: usize = 64 << 20;
/// Bytes that tell what a file is.
const PEEK: usize = 512;

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
    pub frames: u64,
    pub ended: Ended,
}

/// Receives frames and what a capture says of its losses.
pub trait Receiver {
    fn frame(&mut self, frame: &Frame<'_>);
    /// Frames that the capture or the interface says it dropped.
    fn dropped(&mut self, frames: u64);
    /// Frames of an interface that has no description.
    fn undescribed(&mut self);
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

/// Reads a file, or standard input for `-`.
pub fn read(path: &str, receiver: &mut dyn Receiver) -> Result<FileRead, Refused> {
    let (head, input) = opened(path)?;
    let mut source = Filled {
        inner: Cursor::new(head.clone()).chain(input),
        failed: None,
    };
    let (format, (frames, ended)) =
        kind(&head)
            .frames(&mut source, CHUNK, receiver)
            .map_err(|found| Refused::NoCapture {
                path: path.into(),
                found,
            })?;
    let ended = match (source.failed, ended) {
        (Some(reason), Ended::Cut { at_byte } | Ended::Damaged { at_byte }) => {
            Ended::Unread { at_byte, reason }
        }
        (_, ended) => ended,
    };
    Ok(FileRead {
        path: path.into(),
        format,
        frames,
        ended,
    })
}

/// Reads bytes as if they were a file's, so many at once; None where they are no capture.
pub fn read_bytes(bytes: &[u8], chunk: usize, receiver: &mut dyn Receiver) -> Option<FileRead> {
    let mut source = Filled {
        inner: Cursor::new(bytes),
        failed: None,
    };
    let (format, (frames, ended)) = kind(bytes).frames(&mut source, chunk, receiver).ok()?;
    Some(FileRead {
        path: String::new(),
        format,
        frames,
        ended,
    })
}

/// The time of the first frame, by which files are put in order; None where there is none.
pub fn first_ns(path: &str) -> Option<u64> {
    struct First(Option<u64>);
    impl Receiver for First {
        fn frame(&mut self, frame: &Frame<'_>) {
            self.0.get_or_insert(frame.t_ns);
        }
        fn dropped(&mut self, _: u64) {}
        fn undescribed(&mut self) {}
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(CHUNK as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    let mut first = First(None);
    read_bytes(&bytes, SMALL_CHUNK, &mut first);
    first.0
}

fn opened(path: &str) -> Result<(Vec<u8>, Box<dyn Read + Send>), Refused> {
    let unreadable = |error: &std::io::Error| Refused::Unreadable {
        path: path.into(),
        reason: reason(error),
    };
    let mut input: Box<dyn Read + Send> = if path == "-" {
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
    let mut head = Vec::new();
    input
        .by_ref()
        .take(PEEK as u64)
        .read_to_end(&mut head)
        .map_err(|error| unreadable(&error))?;
    Ok((head, input))
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
    /// The format and its frames; what it is instead of a capture.
    fn frames(
        &self,
        source: &mut (impl Read + Send),
        chunk: usize,
        receiver: &mut dyn Receiver,
    ) -> Result<(&'static str, (u64, Ended)), &'static str> {
        Ok(match self {
            Self::Legacy => ("pcap", legacy::read(source, chunk, receiver)),
            Self::NextGeneration => ("pcapng", next_generation::read(source, chunk, receiver)),
            Self::Snoop => ("snoop", snoop::read(source, chunk, receiver)),
            Self::Other(found) => return Err(found),
        })
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
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) => return Kind::Legacy,
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

/// Reads as much as there is room for: the readers of captures take one short read for the end of the file.
struct Filled<R> {
    inner: R,
    failed: Option<String>,
}

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() && self.failed.is_none() {
            match self.inner.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => self.failed = Some(reason(&error)),
            }
        }
        Ok(filled)
    }
}

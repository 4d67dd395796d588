//! The bytes of a file: as many at once as there is room for, unpacked where they were packed.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder, StreamingDecoder};
use std::io::{BufRead, BufReader, Chain, Cursor, Error, ErrorKind, Read};

/// Bytes that tell what a file is.
const PEEK: usize = 512;

/// A place to read from.
pub type Input<'a> = Box<dyn Read + Send + 'a>;

/// The first bytes of an input, and the whole of it.
pub fn peeked(mut input: Input<'_>) -> std::io::Result<(Vec<u8>, Input<'_>)> {
    let mut head = Vec::new();
    input.by_ref().take(PEEK as u64).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(input);
    Ok((head, Box::new(whole)))
}

/// Unpacks an input by its first bytes: the name of the packing, and what was packed.
pub fn unpacked<'a>(head: &[u8], input: Input<'a>) -> (Option<&'static str>, Input<'a>) {
    match head {
        [0x1f, 0x8b, ..] => {
            let unpacked = MultiGzDecoder::new(BufReader::new(input));
            (Some("gzip"), Box::new(unpacked))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let unpacked = Zstd::Between(BufReader::new(input));
            (Some("zstd"), Box::new(unpacked))
        }
        _ => (None, input),
    }
}

/// A source whose first bytes were read already.
type Begun<'a> = Chain<Cursor<[u8; 4]>, BufReader<Input<'a>>>;

/// The frames of a file of zstd, one after another.
enum Zstd<'a> {
    Between(BufReader<Input<'a>>),
    Inside(Box<StreamingDecoder<Begun<'a>, FrameDecoder>>),
    /// What was unpacked of a frame that is cut or damaged, and why there is no more.
    Rest(Cursor<Vec<u8>>, Error),
    Ended,
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::Ended) {
                Self::Between(source) => next_frame(source)?,
                Self::Inside(mut decoder) => match decoder.read(buffer) {
                    Ok(count) if count > 0 || buffer.is_empty() => {
                        *self = Self::Inside(decoder);
                        return Ok(count);
                    }
                    Ok(_) => Self::Between(decoder.into_inner().into_inner().1),
                    Err(error) => Self::Rest(Cursor::new(held(*decoder)), error),
                },
                Self::Rest(mut rest, error) => {
                    let count = rest.read(buffer)?;
                    if count == 0 && !buffer.is_empty() {
                        return Err(error);
                    }
                    *self = Self::Rest(rest, error);
                    return Ok(count);
                }
                Self::Ended => return Ok(0),
            };
        }
    }
}

/// What a decoder holds back for the frame's next blocks: an empty last block, with a checksum, lets go of it.
fn held(decoder: StreamingDecoder<Begun<'_>, FrameDecoder>) -> Vec<u8> {
    let mut frame = decoder.into_frame_decoder();
    let last: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
    match frame.decode_blocks(last, BlockDecodingStrategy::All) {
        Ok(_) => frame.collect().unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

/// Begins a frame, or goes over one that has no data.
fn next_frame(mut source: BufReader<Input<'_>>) -> std::io::Result<Zstd<'_>> {
    if source.fill_buf()?.is_empty() {
        return Ok(Zstd::Ended);
    }
    let mut number = [0; 4];
    source.read_exact(&mut number)?;
    if let [0x50..=0x5f, 0x2a, 0x4d, 0x18] = number {
        source.read_exact(&mut number)?;
        let length = u32::from_le_bytes(number).into();
        std::io::copy(&mut source.by_ref().take(length), &mut std::io::sink())?;
        return Ok(Zstd::Between(source));
    }
    StreamingDecoder::new(Cursor::new(number).chain(source))
        .map(|decoder| Zstd::Inside(Box::new(decoder)))
        .map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))
}

/// Bytes of an input, of which some are held.
pub struct Bytes<'a> {
    input: Input<'a>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Bytes that were used before.
    passed: u64,
    ended: bool,
    /// Why the system refused to read on.
    pub failed: Option<String>,
}

impl<'a> Bytes<'a> {
    /// Of an input, so many at once.
    pub fn new(input: Input<'a>, room: usize) -> Self {
        Self {
            input,
            buffer: vec![0; room],
            from: 0,
            to: 0,
            passed: 0,
            ended: false,
            failed: None,
        }
    }

    /// Those that are held.
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Bytes before those that are held.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Whether the input has no more.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The first ones were used.
    pub fn consume(&mut self, count: usize) {
        self.from += count;
        self.passed += count as u64;
    }

    /// Fills the room; where all of it is held, the room grows up to a limit. False where no byte came.
    pub fn refill(&mut self, most: usize) -> bool {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.buffer.len() {
            let room = (4 * self.to).min(most);
            if room <= self.to {
                return false;
            }
            self.buffer.resize(room, 0);
        }
        let before = self.to;
        while self.to < self.buffer.len() && !self.ended {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.to += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(super::reason(&error));
                    self.ended = true;
                }
            }
        }
        self.to > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn whole(packed: Vec<u8>) -> (Option<&'static str>, Vec<u8>) {
        let (head, input) = peeked(Box::new(Cursor::new(packed))).unwrap();
        let (packing, mut input) = unpacked(&head, input);
        let mut found = Vec::new();
        input.read_to_end(&mut found).unwrap();
        (packing, found)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(text, level)
    }

    #[test]
    fn what_was_unpacked_before_a_cut_is_read() {
        let text: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
        for (pack, missing) in [
            (zstd as fn(&[u8]) -> Vec<u8>, 0),
            (zstd, 200_000),
            (gzip, 0),
            (gzip, 200_000),
        ] {
            let mut packed = pack(&text);
            packed.truncate(packed.len() - 1 - missing);
            let (head, input) = peeked(Box::new(Cursor::new(packed))).unwrap();
            let mut found = Vec::new();
            unpacked(&head, input)
                .1
                .read_to_end(&mut found)
                .unwrap_err();
            assert!(text.starts_with(&found) && text.len() - found.len() < 600_000 + missing * 4);
            assert!(missing > 0 || found == text);
        }
    }

    #[test]
    fn several_packed_parts_are_one_file() {
        let twice = |pack: fn(&[u8]) -> Vec<u8>| [pack(b"one "), pack(b"two")].concat();
        assert_eq!(whole(twice(gzip)), (Some("gzip"), b"one two".to_vec()));
        assert_eq!(whole(twice(zstd)), (Some("zstd"), b"one two".to_vec()));
        let skipped = [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(b"text")].concat();
        assert_eq!(whole(skipped), (Some("zstd"), b"text".to_vec()));
        assert_eq!(whole(b"plain".to_vec()), (None, b"plain".to_vec()));
    }
}

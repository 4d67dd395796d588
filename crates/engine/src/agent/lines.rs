//! Lines of bytes, of which none is longer than memory allows.

use std::io::{BufRead, ErrorKind};

/// The longest line that is kept: 64 MiB.
const LONGEST: usize = 64 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    Line(&'a [u8]),
    TooLong,
    End,
}

/// The lines of a reader; a line without an end is one too.
pub struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    longest: usize,
}

impl<R: BufRead> Lines<R> {
    /// From here on.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
            longest: LONGEST,
        }
    }

    /// The next line without its end.
    pub fn next(&mut self) -> Next<'_> {
        self.line.clear();
        let (mut length, mut ended) = (0, false);
        while !ended {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Next::End,
            };
            if piece.is_empty() {
                break;
            }
            let found = piece.iter().position(|&byte| byte == b'\n');
            let text = &piece[..found.unwrap_or(piece.len())];
            if length + text.len() <= self.longest {
                self.line.extend_from_slice(text);
            }
            length += text.len();
            let used = text.len() + usize::from(found.is_some());
            ended = found.is_some();
            self.reader.consume(used);
        }
        match length {
            0 if !ended => Next::End,
            _ if length > self.longest => Next::TooLong,
            _ => Next::Line(&self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &[u8], longest: usize) -> Vec<String> {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(3, text));
        lines.longest = longest;
        let mut found = Vec::new();
        loop {
            found.push(match lines.next() {
                Next::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Next::TooLong => "too long".to_owned(),
                Next::End => return found,
            });
        }
    }

    #[test]
    fn lines_come_whole_and_long_ones_are_named() {
        assert_eq!(told(b"one\n\nfour", 9), ["one", "", "four"]);
        assert_eq!(told(b"abcdefghij\nk\n", 9), ["too long", "k"]);
    }
}

//! LDIF as it is read (RFC 2849): one entry after the other, from a stream.

use std::io::{self, BufRead};

/// Entries of a file.
#[derive(Debug)]
pub struct Records<R> {
    source: R,
    /// The line that is read next, with its end; empty at the end of the file.
    ahead: Vec<u8>,
    /// The lines before it, put together where they were folded.
    line: Vec<u8>,
    /// How many lines were read, `ahead` included.
    lines: u64,
    /// Bytes of the lines before `ahead`.
    passed: u64,
}

/// One entry.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub dn: Vec<u8>,
    /// Each attribute once, with its values.
    pub attributes: Vec<Attribute>,
    /// Bytes of the file since the end of the entry before it.
    pub bytes: u64,
}

/// An attribute with its values.
pub type Attribute = (Vec<u8>, Vec<Vec<u8>>);

/// Why an entry cannot be read.
#[derive(Debug)]
pub enum Flaw {
    /// The file itself.
    Unreadable(io::Error),
    /// The line, what is there, and what was expected.
    Malformed(u64, String),
}

impl<R: BufRead> Records<R> {
    /// From the beginning of a stream.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn new(source: R) -> Result<Self, Flaw> {
        let mut records = Self {
            source,
            ahead: Vec::new(),
            line: Vec::new(),
            lines: 0,
            passed: 0,
        };
        records.read_on()?;
        Ok(records)
    }

    /// The next entry; None at the end.
    ///
    /// # Errors
    /// The place of the first line that is not LDIF, or none that adds an entry.
    pub fn read(&mut self) -> Result<Option<Record>, Flaw> {
        let begun = self.passed;
        let mut record: Option<Record> = None;
        loop {
            let at = self.lines;
            let has_line = self.unfold()?;
            let line = self.line.as_slice();
            match &mut record {
                None if !has_line => return Ok(None),
                Some(_) if !has_line || line.is_empty() => break,
                None if line.is_empty() || line[0] == b'#' || line.starts_with(b"version:") => {}
                Some(_) if line[0] == b'#' => {}
                None => {
                    let (name, dn) = pair(line, at)?;
                    if !name.eq_ignore_ascii_case(b"dn") {
                        return Err(wrong(at, line, "an entry that begins with dn:"));
                    }
                    record = Some(Record {
                        dn,
                        ..Record::default()
                    });
                }
                Some(record) => {
                    let (name, value) = pair(line, at)?;
                    if name.eq_ignore_ascii_case(b"changetype") {
                        if value != b"add" {
                            return Err(wrong(at, line, "entries to add, and no other change"));
                        }
                        continue;
                    }
                    record.put(name, value);
                }
            }
        }
        let bytes = self.passed - begun;
        Ok(record.map(|record| Record { bytes, ..record }))
    }

    fn read_on(&mut self) -> Result<(), Flaw> {
        self.passed += self.ahead.len() as u64;
        self.ahead.clear();
        let read = self.source.read_until(b'\n', &mut self.ahead);
        self.lines += u64::from(read.map_err(Flaw::Unreadable)? > 0);
        Ok(())
    }

    /// The next line with those that continue it; false at the end.
    fn unfold(&mut self) -> Result<bool, Flaw> {
        self.line.clear();
        if self.ahead.is_empty() {
            return Ok(false);
        }
        self.line.extend_from_slice(plain(&self.ahead));
        self.read_on()?;
        while self.ahead.first() == Some(&b' ') && !self.line.is_empty() {
            self.line.extend_from_slice(&plain(&self.ahead)[1..]);
            self.read_on()?;
        }
        Ok(true)
    }
}

impl Record {
    fn put(&mut self, name: &[u8], value: Vec<u8>) {
        let same = |(known, _): &&mut Attribute| known.eq_ignore_ascii_case(name);
        match self.attributes.iter_mut().rev().find(same) {
            Some((_, values)) => values.push(value),
            None => self.attributes.push((name.to_vec(), vec![value])),
        }
    }
}

/// A line without its end.
fn plain(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn wrong(at: u64, line: &[u8], expected: &str) -> Flaw {
    const SHOWN: usize = 40;
    let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    Flaw::Malformed(at, format!("found {shown:?}; expected {expected}"))
}

/// Name and value of a line.
fn pair(line: &[u8], at: u64) -> Result<(&[u8], Vec<u8>), Flaw> {
    let expected = "ATTRIBUTE: VALUE, or ATTRIBUTE:: BASE64";
    let colon = line.iter().position(|byte| *byte == b':');
    let colon = colon
        .filter(|colon| *colon > 0)
        .ok_or_else(|| wrong(at, line, expected))?;
    let (name, rest) = (&line[..colon], &line[colon + 1..]);
    let value = match rest.first() {
        Some(b':') => decoded(rest[1..].trim_ascii()).ok_or_else(|| wrong(at, line, expected))?,
        Some(b'<') => return Err(wrong(at, line, "the value itself, not its URL")),
        _ => rest.trim_ascii_start().to_vec(),
    };
    Ok((name, value))
}

/// The bytes of a text in base64 (RFC 4648); None where it is none.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_suffix(b"=").unwrap_or(text);
    let digits = digits.strip_suffix(b"=").unwrap_or(digits);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Record>, Flaw> {
        let mut records = Records::new(text.as_bytes())?;
        let mut found = Vec::new();
        while let Some(record) = records.read()? {
            found.push(record);
        }
        Ok(found)
    }

    fn attribute(name: &str, values: &[&str]) -> Attribute {
        let values = values.iter().map(|value| value.as_bytes().to_vec());
        (name.as_bytes().to_vec(), values.collect())
    }

    #[test]
    fn entries_are_read_with_folds_base64_and_comments() {
        let text = "version: 1\n\ndn: uid=a,dc=x\nchangetype: add\nobjectClass: top\nuid: a\n# of\n people\nobjectclass: person\n\
                    cn:: w6TDtg==\ndescription: long\n er\n\n\ndn:: dWlkPWI=\r\nuid:b\r\n";
        let found = all(text).unwrap();
        assert_eq!(found[0].dn, b"uid=a,dc=x");
        assert_eq!(
            found[0].attributes,
            [
                attribute("objectClass", &["top", "person"]),
                attribute("uid", &["a"]),
                attribute("cn", &["äö"]),
                attribute("description", &["longer"]),
            ]
        );
        assert_eq!(found[1].dn, b"uid=b");
        assert_eq!(found[1].attributes, [attribute("uid", &["b"])]);
        let bytes: u64 = found.iter().map(|record| record.bytes).sum();
        assert_eq!(bytes, text.len() as u64);
    }

    #[test]
    fn what_is_no_entry_is_named_with_its_line() {
        for (text, at, words) in [
            (
                "dn: a=b\nnothing\n",
                2,
                "found \"nothing\"; expected ATTRIBUTE: VALUE",
            ),
            ("\nuid: b\n", 2, "expected an entry that begins with dn:"),
            (
                "dn: a=b\nchangetype: delete\n",
                2,
                "expected entries to add",
            ),
            (
                "dn: a=b\nphoto:< file:///x\n",
                2,
                "expected the value itself",
            ),
            ("dn: a=b\ncn:: w6T\n", 2, "BASE64"),
        ] {
            match all(text) {
                Err(Flaw::Malformed(line, message)) => {
                    assert_eq!(line, at, "{text}");
                    assert!(message.contains(words), "{message}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_population_is_read_as_it_was_written() {
        let population = crate::Population {
            template: crate::Template::ALL[0].1,
            entries: 50,
            seed: 1,
            suffix: crate::Suffix::parse("dc=example,dc=com").unwrap(),
            own: Vec::new(),
        };
        let mut text = Vec::new();
        let written = population.write(&mut text).unwrap();
        let found = all(std::str::from_utf8(&text).unwrap()).unwrap();
        assert_eq!(found.len() as u64, written.entries);
        let bytes: u64 = found.iter().map(|record| record.bytes).sum();
        assert_eq!(bytes, written.bytes);
        assert!(found.iter().all(|record| record.attributes.len() > 1));
    }
}

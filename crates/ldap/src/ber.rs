//! BER as LDAP uses it: one-byte tags, definite lengths.

/// The head at a place of `bytes`, if it and the whole body are there: tag, and from where to where the body is.
#[must_use]
#[inline]
pub fn whole(bytes: &[u8], at: usize) -> Option<(u8, usize, usize)> {
    let (tag, first) = (*bytes.get(at)?, *bytes.get(at + 1)?);
    let (length, from) = if first < 0x80 {
        (usize::from(first), at + 2)
    } else {
        let (length, octets) = long(first, &bytes[at + 2..]).ok()?;
        (length, at + 2 + octets)
    };
    let end = from + length;
    (end <= bytes.len() && tag & 0x1f != 0x1f).then_some((tag, from, end))
}

/// Why something cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The bytes end before its head does: more of them may help.
    Cut,
    /// No LDAP: more bytes do not help.
    Malformed,
}

/// A tag, the length that it declares, and as much of its body as there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// The tag.
    pub tag: u8,
    /// Bytes of tag and length.
    pub head: usize,
    /// Bytes of the body, as declared.
    pub length: usize,
    /// Bytes of the body that are there.
    pub body: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// Whether the body is there to its end.
    #[must_use]
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.body.len() == self.length
    }

    /// Bytes of head and body, as declared.
    #[must_use]
    #[inline]
    pub fn span(&self) -> usize {
        self.head.saturating_add(self.length)
    }

    /// The parts of the body, one after the other.
    #[must_use]
    #[inline]
    pub fn parts(&self) -> Walk<'a> {
        Walk { rest: self.body }
    }

    /// The body as a number that is not negative; None where it is none, is negative or needs more than 63 bits.
    #[must_use]
    #[inline]
    pub fn number(&self) -> Option<u64> {
        if !self.is_whole() || !(1..=8).contains(&self.length) || self.body[0] & 0x80 != 0 {
            return None;
        }
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(self.body.iter().fold(0, fold))
    }
}

/// Reads the head at the beginning of `bytes`, with as much of the body as there is.
///
/// # Errors
/// `Cut` where the head is not there to its end; `Malformed` for tags of several bytes, indefinite lengths and lengths above 4 GiB.
#[inline]
pub fn read(bytes: &[u8]) -> Result<Tlv<'_>, Flaw> {
    let (&tag, rest) = bytes.split_first().ok_or(Flaw::Cut)?;
    if tag & 0x1f == 0x1f {
        return Err(Flaw::Malformed);
    }
    let (&first, rest) = rest.split_first().ok_or(Flaw::Cut)?;
    let (length, octets) = if first < 0x80 {
        (usize::from(first), 0)
    } else {
        long(first, rest)?
    };
    let rest = &rest[octets..];
    Ok(Tlv {
        tag,
        head: 2 + octets,
        length,
        body: &rest[..length.min(rest.len())],
    })
}

/// A length of several bytes, and how many they are.
fn long(first: u8, rest: &[u8]) -> Result<(usize, usize), Flaw> {
    let octets = usize::from(first & 0x7f);
    if !(1..=8).contains(&octets) {
        return Err(Flaw::Malformed);
    }
    let bytes = rest.get(..octets).ok_or(Flaw::Cut)?;
    let length = bytes
        .iter()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    match u32::try_from(length) {
        Ok(length) => Ok((length as usize, octets)),
        Err(_) => Err(Flaw::Malformed),
    }
}

/// The parts of a body, one after the other; the last one may be cut short.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Over the bytes of a body.
    #[must_use]
    pub fn over(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// The next part, where it is there to its end.
    #[inline]
    pub fn whole(&mut self) -> Option<Tlv<'a>> {
        let (tag, from, end) = whole(self.rest, 0)?;
        let body = &self.rest[from..end];
        self.rest = &self.rest[end..];
        Some(Tlv {
            tag,
            head: from,
            length: body.len(),
            body,
        })
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Tlv<'a>, Flaw>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let part = read(self.rest);
        self.rest = match &part {
            Ok(part) => self.rest.get(part.span()..).unwrap_or(&[]),
            Err(_) => &[],
        };
        Some(part)
    }
}

//! Elements of BER in bytes that may end early: a captured frame can be shorter than the message in it.

/// What the first bytes of an element say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Tag, bytes of the header, bytes of the content.
    Complete { tag: u8, header: usize, length: u64 },
    /// More bytes are needed.
    Short,
    /// No element of LDAP begins so.
    Bad,
}

/// Bytes of a length that are read; LDAP forbids the indefinite form, and nobody pads further.
const MOST_LENGTH_BYTES: usize = 8;

/// Reads the header of an element.
#[inline]
pub fn head(bytes: &[u8]) -> Head {
    let (Some(&tag), second) = (bytes.first(), bytes.get(1)) else {
        return Head::Short;
    };
    if tag & 0x1f == 0x1f {
        return Head::Bad;
    }
    let Some(&first) = second else {
        return Head::Short;
    };
    if first < 0x80 {
        return Head::Complete { tag, header: 2, length: u64::from(first) };
    }
    let count = usize::from(first & 0x7f);
    if count == 0 || count > MOST_LENGTH_BYTES {
        return Head::Bad;
    }
    let Some(digits) = bytes.get(2..2 + count) else {
        return Head::Short;
    };
    let length = digits.iter().fold(0_u64, |sum, digit| (sum << 8) | u64::from(*digit));
    Head::Complete { tag, header: 2 + count, length }
}

/// An element, as far as its content is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    pub tag: u8,
    /// The bytes of the content that were captured.
    pub content: &'a [u8],
    /// The bytes that the content has.
    pub length: u64,
}

impl<'a> Element<'a> {
    /// Whether the whole content is there.
    pub fn whole(&self) -> bool {
        self.content.len() as u64 == self.length
    }

    /// The elements inside.
    pub fn inside(&self) -> Walk<'a> {
        Walk { rest: self.content, left: self.length }
    }

    /// A number of at most four bytes.
    pub fn number(&self) -> Option<i32> {
        let content = self.content;
        if !self.whole() || content.is_empty() || content.len() > 4 {
            return None;
        }
        let start = if content[0] & 0x80 == 0 { 0 } else { -1 };
        Some(content.iter().fold(start, |sum, byte| (sum << 8) | i32::from(*byte)))
    }
}

/// Goes through elements, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    rest: &'a [u8],
    left: u64,
}

impl<'a> Walk<'a> {
    /// Over bytes whose element goes on for `length` bytes.
    pub fn over(rest: &'a [u8], length: u64) -> Self {
        Self { rest, left: length }
    }

    /// Whether the elements end here: nothing was left out.
    pub fn ended(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Element<'a>;

    /// None at the end, where bytes are missing, and where an element does not fit into the one around it.
    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let Head::Complete { tag, header, length } = head(self.rest) else {
            return None;
        };
        let size = length.checked_add(header as u64)?;
        let left = self.left.checked_sub(size)?;
        let here = usize::try_from(size).unwrap_or(usize::MAX).min(self.rest.len());
        let (element, rest) = self.rest.split_at(here);
        (self.rest, self.left) = (rest, left);
        Some(Element { tag, content: &element[header..], length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lengths_are_read() {
        assert_eq!(head(&[0x30, 0x0c]), Head::Complete { tag: 0x30, header: 2, length: 12 });
        assert_eq!(head(&[0x30, 0x84, 0, 0, 0, 12]), Head::Complete { tag: 0x30, header: 6, length: 12 });
        assert_eq!(head(&[0x30, 0x84, 0, 0]), Head::Short);
        assert_eq!(head(&[0x30, 0x80]), Head::Bad);
        assert_eq!(head(&[0x3f, 0x01]), Head::Bad);
    }

    #[test]
    fn an_element_that_was_cut_says_so() {
        let mut walk = Walk::over(&[0x04, 0x03, b'a', b'b'], 5);
        let cut = walk.next().unwrap();
        assert_eq!((cut.content, cut.length, cut.whole()), (&b"ab"[..], 3, false));
        assert!(walk.next().is_none());
        assert!(walk.ended());
    }

    #[test]
    fn an_element_larger_than_the_one_around_it_ends_the_walk() {
        assert!(Walk::over(&[0x04, 0x05, 1, 2, 3, 4, 5], 4).next().is_none());
    }
}

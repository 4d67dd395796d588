//! Requests that are written once and patched for each operation: a number of fixed width in place, and the message id.

/// A place for a number in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Which number.
    pub number: Number,
    /// Its digits, with leading zeros; None is as many as the number has.
    pub width: Option<usize>,
}

/// The numbers that a template can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `{key}`: the entry that an operation is about.
    Key,
    /// `{n}`: the operation's own number, which no other one has.
    Turn,
}

/// A mistake in a text: where, in bytes, what is there, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The place.
    pub at: usize,
    /// What is there.
    pub found: String,
    /// What can be there.
    pub expected: &'static str,
}

/// A message before its lengths are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A tag around others.
    Tlv(u8, Vec<Node>),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A number in digits.
    Hole(Hole),
}

/// The digits of `{n}` where none are given.
const TURN_DIGITS: usize = 12;
/// The most digits of a number.
const MOST_DIGITS: usize = 20;
/// Where the message id is in a message whose ids have four bytes.
const ID_BYTES: usize = 4;
/// The first message id of four bytes.
pub const FIRST_ID: u32 = 1 << 24;

impl Node {
    /// A text with this tag: `{key}`, `{key:08d}` and `{n}` are places for numbers.
    ///
    /// # Errors
    /// The place of the first mistake in a placeholder.
    pub fn text(tag: u8, text: &str) -> Result<Self, Mistake> {
        Ok(Node::Tlv(tag, pieces(text, 0)?))
    }

    /// Bytes with this tag, as they are.
    #[must_use]
    pub fn bytes(tag: u8, bytes: &[u8]) -> Self {
        Node::Tlv(tag, vec![Node::Bytes(bytes.to_vec())])
    }

    /// A number with this tag, as short as it can be.
    #[must_use]
    pub fn number(tag: u8, number: u32) -> Self {
        let bytes = u64::from(number).to_be_bytes();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(7);
        let first = zeros - usize::from(bytes[zeros] >= 0x80);
        Self::bytes(tag, &bytes[first..])
    }

    /// Whether a number of changing width is in it.
    #[must_use]
    pub fn is_elastic(&self) -> bool {
        match self {
            Node::Tlv(_, parts) => parts.iter().any(Node::is_elastic),
            Node::Bytes(_) => false,
            Node::Hole(hole) => hole.number == Number::Key && hole.width.is_none(),
        }
    }

    /// The fewest digits that a key has room in; None where no key is in it.
    #[must_use]
    pub fn key_digits(&self) -> Option<usize> {
        match self {
            Node::Tlv(_, parts) => parts.iter().filter_map(Node::key_digits).min(),
            Node::Hole(hole) if hole.number == Number::Key => {
                Some(hole.width.unwrap_or(MOST_DIGITS))
            }
            Node::Bytes(_) | Node::Hole(_) => None,
        }
    }

    fn len(&self, digits: usize) -> usize {
        match self {
            Node::Bytes(bytes) => bytes.len(),
            Node::Hole(hole) => hole.digits(digits),
            Node::Tlv(_, parts) => {
                let length = parts.iter().map(|part| part.len(digits)).sum();
                1 + length_octets(length) + length
            }
        }
    }

    fn write(&self, digits: usize, template: &mut Template) {
        match self {
            Node::Bytes(bytes) => template.bytes.extend_from_slice(bytes),
            Node::Hole(hole) => {
                let width = hole.digits(digits);
                template
                    .holes
                    .push((hole.number, template.bytes.len(), width));
                template.bytes.extend(std::iter::repeat_n(b'0', width));
            }
            Node::Tlv(tag, parts) => {
                template.bytes.push(*tag);
                let length = parts.iter().map(|part| part.len(digits)).sum();
                put_length(&mut template.bytes, length);
                for part in parts {
                    part.write(digits, template);
                }
            }
        }
    }
}

impl Hole {
    fn digits(&self, key_digits: usize) -> usize {
        self.width.unwrap_or(match self.number {
            Number::Key => key_digits,
            Number::Turn => TURN_DIGITS,
        })
    }
}

/// A text in pieces; `from` is where it begins in what mistakes are told of.
pub(crate) fn pieces(text: &str, from: usize) -> Result<Vec<Node>, Mistake> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let at = from + text.len() - rest.len() + open;
        let wrong = |found: &str| Mistake {
            at,
            found: found.to_owned(),
            expected: "{key}, {key:08d} or {n}",
        };
        let close = rest[open..].find('}').ok_or_else(|| wrong(&rest[open..]))? + open;
        let inner = &rest[open + 1..close];
        pieces.push(Node::Bytes(rest.as_bytes()[..open].to_vec()));
        pieces.push(Node::Hole(
            hole(inner).ok_or_else(|| wrong(&rest[open..=close]))?,
        ));
        rest = &rest[close + 1..];
    }
    pieces.push(Node::Bytes(rest.as_bytes().to_vec()));
    Ok(pieces)
}

fn hole(inner: &str) -> Option<Hole> {
    let (name, form) = inner
        .split_once(':')
        .map_or((inner, None), |(name, form)| (name, Some(form)));
    let number = match name {
        "key" => Number::Key,
        "n" => Number::Turn,
        _ => return None,
    };
    let width = match form {
        None => None,
        Some(form) => {
            let digits = form.strip_prefix('0')?.strip_suffix('d')?;
            let width = digits.parse().ok()?;
            (1..=MOST_DIGITS).contains(&width).then_some(())?;
            Some(width)
        }
    };
    Some(Hole { number, width })
}

fn length_octets(length: usize) -> usize {
    if length < 0x80 {
        1
    } else {
        1 + significant(length)
    }
}

fn significant(length: usize) -> usize {
    size_of::<usize>() - length.leading_zeros() as usize / 8
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    if length < 0x80 {
        bytes.push(length as u8);
        return;
    }
    let octets = significant(length);
    bytes.push(0x80 | octets as u8);
    bytes.extend_from_slice(&length.to_be_bytes()[size_of::<usize>() - octets..]);
}

/// A whole message with room for its id and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    id_at: usize,
    holes: Vec<(Number, usize, usize)>,
    /// Where its only number is, if that is a key of eight digits: the usual case needs no loop. Else behind all bytes.
    key_at: usize,
}

impl Template {
    /// The message around a protocol operation; keys without a width of their own get so many digits.
    #[must_use]
    pub fn new(op: &Node, key_digits: usize) -> Self {
        let mut template = Template::empty();
        template.bytes.push(0x30);
        put_length(&mut template.bytes, 2 + ID_BYTES + op.len(key_digits));
        template.bytes.extend_from_slice(&[0x02, ID_BYTES as u8]);
        template.id_at = template.bytes.len();
        template.bytes.extend_from_slice(&FIRST_ID.to_be_bytes());
        op.write(key_digits, &mut template);
        template.settled()
    }

    fn empty() -> Self {
        Template {
            bytes: Vec::new(),
            id_at: 0,
            holes: Vec::new(),
            key_at: usize::MAX,
        }
    }

    /// With the place of its only number, if there is one.
    fn settled(mut self) -> Self {
        if let [(Number::Key, at, 8)] = self.holes[..] {
            self.key_at = at;
        }
        self
    }

    /// Puts in the numbers. Digits that have no room are lost.
    #[inline]
    fn fill(&mut self, key: u64, turn: u64) {
        let only = self.bytes.get_mut(self.key_at..);
        if let Some(room) = only.and_then(|rest| rest.first_chunk_mut::<8>())
            && key < EIGHT_DIGITS
        {
            return put_eight(room, key as u32);
        }
        for (number, at, width) in &self.holes {
            let value = match number {
                Number::Key => key,
                Number::Turn => turn,
            };
            put_digits(&mut self.bytes[*at..*at + *width], value);
        }
    }

    /// Puts in id and numbers; the id is at least `FIRST_ID`, so that it has four bytes. Digits that have no room are lost.
    #[inline]
    pub fn patch(&mut self, id: u32, key: u64, turn: u64) -> &[u8] {
        let end = self.id_at + ID_BYTES;
        self.bytes[self.id_at..end].copy_from_slice(&id.to_be_bytes());
        self.fill(key, turn);
        &self.bytes
    }

    /// The bytes of the message after the last patch.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A text outside a message with room for its numbers: what an answer is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    template: Template,
}

impl Words {
    /// From a text with placeholders.
    ///
    /// # Errors
    /// The place of the first mistake in a placeholder.
    pub fn new(text: &str, key_digits: usize) -> Result<Self, Mistake> {
        let mut template = Template::empty();
        for piece in pieces(text, 0)? {
            piece.write(key_digits, &mut template);
        }
        Ok(Self {
            template: template.settled(),
        })
    }

    /// The text with these numbers.
    #[inline]
    pub fn with(&mut self, key: u64, turn: u64) -> &[u8] {
        self.template.fill(key, turn);
        &self.template.bytes
    }
}

/// The first number with more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// Two digits at a time.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

#[inline]
fn put_digits(room: &mut [u8], value: u64) {
    match <&mut [u8; 8]>::try_from(&mut *room) {
        Ok(room) if value < EIGHT_DIGITS => put_eight(room, value as u32),
        _ => put_any(room, value),
    }
}

/// The usual width of a key: its halves, their halves and the digits of these, each in a lane of its own.
#[inline]
fn put_eight(room: &mut [u8; 8], value: u32) {
    let value = u64::from(value);
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tens | ((twos - 10 * tens) << 8);
    *room = (digits + 0x3030_3030_3030_3030).to_le_bytes();
}

fn put_any(room: &mut [u8], mut value: u64) {
    let mut pairs = room.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if let [digit] = pairs.into_remainder() {
        *digit = b'0' + (value % 10) as u8;
    }
}

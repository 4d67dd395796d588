//! The envelope of every message, and what the answers hold.

use crate::ber::{Flaw, Tlv, read, whole};
use crate::op;

/// A sequence.
pub const SEQUENCE: u8 = 0x30;
/// The largest message id.
const MOST_ID: u64 = 0x7fff_ffff;
/// The controls of a message.
const CONTROLS: u8 = 0xa0;
/// The referral of a result.
const REFERRAL: u8 = 0xa3;

/// A message, as far as it is there: parts behind a cut are None.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Bytes of the whole message, as declared.
    pub length: usize,
    /// The message id; 0 is a notice of the server.
    pub id: Option<u32>,
    /// The protocol operation: its tag is one of `op`, or one that LDAP does not have yet.
    pub op: Option<Tlv<'a>>,
    /// The controls; None where there are none, too.
    pub controls: Option<Tlv<'a>>,
}

impl<'a> Message<'a> {
    /// Reads the message at the beginning of `bytes`, as far as it is there.
    ///
    /// # Errors
    /// `Cut` where not even the length of the message is there; `Malformed` where this is no LDAP message.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Self, Flaw> {
        if bytes.first().is_some_and(|tag| *tag != SEQUENCE) {
            return Err(Flaw::Malformed);
        }
        let envelope = read(bytes)?;
        let mut message = Message {
            length: envelope.span(),
            id: None,
            op: None,
            controls: None,
        };
        let mut place = 0;
        let Some(id) = part(&envelope, &mut place)? else {
            return Ok(message);
        };
        if id.tag != 0x02 || !(1..=8).contains(&id.length) {
            return Err(Flaw::Malformed);
        }
        if !id.is_whole() {
            return Ok(message);
        }
        let number = id.number().filter(|id| *id <= MOST_ID);
        message.id = Some(number.ok_or(Flaw::Malformed)? as u32);
        message.op = part(&envelope, &mut place)?;
        if message.op.is_some_and(|op| op.tag & 0xc0 != 0x40) {
            return Err(Flaw::Malformed);
        }
        while let Some(extra) = part(&envelope, &mut place)? {
            if extra.tag == CONTROLS {
                message.controls = Some(extra);
            }
        }
        Ok(message)
    }

    /// Reads a whole message without controls, faster than `read`; None where it is anything else.
    #[must_use]
    #[inline]
    pub fn plain(bytes: &'a [u8]) -> Option<(usize, u32, Tlv<'a>)> {
        Self::short(bytes).or_else(|| Self::any_plain(bytes))
    }

    /// The usual answer: lengths of one byte and an id of four, each at its place.
    #[inline]
    fn short(bytes: &'a [u8]) -> Option<(usize, u32, Tlv<'a>)> {
        let &[SEQUENCE, whole, 0x02, 4, a, b, c, d, tag, length] = bytes.first_chunk::<10>()?
        else {
            return None;
        };
        let end = 10 + usize::from(length);
        let is_short = (whole | a | length) < 0x80 && end == 2 + usize::from(whole);
        if !is_short || tag & 0xc0 != 0x40 || tag & 0x1f == 0x1f {
            return None;
        }
        let op = Tlv {
            tag,
            head: 2,
            length: usize::from(length),
            body: bytes.get(10..end)?,
        };
        Some((end, u32::from_be_bytes([a, b, c, d]), op))
    }

    #[inline]
    fn any_plain(bytes: &'a [u8]) -> Option<(usize, u32, Tlv<'a>)> {
        let (SEQUENCE, from, length) = whole(bytes, 0)? else {
            return None;
        };
        let (0x02, id_from, id_end) = whole(bytes, from)? else {
            return None;
        };
        let id = match bytes[id_from..id_end] {
            [a] if a < 0x80 => u32::from(a),
            [a, b, c, d] if a < 0x80 => u32::from_be_bytes([a, b, c, d]),
            _ => return None,
        };
        let (tag, op_from, op_end) = whole(bytes, id_end)?;
        let op = Tlv {
            tag,
            head: op_from - id_end,
            length: op_end - op_from,
            body: &bytes[op_from..op_end],
        };
        (op_end == length && tag & 0xc0 == 0x40).then_some((length, id, op))
    }

    /// Whether all of it was in these bytes.
    #[must_use]
    pub fn is_whole(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.length
    }
}

/// The part of an envelope at a place, which moves behind it; None behind a cut and at the end.
#[inline]
fn part<'a>(envelope: &Tlv<'a>, place: &mut usize) -> Result<Option<Tlv<'a>>, Flaw> {
    let Some(rest) = envelope.body.get(*place..) else {
        return Ok(None);
    };
    if *place == envelope.length {
        return Ok(None);
    }
    match read(rest) {
        Err(Flaw::Cut) if !envelope.is_whole() => Ok(None),
        Err(_) => Err(Flaw::Malformed),
        Ok(part) if *place + part.span() > envelope.length => Err(Flaw::Malformed),
        Ok(part) => {
            *place += part.span();
            Ok(Some(part))
        }
    }
}

/// What a server answers at the end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The result code.
    pub code: u32,
    /// The deepest entry of the DN that there is.
    pub matched: &'a [u8],
    /// The server's words.
    pub words: &'a [u8],
    /// Whether it names other servers.
    pub is_referral: bool,
}

impl<'a> Outcome<'a> {
    /// Reads the body of an answer that ends an operation; None where it is none.
    #[must_use]
    #[inline]
    pub fn read(op: &Tlv<'a>) -> Option<Self> {
        if let [0x0a, 1, code @ 0..0x80, 0x04, 0, 0x04, 0] = *op.body {
            return Some(Self {
                code: u32::from(code),
                matched: &[],
                words: &[],
                is_referral: false,
            });
        }
        let mut parts = op.parts();
        let code = parts.whole().filter(|part| part.tag == 0x0a)?.number()?;
        let matched = parts.whole().filter(|part| part.tag == 0x04)?.body;
        let words = parts.whole().filter(|part| part.tag == 0x04)?.body;
        let is_referral = parts.whole().is_some_and(|part| part.tag == REFERRAL);
        Some(Self {
            code: u32::try_from(code).ok()?,
            matched,
            words,
            is_referral,
        })
    }
}

/// One entry of a search's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its DN.
    pub dn: &'a [u8],
    /// Its attributes: each part is a sequence of a name and a set of values.
    pub attributes: Tlv<'a>,
}

impl<'a> Entry<'a> {
    /// Reads the body of a search entry; None where it is none.
    #[must_use]
    #[inline]
    pub fn read(op: &Tlv<'a>) -> Option<Self> {
        let mut parts = op.parts();
        let dn = parts.whole().filter(|part| part.tag == 0x04)?.body;
        let attributes = parts.whole().filter(|part| part.tag == SEQUENCE)?;
        Some(Self { dn, attributes })
    }

    /// Name and values of each attribute; ends early where they are no attributes.
    pub fn each(&self) -> impl Iterator<Item = (&'a [u8], Tlv<'a>)> + use<'a> {
        let mut parts = self.attributes.parts();
        std::iter::from_fn(move || {
            let mut attribute = parts.whole().filter(|part| part.tag == SEQUENCE)?.parts();
            let name = attribute.whole().filter(|part| part.tag == 0x04)?.body;
            let values = attribute.whole().filter(|part| part.tag == 0x31)?;
            Some((name, values))
        })
    }
}

/// A search request, as far as it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchRequest<'a> {
    /// The DN of the base.
    pub base: Option<&'a [u8]>,
    /// 0 base, 1 one level, 2 the whole subtree.
    pub scope: Option<u64>,
    /// How many entries are wanted at most; 0 is any number.
    pub size_limit: Option<u64>,
    /// The filter.
    pub filter: Option<Tlv<'a>>,
    /// The attributes that are wanted.
    pub attributes: Option<Tlv<'a>>,
}

impl<'a> SearchRequest<'a> {
    /// Reads the body of a search request.
    #[must_use]
    pub fn read(op: &Tlv<'a>) -> Self {
        let mut request = Self::default();
        if op.tag != op::SEARCH {
            return request;
        }
        for (place, part) in op.parts().enumerate() {
            let Ok(part) = part else { break };
            match place {
                0 if part.is_whole() => request.base = Some(part.body),
                1 => request.scope = part.number(),
                3 => request.size_limit = part.number(),
                6 => request.filter = Some(part),
                7 => request.attributes = Some(part),
                _ => {}
            }
        }
        request
    }
}

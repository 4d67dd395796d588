//! One LDAP message as far as it was captured: its id, its operation, and whether bytes look like the start of one.

use crate::ber::{Element, Head, Walk, head};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
/// Longer messages are taken for damage: servers refuse them, too.
pub const LONGEST: u64 = 256 << 20;

pub const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Search,
    Bind,
    Compare,
    Modify,
    Add,
    Delete,
    ModifyDn,
    Extended,
    Abandon,
    Unbind,
}

impl Kind {
    pub const ALL: [Self; 10] = [
        Self::Search,
        Self::Bind,
        Self::Compare,
        Self::Modify,
        Self::Add,
        Self::Delete,
        Self::ModifyDn,
        Self::Extended,
        Self::Abandon,
        Self::Unbind,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Bind => "bind",
            Self::Compare => "compare",
            Self::Modify => "modify",
            Self::Add => "add",
            Self::Delete => "delete",
            Self::ModifyDn => "modify_dn",
            Self::Extended => "extended",
            Self::Abandon => "abandon",
            Self::Unbind => "unbind",
        }
    }

    /// Whether the server answers it.
    pub fn is_answered(self) -> bool {
        !matches!(self, Self::Abandon | Self::Unbind)
    }
}

/// What a message of the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Entry,
    Reference,
    Intermediate,
    /// The last message of the answer to an operation of this kind.
    Result(Kind),
}

/// The operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Request(Kind),
    Answer(Answer),
}

impl Operation {
    fn of(tag: u8) -> Option<Self> {
        use Answer::{Entry, Intermediate, Reference, Result};
        Some(match tag {
            0x60 => Self::Request(Kind::Bind),
            0x42 => Self::Request(Kind::Unbind),
            0x63 => Self::Request(Kind::Search),
            0x66 => Self::Request(Kind::Modify),
            0x68 => Self::Request(Kind::Add),
            0x4a => Self::Request(Kind::Delete),
            0x6c => Self::Request(Kind::ModifyDn),
            0x6e => Self::Request(Kind::Compare),
            0x50 => Self::Request(Kind::Abandon),
            0x77 => Self::Request(Kind::Extended),
            0x61 => Self::Answer(Result(Kind::Bind)),
            0x64 => Self::Answer(Entry),
            0x65 => Self::Answer(Result(Kind::Search)),
            0x73 => Self::Answer(Reference),
            0x67 => Self::Answer(Result(Kind::Modify)),
            0x69 => Self::Answer(Result(Kind::Add)),
            0x6b => Self::Answer(Result(Kind::Delete)),
            0x6d => Self::Answer(Result(Kind::ModifyDn)),
            0x6f => Self::Answer(Result(Kind::Compare)),
            0x78 => Self::Answer(Result(Kind::Extended)),
            0x79 => Self::Answer(Intermediate),
            _ => return None,
        })
    }

    fn side(self) -> Side {
        match self {
            Self::Request(_) => Side::Client,
            Self::Answer(_) => Side::Server,
        }
    }

    /// The tags that the content can begin with; none where it has no element of its own, or may be empty.
    fn begins_with(self) -> &'static [u8] {
        match self {
            Self::Request(Kind::Bind) => &[INTEGER],
            Self::Request(Kind::Unbind | Kind::Delete | Kind::Abandon) | Self::Answer(Answer::Intermediate) => &[],
            Self::Request(Kind::Extended) => &[0x80],
            Self::Request(_) | Self::Answer(Answer::Entry | Answer::Reference) => &[0x04],
            Self::Answer(Answer::Result(_)) => &[ENUMERATED],
        }
    }
}

/// A message, as far as it is there.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub id: u32,
    pub operation: Operation,
    pub content: Element<'a>,
}

/// Reads the id and the operation of a message, which may have been cut behind them.
#[inline]
pub fn read(bytes: &[u8]) -> Option<Message<'_>> {
    let Head::Complete { tag: SEQUENCE, header, length } = head(bytes) else {
        return None;
    };
    let mut walk = Walk::over(bytes.get(header..)?, length);
    let id = walk.next().filter(|one| one.tag == INTEGER)?.number()?;
    let content = walk.next()?;
    let operation = Operation::of(content.tag)?;
    Some(Message { id: u32::try_from(id).ok()?, operation, content })
}

/// Whether bytes are the start of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Yes,
    /// As far as they go; more are needed.
    Perhaps,
    No,
}

/// Bytes within which `start` knows for certain: a header, an id, the header of an operation, its first element.
pub const CERTAIN: usize = 2 + 8 + 6 + 10 + 3;

/// Looks whether a message of this side begins here, closely enough not to take the text of an entry for one.
pub fn start(bytes: &[u8], side: Side) -> Start {
    let Some(&first) = bytes.first() else {
        return Start::Perhaps;
    };
    if first != SEQUENCE {
        return Start::No;
    }
    let (at, length) = match head(bytes) {
        Head::Complete { header, length, .. } if (5..=LONGEST).contains(&length) => (header, length),
        Head::Short => return Start::Perhaps,
        _ => return Start::No,
    };
    match identified(&bytes[at..], length) {
        Ok((rest, left)) => operated(rest, left, side),
        Err(found) => found,
    }
}

/// The bytes behind a message's id, and how far the message goes on there.
fn identified(bytes: &[u8], length: u64) -> Result<(&[u8], u64), Start> {
    match head(bytes) {
        Head::Complete { tag: INTEGER, header: 2, length: size @ 1..=4 } => {
            let Some(&first) = bytes.get(2) else {
                return Err(Start::Perhaps);
            };
            if first & 0x80 != 0 {
                return Err(Start::No);
            }
            let at = 2 + size as usize;
            let rest = bytes.get(at..).ok_or(Start::Perhaps)?;
            Ok((rest, length.checked_sub(at as u64).ok_or(Start::No)?))
        }
        Head::Short => Err(Start::Perhaps),
        _ => Err(Start::No),
    }
}

fn operated(bytes: &[u8], left: u64, side: Side) -> Start {
    let Some(&tag) = bytes.first() else {
        return Start::Perhaps;
    };
    let Some(operation) = Operation::of(tag).filter(|one| one.side() == side) else {
        return Start::No;
    };
    let (header, length) = match head(bytes) {
        Head::Complete { header, length, .. } => (header, length),
        Head::Short => return Start::Perhaps,
        Head::Bad => return Start::No,
    };
    let Some(behind) = left.checked_sub(length.saturating_add(header as u64)) else {
        return Start::No;
    };
    if behind == 1 || (operation == Operation::Request(Kind::Unbind) && length != 0) {
        return Start::No;
    }
    let begins_with = operation.begins_with();
    match bytes.get(header) {
        _ if begins_with.is_empty() => Start::Yes,
        None => Start::Perhaps,
        Some(first) if length > 0 && begins_with.contains(first) => Start::Yes,
        Some(_) => Start::No,
    }
}

/// The code of a result; None where it was cut off.
pub fn result_code(content: Element<'_>) -> Option<u32> {
    let code = content.inside().next().filter(|one| one.tag == ENUMERATED)?;
    u32::try_from(code.number()?).ok()
}

/// The id that an abandon request names.
pub fn abandoned_id(content: Element<'_>) -> Option<u32> {
    u32::try_from(content.number()?).ok()
}

/// Whether an extended request asks for TLS.
pub fn asks_for_tls(content: Element<'_>) -> bool {
    content.inside().next().is_some_and(|name| name.tag == 0x80 && name.content == START_TLS)
}

/// Whether a bind is by SASL, after which a layer may begin.
pub fn binds_by_sasl(content: Element<'_>) -> bool {
    content.inside().nth(2).is_some_and(|method| method.tag == 0xa3)
}

/// What a search asks for beside its filter.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// base, one level, subtree, children
    pub scope: Option<usize>,
    pub filter: Option<Element<'a>>,
    pub attributes: Attributes,
}

/// Which attributes a search wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// The list was cut off.
    Unknown,
    All,
    /// `1.1`
    None,
    Named(u32),
}

/// Reads a search request.
pub fn search(content: Element<'_>) -> Search<'_> {
    let mut walk = content.inside();
    let mut found = Search { scope: None, filter: None, attributes: Attributes::Unknown };
    let _base = walk.next();
    found.scope = walk.next().and_then(|one| one.number()).and_then(|scope| usize::try_from(scope).ok()).filter(|scope| *scope < 4);
    found.filter = walk.nth(4);
    if let Some(list) = walk.next().filter(|one| one.tag == SEQUENCE && one.whole()) {
        found.attributes = attributes(list);
    }
    found
}

fn attributes(list: Element<'_>) -> Attributes {
    let (mut named, mut all) = (0, list.length == 0);
    for one in list.inside() {
        match one.content {
            b"1.1" if list.inside().count() == 1 => return Attributes::None,
            b"*" => all = true,
            _ => named += 1,
        }
    }
    if all { Attributes::All } else { Attributes::Named(named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH_DONE: [u8; 14] = [0x30, 0x0c, 0x02, 0x01, 0x05, 0x65, 0x07, 0x0a, 0x01, 0x20, 0x04, 0x00, 0x04, 0x00];

    #[test]
    fn a_result_has_id_kind_and_code() {
        let message = read(&SEARCH_DONE).unwrap();
        assert_eq!(message.id, 5);
        assert_eq!(message.operation, Operation::Answer(Answer::Result(Kind::Search)));
        assert_eq!(result_code(message.content), Some(32));
    }

    #[test]
    fn a_result_that_was_cut_keeps_its_code() {
        let message = read(&SEARCH_DONE[..10]).unwrap();
        assert_eq!(result_code(message.content), Some(32));
        assert_eq!(result_code(read(&SEARCH_DONE[..9]).unwrap().content), None);
    }

    #[test]
    fn a_start_is_known_from_few_bytes() {
        assert_eq!(start(&SEARCH_DONE, Side::Server), Start::Yes);
        assert_eq!(start(&SEARCH_DONE, Side::Client), Start::No);
        for end in 0..7 {
            assert_eq!(start(&SEARCH_DONE[..end], Side::Server), Start::Perhaps, "{end}");
        }
        assert_eq!(start(&[0x30, 0x05, 0x02, 0x01, 0x03, 0x42, 0x00], Side::Client), Start::Yes);
        assert_eq!(start(b"0=dc", Side::Server), Start::No);
    }
}

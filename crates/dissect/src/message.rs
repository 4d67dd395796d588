//! One LDAP message as far as it was captured: its id, its operation, and whether bytes look like the start of one.

use assay_ldap::ber::{self, Flaw, Tlv};
use assay_ldap::message::{self as ldap, SearchRequest};
use assay_ldap::op;

pub const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
const SIMPLE: u8 = 0x80;
const SASL: u8 = 0xa3;
/// The three messages of Active Directory's own authentication; a challenge has the code of success.
const SICILY: u8 = 0x89;
const SICILY_LAST: u8 = 0x8b;
/// Bytes of the shape of a filter; longer ones end in dots.
const MOST_OF_SHAPE: usize = 1024;
const CUT: &str = "(…)";
const MALFORMED: &str = "(malformed)";
/// The content of an unbind: an id and an empty operation.
pub const SHORTEST: usize = 5;
/// Longer messages are taken for damage: servers refuse them, too.
pub const LONGEST: usize = 256 << 20;

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    Search,
    Bind,
    Compare,
    Modify,
    Add,
    Delete,
    Rename,
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
        Self::Rename,
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
            Self::Rename => "rename",
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
            op::BIND => Self::Request(Kind::Bind),
            op::UNBIND => Self::Request(Kind::Unbind),
            op::SEARCH => Self::Request(Kind::Search),
            op::MODIFY => Self::Request(Kind::Modify),
            op::ADD => Self::Request(Kind::Add),
            op::DELETE => Self::Request(Kind::Delete),
            op::RENAME => Self::Request(Kind::Rename),
            op::COMPARE => Self::Request(Kind::Compare),
            op::ABANDON => Self::Request(Kind::Abandon),
            op::EXTENDED => Self::Request(Kind::Extended),
            op::BIND_RESPONSE => Self::Answer(Result(Kind::Bind)),
            op::SEARCH_ENTRY => Self::Answer(Entry),
            op::SEARCH_DONE => Self::Answer(Result(Kind::Search)),
            op::SEARCH_REFERENCE => Self::Answer(Reference),
            op::MODIFY_RESPONSE => Self::Answer(Result(Kind::Modify)),
            op::ADD_RESPONSE => Self::Answer(Result(Kind::Add)),
            op::DELETE_RESPONSE => Self::Answer(Result(Kind::Delete)),
            op::RENAME_RESPONSE => Self::Answer(Result(Kind::Rename)),
            op::COMPARE_RESPONSE => Self::Answer(Result(Kind::Compare)),
            op::EXTENDED_RESPONSE => Self::Answer(Result(Kind::Extended)),
            op::INTERMEDIATE => Self::Answer(Intermediate),
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
            Self::Request(Kind::Unbind | Kind::Delete | Kind::Abandon)
            | Self::Answer(Answer::Intermediate) => &[],
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
    pub content: Tlv<'a>,
    pub controls: Option<Tlv<'a>>,
}

/// Reads the id and the operation of a message, which may have been cut behind them.
///
/// # Errors
/// `Cut` where they are not there, `Malformed` where this is no message, or one that LDAP does not have.
#[inline]
pub fn read(bytes: &[u8]) -> Result<Message<'_>, Flaw> {
    let message = ldap::Message::read(bytes)?;
    let (Some(id), Some(content)) = (message.id, message.op) else {
        return Err(if message.is_whole(bytes) {
            Flaw::Malformed
        } else {
            Flaw::Cut
        });
    };
    let operation = Operation::of(content.tag).ok_or(Flaw::Malformed)?;
    Ok(Message {
        id,
        operation,
        content,
        controls: message.controls,
    })
}

/// Whether the message that begins here is all of these bytes, or others follow it, and what it holds is LDAP.
pub fn is_plausible(bytes: &[u8], side: Side) -> bool {
    let Ok(whole) = ber::read(bytes) else {
        return false;
    };
    let follows = bytes.get(whole.span());
    if !whole.is_whole() || follows.is_some_and(|tag| *tag != SEQUENCE) {
        return false;
    }
    let Ok(message) = read(bytes) else {
        return false;
    };
    match message.operation {
        one if one.side() != side => false,
        Operation::Request(Kind::Search) => {
            let request = SearchRequest::read(&message.content);
            request.scope.is_some_and(|scope| scope < 4) && request.filter.is_some()
        }
        Operation::Request(Kind::Bind) => bind(&message.content).is_some(),
        Operation::Answer(Answer::Result(_)) => result_code(&message.content).is_some(),
        _ => true,
    }
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
    let envelope = match ber::read(bytes) {
        Ok(found) if found.tag == SEQUENCE && (SHORTEST..=LONGEST).contains(&found.length) => found,
        Err(Flaw::Cut) if bytes.first().is_none_or(|first| *first == SEQUENCE) => {
            return Start::Perhaps;
        }
        _ => return Start::No,
    };
    let id = match ber::read(envelope.body) {
        Ok(found) if found.tag == INTEGER && (1..=4).contains(&found.length) => found,
        Err(Flaw::Cut) if !envelope.is_whole() => return Start::Perhaps,
        _ => return Start::No,
    };
    match id.body.first() {
        Some(first) if first & 0x80 == 0 => {}
        Some(_) => return Start::No,
        None => return Start::Perhaps,
    }
    match (
        envelope.body.get(id.span()..),
        envelope.length.checked_sub(id.span()),
    ) {
        (_, None) => Start::No,
        (None, _) => Start::Perhaps,
        (Some(rest), Some(left)) => operated(rest, left, side),
    }
}

/// Looks at the operation, whose message goes on for `left` bytes.
fn operated(bytes: &[u8], left: usize, side: Side) -> Start {
    let Some(&tag) = bytes.first() else {
        return Start::Perhaps;
    };
    let Some(operation) = Operation::of(tag).filter(|one| one.side() == side) else {
        return Start::No;
    };
    let content = match ber::read(bytes) {
        Ok(found) => found,
        Err(Flaw::Cut) => return Start::Perhaps,
        Err(Flaw::Malformed) => return Start::No,
    };
    let behind = left.checked_sub(content.span());
    if matches!(behind, None | Some(1))
        || (operation == Operation::Request(Kind::Unbind) && content.length != 0)
    {
        return Start::No;
    }
    let begins_with = operation.begins_with();
    match content.body.first() {
        _ if begins_with.is_empty() => Start::Yes,
        Some(first) if begins_with.contains(first) => Start::Yes,
        None if content.length > 0 => Start::Perhaps,
        _ => Start::No,
    }
}

/// The code of a result; None where it was cut off.
pub fn result_code(content: &Tlv<'_>) -> Option<u32> {
    let code = content
        .parts()
        .whole()
        .filter(|part| part.tag == ENUMERATED)?;
    u32::try_from(code.number()?).ok()
}

/// The id that an abandon request names.
pub fn abandoned_id(content: &Tlv<'_>) -> Option<u32> {
    u32::try_from(content.number()?).ok()
}

/// Whether an extended request asks for TLS.
pub fn asks_for_tls(content: &Tlv<'_>) -> bool {
    content
        .parts()
        .whole()
        .is_some_and(|name| name.tag == 0x80 && name.body == op::START_TLS.as_bytes())
}

/// How a bind authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// `anonymous`, `unauthenticated` (a name without a password), `simple`, or a mechanism of SASL.
    pub mechanism: &'a [u8],
    /// Whether a layer may begin after it.
    pub by_sasl: bool,
    /// Whether another message of the same authentication follows, whatever the result says.
    pub goes_on: bool,
}

/// Reads a bind; None where it is none, or was cut off.
pub fn bind<'a>(content: &Tlv<'a>) -> Option<Bind<'a>> {
    let mut parts = content.parts();
    let version = parts.whole()?.number()?;
    let name = parts.whole().filter(|part| part.tag == 0x04)?;
    let method = parts.next()?.ok()?;
    let mechanism: &[u8] = match method.tag {
        SIMPLE if method.length > 0 => b"simple",
        SIMPLE if name.length > 0 => b"unauthenticated",
        SIMPLE => b"anonymous",
        SASL => method.parts().whole().filter(|part| part.tag == 0x04)?.body,
        SICILY..=SICILY_LAST => b"Sicily",
        _ => return None,
    };
    (1..=3).contains(&version).then_some(Bind {
        mechanism,
        by_sasl: method.tag != SIMPLE,
        goes_on: (SICILY..SICILY_LAST).contains(&method.tag),
    })
}

/// The object identifier that an extended request names.
pub fn extended<'a>(content: &Tlv<'a>) -> Option<&'a [u8]> {
    let name = content.parts().whole().filter(|part| part.tag == 0x80)?;
    Some(name.body)
}

/// A control of a message: its object identifier and its value, if it has one.
pub fn each_control<'a>(controls: &Tlv<'a>) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
    let mut each = controls.parts();
    std::iter::from_fn(move || {
        let mut parts = each.whole().filter(|part| part.tag == SEQUENCE)?.parts();
        let name = parts.whole().filter(|part| part.tag == 0x04)?.body;
        let value = std::iter::from_fn(|| parts.whole()).find(|part| part.tag == 0x04);
        Some((name, value.map(|value| value.body)))
    })
}

/// Which part of a paged search a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    First,
    Next,
    /// None more.
    End,
}

/// Reads the value of the control of paged results (RFC 2696).
pub fn page(value: &[u8]) -> Option<Page> {
    let mut parts = ber::read(value).ok()?.parts();
    let size = parts.whole().filter(|part| part.tag == INTEGER)?.number()?;
    let cookie = parts.whole().filter(|part| part.tag == 0x04)?;
    Some(match (cookie.length, size) {
        (0, _) => Page::First,
        (_, 0) => Page::End,
        _ => Page::Next,
    })
}

/// Which attributes a search wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attributes {
    /// The list was cut off.
    Unknown,
    All,
    /// `1.1`
    None,
    Named(u32),
}

/// What a search asks for beside its filter.
pub fn attributes(request: &SearchRequest<'_>) -> Attributes {
    let Some(list) = request.attributes.filter(Tlv::is_whole) else {
        return Attributes::Unknown;
    };
    let (mut named, mut all) = (0, list.length == 0);
    for one in list.parts().flatten() {
        match one.body {
            b"1.1" if one.span() == list.length => return Attributes::None,
            b"*" => all = true,
            _ => named += 1,
        }
    }
    if all {
        Attributes::All
    } else {
        Attributes::Named(named)
    }
}

/// The shape of a search's filter; dots where it was cut off.
pub fn shape(request: &SearchRequest<'_>) -> String {
    let mut shape = match &request.filter {
        Some(filter) => assay_ldap::filter::shape(filter).unwrap_or_else(|| MALFORMED.to_owned()),
        None => CUT.to_owned(),
    };
    if shape.len() > MOST_OF_SHAPE {
        let end = (0..=MOST_OF_SHAPE)
            .rev()
            .find(|at| shape.is_char_boundary(*at))
            .unwrap_or(0);
        shape.truncate(end);
        shape.push('…');
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH_DONE: [u8; 14] = [
        0x30, 0x0c, 0x02, 0x01, 0x05, 0x65, 0x07, 0x0a, 0x01, 0x20, 0x04, 0x00, 0x04, 0x00,
    ];

    #[test]
    fn a_result_has_id_kind_and_code() {
        let message = read(&SEARCH_DONE).unwrap();
        assert_eq!(message.id, 5);
        assert_eq!(
            message.operation,
            Operation::Answer(Answer::Result(Kind::Search))
        );
        assert_eq!(result_code(&message.content), Some(32));
    }

    #[test]
    fn a_result_that_was_cut_keeps_its_code() {
        let message = read(&SEARCH_DONE[..10]).unwrap();
        assert_eq!(result_code(&message.content), Some(32));
        assert_eq!(result_code(&read(&SEARCH_DONE[..9]).unwrap().content), None);
    }

    #[test]
    fn a_start_is_known_from_few_bytes() {
        assert_eq!(start(&SEARCH_DONE, Side::Server), Start::Yes);
        assert_eq!(start(&SEARCH_DONE, Side::Client), Start::No);
        for end in 0..7 {
            assert_eq!(
                start(&SEARCH_DONE[..end], Side::Server),
                Start::Perhaps,
                "{end}"
            );
        }
        assert_eq!(
            start(&[0x30, 0x05, 0x02, 0x01, 0x03, 0x42, 0x00], Side::Client),
            Start::Yes
        );
        assert_eq!(start(b"0=dc", Side::Server), Start::No);
    }
}

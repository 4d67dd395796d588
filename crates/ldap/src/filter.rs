//! Filters: from text (RFC 4515) to a message, and from a message to their shape without values.

use crate::ber::Tlv;
use crate::template::{Mistake, Node, pieces};

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const AT_LEAST: u8 = 0xa5;
const AT_MOST: u8 = 0xa6;
const PRESENT: u8 = 0x87;
const APPROXIMATE: u8 = 0xa8;
const EXTENSIBLE: u8 = 0xa9;
/// How deep filters may be nested.
const MOST_DEPTH: usize = 64;
/// In the place of what was cut off, or is nested too deep.
const MORE: &str = "(…)";
/// Room for the shape of most filters, and for the branches of most, before any growth.
const USUAL_LENGTH: usize = 128;
const USUAL_BRANCHES: usize = 4;

/// The shape of a filter: attribute names in lower case, values `?`, the branches of & and | sorted and each once.
///
/// A filter that was cut short has `(…)` in the place of what is missing. None where this is no filter.
#[must_use]
pub fn shape(filter: &Tlv) -> Option<String> {
    let mut shape = String::with_capacity(USUAL_LENGTH);
    within(filter, 0, &mut shape)?;
    Some(shape)
}

/// Appends the shape of a filter: one text is written, for searches of a capture are many.
fn within(filter: &Tlv, depth: usize, shape: &mut String) -> Option<()> {
    if depth == MOST_DEPTH {
        shape.push_str(MORE);
        return Some(());
    }
    match filter.tag {
        AND | OR => {
            shape.push_str(if filter.tag == AND { "(&" } else { "(|" });
            branches(filter, depth, shape)?;
            shape.push(')');
        }
        NOT => {
            shape.push_str("(!");
            match filter.parts().next() {
                Some(Ok(inner)) => within(&inner, depth + 1, shape)?,
                _ if filter.is_whole() => return None,
                _ => shape.push_str(MORE),
            }
            shape.push(')');
        }
        PRESENT if filter.is_whole() => {
            shape.push('(');
            push_name(shape, filter.body);
            shape.push_str("=*)");
        }
        EQUAL => pair(filter, "=?)", shape)?,
        AT_LEAST => pair(filter, ">=?)", shape)?,
        AT_MOST => pair(filter, "<=?)", shape)?,
        APPROXIMATE => pair(filter, "~=?)", shape)?,
        SUBSTRINGS => substrings(filter, shape)?,
        EXTENSIBLE => extensible(filter, shape)?,
        PRESENT => shape.push_str(MORE),
        _ => return None,
    }
    Some(())
}

fn branches(filter: &Tlv, depth: usize, shape: &mut String) -> Option<()> {
    let begin = shape.len();
    let mut ends = Vec::with_capacity(USUAL_BRANCHES);
    let mut there = 0;
    for part in filter.parts() {
        let Ok(part) = part else { break };
        there += part.span();
        within(&part, depth + 1, shape)?;
        ends.push(shape.len());
    }
    if there < filter.length {
        if filter.is_whole() {
            return None;
        }
        shape.push_str(MORE);
        ends.push(shape.len());
    }
    let starts = std::iter::once(begin).chain(ends.iter().copied());
    let mut found: Vec<&str> = starts
        .zip(&ends)
        .map(|(start, end)| &shape[start..*end])
        .collect();
    if !found.is_sorted_by(|one, other| one < other) {
        found.sort_unstable();
        found.dedup();
        let sorted = found.concat();
        shape.truncate(begin);
        shape.push_str(&sorted);
    }
    Some(())
}

/// Appends a name in lower case.
fn push_name(shape: &mut String, name: &[u8]) {
    match std::str::from_utf8(name) {
        Ok(text) if text.is_ascii() => {
            let begin = shape.len();
            shape.push_str(text);
            shape[begin..].make_ascii_lowercase();
        }
        _ => shape.push_str(&String::from_utf8_lossy(name).to_lowercase()),
    }
}

/// The attribute at the beginning, with a bracket before it; false where what stands for it was cut off. None where there is none.
fn push_attribute(filter: &Tlv, shape: &mut String) -> Option<bool> {
    match filter.parts().next() {
        Some(Ok(part)) if part.tag == 0x04 && part.is_whole() => {
            shape.push('(');
            push_name(shape, part.body);
            Some(true)
        }
        _ if filter.is_whole() => None,
        _ => {
            shape.push_str(MORE);
            Some(false)
        }
    }
}

fn pair(filter: &Tlv, sign: &str, shape: &mut String) -> Option<()> {
    if push_attribute(filter, shape)? {
        shape.push_str(sign);
    }
    Some(())
}

fn substrings(filter: &Tlv, shape: &mut String) -> Option<()> {
    if !push_attribute(filter, shape)? {
        return Some(());
    }
    shape.push('=');
    let Some(Ok(list)) = filter.parts().nth(1) else {
        shape.push_str("…)");
        return (!filter.is_whole()).then_some(());
    };
    let begin = shape.len();
    for part in list.parts() {
        let Ok(part) = part else { break };
        let is_first = shape.len() == begin;
        shape.push_str(match part.tag {
            0x81 if is_first => "*?*",
            0x80 | 0x81 => "?*",
            0x82 if is_first => "*?",
            0x82 => "?",
            _ => return None,
        });
    }
    shape.push(')');
    Some(())
}

fn extensible(filter: &Tlv, shape: &mut String) -> Option<()> {
    let (mut rule, mut attribute, mut dn) = (None, &[][..], "");
    for part in filter.parts() {
        let Ok(part) = part else { break };
        match part.tag {
            0x81 => rule = Some(part.body),
            0x82 => attribute = part.body,
            0x83 => {}
            0x84 => dn = if part.number() == Some(0) { "" } else { ":dn" },
            _ => return None,
        }
    }
    shape.push('(');
    push_name(shape, attribute);
    shape.push_str(dn);
    if let Some(rule) = rule {
        shape.push(':');
        push_name(shape, rule);
    }
    shape.push_str(":=?)");
    Some(())
}

/// A filter from its text, with places for numbers: `(uid=u{key:08d})`.
///
/// # Errors
/// The place of the first mistake.
pub fn parse(text: &str) -> Result<Node, Mistake> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.filter(0)?;
    if reader.at < text.len() {
        return Err(reader.mistake("the end of the filter"));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn mistake(&self, expected: &'static str) -> Mistake {
        let found = self.rest().chars().next();
        Mistake {
            at: self.at,
            found: found.map_or("the end".to_owned(), |found| format!("{found:?}")),
            expected,
        }
    }

    fn take(&mut self, sign: char, expected: &'static str) -> Result<(), Mistake> {
        if !self.rest().starts_with(sign) {
            return Err(self.mistake(expected));
        }
        self.at += sign.len_utf8();
        Ok(())
    }

    fn filter(&mut self, depth: usize) -> Result<Node, Mistake> {
        self.take('(', "'('")?;
        if depth == MOST_DEPTH {
            return Err(self.mistake("filters that are nested at most 64 deep"));
        }
        let node = match self.rest().bytes().next() {
            Some(b'&') => self.list(AND, depth)?,
            Some(b'|') => self.list(OR, depth)?,
            Some(b'!') => {
                self.at += 1;
                Node::Tlv(NOT, vec![self.filter(depth + 1)?])
            }
            _ => self.item()?,
        };
        self.take(')', "')'")?;
        Ok(node)
    }

    fn list(&mut self, tag: u8, depth: usize) -> Result<Node, Mistake> {
        self.at += 1;
        let mut parts = Vec::new();
        while self.rest().starts_with('(') {
            parts.push(self.filter(depth + 1)?);
        }
        Ok(Node::Tlv(tag, parts))
    }

    fn item(&mut self) -> Result<Node, Mistake> {
        let is_name =
            |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.' | ';' | '_');
        let rest = self.rest();
        let end = rest.find(|sign| !is_name(sign)).unwrap_or(rest.len());
        let (attribute, sign) = rest.split_at(end);
        if attribute.is_empty() && !sign.starts_with(':') {
            return Err(self.mistake("the name of an attribute"));
        }
        self.at += end;
        let attribute = Node::bytes(0x04, attribute.as_bytes());
        let (tag, length) = match sign.as_bytes() {
            [b'>', b'=', ..] => (AT_LEAST, 2),
            [b'<', b'=', ..] => (AT_MOST, 2),
            [b'~', b'=', ..] => (APPROXIMATE, 2),
            [b'=', ..] => (EQUAL, 1),
            [b':', ..] => return self.rule(&rest[..end]),
            _ => return Err(self.mistake("=, >=, <=, ~= or :=")),
        };
        self.at += length;
        let (from, value) = (self.at, self.value()?);
        if tag == EQUAL && value == "*" {
            let Node::Tlv(_, name) = attribute else {
                unreachable!("made above")
            };
            return Ok(Node::Tlv(PRESENT, name));
        }
        if tag == EQUAL && value.contains('*') {
            return Ok(Node::Tlv(SUBSTRINGS, vec![attribute, parts(value, from)?]));
        }
        Ok(Node::Tlv(tag, vec![attribute, text(0x04, value, from)?]))
    }

    /// The text up to the bracket that closes the item.
    fn value(&mut self) -> Result<&'a str, Mistake> {
        let rest = self.rest();
        let end = rest.find([')', '(']).unwrap_or(rest.len());
        self.at += end;
        if !self.rest().starts_with(')') {
            return Err(self.mistake("')', or \\28 for a bracket in a value"));
        }
        Ok(&rest[..end])
    }

    /// `attr:dn:rule:=value`, of which attr, dn or rule may be left out.
    fn rule(&mut self, attribute: &str) -> Result<Node, Mistake> {
        let rest = self.rest();
        let end = rest.find(":=").ok_or_else(|| self.mistake(":="))?;
        let mut names = rest[..end].split(':').filter(|name| !name.is_empty());
        let mut name = names.next();
        let dn = name.is_some_and(|name| name.eq_ignore_ascii_case("dn"));
        if dn {
            name = names.next();
        }
        if names.next().is_some() || name.is_none() && attribute.is_empty() {
            return Err(self.mistake("attribute:dn:rule:=value"));
        }
        self.at += end + 2;
        let from = self.at;
        let value = self.value()?;
        let mut parts = Vec::new();
        parts.extend(name.map(|rule| Node::bytes(0x81, rule.as_bytes())));
        if !attribute.is_empty() {
            parts.push(Node::bytes(0x82, attribute.as_bytes()));
        }
        parts.push(text(0x83, value, from)?);
        parts.extend(dn.then(|| Node::bytes(0x84, &[0xff])));
        Ok(Node::Tlv(EXTENSIBLE, parts))
    }
}

/// `one*two*three` in its parts.
fn parts(value: &str, from: usize) -> Result<Node, Mistake> {
    let last = value.matches('*').count();
    let (mut parts, mut at) = (Vec::new(), from);
    for (place, piece) in value.split('*').enumerate() {
        let tag = match place {
            0 => 0x80,
            place if place == last => 0x82,
            _ => 0x81,
        };
        if !piece.is_empty() {
            parts.push(text(tag, piece, at)?);
        } else if place > 0 && place < last {
            return Err(Mistake {
                at,
                found: "'*'".to_owned(),
                expected: "a value between two *",
            });
        }
        at += piece.len() + 1;
    }
    Ok(Node::Tlv(0x30, parts))
}

/// A value with its placeholders and its `\28`.
fn text(tag: u8, value: &str, from: usize) -> Result<Node, Mistake> {
    let mut nodes = pieces(value, from)?;
    for node in &mut nodes {
        if let Node::Bytes(bytes) = node {
            *bytes = unescaped(bytes).map_err(|()| Mistake {
                at: from + value.find('\\').unwrap_or(0),
                found: "'\\\\'".to_owned(),
                expected: "two hexadecimal digits after \\",
            })?;
        }
    }
    Ok(Node::Tlv(tag, nodes))
}

fn unescaped(bytes: &[u8]) -> Result<Vec<u8>, ()> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            plain.push(*first);
            rest = after;
            continue;
        }
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(value.ok_or(())?);
        rest = &after[2..];
    }
    Ok(plain)
}

//! The protocol operations that a client sends, before their lengths are known.

use crate::filter;
use crate::op;
use crate::template::{Mistake, Node};

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const TEXT: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// A search: where, how deep, what for, and what of it.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// The DN of the base.
    pub base: &'a str,
    /// 0 base, 1 one level, 2 the whole subtree.
    pub scope: u32,
    /// The filter, as in RFC 4515.
    pub filter: &'a str,
    /// The attributes that are wanted; none is all, `1.1` is none.
    pub attributes: &'a [String],
    /// The most entries; 0 is as many as there are.
    pub size_limit: u32,
}

/// A simple bind; name and password are taken as they are, with their braces.
#[must_use]
pub fn bind(name: &str, password: &[u8]) -> Node {
    Node::Tlv(
        op::BIND,
        vec![
            Node::number(INTEGER, 3),
            Node::bytes(TEXT, name.as_bytes()),
            Node::bytes(0x80, password),
        ],
    )
}

/// The end of a connection.
#[must_use]
pub fn unbind() -> Node {
    Node::Tlv(op::UNBIND, Vec::new())
}

/// The request of an extended operation without a value, such as `op::START_TLS`.
#[must_use]
pub fn extended(oid: &str) -> Node {
    Node::Tlv(op::EXTENDED, vec![Node::bytes(0x80, oid.as_bytes())])
}

/// A search.
///
/// # Errors
/// The place of the first mistake in base, filter or attributes.
pub fn search(search: &Search) -> Result<Node, Mistake> {
    let attributes: Result<_, _> = search
        .attributes
        .iter()
        .map(|name| Node::text(TEXT, name))
        .collect();
    Ok(Node::Tlv(
        op::SEARCH,
        vec![
            Node::text(TEXT, search.base)?,
            Node::number(ENUMERATED, search.scope),
            Node::number(ENUMERATED, 0),
            Node::number(INTEGER, search.size_limit),
            Node::number(INTEGER, 0),
            Node::bytes(BOOLEAN, &[0]),
            filter::parse(search.filter)?,
            Node::Tlv(SEQUENCE, attributes?),
        ],
    ))
}

/// A compare of one attribute with one value.
///
/// # Errors
/// The place of the first mistake in a placeholder.
pub fn compare(dn: &str, attribute: &str, value: &str) -> Result<Node, Mistake> {
    let assertion = vec![Node::text(TEXT, attribute)?, Node::text(TEXT, value)?];
    let parts = vec![Node::text(TEXT, dn)?, Node::Tlv(SEQUENCE, assertion)];
    Ok(Node::Tlv(op::COMPARE, parts))
}

/// An attribute with its values.
pub type Attribute = (String, Vec<String>);

fn attribute((name, values): &Attribute) -> Result<Node, Mistake> {
    let values: Result<_, _> = values.iter().map(|value| Node::text(TEXT, value)).collect();
    let parts = vec![Node::text(TEXT, name)?, Node::Tlv(SET, values?)];
    Ok(Node::Tlv(SEQUENCE, parts))
}

/// A new entry.
///
/// # Errors
/// The place of the first mistake in a placeholder.
pub fn add(dn: &str, attributes: &[Attribute]) -> Result<Node, Mistake> {
    let attributes: Result<_, _> = attributes.iter().map(attribute).collect();
    let parts = vec![Node::text(TEXT, dn)?, Node::Tlv(SEQUENCE, attributes?)];
    Ok(Node::Tlv(op::ADD, parts))
}

/// A new entry whose texts are taken as they are, with their braces.
#[must_use]
pub fn entry(dn: &[u8], attributes: &[(Vec<u8>, Vec<Vec<u8>>)]) -> Node {
    let attribute = |(name, values): &(Vec<u8>, Vec<Vec<u8>>)| {
        let values = values.iter().map(|value| Node::bytes(TEXT, value));
        let parts = vec![Node::bytes(TEXT, name), Node::Tlv(SET, values.collect())];
        Node::Tlv(SEQUENCE, parts)
    };
    let attributes = attributes.iter().map(attribute).collect();
    let parts = vec![Node::bytes(TEXT, dn), Node::Tlv(SEQUENCE, attributes)];
    Node::Tlv(op::ADD, parts)
}

/// How an attribute is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The values are added.
    Add = 0,
    /// The values go; without values, the attribute.
    Delete = 1,
    /// The values are put in the place of all there were.
    Replace = 2,
}

/// A change of an entry.
///
/// # Errors
/// The place of the first mistake in a placeholder.
pub fn modify(dn: &str, changes: &[(Change, Attribute)]) -> Result<Node, Mistake> {
    let change = |(how, what): &(Change, Attribute)| {
        let parts = vec![Node::number(ENUMERATED, *how as u32), attribute(what)?];
        Ok(Node::Tlv(SEQUENCE, parts))
    };
    let changes: Result<_, Mistake> = changes.iter().map(change).collect();
    let parts = vec![Node::text(TEXT, dn)?, Node::Tlv(SEQUENCE, changes?)];
    Ok(Node::Tlv(op::MODIFY, parts))
}

/// The end of an entry.
///
/// # Errors
/// The place of the first mistake in a placeholder.
pub fn delete(dn: &str) -> Result<Node, Mistake> {
    Node::text(op::DELETE, dn)
}

/// Another name for an entry; the old one goes.
///
/// # Errors
/// The place of the first mistake in a placeholder.
pub fn rename(dn: &str, new_rdn: &str, new_superior: Option<&str>) -> Result<Node, Mistake> {
    let mut parts = vec![
        Node::text(TEXT, dn)?,
        Node::text(TEXT, new_rdn)?,
        Node::bytes(BOOLEAN, &[0xff]),
    ];
    if let Some(superior) = new_superior {
        parts.push(Node::text(0x80, superior)?);
    }
    Ok(Node::Tlv(op::RENAME, parts))
}

//! An operation of the mix, ready to be sent: its message with room for numbers, and what its answer must be.

use super::answers::Pending;
use super::feed::Feed;
use super::keys::Draw;
use super::settings::{Expected, How, Kind, Operation, Scope, digits};
use crate::directory_result::DirectoryOperation;
use crate::protocol::Fault;
use assay_ldap::build::{self, Change, Search};
use assay_ldap::op;
use assay_ldap::template::{Mistake, Node, Template, Words};

/// Digits of the largest key.
const MOST_DIGITS: usize = 20;
const SUCCESS: u32 = 0;
const COMPARE_TRUE: u32 = 6;
const NO_SUCH_OBJECT: u32 = 32;

/// A text with room for numbers, in as many lengths as its key can have.
pub struct Text(Vec<Words>);

impl Text {
    fn new(text: &str) -> Result<Self, Mistake> {
        let lengths = if text.contains("{key}") {
            1..=MOST_DIGITS
        } else {
            1..=1
        };
        let words: Result<_, _> = lengths.map(|length| Words::new(text, length)).collect();
        words.map(Self)
    }

    /// The text with these numbers.
    #[inline]
    pub fn with(&mut self, key: u64, turn: u64) -> &[u8] {
        let place = if self.0.len() > 1 { digits(key) - 1 } else { 0 };
        self.0[place].with(key, turn)
    }
}

/// What a right answer is.
pub struct Right {
    pub codes: Vec<u32>,
    pub miss_codes: Vec<u32>,
    pub entries: Option<u64>,
    pub references: bool,
    pub dn: Option<Text>,
    /// Attributes in lower case, with the values that each must have.
    pub values: Vec<(Vec<u8>, Vec<Text>)>,
}

/// One operation of the mix, of one worker.
pub struct Planned {
    pub name: String,
    /// The tag of the answer that ends it.
    pub answer: u8,
    pub slot: usize,
    /// Where the time to the first entry is noted.
    pub first_slot: Option<usize>,
    pub right: Right,
    pub draw: Draw,
    pub account: DirectoryOperation,
    /// Requests that were begun and never sent: the bind before them was not answered with success.
    pub withdrawn: u64,
    /// How often each result code came.
    pub codes: Vec<(u32, u64)>,
    /// The file whose entries it adds.
    pub feed: Option<Box<Feed>>,
    templates: Vec<Template>,
}

impl Planned {
    /// From the settings; `bind` is the bind of this connection.
    pub fn new(
        operation: &Operation,
        slots: (usize, Option<usize>),
        bind: &Node,
        draw: Draw,
    ) -> Result<Self, Fault> {
        let node = node(operation, bind)?;
        let last = operation.last_key();
        if node.key_digits().is_some_and(|room| digits(last) > room) {
            let message = format!("found key {last}; expected a placeholder with room for it");
            return Err(operation.named(message));
        }
        let lengths = if node.is_elastic() {
            1..=MOST_DIGITS
        } else {
            1..=1
        };
        let feed = operation.ldif.as_deref().map(Feed::open);
        let mut codes = Vec::with_capacity(16);
        codes.push((SUCCESS, 0));
        Ok(Self {
            name: operation.name.clone(),
            answer: answer(operation.kind),
            slot: slots.0,
            first_slot: slots.1,
            right: right(operation)?,
            draw,
            account: DirectoryOperation {
                kind: operation.kind.word(),
                ..DirectoryOperation::default()
            },
            withdrawn: 0,
            codes,
            feed: feed.transpose()?.map(Box::new),
            templates: lengths.map(|length| Template::new(&node, length)).collect(),
        })
    }

    /// The message with id and numbers.
    #[inline]
    pub fn message(&mut self, id: u32, key: u64, turn: u64) -> &[u8] {
        let place = if self.templates.len() > 1 {
            digits(key) - 1
        } else {
            0
        };
        self.templates[place].patch(id, key, turn)
    }

    /// Counts a result code.
    #[inline]
    pub fn note_code(&mut self, code: u32) {
        if code == SUCCESS {
            self.codes[0].1 += 1;
            return;
        }
        match self.codes.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += 1,
            None => self.codes.push((code, 1)),
        }
    }

    /// Takes a request back that was begun and never sent.
    #[cold]
    pub fn withdraw(&mut self, pending: &Pending) {
        self.withdrawn += 1;
        self.account.requests -= 1;
        self.account.misses -= u64::from(pending.is_miss);
    }

    /// Names the entry of a file that this request was about: the server did not take it.
    #[cold]
    pub fn refuse(&mut self, pending: &Pending, code: u32, what: &'static str, words: &[u8]) {
        if let Some(feed) = &mut self.feed {
            feed.refuse(pending.turn, code, what, words);
        }
    }

    /// What the answers held.
    pub fn finish(mut self) -> (String, DirectoryOperation) {
        for (code, count) in self.codes.into_iter().filter(|(_, count)| *count > 0) {
            *self.account.codes.entry(op::code_name(code)).or_default() += count;
        }
        self.account.refused = self.feed.map_or_else(Vec::new, |feed| feed.refused);
        (self.name, self.account)
    }
}

fn answer(kind: Kind) -> u8 {
    match kind {
        Kind::Bind => op::BIND_RESPONSE,
        Kind::Search => op::SEARCH_DONE,
        Kind::Compare => op::COMPARE_RESPONSE,
        Kind::Add => op::ADD_RESPONSE,
        Kind::Modify => op::MODIFY_RESPONSE,
        Kind::Delete => op::DELETE_RESPONSE,
        Kind::Rename => op::RENAME_RESPONSE,
    }
}

fn node(operation: &Operation, bind: &Node) -> Result<Node, Fault> {
    let Operation {
        dn, scope, filter, ..
    } = operation;
    let made = match operation.kind {
        Kind::Bind => Ok(bind.clone()),
        Kind::Search => build::search(&Search {
            base: dn,
            scope: *scope as u32,
            filter,
            attributes: &operation.attributes,
            size_limit: operation.size_limit,
        })
        .map_err(|mistake| (mistake, filter.as_str())),
        Kind::Compare => build::compare(dn, &operation.attribute, &operation.value)
            .map_err(|mistake| (mistake, dn.as_str())),
        Kind::Add => {
            let entry: Vec<_> = operation.entry.clone().into_iter().collect();
            build::add(dn, &entry).map_err(|mistake| (mistake, dn.as_str()))
        }
        Kind::Modify => {
            build::modify(dn, &changes(operation)).map_err(|mistake| (mistake, dn.as_str()))
        }
        Kind::Delete => build::delete(dn).map_err(|mistake| (mistake, dn.as_str())),
        Kind::Rename => build::rename(dn, &operation.new_rdn, operation.new_superior.as_deref())
            .map_err(|mistake| (mistake, dn.as_str())),
    };
    made.map_err(|(mistake, text)| operation.named(words(&mistake, text)))
}

fn words(mistake: &Mistake, text: &str) -> String {
    let Mistake {
        at,
        found,
        expected,
    } = mistake;
    format!("found {found} at place {at} of {text:?}; expected {expected}")
}

fn changes(operation: &Operation) -> Vec<(Change, build::Attribute)> {
    let change = |change: &super::settings::Change| {
        let how = match change.how {
            How::Add => Change::Add,
            How::Delete => Change::Delete,
            How::Replace => Change::Replace,
        };
        (how, (change.attribute.clone(), change.values.clone()))
    };
    operation.changes.iter().map(change).collect()
}

fn right(operation: &Operation) -> Result<Right, Fault> {
    let Expected {
        codes,
        entries,
        dn,
        values,
        references,
    } = &operation.expect;
    let text =
        |text: &String| Text::new(text).map_err(|mistake| operation.named(words(&mistake, text)));
    let values: Result<_, Fault> = values
        .iter()
        .map(|(name, wanted)| {
            let wanted: Result<_, Fault> = wanted.iter().map(text).collect();
            Ok((name.to_lowercase().into_bytes(), wanted?))
        })
        .collect();
    let usual = match operation.kind {
        Kind::Compare => COMPARE_TRUE,
        _ => SUCCESS,
    };
    let finds_nothing = operation.kind == Kind::Search && operation.scope != Scope::Base;
    let missed = if finds_nothing && !operation.dn.contains("{key") {
        SUCCESS
    } else {
        NO_SUCH_OBJECT
    };
    Ok(Right {
        codes: named(operation, codes.as_deref(), usual)?,
        miss_codes: named(operation, operation.miss_codes.as_deref(), missed)?,
        entries: *entries,
        references: *references,
        dn: dn.as_ref().map(text).transpose()?,
        values: values?,
    })
}

/// Result codes by name; the usual one where none is named.
fn named(operation: &Operation, names: Option<&[String]>, usual: u32) -> Result<Vec<u32>, Fault> {
    let Some(names) = names else {
        return Ok(vec![usual]);
    };
    let code = |name: &String| {
        let unknown = || {
            operation.named(format!(
                "found result code {name:?}; expected a name of RFC 4511"
            ))
        };
        op::code_of(name).ok_or_else(unknown)
    };
    names.iter().map(code).collect()
}

//! Holds answers against what was asked: entries, DN, attributes, result code.

use super::plan::{Planned, Right};
use assay_ldap::ber::Tlv;
use assay_ldap::message::{Entry, Outcome};
use std::collections::HashSet;

/// Why an answer is wrong, as errors are named.
pub mod wrong {
    pub const MISSING: &str = "entry missing";
    pub const REPEATED: &str = "entry repeated";
    pub const OTHER: &str = "entry of another name";
    pub const TOO_MANY: &str = "entry too many";
    pub const VALUE: &str = "attribute differs";
    pub const REFERENCE: &str = "reference instead of entries";
    pub const KIND: &str = "answer of another kind";
    pub const UNREADABLE: &str = "answer unreadable";
    pub const UNASKED: &str = "answer to no request";
    pub const UNANSWERED: &str = "no answer";
    pub const LOST: &str = "connection lost";
    pub const NO_LDIF: &str = "file unreadable";
}

/// A request under way.
#[derive(Debug, Default)]
pub struct Pending {
    /// 0 where none is under way.
    pub id: u32,
    pub operation: usize,
    pub is_miss: bool,
    /// The bind before it is under way, since then.
    pub binds_from: Option<u64>,
    pub from: u64,
    /// When the first entry was there; 0 before.
    pub first: u64,
    pub key: u64,
    pub turn: u64,
    pub bytes: usize,
    pub entries: u64,
    pub references: u64,
    pub wrong: Option<&'static str>,
    /// The names of the entries so far, where there can be several.
    seen: HashSet<u64>,
}

impl Pending {
    /// Begins anew for another request.
    #[inline]
    pub fn begin(&mut self, id: u32, operation: usize, from: u64, key: (u64, bool), turn: u64) {
        self.id = id;
        self.operation = operation;
        (self.key, self.is_miss) = key;
        self.binds_from = None;
        self.from = from;
        self.first = 0;
        self.turn = turn;
        self.bytes = 0;
        self.entries = 0;
        self.references = 0;
        self.wrong = None;
        if !self.seen.is_empty() {
            self.seen.clear();
        }
    }

    /// Takes one entry of the answer.
    #[inline]
    pub fn entry(&mut self, planned: &mut Planned, op: &Tlv, now: u64) {
        if self.first == 0 {
            self.first = now;
        }
        self.entries += 1;
        let problem = match Entry::read(op) {
            None => Some(wrong::UNREADABLE),
            Some(_) if self.is_miss => Some(wrong::TOO_MANY),
            Some(entry) => self.check(&mut planned.right, &entry),
        };
        if problem.is_some() && self.wrong.is_none() {
            self.wrong = problem;
        }
    }

    #[inline]
    fn check(&mut self, right: &mut Right, entry: &Entry) -> Option<&'static str> {
        let (key, turn) = (self.key, self.turn);
        if let Some(dn) = &mut right.dn
            && !is_same_dn(entry.dn, dn.with(key, turn))
        {
            return Some(wrong::OTHER);
        }
        if right.entries == Some(1) {
            return if self.entries > 1 {
                Some(wrong::REPEATED)
            } else {
                differs(right, entry, key, turn)
            };
        }
        if !self.seen.insert(fingerprint(entry.dn)) {
            return Some(wrong::REPEATED);
        }
        if right.entries.is_some_and(|most| self.entries > most) {
            return Some(wrong::TOO_MANY);
        }
        differs(right, entry, key, turn)
    }

    /// What is wrong with the whole answer; None where it is right. The result code is judged apart.
    #[inline]
    pub fn verdict(&self, planned: &Planned) -> Option<&'static str> {
        if self.references > 0 && !planned.right.references {
            return Some(wrong::REFERENCE);
        }
        let fewest = planned.right.entries.filter(|_| !self.is_miss);
        if self.wrong.is_none() && fewest.is_some_and(|fewest| self.entries < fewest) {
            return Some(wrong::MISSING);
        }
        self.wrong
    }

    /// Whether this result code is one that was to be expected.
    #[inline]
    pub fn accepts(&self, planned: &Planned, outcome: &Outcome) -> bool {
        let right = &planned.right;
        let codes = if self.is_miss {
            &right.miss_codes
        } else {
            &right.codes
        };
        codes.contains(&outcome.code)
    }
}

/// Which attribute is not as it must be, if any.
#[inline]
fn differs(right: &mut Right, entry: &Entry, key: u64, turn: u64) -> Option<&'static str> {
    for (name, wanted) in &mut right.values {
        let found = entry
            .each()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let has = |value: &[u8]| {
            found.is_some_and(|(_, values)| {
                values.parts().flatten().any(|known| known.body == value)
            })
        };
        if !wanted.iter_mut().all(|value| has(value.with(key, turn))) {
            return Some(wrong::VALUE);
        }
    }
    None
}

/// Whether two DNs are the same but for case and spaces between their parts.
#[inline]
fn is_same_dn(one: &[u8], other: &[u8]) -> bool {
    one == other || plain(one) == plain(other)
}

/// A DN in small letters, without spaces between its parts.
#[cold]
pub fn plain(dn: &[u8]) -> Vec<u8> {
    let is_sign = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b',' | b'=' | b'+'));
    let mut bytes = Vec::with_capacity(dn.len());
    for (place, byte) in dn.iter().enumerate() {
        let before = dn[..place].iter().rev().find(|byte| **byte != b' ');
        let after = dn[place..].iter().find(|byte| **byte != b' ');
        if *byte != b' ' || !is_sign(before) && !is_sign(after) {
            bytes.push(byte.to_ascii_lowercase());
        }
    }
    bytes
}

/// A number for a name (FNV-1a), for names that may come only once.
pub fn fingerprint(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whatever_their_case_and_spaces() {
        assert!(is_same_dn(
            b"uid=u1,ou=people,dc=x",
            b"UID=u1, OU=People , dc = x"
        ));
        assert!(is_same_dn(b"cn=two words,dc=x", b"cn=Two Words,dc=x"));
        assert!(!is_same_dn(b"cn=two words,dc=x", b"cn=twowords,dc=x"));
        assert!(!is_same_dn(b"uid=u1,dc=x", b"uid=u2,dc=x"));
    }
}

//! What an `ldap` phase may be given, and what of it cannot be.

use super::address::Address;
use crate::load::Load;
use crate::protocol::Fault;
use serde::Deserialize;
use std::collections::BTreeMap;

const MOST_CONNECTIONS: u64 = 4_096;
pub const MOST_DEPTH: u64 = 1_024;
const MOST_WEIGHT: u64 = 10_000;
const MOST_SHARE: u64 = 1_000_000;
const PATIENCE_NS: u64 = 10_000_000_000;
/// Digits that a template has room for.
const MOST_DIGITS: u32 = 20;

/// When a connection says who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binds {
    #[default]
    Never,
    /// While it is armed.
    Once,
    /// Before each operation, in its time.
    Each,
}

/// What an operation asks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Bind,
    Search,
    Compare,
    Add,
    Modify,
    Delete,
    Rename,
}

/// How deep a search goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Base = 0,
    One = 1,
    #[default]
    Sub = 2,
}

/// In which order the keys of an operation come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    #[default]
    Uniform,
    Skewed,
    Once,
    /// Each once, from the first to the last.
    Forward,
}

/// The keys of an operation.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub first: u64,
    #[serde(default = "one")]
    pub count: u64,
    /// Skewed: this share of the operations goes to the rest of it of the keys.
    #[serde(default = "skew")]
    pub skew: f64,
    /// The share of operations that ask for an entry that is not there.
    #[serde(default)]
    pub misses: f64,
    /// The first of `count` keys that no entry has.
    #[serde(default)]
    pub missing: Option<u64>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            order: Order::default(),
            first: 0,
            count: 1,
            skew: skew(),
            misses: 0.0,
            missing: None,
        }
    }
}

/// What a right answer is; what is left out is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub codes: Option<Vec<String>>,
    pub entries: Option<u64>,
    pub dn: Option<String>,
    #[serde(default)]
    pub values: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub references: bool,
}

/// How an attribute is changed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    Add,
    Delete,
    Replace,
}

/// One change of a modify.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub how: How,
    pub attribute: String,
    #[serde(default)]
    pub values: Vec<String>,
}

/// One operation of the mix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub name: String,
    pub kind: Kind,
    #[serde(default = "one")]
    pub weight: u64,
    /// Its part of the operations of this name.
    #[serde(default = "one")]
    pub share: u64,
    /// The entry; of a search, its base.
    #[serde(default)]
    pub dn: String,
    #[serde(default)]
    pub scope: Scope,
    #[serde(default = "any")]
    pub filter: String,
    #[serde(default)]
    pub attributes: Vec<String>,
    #[serde(default)]
    pub size_limit: u32,
    /// Compare: what with what.
    #[serde(default)]
    pub attribute: String,
    #[serde(default)]
    pub value: String,
    /// Add: the attributes of the new entry.
    #[serde(default)]
    pub entry: BTreeMap<String, Vec<String>>,
    /// Add: a file of entries that are added in its order, instead of `dn` and `entry`.
    #[serde(default)]
    pub ldif: Option<String>,
    #[serde(default)]
    pub changes: Vec<Change>,
    #[serde(default)]
    pub new_rdn: String,
    #[serde(default)]
    pub new_superior: Option<String>,
    #[serde(default)]
    pub keys: Keys,
    #[serde(default)]
    pub expect: Expected,
    /// The result codes of an operation on an entry that is not there.
    #[serde(default)]
    pub miss_codes: Option<Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub address: String,
    #[serde(default)]
    pub starttls: bool,
    pub ca_file: Option<String>,
    #[serde(default)]
    pub insecure: bool,
    #[serde(default)]
    pub bind_dn: String,
    pub password_file: Option<String>,
    #[serde(default)]
    pub bind: Binds,
    #[serde(default = "one")]
    pub workers: u64,
    /// Of each worker.
    #[serde(default = "one")]
    pub connections: u64,
    #[serde(default = "one")]
    pub depth: u64,
    /// Which client this is, of how many: for keys that come once.
    #[serde(default)]
    pub part: u64,
    #[serde(default = "one")]
    pub parts: u64,
    pub operations: Vec<Operation>,
    /// Of each worker.
    pub ops: Option<u64>,
    pub duration_ns: Option<u64>,
    #[serde(default = "patience")]
    pub patience_ns: u64,
    #[serde(default)]
    pub load: Load,
    /// After the last answer each file below this directory is flushed, in the time of the last operation.
    pub flush_directory: Option<String>,
}

fn one() -> u64 {
    1
}

fn skew() -> f64 {
    0.8
}

fn any() -> String {
    "(objectClass=*)".to_owned()
}

fn patience() -> u64 {
    PATIENCE_NS
}

impl Settings {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<Address, Fault> {
        let address = Address::read(&self.address)?;
        let own = self.files();
        Fault::of_settings(&[&self.amounts()[..], &self.ways(&address)[..], &own[..]].concat())?;
        self.load.check()?;
        self.operations.iter().try_for_each(Operation::check)?;
        Ok(address)
    }

    fn amounts(&self) -> [(bool, &'static str); 8] {
        let connections = self.workers.saturating_mul(self.connections);
        [
            (
                !(1..=MOST_CONNECTIONS).contains(&connections),
                "found workers x connections outside 1 to 4,096",
            ),
            (
                !(1..=MOST_DEPTH).contains(&self.depth),
                "found depth outside 1 to 1,024",
            ),
            (
                self.load.think_ns > 0 && (self.connections > 1 || self.depth > 1),
                "found think_ns; expected one connection of each worker, and depth 1",
            ),
            (
                self.part >= self.parts,
                "found part that is not below parts",
            ),
            (self.operations.is_empty(), "found no operations"),
            (
                self.operations.iter().map(|one| one.weight).sum::<u64>() == 0
                    || self.operations.iter().any(|one| one.weight > MOST_WEIGHT),
                "found weights that are not above 0 together and at most 10,000 each",
            ),
            (
                self.operations
                    .iter()
                    .any(|one| !(1..=MOST_SHARE).contains(&one.share)),
                "found shares outside 1 to 1,000,000",
            ),
            (
                self.operations
                    .iter()
                    .any(|one| one.is_unlike(self.first_of(&one.name))),
                "found operations of one name with different kinds or weights; expected shares of one weight",
            ),
        ]
    }

    fn ways(&self, address: &Address) -> [(bool, &'static str); 5] {
        let binds = self.bind == Binds::Each || self.has_binds();
        [
            (
                self.depth > 1 && self.starttls,
                "found depth with starttls; expected depth 1, or an address ldaps://",
            ),
            (
                self.depth > 1 && binds,
                "found depth with binds between operations; expected depth 1: a bind ends what is under way",
            ),
            (
                self.bind != Binds::Never && self.password_file.is_none(),
                "found bind without password_file",
            ),
            (
                self.has_binds() && self.password_file.is_none(),
                "found an operation bind without password_file",
            ),
            (
                self.starttls && !address.can_start_tls(),
                "found starttls; expected an address ldap://",
            ),
        ]
    }

    fn files(&self) -> [(bool, &'static str); 3] {
        let of_file = |one: &Operation| one.ldif.is_some();
        let has_file = self.operations.iter().any(of_file);
        let is_alone = self.operations.len() == 1 && self.workers == 1 && self.parts == 1;
        [
            (
                has_file && !is_alone,
                "found ldif beside other operations, workers or clients; expected it alone",
            ),
            (
                has_file && self.bind == Binds::Each,
                "found ldif with bind each; expected bind once",
            ),
            (
                self.flush_directory
                    .as_ref()
                    .is_some_and(|path| !std::path::Path::new(path).is_dir()),
                "found a flush_directory that is no directory of this host; expected a server on the client's host, or no flush",
            ),
        ]
    }

    /// How many operations before this one have its name.
    pub fn before(&self, place: usize) -> u64 {
        let name = &self.operations[place].name;
        let former = self.operations[..place].iter();
        former.filter(|one| one.name == *name).count() as u64
    }

    /// The first operation of this name.
    fn first_of(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|one| one.name == name)
    }

    fn has_binds(&self) -> bool {
        self.operations.iter().any(|one| one.kind == Kind::Bind)
    }
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Search => "search",
            Self::Compare => "compare",
            Self::Add => "add",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Rename => "rename",
        }
    }
}

impl Keys {
    fn mistakes(&self) -> [(bool, &'static str); 6] {
        let Self {
            first,
            count,
            skew,
            misses,
            missing,
            ..
        } = *self;
        [
            (count == 0, "found keys.count 0; expected at least 1"),
            (
                first.checked_add(count).is_none(),
                "found keys beyond 64 bits",
            ),
            (
                !(0.5..1.0).contains(&skew),
                "found a skew outside 0.5 and 1",
            ),
            (
                !(0.0..=1.0).contains(&misses),
                "found misses outside 0 and 1",
            ),
            (
                misses > 0.0 && missing.is_none(),
                "found misses without keys.missing",
            ),
            (
                missing.is_some_and(|missing| missing < first.saturating_add(count)),
                "found keys.missing among the keys",
            ),
        ]
    }
}

impl Operation {
    fn is_unlike(&self, first: Option<&Self>) -> bool {
        first.is_some_and(|first| (first.kind, first.weight) != (self.kind, self.weight))
    }

    fn check(&self) -> Result<(), Fault> {
        let wrong = [
            (
                self.kind == Kind::Compare && self.attribute.is_empty(),
                "found a compare without attribute",
            ),
            (
                self.kind == Kind::Add && self.entry.is_empty() == self.ldif.is_none(),
                "found an add without entry, or with both entry and ldif",
            ),
            (
                self.kind != Kind::Add && self.ldif.is_some(),
                "found ldif of another kind; expected add",
            ),
            (
                self.kind == Kind::Modify && self.changes.is_empty(),
                "found a modify without changes",
            ),
            (
                self.kind == Kind::Rename && self.new_rdn.is_empty(),
                "found a rename without new_rdn",
            ),
        ];
        let checks = [&self.keys.mistakes()[..], &wrong[..]].concat();
        Fault::of_settings(&checks).map_err(|fault| self.named(fault.message))
    }

    /// A mistake in this operation.
    pub fn named(&self, message: impl std::fmt::Display) -> Fault {
        Fault::settings(format!("operation {}: {message}", self.name))
    }

    /// The highest key that it can have.
    pub fn last_key(&self) -> u64 {
        let Keys {
            first,
            count,
            misses,
            missing,
            ..
        } = self.keys;
        let from = missing.filter(|_| misses > 0.0).unwrap_or(first);
        from.saturating_add(count - 1)
    }
}

/// How many digits a number has.
#[inline]
pub fn digits(number: u64) -> usize {
    (number.checked_ilog10().unwrap_or(0) + 1).min(MOST_DIGITS) as usize
}

//! What the entries of a population look like.

use crate::text::{Digits, attribute};
use crate::words::{Name, Words};

/// What the entries of a population look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// `inetOrgPerson`: names, mail, telephone, address, department, manager.
    Person,
    /// The same with `posixAccount` and a password, `secret` and the key.
    Account,
}

/// The number of persons that one manager has.
const TEAM: u64 = 12;
const FIRST_NUMBER: u64 = 100_000;
const GROUPS: u64 = 50;
const CLASSES: &[u8] = b"objectClass: top\nobjectClass: person\nobjectClass: organizationalPerson\nobjectClass: inetOrgPerson\n";

impl Template {
    /// Every template by name.
    pub const ALL: [(&'static str, Template); 2] =
        [("person", Template::Person), ("account", Template::Account)];

    /// The template of this name.
    ///
    /// # Errors
    /// Which ones there are, in words.
    pub fn named(name: &str) -> Result<Template, String> {
        let known = Template::ALL.iter().find(|(one, _)| *one == name);
        known.map(|(_, template)| *template).ok_or_else(|| {
            let names: Vec<&str> = Template::ALL.iter().map(|(name, _)| *name).collect();
            format!(
                "found template {name:?}; expected one of: {}",
                names.join(", ")
            )
        })
    }

    /// Appends one entry; a value that is put together stands in a buffer that is used again.
    pub(crate) fn entry(
        self,
        (out, value): (&mut Vec<u8>, &mut Vec<u8>),
        seed: u64,
        own: u64,
        words: &Words,
    ) {
        let mut draw = Draw::of(seed, own);
        let given = draw.from(&words.given);
        let surname = draw.from(&words.surnames);
        let digits = Digits::of(own);
        all(out, [b"dn: uid=u", digits.key(), &words.below, CLASSES]);
        if self == Template::Account {
            out.extend_from_slice(b"objectClass: posixAccount\n");
        }
        all(out, [b"uid: u", digits.key(), b"\n"]);
        common_name(out, value, given, surname);
        all(out, [&surname.line, &given.line]);
        all(out, [b"mail: ", &given.address, &surname.address]);
        all(out, [digits.number(), &words.domain]);
        all(out, [b"employeeNumber: ", digits.number(), b"\n"]);
        work((out, value), words, &mut draw);
        if own >= TEAM {
            let manager = Digits::of(own / TEAM);
            all(out, [b"manager: uid=u", manager.key(), &words.below]);
        }
        if self == Template::Account {
            account(out, words, own, &mut draw);
        }
        out.push(b'\n');
    }
}

fn all<const N: usize>(out: &mut Vec<u8>, parts: [&[u8]; N]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn common_name(out: &mut Vec<u8>, value: &mut Vec<u8>, given: &Name, surname: &Name) {
    if given.is_plain && surname.is_plain {
        all(out, [b"cn: ", given.text, b" ", surname.text, b"\n"]);
        return;
    }
    value.clear();
    all(value, [given.text, b" ", surname.text]);
    attribute(out, "cn", value);
}

/// Where a person works, and how to reach it there.
fn work((out, value): (&mut Vec<u8>, &mut Vec<u8>), words: &Words, draw: &mut Draw) {
    let department = draw.from(&words.departments);
    let city = draw.from(&words.cities);
    let title: &Vec<u8> = draw.from(&words.titles);
    all(out, [title, &department.line, &city.line]);
    let street = draw.from(&words.streets);
    street.end((out, value), 1 + draw.below(240));
    numbered(out, b"postalCode: ", 10_000 + draw.below(90_000));
    numbered(out, b"roomNumber: ", 100 + draw.below(900));
    telephone(out, &city.telephone, draw);
    telephone(out, &city.mobile, draw);
    department.since.end((out, value), 1990 + draw.below(36));
}

fn numbered(out: &mut Vec<u8>, name: &[u8], number: u64) {
    all(out, [name, Digits::of(number).number(), b"\n"]);
}

fn telephone(out: &mut Vec<u8>, beginning: &[u8], draw: &mut Draw) {
    let area = Digits::of(100 + draw.below(900));
    let number = Digits::of(1_000_000 + draw.below(9_000_000));
    all(
        out,
        [beginning, area.number(), b" ", number.number(), b"\n"],
    );
}

fn account(out: &mut Vec<u8>, words: &Words, own: u64, draw: &mut Draw) {
    let digits = Digits::of(own);
    numbered(out, b"uidNumber: ", FIRST_NUMBER + own);
    numbered(out, b"gidNumber: ", FIRST_NUMBER + draw.below(GROUPS));
    all(out, [b"homeDirectory: /home/u", digits.key(), b"\n"]);
    let shell: &Vec<u8> = draw.from(&words.shells);
    out.extend_from_slice(shell);
    all(out, [b"userPassword: secret", digits.key(), b"\n"]);
}

/// Draws by `SplitMix64` (Steele, Lea, Flood 2014), which begins anew for each entry.
struct Draw(u64);

impl Draw {
    fn of(seed: u64, own: u64) -> Draw {
        let mut first = Draw(seed);
        let start = first.next();
        let mut second = Draw(start ^ own.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Draw(second.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }

    fn from<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}

//! What the entries of a population look like.

use crate::names::{CITIES, DEPARTMENTS, GIVEN, SHELLS, STREETS, SURNAMES, TITLES};
use crate::suffix::Suffix;
use crate::text::{address, attribute, key, number};

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

    /// Appends one entry; its values are put together in a buffer that is used again.
    pub(crate) fn entry(
        self,
        (out, value): (&mut Vec<u8>, &mut Vec<u8>),
        seed: u64,
        own: u64,
        suffix: &Suffix,
    ) {
        let mut draw = Draw::of(seed, own);
        let given = draw.from(GIVEN);
        let surname = draw.from(SURNAMES);
        dn(out, own, suffix);
        classes(out, self);
        with(out, value, "uid", |text| {
            text.push(b'u');
            key(text, own);
        });
        with(out, value, "cn", |text| {
            text.extend_from_slice(given.as_bytes());
            text.push(b' ');
            text.extend_from_slice(surname.as_bytes());
        });
        attribute(out, "sn", surname.as_bytes());
        attribute(out, "givenName", given.as_bytes());
        with(out, value, "mail", |text| {
            address(text, given);
            text.push(b'.');
            address(text, surname);
            text.push(b'.');
            number(text, own);
            text.push(b'@');
            text.extend_from_slice(suffix.domain().as_bytes());
        });
        with(out, value, "employeeNumber", |text| {
            number(text, own);
        });
        work(out, value, &mut draw);
        if own >= TEAM {
            manager(out, own / TEAM, suffix);
        }
        if self == Template::Account {
            account(out, value, own, &mut draw);
        }
        out.push(b'\n');
    }
}

fn dn(out: &mut Vec<u8>, own: u64, suffix: &Suffix) {
    out.extend_from_slice(b"dn: ");
    name(out, own, suffix);
}

fn manager(out: &mut Vec<u8>, own: u64, suffix: &Suffix) {
    out.extend_from_slice(b"manager: ");
    name(out, own, suffix);
}

fn name(out: &mut Vec<u8>, own: u64, suffix: &Suffix) {
    out.extend_from_slice(b"uid=u");
    key(out, own);
    out.extend_from_slice(suffix.below().as_bytes());
    out.push(b'\n');
}

fn classes(out: &mut Vec<u8>, template: Template) {
    out.extend_from_slice(
        b"objectClass: top\nobjectClass: person\nobjectClass: organizationalPerson\nobjectClass: inetOrgPerson\n",
    );
    if template == Template::Account {
        out.extend_from_slice(b"objectClass: posixAccount\n");
    }
}

/// Appends an attribute whose value is put together.
fn with(out: &mut Vec<u8>, value: &mut Vec<u8>, name: &str, make: impl FnOnce(&mut Vec<u8>)) {
    value.clear();
    make(value);
    attribute(out, name, value);
}

/// Where a person works, and how to reach it there.
fn work(out: &mut Vec<u8>, value: &mut Vec<u8>, draw: &mut Draw) {
    let (department, words) = draw.pick(DEPARTMENTS);
    let (city, code) = draw.pick(CITIES);
    attribute(out, "title", draw.from(TITLES).as_bytes());
    attribute(out, "departmentNumber", department.as_bytes());
    attribute(out, "l", city.as_bytes());
    with(out, value, "street", |text| {
        text.extend_from_slice(draw.from(STREETS).as_bytes());
        text.push(b' ');
        number(text, 1 + draw.below(240));
    });
    with(out, value, "postalCode", |text| {
        number(text, 10_000 + draw.below(90_000));
    });
    with(out, value, "roomNumber", |text| {
        number(text, 100 + draw.below(900));
    });
    telephone(out, value, draw, "telephoneNumber", code);
    telephone(out, value, draw, "mobile", code);
    with(out, value, "description", |text| {
        text.extend_from_slice(words.as_bytes());
        text.extend_from_slice(b", since ");
        number(text, 1990 + draw.below(36));
    });
}

fn telephone(out: &mut Vec<u8>, value: &mut Vec<u8>, draw: &mut Draw, name: &str, code: &str) {
    with(out, value, name, |text| {
        text.push(b'+');
        text.extend_from_slice(code.as_bytes());
        text.push(b' ');
        number(text, 100 + draw.below(900));
        text.push(b' ');
        number(text, 1_000_000 + draw.below(9_000_000));
    });
}

fn account(out: &mut Vec<u8>, value: &mut Vec<u8>, own: u64, draw: &mut Draw) {
    with(out, value, "uidNumber", |text| {
        number(text, FIRST_NUMBER + own);
    });
    with(out, value, "gidNumber", |text| {
        number(text, FIRST_NUMBER + draw.below(GROUPS));
    });
    with(out, value, "homeDirectory", |text| {
        text.extend_from_slice(b"/home/u");
        key(text, own);
    });
    attribute(out, "loginShell", draw.from(SHELLS).as_bytes());
    with(out, value, "userPassword", |text| {
        text.extend_from_slice(b"secret");
        key(text, own);
    });
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

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn from(&mut self, list: &[&'static str]) -> &'static str {
        self.pick(list)
    }
}

//! The words of entries, put into lines of LDIF once: an entry then copies them.

use crate::names::{CITIES, DEPARTMENTS, GIVEN, SHELLS, STREETS, SURNAMES, TITLES};
use crate::suffix::Suffix;
use crate::text::{Digits, address, attribute, is_plain};

/// Every word of a template, as it stands in an entry.
pub struct Words {
    pub given: Vec<Name>,
    pub surnames: Vec<Name>,
    pub titles: Vec<Vec<u8>>,
    pub departments: Vec<Department>,
    pub cities: Vec<City>,
    pub streets: Vec<Beginning>,
    pub shells: Vec<Vec<u8>>,
    /// What the DN of a person has after its own name, with the end of the line.
    pub below: Vec<u8>,
    /// The end of a mail address, with the end of the line.
    pub domain: Vec<u8>,
    /// What the DN of an entry right below the suffix has after its own name, with the end of the line.
    suffix: Vec<u8>,
}

/// A part of a person's name.
pub struct Name {
    pub text: &'static [u8],
    pub is_plain: bool,
    /// Its line of LDIF.
    pub line: Vec<u8>,
    /// As a part of a mail address, with the point after it.
    pub address: Vec<u8>,
}

/// Number and name of a department.
pub struct Department {
    pub line: Vec<u8>,
    pub since: Beginning,
}

/// A city, and the beginnings of telephone numbers in it.
pub struct City {
    pub line: Vec<u8>,
    pub telephone: Vec<u8>,
    pub mobile: Vec<u8>,
}

/// A value that ends with a number.
pub struct Beginning {
    name: &'static str,
    text: Vec<u8>,
    /// Name and text; none where the value goes as base64.
    line: Option<Vec<u8>>,
}

impl Beginning {
    fn of(name: &'static str, text: String) -> Beginning {
        let text = text.into_bytes();
        let line =
            is_plain(text.trim_ascii_end()).then(|| [name.as_bytes(), b": ", &text].concat());
        Beginning { name, text, line }
    }

    /// Appends the line with this number.
    pub fn end(&self, (out, value): (&mut Vec<u8>, &mut Vec<u8>), number: u64) {
        let digits = Digits::of(number);
        if let Some(line) = &self.line {
            out.extend_from_slice(line);
            out.extend_from_slice(digits.number());
            out.push(b'\n');
            return;
        }
        value.clear();
        value.extend_from_slice(&self.text);
        value.extend_from_slice(digits.number());
        attribute(out, self.name, value);
    }
}

fn line(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    attribute(&mut out, name, value.as_bytes());
    out
}

fn lines(name: &str, values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| line(name, value)).collect()
}

fn parts_of_names(name: &str, values: &'static [&'static str]) -> Vec<Name> {
    let of = |text: &'static str| {
        let mut mail = Vec::new();
        address(&mut mail, text);
        mail.push(b'.');
        Name {
            text: text.as_bytes(),
            is_plain: is_plain(text.as_bytes()),
            line: line(name, text),
            address: mail,
        }
    };
    values.iter().map(|text| of(text)).collect()
}

impl Words {
    /// The words of entries below this suffix.
    pub fn of(suffix: &Suffix) -> Words {
        let department = |(number, words): &(&str, &str)| Department {
            line: line("departmentNumber", number),
            since: Beginning::of("description", format!("{words}, since ")),
        };
        let city = |(name, code): &(&str, &str)| City {
            line: line("l", name),
            telephone: format!("telephoneNumber: +{code} ").into_bytes(),
            mobile: format!("mobile: +{code} ").into_bytes(),
        };
        let street = |name: &&str| Beginning::of("street", format!("{name} "));
        Words {
            given: parts_of_names("givenName", GIVEN),
            surnames: parts_of_names("sn", SURNAMES),
            titles: lines("title", TITLES),
            departments: DEPARTMENTS.iter().map(department).collect(),
            cities: CITIES.iter().map(city).collect(),
            streets: STREETS.iter().map(street).collect(),
            shells: lines("loginShell", SHELLS),
            below: format!("{}\n", suffix.below()).into_bytes(),
            domain: format!("@{}\n", suffix.domain()).into_bytes(),
            suffix: format!(",{}\n", suffix.dn()).into_bytes(),
        }
    }

    /// Appends an entry of a load: `uid=d00000042` right below the suffix.
    pub fn own_entry(&self, out: &mut Vec<u8>, letter: char, own: u64) {
        let digits = Digits::of(own);
        let mut named = |before: &str, after: &[u8]| {
            out.extend_from_slice(before.as_bytes());
            out.push(letter as u8);
            out.extend_from_slice(digits.key());
            out.extend_from_slice(after);
        };
        named("dn: uid=", &self.suffix);
        named("objectClass: inetOrgPerson\nuid: ", b"\n");
        named("cn: Own ", b"\n");
        named("sn: ", b"\n\n");
    }
}

//! The suffix of a directory and the organisational units below it.

use crate::text::attribute;

/// The organisational units that every population has; people are in the first.
const UNITS: [(&str, &str); 3] = [
    ("people", "Everybody who works here"),
    ("groups", "Groups of people"),
    ("services", "Accounts of programs"),
];
const PEOPLE: &str = "ou=people,";
const EXPECTED: &str = "expected a DN that begins with dc=, o= or ou=, such as dc=example,dc=com";

/// The name of the entry above all others.
#[derive(Debug, Clone)]
pub struct Suffix {
    dn: String,
    kind: Kind,
    value: String,
    below: String,
    domain: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Domain,
    Organisation,
    Unit,
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        match name {
            "dc" => Some(Kind::Domain),
            "o" => Some(Kind::Organisation),
            "ou" => Some(Kind::Unit),
            _ => None,
        }
    }
}

/// Name, in small letters, and value of each part; none where one is not plain.
fn parts(dn: &str) -> Option<Vec<(String, String)>> {
    let plain = |text: &str| {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || " -_.".contains(letter);
        !text.is_empty() && text.chars().all(allowed)
    };
    dn.split(',')
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            (plain(&name) && plain(&value)).then_some((name, value))
        })
        .collect()
}

/// The domain of mail addresses: the labels of the DN, or an example.
fn domain(parts: &[(String, String)]) -> String {
    let labels: Vec<&str> = parts
        .iter()
        .filter(|(name, _)| name == "dc")
        .map(|(_, value)| value.as_str())
        .collect();
    match labels.len() {
        0 => "example.com".to_owned(),
        1 => format!("{}.example", labels[0]),
        _ => labels.join("."),
    }
}

impl Suffix {
    /// Reads a DN such as `dc=example,dc=com`, `o=Example` or `ou=lab,o=Example`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(dn: &str) -> Result<Suffix, String> {
        let parts = parts(dn).ok_or_else(|| format!("found base {dn:?}; {EXPECTED}"))?;
        let kind = Kind::of(&parts[0].0).ok_or_else(|| format!("found base {dn:?}; {EXPECTED}"))?;
        let names: Vec<String> = parts
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let dn = names.join(",");
        Ok(Suffix {
            kind,
            value: parts[0].1.clone(),
            below: format!(",{PEOPLE}{dn}"),
            domain: domain(&parts),
            dn,
        })
    }

    /// The whole DN.
    pub(crate) fn dn(&self) -> &str {
        &self.dn
    }

    /// What the DN of a person has after its own name.
    pub(crate) fn below(&self) -> &str {
        &self.below
    }

    /// The part of mail addresses after the `@`.
    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    /// Appends the suffix and its units; how many entries these are.
    pub(crate) fn tree(&self, out: &mut Vec<u8>) -> u64 {
        let value = self.value.as_bytes();
        attribute(out, "dn", self.dn.as_bytes());
        attribute(out, "objectClass", b"top");
        match self.kind {
            Kind::Domain => {
                attribute(out, "objectClass", b"organization");
                attribute(out, "objectClass", b"dcObject");
                attribute(out, "o", value);
                attribute(out, "dc", value);
            }
            Kind::Organisation => {
                attribute(out, "objectClass", b"organization");
                attribute(out, "o", value);
            }
            Kind::Unit => {
                attribute(out, "objectClass", b"organizationalUnit");
                attribute(out, "ou", value);
            }
        }
        out.push(b'\n');
        for (name, words) in UNITS {
            attribute(out, "dn", format!("ou={name},{}", self.dn).as_bytes());
            attribute(out, "objectClass", b"top");
            attribute(out, "objectClass", b"organizationalUnit");
            attribute(out, "ou", name.as_bytes());
            attribute(out, "description", words.as_bytes());
            out.push(b'\n');
        }
        1 + UNITS.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_read() {
        let suffix = Suffix::parse("DC=example, dc=com").unwrap();
        assert_eq!(suffix.below(), ",ou=people,dc=example,dc=com");
        assert_eq!(suffix.domain(), "example.com");
        let mut out = Vec::new();
        assert_eq!(suffix.tree(&mut out), 4);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("dn: dc=example,dc=com\n"));
        assert_eq!(text.matches("dn: ").count(), 4);
        assert_eq!(Suffix::parse("o=Example").unwrap().domain(), "example.com");
    }

    #[test]
    fn what_is_no_suffix_is_refused() {
        for wrong in [
            "",
            "example",
            "cn=x",
            "dc=",
            "dc=a,b",
            "dc=a\\,b,dc=c",
            "uid=x,dc=a",
        ] {
            assert!(
                Suffix::parse(wrong).unwrap_err().contains("dc=example"),
                "{wrong}"
            );
        }
    }
}

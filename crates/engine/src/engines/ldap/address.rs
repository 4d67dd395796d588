//! Where a server is: `ldap://HOST:PORT`, `ldaps://HOST:PORT` or `ldapi://PATH`, its slashes as %2F.

use crate::protocol::Fault;

/// An address, by what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host and port; TLS from the first byte or not.
    Tcp(String, u16, bool),
    Unix(String),
}

const SCHEMES: [(&str, u16, bool); 2] = [("ldap://", 389, false), ("ldaps://", 636, true)];

impl Address {
    /// Reads an address.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let refused = || {
            let expected = "ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://%2FPATH";
            Fault::settings(format!("found address {text:?}; expected {expected}"))
        };
        if let Some(path) = text.strip_prefix("ldapi://") {
            let path = decoded(path.trim_end_matches('/')).ok_or_else(refused)?;
            return if path.starts_with('/') {
                Ok(Self::Unix(path))
            } else {
                Err(refused())
            };
        }
        let found = SCHEMES
            .iter()
            .find_map(|(scheme, port, tls)| Some((text.strip_prefix(scheme)?, *port, *tls)));
        let (rest, usual, tls) = found.ok_or_else(refused)?;
        let (host, port) = split(rest.trim_end_matches('/')).ok_or_else(refused)?;
        if host.is_empty() || host.contains('/') {
            return Err(refused());
        }
        Ok(Self::Tcp(host, port.unwrap_or(usual), tls))
    }

    /// Whether TLS can begin in the middle.
    pub fn can_start_tls(&self) -> bool {
        matches!(self, Self::Tcp(_, _, false))
    }
}

fn split(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => text
            .split_once(':')
            .map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(str::parse).transpose().ok()?;
    Some((host.to_owned(), port))
}

fn decoded(text: &str) -> Option<String> {
    let mut plain = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            plain.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let tcp = |host: &str, port, tls| Some(Address::Tcp(host.to_owned(), port, tls));
        for (text, expected) in [
            ("ldap://h", tcp("h", 389, false)),
            ("ldap://127.0.0.1:13389/", tcp("127.0.0.1", 13389, false)),
            ("ldaps://[::1]:1636", tcp("::1", 1636, true)),
            ("ldaps://h", tcp("h", 636, true)),
            (
                "ldapi://%2Frun%2Fldapi",
                Some(Address::Unix("/run/ldapi".to_owned())),
            ),
            (
                "ldapi:///run/ldapi",
                Some(Address::Unix("/run/ldapi".to_owned())),
            ),
            ("http://h", None),
            ("ldap://", None),
            ("ldap://h:99999", None),
            ("ldapi://run", None),
            ("ldapi://%2", None),
        ] {
            assert_eq!(Address::read(text).ok(), expected, "{text}");
        }
    }
}

//! Who authenticates: by client, mechanism and the layer that follows, and what fails.

use crate::hashing::Table;

/// Mechanisms and rows that are kept apart.
const MOST_MECHANISMS: usize = 32;
const MOST_ROWS: usize = 4096;
const LONGEST_NAME: usize = 20;
/// What stands for a mechanism whose name is none, or has no place of its own.
const OTHER: &str = "other";

/// An authentication of a connection, as long as its layer is not known, or several of the same mechanism.
pub struct Auth {
    pub mechanism: u32,
    pub by_sasl: bool,
    pub binds: u64,
    pub failed: u64,
    /// Other operations of the connection before the last one.
    pub others: u32,
}

/// What makes authentications another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    pub client: u32,
    pub mechanism: u32,
    pub layer: &'static str,
}

/// Authentications by client and mechanism.
#[derive(Default)]
pub struct Bindings {
    mechanisms: Vec<String>,
    /// Authentications, and those that failed.
    pub rows: Table<Binding, (u64, u64)>,
    /// Failures by client, mechanism and code.
    pub failures: Table<(u32, u32, u32), u64>,
    pub together: u64,
}

impl Bindings {
    /// The place of a mechanism.
    pub fn mechanism(&mut self, name: &[u8]) -> u32 {
        let is_letter = |letter: &u8| letter.is_ascii_alphanumeric() || b"-_".contains(letter);
        let name = match std::str::from_utf8(name) {
            Ok(name)
                if (1..=LONGEST_NAME).contains(&name.len())
                    && name.bytes().all(|one| is_letter(&one)) =>
            {
                name
            }
            _ => OTHER,
        };
        if let Some(at) = self.mechanisms.iter().position(|one| one == name) {
            return at as u32;
        }
        if self.mechanisms.len() >= MOST_MECHANISMS {
            return self.mechanism(OTHER.as_bytes());
        }
        let room = self.mechanisms.len() + 1 < MOST_MECHANISMS;
        self.mechanisms
            .push(if room { name } else { OTHER }.to_owned());
        self.mechanisms.len() as u32 - 1
    }

    /// The name of a mechanism.
    pub fn name(&self, mechanism: u32) -> &str {
        self.mechanisms
            .get(mechanism as usize)
            .map_or(OTHER, String::as_str)
    }

    /// Counts authentications, and how many of them failed.
    pub fn count(&mut self, row: Binding, binds: u64, failed: u64) {
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&row) {
            self.together += binds;
            return;
        }
        let counts = self.rows.entry(row).or_default();
        *counts = (counts.0 + binds, counts.1 + failed);
    }

    /// Counts a failure.
    pub fn failed(&mut self, client: u32, mechanism: Option<u32>, code: u32) {
        let row = (client, mechanism.unwrap_or(u32::MAX), code);
        if self.failures.len() < MOST_ROWS || self.failures.contains_key(&row) {
            *self.failures.entry(row).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_have_a_bound_and_no_name_that_is_none() {
        let mut made = Bindings::default();
        let first = made.mechanism(b"GSSAPI");
        assert_eq!(made.mechanism(b"GSSAPI"), first);
        let other = made.mechanism(b"\x1b[31m");
        assert_eq!(made.name(other), OTHER);
        for number in 0..100 {
            made.mechanism(format!("M{number}").as_bytes());
        }
        assert_eq!(made.mechanisms.len(), MOST_MECHANISMS);
        let last = made.mechanism(b"ANOTHER");
        assert_eq!(made.name(last), OTHER);
    }
}

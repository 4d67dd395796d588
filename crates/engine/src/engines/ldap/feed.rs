//! The entries of an LDIF file as adds, in their order: an entry waits while the one above it is under way.

use super::answers::{fingerprint, plain};
use super::wire::errno;
use crate::directory_result::Refused;
use crate::protocol::Fault;
use assay_ldap::build;
use assay_ldap::template::Template;
use assay_ldif::{Flaw, Record, Records};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;

/// Refused entries that are named; all are counted.
const NAMED: usize = 20;
/// What is read of the file at a time.
const CHUNK: usize = 1 << 18;

/// A file that is read ahead of its adds by one entry.
pub struct Feed {
    records: Records<BufReader<File>>,
    path: String,
    next: Option<Upcoming>,
    is_over: bool,
    /// The names of entries that are under way, by their fingerprints.
    under_way: HashMap<u64, Vec<u8>>,
    pub refused: Vec<Refused>,
    /// Where the file is no LDIF any more, and why.
    pub broken: Option<String>,
}

/// The entry that is added next.
struct Upcoming {
    message: Template,
    dn: Vec<u8>,
    name: u64,
    above: u64,
    bytes: u64,
}

impl Feed {
    /// Opens a file and reads its first entry.
    pub fn open(path: &str) -> Result<Self, Fault> {
        let failed = |error| Fault::call("open", path, errno(error));
        let file = File::open(path).map_err(failed)?;
        let records = Records::new(BufReader::with_capacity(CHUNK, file));
        let records = records.map_err(|flaw| unreadable(path, &flaw))?;
        let mut feed = Self {
            records,
            path: path.to_owned(),
            next: None,
            is_over: false,
            under_way: HashMap::new(),
            refused: Vec::new(),
            broken: None,
        };
        let has_next = feed.has_next();
        match &feed.broken {
            Some(why) => Err(Fault::settings(why.clone())),
            None if !has_next => Err(Fault::settings(format!("{path}: found no entry"))),
            None => Ok(feed),
        }
    }

    /// Whether there is another entry; reads it where that has not been done yet.
    #[inline]
    pub fn has_next(&mut self) -> bool {
        if self.next.is_none() && !self.is_over {
            self.look_ahead();
        }
        self.next.is_some()
    }

    /// Whether the next entry is below one that is under way.
    #[inline]
    pub fn is_held(&self) -> bool {
        let next = self.next.as_ref();
        next.is_some_and(|next| self.under_way.contains_key(&next.above))
    }

    /// The bytes of the next entry in its file, and the number that stands for its name.
    pub fn numbers(&self) -> (u64, u64) {
        self.next
            .as_ref()
            .map_or((0, 0), |next| (next.bytes, next.name))
    }

    /// Puts the add of the next entry behind what is to be sent; it is under way from now on.
    pub fn take(&mut self, id: u32, out: &mut Vec<u8>) {
        if let Some(mut next) = self.next.take() {
            out.extend_from_slice(next.message.patch(id, 0, 0));
            self.under_way.insert(next.name, next.dn);
        }
    }

    /// The entry is there.
    pub fn done(&mut self, name: u64) {
        self.under_way.remove(&name);
    }

    /// The entry is not there, and why.
    #[cold]
    pub fn refuse(&mut self, name: u64, code: u32, what: &'static str, words: &[u8]) {
        let Some(dn) = self.under_way.remove(&name) else {
            return;
        };
        if self.refused.len() < NAMED {
            self.refused.push(Refused {
                dn: String::from_utf8_lossy(&dn).into_owned(),
                code,
                what,
                words: String::from_utf8_lossy(words).into_owned(),
            });
        }
    }

    fn look_ahead(&mut self) {
        match self.records.read() {
            Ok(record) => self.next = record.map(upcoming),
            Err(flaw) => self.broken = Some(unreadable(&self.path, &flaw).message),
        }
        self.is_over = self.next.is_none();
    }
}

fn upcoming(record: Record) -> Upcoming {
    let Record {
        dn,
        attributes,
        bytes,
    } = record;
    Upcoming {
        message: Template::new(&build::entry(&dn, &attributes), 1),
        name: fingerprint(&plain(&dn)),
        above: fingerprint(&plain(above(&dn))),
        dn,
        bytes,
    }
}

/// The name of the entry above one: what is behind the first comma that is not part of a value.
fn above(dn: &[u8]) -> &[u8] {
    let mut is_escaped = false;
    for (place, byte) in dn.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b',' => return &dn[place + 1..],
            _ => {}
        }
    }
    &[]
}

fn unreadable(path: &str, flaw: &Flaw) -> Fault {
    match flaw {
        Flaw::Unreadable(error) => Fault {
            what: "read",
            path: Some(path.to_owned()),
            errno: error.raw_os_error(),
            message: error.to_string(),
        },
        Flaw::Malformed(line, message) => {
            Fault::settings(format!("{path}, line {line}: {message}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(text: &str) -> Feed {
        let name = format!("assay-feed-{}-{}", std::process::id(), text.len());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        let feed = Feed::open(path.to_str().unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        feed
    }

    #[test]
    fn an_entry_waits_for_the_one_above_it() {
        let text = "dn: dc=x\ndc: x\n\ndn: ou=a\\,b, DC=X\nou: a\n\ndn: uid=1,ou=a\\,b,dc=x\nuid: 1\n\n\
                    dn: uid=2,ou=a\\,b,dc=x\nuid: 2\n";
        let mut feed = feed(text);
        let mut out = Vec::new();
        let (_, suffix) = feed.numbers();
        feed.take(1 << 24, &mut out);
        assert!(feed.has_next());
        assert!(feed.is_held(), "the unit waits for the suffix");
        feed.done(suffix);
        assert!(!feed.is_held());
        let (_, unit) = feed.numbers();
        feed.take(1 << 24, &mut out);
        assert!(feed.has_next());
        assert!(feed.is_held(), "people wait for their unit");
        feed.refuse(unit, 65, "objectClassViolation", b"no class");
        assert!(!feed.is_held());
        feed.take(1 << 24, &mut out);
        assert!(feed.has_next());
        assert!(!feed.is_held(), "people do not wait for each other");
        feed.take(1 << 24, &mut out);
        assert!(!feed.has_next());
        assert_eq!(feed.refused[0].dn, "ou=a\\,b, DC=X");
    }
}

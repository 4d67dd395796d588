//! Which ports are those of directory servers: named ones, and those on which LDAP was found by its content.

use crate::endpoint::Endpoint;
use crate::message::{self, Side, Start};
use std::collections::HashSet;

/// Servers on other ports that are followed.
const MOST_FOUND: usize = 4096;

/// The ports.
pub struct Ports {
    named: Box<[u64; 1024]>,
    /// Whether LDAP is looked for on all other ports.
    by_content: bool,
    found: HashSet<Endpoint>,
}

impl Ports {
    /// These, and with `by_content` any other whose segments begin like messages of LDAP.
    pub fn new(named: impl IntoIterator<Item = u16>, by_content: bool) -> Self {
        let mut made = Self {
            named: Box::new([0; 1024]),
            by_content,
            found: HashSet::new(),
        };
        for port in named {
            made.named[usize::from(port) / 64] |= 1 << (port % 64);
        }
        made
    }

    /// All of them.
    pub fn all() -> Self {
        Self {
            named: Box::new([u64::MAX; 1024]),
            by_content: false,
            found: HashSet::new(),
        }
    }

    fn is_named(&self, port: u16) -> bool {
        self.named[usize::from(port) / 64] >> (port % 64) & 1 == 1
    }

    /// Whether an end is a server's.
    #[inline]
    pub fn is_server(&self, end: &Endpoint) -> bool {
        self.is_named(end.port) || (!self.found.is_empty() && self.found.contains(end))
    }

    /// The side that sends this, where it is between a client and a server.
    #[inline]
    pub fn sender(&mut self, from: &Endpoint, to: &Endpoint, payload: &[u8]) -> Option<Sender> {
        match (self.is_server(from), self.is_server(to)) {
            (false, true) => Some(Sender::Client),
            (true, false) => Some(Sender::Server),
            (true, true) => Some(Sender::Either),
            (false, false) if self.by_content && !payload.is_empty() => {
                self.found(from, to, payload)
            }
            (false, false) => None,
        }
    }

    /// Looks whether this begins with a message of LDAP, and remembers the server's end.
    fn found(&mut self, from: &Endpoint, to: &Endpoint, payload: &[u8]) -> Option<Sender> {
        let side = speaker(payload)?;
        if self.found.len() >= MOST_FOUND {
            return None;
        }
        let (server, sender) = match side {
            Side::Client => (to, Sender::Client),
            Side::Server => (from, Sender::Server),
        };
        self.found.insert(*server);
        Some(sender)
    }

    /// The ports on which LDAP was found.
    pub fn found_ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.found.iter().map(|end| end.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// Who sends a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
    /// Both ends have a port of a server.
    Either,
}

/// Which side sends these bytes, which are whole messages of LDAP; None where they are none.
pub fn speaker(payload: &[u8]) -> Option<Side> {
    let payload = &payload[crate::proxied::header(payload).unwrap_or(0)..];
    let side = [Side::Client, Side::Server]
        .into_iter()
        .find(|side| message::start(payload, *side) == Start::Yes)?;
    message::is_plausible(payload, side).then_some(side)
}

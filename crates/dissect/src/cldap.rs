//! LDAP over UDP, counted apart: clients of Active Directory look for a server by it.

use crate::asked::Codes;
use crate::hashing::Table;
use crate::message::{self, Answer, Operation};
use crate::packet::{At, Endpoint};
use crate::times::Times;
use assay_ldap::ber;

/// Requests that wait for their answers.
const MOST_PENDING: usize = 8192;

/// What passed in datagrams.
#[derive(Default)]
pub struct Datagrams {
    pub requests: u64,
    pub answered: u64,
    pub entries: u64,
    pub codes: Codes,
    pub response: Times,
    pending: Table<(Endpoint, Endpoint, u32), At>,
}

impl Datagrams {
    /// Reads the messages of a datagram.
    pub fn datagram(&mut self, at: At, from: Endpoint, to: Endpoint, mut payload: &[u8]) {
        while let (Ok(whole), Ok(message)) = (ber::read(payload), message::read(payload)) {
            match message.operation {
                Operation::Request(kind) if kind.is_answered() => {
                    let key = (from, to, message.id);
                    // One that is sent again before its answer is the same request.
                    if self.pending.contains_key(&key) {
                        return;
                    }
                    self.requests += 1;
                    if self.pending.len() >= MOST_PENDING {
                        self.pending.clear();
                    }
                    self.pending.insert(key, at);
                }
                Operation::Answer(Answer::Entry) => {
                    // An answer that was captured twice counts once.
                    let is_new = self.pending.contains_key(&(to, from, message.id));
                    self.entries += u64::from(is_new);
                }
                Operation::Answer(Answer::Result(_)) => {
                    let asked = self.pending.remove(&(to, from, message.id));
                    self.answered += u64::from(asked.is_some());
                    if let Some(code) = message::result_code(&message.content)
                        && asked.is_some()
                    {
                        self.codes.count(code);
                    }
                    if let Some(ns) = asked.and_then(|asked| at.since(asked)) {
                        self.response.record(ns);
                    }
                }
                Operation::Request(_) | Operation::Answer(_) => {}
            }
            payload = payload.get(whole.span()..).unwrap_or_default();
        }
    }
}

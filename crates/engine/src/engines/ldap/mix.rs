//! What one worker asks for: the operations in their weights, each with its keys, and what came of them.

use super::answers::{Pending, wrong};
use super::connection::Connection;
use super::keys::Deal;
use super::plan::Planned;
use crate::recorder::Recorder;
use assay_ldap::ber::{Flaw, Tlv};
use assay_ldap::message::{Message, Outcome};
use assay_ldap::op;
use assay_ldap::template::Template;

/// What is asked for next.
#[derive(Clone, Copy)]
pub struct Next {
    operation: usize,
    key: (u64, bool),
}

/// What becomes of a connection after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lives,
    /// It answers what cannot be understood.
    Lost(&'static str),
}

/// The operations of one worker.
pub struct Mix {
    pub planned: Vec<Planned>,
    pub deal: Deal,
    /// The bind before each operation, and where it is noted.
    pub bind: Option<(Template, usize)>,
    /// How many operations are left to begin.
    pub left: u64,
    pub next: Option<Next>,
    pub unasked: u64,
    pub notices: u64,
    pub goes_on: bool,
}

impl Mix {
    /// What is asked for next; None where all is done, or one operation has no key any more: the rest would be another mix.
    #[inline]
    pub fn look_ahead(&mut self) -> Option<Next> {
        if self.next.is_none() && self.left > 0 {
            let operation = self.deal.next();
            let planned = &mut self.planned[operation];
            let key = match &mut planned.feed {
                None => planned.draw.next()?,
                Some(feed) => feed.has_next().then(|| (feed.numbers().0, false))?,
            };
            self.next = Some(Next { operation, key });
        }
        self.next
    }

    /// Whether what is asked for next has to wait for an answer.
    #[inline]
    pub fn is_held(&self) -> bool {
        let next = self.next.map(|next| &self.planned[next.operation].feed);
        matches!(next, Some(Some(feed)) if feed.is_held())
    }

    /// Reads of a file what is added next, while answers are awaited.
    #[inline]
    pub fn prepare(&mut self) {
        if let Some(feed) = &mut self.planned[0].feed {
            feed.has_next();
        }
    }

    /// Why the file of an operation cannot be read to its end.
    pub fn broken(&self) -> Option<&str> {
        let mut feeds = self.planned.iter().filter_map(|one| one.feed.as_ref());
        feeds.find_map(|feed| feed.broken.as_deref())
    }

    /// Puts a request into a connection that has room for it.
    #[inline]
    pub fn begin(&mut self, connection: &mut Connection, next: Next, from: u64, now: u64) {
        let Some(place) = connection.free.pop() else {
            return;
        };
        self.next = None;
        self.left -= 1;
        let id = connection.id(place);
        let planned = &mut self.planned[next.operation];
        let begun = planned.account.requests + planned.withdrawn;
        let turn = planned.draw.turn(begun);
        planned.account.requests += 1;
        planned.account.misses += u64::from(next.key.1);
        let pending = &mut connection.pending[usize::from(place)];
        if let Some(feed) = &mut planned.feed {
            pending.begin(id, next.operation, from, next.key, feed.numbers().1);
            return feed.take(id, &mut connection.out);
        }
        pending.begin(id, next.operation, from, next.key, turn);
        let message = if let Some((bind, _)) = &mut self.bind {
            pending.binds_from = Some(now);
            bind.patch(id, 0, 0)
        } else {
            planned.message(id, next.key.0, turn)
        };
        connection.out.extend_from_slice(message);
    }

    /// Takes the answers in these bytes; gives how many were used up.
    #[inline]
    pub fn take(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        now: u64,
        recorder: &mut Recorder,
    ) -> (usize, Fate) {
        let mut at = 0;
        while at < bytes.len() {
            let (length, id, op) = match read(&bytes[at..]) {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(fate) => return (at, fate),
            };
            at += length;
            match connection.place(id) {
                Some(place) => {
                    connection.pending[place].bytes += length;
                    self.part(connection, place, &op, now, recorder);
                }
                None if id == 0 => self.notices += 1,
                None => self.stray(now, recorder),
            }
        }
        (at, Fate::Lives)
    }

    /// An answer to what nobody asked.
    #[cold]
    fn stray(&mut self, now: u64, recorder: &mut Recorder) {
        self.unasked += 1;
        self.goes_on &= recorder.refuse_answer(self.planned[0].slot, 0, wrong::UNASKED, now);
    }

    /// One message of an answer.
    #[inline]
    fn part(
        &mut self,
        connection: &mut Connection,
        place: usize,
        op: &Tlv,
        now: u64,
        recorder: &mut Recorder,
    ) {
        let pending = &mut connection.pending[place];
        if pending.binds_from.is_some() {
            return self.bound(connection, place, op, now, recorder);
        }
        let planned = &mut self.planned[pending.operation];
        match op.tag {
            op::SEARCH_ENTRY if planned.answer == op::SEARCH_DONE => {
                pending.entry(planned, op, now);
            }
            op::SEARCH_REFERENCE if planned.answer == op::SEARCH_DONE => pending.references += 1,
            op::INTERMEDIATE => {}
            tag if tag == planned.answer => {
                self.goes_on &= end(pending, planned, op, now, recorder);
                free(connection, place);
            }
            _ => {
                planned.refuse(pending, 0, wrong::KIND, b"");
                self.goes_on &= recorder.refuse_answer(planned.slot, 0, wrong::KIND, now);
                *planned.account.wrong.entry(wrong::KIND).or_default() += 1;
                free(connection, place);
            }
        }
    }

    /// The answer to the bind before an operation: the operation follows it.
    fn bound(
        &mut self,
        connection: &mut Connection,
        place: usize,
        op: &Tlv,
        now: u64,
        recorder: &mut Recorder,
    ) {
        let slot = self.bind.as_ref().map_or(0, |(_, slot)| *slot);
        let pending = &mut connection.pending[place];
        let from = pending.binds_from.take().unwrap_or(now);
        let outcome = Outcome::read(op).filter(|_| op.tag == op::BIND_RESPONSE);
        let code = outcome.map(|outcome| outcome.code);
        if code == Some(0) {
            self.goes_on &= recorder.complete(slot, pending.bytes, from, now);
            pending.bytes = 0;
            let (id, key, turn) = (pending.id, pending.key, pending.turn);
            let message = self.planned[pending.operation].message(id, key, turn);
            connection.out.extend_from_slice(message);
            connection.is_dirty = true;
            return;
        }
        let what = code.map_or(wrong::UNREADABLE, op::code_name);
        self.planned[pending.operation].withdraw(pending);
        self.goes_on &= recorder.refuse_answer(slot, code.unwrap_or(0), what, now);
        free(connection, place);
    }
}

/// The message at the beginning of these bytes: its length, id and operation; None where its end is not there yet.
#[inline]
fn read(bytes: &[u8]) -> Result<Option<(usize, u32, Tlv<'_>)>, Fate> {
    match Message::plain(bytes) {
        None => read_other(bytes),
        message => Ok(message),
    }
}

/// A message with controls, or one that is not there to its end, or none.
#[cold]
fn read_other(bytes: &[u8]) -> Result<Option<(usize, u32, Tlv<'_>)>, Fate> {
    match Message::read(bytes) {
        Err(Flaw::Malformed) => Err(Fate::Lost(wrong::UNREADABLE)),
        Ok(message) if message.is_whole(bytes) => match (message.id, message.op) {
            (Some(id), Some(op)) => Ok(Some((message.length, id, op))),
            _ => Err(Fate::Lost(wrong::UNREADABLE)),
        },
        Ok(_) | Err(Flaw::Cut) => Ok(None),
    }
}

/// The end of an answer: right, refused or wrong. False = stop.
#[inline]
fn end(
    pending: &mut Pending,
    planned: &mut Planned,
    op: &Tlv,
    now: u64,
    recorder: &mut Recorder,
) -> bool {
    planned.account.entries += pending.entries;
    planned.account.references += pending.references;
    let Some(outcome) = Outcome::read(op) else {
        planned.refuse(pending, 0, wrong::UNREADABLE, b"");
        *planned.account.wrong.entry(wrong::UNREADABLE).or_default() += 1;
        return recorder.refuse_answer(planned.slot, 0, wrong::UNREADABLE, now);
    };
    planned.note_code(outcome.code);
    if !pending.accepts(planned, &outcome) {
        let name = op::code_name(outcome.code);
        planned.refuse(pending, outcome.code, name, outcome.words);
        return recorder.refuse_answer(planned.slot, outcome.code, name, now);
    }
    if let Some(what) = pending.verdict(planned) {
        *planned.account.wrong.entry(what).or_default() += 1;
        return recorder.refuse_answer(planned.slot, outcome.code, what, now);
    }
    if let Some(slot) = planned.first_slot.filter(|_| pending.entries > 0) {
        recorder.complete(slot, 0, pending.from, pending.first);
    }
    let bytes = match &mut planned.feed {
        None => pending.bytes,
        Some(feed) => {
            feed.done(pending.turn);
            pending.key as usize
        }
    };
    let goes_on = recorder.complete(planned.slot, bytes, pending.from, now);
    if let Some(pacer) = recorder.pacer() {
        pacer.ended(now);
    }
    goes_on
}

#[inline]
fn free(connection: &mut Connection, place: usize) {
    connection.pending[place].id = 0;
    connection.free.push(place as u16);
}

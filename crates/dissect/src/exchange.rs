//! The requests and answers of one connection.

use crate::framing::{Layer, Messages};
use crate::message::{self, Answer, Kind, Message, Operation, Side};
use crate::searches::{Scope, Search};
use crate::tallies::{MOST_PENDING, Opaque, TOGETHER, Tallies};
use assay_ldap::ber::Flaw;
use assay_ldap::message::SearchRequest;
use std::collections::HashMap;

/// Bytes without a message after which a connection is taken for something else than LDAP.
const MOST_SKIPPED: u32 = 32 << 10;

/// An operation that waits for its answer.
struct Pending {
    kind: Kind,
    /// The time of the request's last byte; None where the frame that had it was lost.
    t_ns: Option<u64>,
    filter: u32,
    search: u32,
    /// An entry or a reference was there.
    begun: bool,
    entries: u32,
    bytes: u64,
    /// How often messages of each side may have been lost before.
    lost: [u32; 2],
    abandoned: bool,
    asks_for_tls: bool,
}

/// What is known of a connection's operations.
#[derive(Default)]
pub struct Exchange {
    pub opaque: Option<Opaque>,
    /// Whether the receivers of client's and server's bytes have more than the capture.
    pub behind: [bool; 2],
    pub binds: u32,
    pub others: u32,
    pub unbound: bool,
    pub client: u32,
    pending: HashMap<u32, Pending>,
    lost: [u32; 2],
    messages: u64,
    skipped: u32,
    by_sasl: bool,
}

impl Exchange {
    /// Of a client, whose bytes are opaque from the start or not.
    pub fn new(client: u32, opaque: Option<Opaque>) -> Self {
        Self {
            opaque,
            client,
            ..Self::default()
        }
    }

    /// Whether messages of a side may have been lost since a request.
    fn may_lack(&self, side: Side, since: &Pending) -> bool {
        self.behind[side as usize] || self.lost[side as usize] != since.lost[side as usize]
    }

    /// Counts what was not answered.
    pub fn close(&mut self, tallies: &mut Tallies) {
        for (_, pending) in std::mem::take(&mut self.pending) {
            self.left(&pending, tallies);
        }
    }

    fn left(&self, pending: &Pending, tallies: &mut Tallies) {
        tallies.pending -= 1;
        if pending.abandoned {
            return;
        }
        if self.may_lack(Side::Server, pending) {
            tallies.answers_lost += 1;
        } else {
            tallies.of(pending.kind).unanswered += 1;
        }
    }
}

/// One side of a connection, whose messages are counted.
pub struct Hearing<'a> {
    pub side: Side,
    pub exchange: &'a mut Exchange,
    pub tallies: &'a mut Tallies,
}

impl Messages for Hearing<'_> {
    fn message(&mut self, bytes: &[u8], length: u64, t_ns: Option<u64>) {
        let message = match message::read(bytes) {
            Ok(message) => message,
            Err(flaw) => {
                self.tallies.malformed += u64::from(flaw == Flaw::Malformed);
                self.lost();
                return;
            }
        };
        match (message.operation, self.side) {
            (Operation::Request(kind), Side::Client) => self.request(kind, &message, length, t_ns),
            (Operation::Answer(answer), Side::Server) => {
                self.answer(answer, &message, length, t_ns);
            }
            _ => {
                self.tallies.malformed += 1;
                return;
            }
        }
        self.tallies.messages += 1;
        self.exchange.messages += 1;
    }

    fn lost(&mut self) {
        self.exchange.lost[self.side as usize] += 1;
    }

    fn skipped(&mut self, bytes: u64) {
        self.tallies.skipped_bytes += bytes;
        self.exchange.skipped = self.exchange.skipped.saturating_add(bytes as u32);
        if self.exchange.messages == 0
            && self.exchange.skipped > MOST_SKIPPED
            && self.exchange.opaque.is_none()
        {
            self.exchange.opaque = Some(Opaque::NotLdap);
        }
    }

    fn layer(&mut self, layer: Layer) -> bool {
        let found = match layer {
            Layer::Tls if self.exchange.messages == 0 => Opaque::Ldaps,
            Layer::Tls => Opaque::StartTls,
            Layer::Sasl if self.exchange.by_sasl => Opaque::Sasl,
            Layer::Sasl => return false,
        };
        self.exchange.opaque.get_or_insert(found);
        true
    }

    fn malformed(&mut self) {
        self.tallies.malformed += 1;
    }

    fn is_opaque(&self) -> bool {
        self.exchange.opaque.is_some()
    }
}

impl Hearing<'_> {
    fn request(&mut self, kind: Kind, message: &Message<'_>, length: u64, t_ns: Option<u64>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        let tally = tallies.of(kind);
        tally.requests += 1;
        tally.request_bytes += length;
        let now_ns = tallies.now_ns;
        tallies.timeline.at(t_ns.unwrap_or(now_ns)).requests[kind as usize] += 1;
        if let Some(client) = tallies.clients.get_mut(exchange.client as usize) {
            client.requests[kind as usize] += 1;
        }
        match kind {
            Kind::Bind => exchange.binds += 1,
            Kind::Unbind => exchange.unbound = true,
            _ => exchange.others += 1,
        }
        if kind == Kind::Abandon {
            let id = message::abandoned_id(&message.content);
            if let Some(pending) = id.and_then(|id| exchange.pending.get_mut(&id)) {
                tallies.abandoned += u64::from(!pending.abandoned);
                pending.abandoned = true;
            }
        }
        if kind.is_answered() {
            self.follow(kind, message, t_ns);
        }
    }

    /// Waits for the answer.
    fn follow(&mut self, kind: Kind, message: &Message<'_>, t_ns: Option<u64>) {
        let (filter, search) = if kind == Kind::Search {
            self.searched(message)
        } else {
            (TOGETHER, TOGETHER)
        };
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        exchange.by_sasl |= kind == Kind::Bind && message::binds_by_sasl(&message.content);
        if tallies.pending >= MOST_PENDING {
            tallies.unfollowed += 1;
            return;
        }
        tallies.pending += 1;
        let pending = Pending {
            kind,
            t_ns,
            filter,
            search,
            begun: false,
            entries: 0,
            bytes: 0,
            lost: exchange.lost,
            abandoned: false,
            asks_for_tls: kind == Kind::Extended && message::asks_for_tls(&message.content),
        };
        if let Some(former) = exchange.pending.insert(message.id, pending) {
            exchange.left(&former, tallies);
        }
        let depth = exchange.pending.len() as u64;
        tallies.depth_sum += depth;
        tallies.depth_max = tallies.depth_max.max(depth);
    }

    /// The places of a search's filter, and of the searches that are like it.
    fn searched(&mut self, message: &Message<'_>) -> (u32, u32) {
        let request = SearchRequest::read(&message.content);
        let scope = request.scope.and_then(Scope::of);
        let attributes = message::attributes(&request);
        self.tallies.searched(scope, attributes);
        let filter = self.tallies.filter(&message::shape(&request));
        let search = self.tallies.searches.count(Search {
            filter,
            scope,
            attributes,
            size_limit: request
                .size_limit
                .and_then(|limit| u32::try_from(limit).ok()),
        });
        (filter, search)
    }

    fn answer(&mut self, answer: Answer, message: &Message<'_>, length: u64, t_ns: Option<u64>) {
        match answer {
            Answer::Entry => self.tallies.entries += 1,
            Answer::Reference => self.tallies.references += 1,
            Answer::Intermediate => self.tallies.intermediate += 1,
            Answer::Result(Kind::Extended) if message.id == 0 => {
                self.tallies.notices += 1;
                return;
            }
            Answer::Result(kind) => {
                self.result(kind, message, length, t_ns);
                return;
            }
        }
        self.part(answer, message.id, length, t_ns);
    }

    /// A part of an answer that goes on.
    fn part(&mut self, answer: Answer, id: u32, length: u64, t_ns: Option<u64>) {
        let exchange = &mut *self.exchange;
        let Some(pending) = exchange.pending.get(&id) else {
            return;
        };
        let lacking = exchange.may_lack(Side::Server, pending);
        let Some(pending) = exchange.pending.get_mut(&id) else {
            return;
        };
        pending.bytes += length;
        if answer == Answer::Intermediate {
            return;
        }
        let first = !std::mem::replace(&mut pending.begun, true);
        if first
            && !lacking
            && let (Some(from_ns), Some(t_ns)) = (pending.t_ns, t_ns)
        {
            let kind = pending.kind;
            self.tallies
                .of(kind)
                .first_entry
                .record(t_ns.saturating_sub(from_ns));
        }
        pending.entries += u32::from(answer == Answer::Entry);
    }

    /// The end of an answer.
    fn result(&mut self, kind: Kind, message: &Message<'_>, length: u64, t_ns: Option<u64>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        let code = message::result_code(&message.content);
        if let Some(code) = code {
            tallies.codes.count(code);
            tallies.of(kind).codes.count(code);
        }
        tallies.of(kind).answer_bytes += length;
        let Some(pending) = exchange.pending.remove(&message.id) else {
            tallies.answers_without_request += 1;
            return;
        };
        if pending.kind != kind {
            tallies.answers_without_request += 1;
            exchange.left(&pending, tallies);
            return;
        }
        tallies.pending -= 1;
        if pending.asks_for_tls && code == Some(0) {
            exchange.opaque = Some(Opaque::StartTls);
        }
        self.answered(&pending, code, length, t_ns);
    }

    fn answered(&mut self, pending: &Pending, code: Option<u32>, length: u64, t_ns: Option<u64>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        let bytes = pending.bytes + length;
        tallies.of(pending.kind).answered += 1;
        tallies.of(pending.kind).answer_bytes += pending.bytes;
        let now_ns = tallies.now_ns;
        tallies.timeline.at(now_ns).answered += 1;
        if let Some(filter) = tallies.filters.get_mut(pending.filter as usize) {
            filter.answered += 1;
            filter.entries += u64::from(pending.entries);
            filter.bytes += bytes;
            if let Some(code) = code {
                filter.codes.count(code);
            }
        }
        if let Some(search) = tallies.searches.tallies.get_mut(pending.search as usize) {
            let is_empty = pending.entries == 0 && !exchange.may_lack(Side::Server, pending);
            search.answered += 1;
            search.entries += u64::from(pending.entries);
            search.empty += u64::from(is_empty);
            search.bytes += bytes;
        }
        if let Some(client) = tallies.clients.get_mut(exchange.client as usize) {
            client.answered += 1;
            client.bytes += bytes;
        }
        // The id may have been used again by a request that was lost, with the former's answer lost before.
        let doubtful =
            exchange.may_lack(Side::Client, pending) && exchange.may_lack(Side::Server, pending);
        match (pending.t_ns, t_ns) {
            (Some(from_ns), Some(t_ns)) if !doubtful => {
                tallies.responded(
                    pending.kind,
                    exchange.client,
                    pending.filter,
                    t_ns.saturating_sub(from_ns),
                );
            }
            _ => tallies.untimed += 1,
        }
    }
}

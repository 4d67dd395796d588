//! The requests and answers of one connection.

use crate::asked::{Asked, TOGETHER};
use crate::bindings::{Auth, Binding};
use crate::framing::{Layer, Messages};
use crate::hashing::Table;
use crate::message::{self, Answer, Kind, Message, Operation, Page, Side};
use crate::packet::At;
use crate::searches::{Scope, Search};
use crate::tallies::{MOST_PENDING, Never, Opaque, Tallies};
use crate::tls::{Handshake, Progress};
use crate::uses::Use;
use assay_ldap::ber::Flaw;
use assay_ldap::message::SearchRequest;

/// Bytes without a message after which a connection is taken for something else than LDAP.
const MOST_SKIPPED: u32 = 32 << 10;
/// The result of a bind that goes on.
const GOES_ON: u32 = 14;
const PAGED: &[u8] = b"1.2.840.113556.1.4.319";
/// Controls of searches that last until they are abandoned: persistent search, notification of Active Directory.
const LASTING: [&[u8]; 2] = [b"2.16.840.1.113730.3.4.3", b"1.2.840.113556.1.4.528"];
/// That of a synchronisation, which lasts with the mode 3.
const SYNCHRONISED: &[u8] = b"1.3.6.1.4.1.4203.1.9.1.1";

/// An operation that waits for its answer.
struct Pending {
    kind: Kind,
    /// The frame of the request's last byte; None where it was lost.
    at: Option<At>,
    filter: u32,
    search: u32,
    /// An entry or a reference was there.
    begun: bool,
    entries: u32,
    bytes: u64,
    /// How often messages of each side may have been lost before.
    lost: [u32; 2],
    awaits: Awaits,
    asks_for_tls: bool,
}

/// What an operation waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Answer,
    /// It lasts until it is abandoned.
    End,
    /// It was abandoned.
    Nothing,
}

/// What is known of a connection's operations.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Exchange {
    pub opaque: Option<Opaque>,
    /// Whether the receivers of client's and server's bytes have more than the capture.
    pub behind: [bool; 2],
    /// Authentications, which may take several binds each.
    pub binds: u32,
    pub others: u32,
    pub unbound: bool,
    pub client: u32,
    /// Whether its begin was seen.
    pub begun: bool,
    /// Whether its buffers of SASL are read.
    pub signed: bool,
    pub messages: u64,
    pub noticed: bool,
    of_tls: bool,
    pending: Table<u32, Pending>,
    lost: [u32; 2],
    skipped: u32,
    malformed: u32,
    by_sasl: bool,
    /// The next bind goes on with an authentication.
    goes_on: bool,
    auth: Option<Box<Auth>>,
    paging: bool,
    handshake: Option<Box<Handshake>>,
    shaken: bool,
    /// The row of the last operation by client, filter and code.
    row: Option<(Use, u32)>,
}

impl Exchange {
    /// Of a client; whether to a port of TLS.
    pub fn new(client: u32, of_tls: bool) -> Self {
        Self {
            client,
            of_tls,
            ..Self::default()
        }
    }

    /// Whether messages of a side may have been lost since a request.
    fn may_lack(&self, side: Side, since: &Pending) -> bool {
        self.behind[side as usize] || self.lost[side as usize] != since.lost[side as usize]
    }

    /// Counts what was not answered up to a time; `over`: no answer will come.
    pub fn close(&mut self, over: bool, last_ns: u64, tallies: &mut Tallies) {
        let mut left: Vec<_> = std::mem::take(&mut self.pending).into_iter().collect();
        left.sort_unstable_by_key(|(id, _)| *id);
        for (_, pending) in left {
            self.left(&pending, over, last_ns, tallies);
        }
        if let Some(auth) = self.auth.take() {
            self.bound(&auth, tallies);
        }
        if self.messages == 0 && self.malformed > 0 && self.opaque.is_none() {
            // It began like no LDAP, and nothing of LDAP came: a probe for something else.
            self.opaque = Some(Opaque::NotLdap);
            tallies.skipped_bytes -= u64::from(self.skipped).min(tallies.skipped_bytes);
            tallies.opaque_bytes += u64::from(self.skipped);
        } else {
            tallies.malformed += u64::from(std::mem::take(&mut self.malformed));
        }
        tallies.signed += u64::from(self.signed && self.opaque.is_none());
    }

    fn left(&self, pending: &Pending, over: bool, last_ns: u64, tallies: &mut Tallies) {
        tallies.pending -= 1;
        if pending.awaits != Awaits::Answer {
            return;
        }
        if self.may_lack(Side::Server, pending) {
            tallies.answers_lost += 1;
            return;
        }
        tallies.never_answered(&Never {
            over,
            asked: Asked {
                kind: pending.kind,
                client: self.client,
                filter: pending.filter,
                at: pending.at,
            },
            waited_ns: pending
                .at
                .filter(|at| at.is_timed())
                .map(|at| last_ns.saturating_sub(at.t_ns)),
        });
    }

    /// Counts an authentication whose layer is known by now.
    fn bound(&self, auth: &Auth, tallies: &mut Tallies) {
        let layer = match self.opaque {
            Some(Opaque::Sasl) => "sealed",
            _ if self.signed => "signed",
            _ if !auth.by_sasl || self.others > auth.others => "none",
            _ => "unknown",
        };
        tallies.bindings.count(
            Binding {
                client: self.client,
                mechanism: auth.mechanism,
                layer,
            },
            auth.binds,
            auth.failed,
        );
    }
}

/// One side of a connection, whose messages are counted.
pub struct Hearing<'a> {
    pub side: Side,
    pub exchange: &'a mut Exchange,
    pub tallies: &'a mut Tallies,
}

impl Messages for Hearing<'_> {
    fn message(&mut self, bytes: &[u8], length: u64, at: Option<At>) {
        let message = match message::read(bytes) {
            Ok(message) => message,
            Err(flaw) => {
                if flaw == Flaw::Malformed {
                    self.malformed();
                }
                self.lost();
                return;
            }
        };
        match (message.operation, self.side) {
            (Operation::Request(kind), Side::Client) => self.request(kind, &message, length, at),
            (Operation::Answer(answer), Side::Server) => {
                self.answer(answer, &message, length, at);
            }
            _ => {
                self.malformed();
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

    fn layer(&mut self, layer: Layer) {
        let exchange = &mut *self.exchange;
        let found = match layer {
            Layer::Tls if exchange.messages == 0 && (exchange.begun || exchange.of_tls) => {
                Opaque::Ldaps
            }
            Layer::Tls => Opaque::StartTls,
            Layer::Sealed => Opaque::Sasl,
            Layer::Unknown => Opaque::Ldaps,
        };
        exchange.opaque.get_or_insert(found);
    }

    fn buffers(&mut self) {
        self.exchange.signed = true;
    }

    fn may_have_buffers(&self) -> bool {
        self.exchange.by_sasl
    }

    fn proxied(&mut self, client: Option<[u8; 16]>) {
        self.tallies.proxied += 1;
        if let Some(address) = client {
            self.exchange.client = self.tallies.other_client(self.exchange.client, address);
        }
    }

    fn malformed(&mut self) {
        if self.exchange.messages == 0 {
            self.exchange.malformed += 1;
        } else {
            self.tallies.malformed += 1;
        }
    }

    fn is_opaque(&self) -> bool {
        self.exchange.opaque.is_some()
    }

    fn is_of_tls(&self) -> bool {
        self.exchange.of_tls && self.exchange.messages == 0
    }

    fn opaque(&mut self, bytes: &[u8], at: At) {
        self.tallies.opaque_bytes += bytes.len() as u64;
        let exchange = &mut *self.exchange;
        let is_tls = matches!(exchange.opaque, Some(Opaque::Ldaps | Opaque::StartTls));
        if is_tls && !std::mem::replace(&mut exchange.shaken, true) {
            exchange.handshake = Some(Box::default());
        }
        if let Some(handshake) = &mut exchange.handshake
            && let Progress::Ended(lasted_ns) = handshake.bytes(self.side, bytes, at)
        {
            exchange.handshake = None;
            if let Some(ns) = lasted_ns {
                self.tallies.handshakes.record(ns);
            }
        }
    }

    fn opaque_bytes(&mut self, count: u64) {
        self.tallies.opaque_bytes += count;
    }
}

impl Hearing<'_> {
    fn request(&mut self, kind: Kind, message: &Message<'_>, length: u64, at: Option<At>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        let tally = tallies.of(kind);
        tally.requests += 1;
        tally.request_bytes += length;
        let now_ns = tallies.now_ns;
        tallies
            .timeline
            .at(at.map_or(now_ns, |at| at.t_ns))
            .requests[kind as usize] += 1;
        if let Some(client) = tallies.clients.get_mut(exchange.client as usize) {
            client.requests[kind as usize] += 1;
        }
        match kind {
            Kind::Bind => self.bind(message),
            Kind::Unbind => exchange.unbound = true,
            Kind::Abandon => {
                exchange.others += 1;
                self.abandon(message);
            }
            _ => exchange.others += 1,
        }
        if kind.is_answered() {
            self.follow(kind, message, at);
        }
    }

    fn abandon(&mut self, message: &Message<'_>) {
        let id = message::abandoned_id(&message.content);
        if let Some(pending) = id.and_then(|id| self.exchange.pending.get_mut(&id)) {
            self.tallies.abandoned += u64::from(pending.awaits != Awaits::Nothing);
            pending.awaits = Awaits::Nothing;
        }
    }

    /// Counts an authentication, of which this is the first message or a further one.
    fn bind(&mut self, message: &Message<'_>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        let goes_on = std::mem::take(&mut exchange.goes_on);
        let bind = message::bind(&message.content);
        exchange.by_sasl |= bind.is_none_or(|bind| bind.by_sasl);
        if !goes_on {
            exchange.binds += 1;
            tallies.authentications += 1;
        }
        let Some(bind) = bind else {
            return;
        };
        exchange.goes_on = bind.goes_on;
        if goes_on {
            return;
        }
        let mechanism = tallies.bindings.mechanism(bind.mechanism);
        match &mut exchange.auth {
            Some(auth) if auth.mechanism == mechanism => {
                auth.binds += 1;
                auth.others = exchange.others;
            }
            _ => {
                let auth = Auth {
                    mechanism,
                    by_sasl: bind.by_sasl,
                    binds: 1,
                    failed: 0,
                    others: exchange.others,
                };
                if let Some(before) = exchange.auth.replace(Box::new(auth)) {
                    exchange.bound(&before, tallies);
                }
            }
        }
    }

    /// Takes the result of a bind.
    fn bound(&mut self, code: Option<u32>) {
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        exchange.goes_on |= code == Some(GOES_ON);
        let failed = code.filter(|code| *code != 0 && *code != GOES_ON);
        if let Some(code) = failed {
            exchange.goes_on = false;
            let mechanism = exchange.auth.as_ref().map(|auth| auth.mechanism);
            tallies.failed_bind(exchange.client, mechanism, code);
            if let Some(auth) = &mut exchange.auth {
                auth.failed += 1;
            }
        }
    }

    /// Waits for the answer.
    fn follow(&mut self, kind: Kind, message: &Message<'_>, at: Option<At>) {
        let (filter, search) = if kind == Kind::Search {
            self.searched(message)
        } else {
            (TOGETHER, TOGETHER)
        };
        if kind == Kind::Extended {
            self.tallies.extended(message::extended(&message.content));
        }
        let lasting = message
            .controls
            .is_some_and(|controls| self.controlled(&controls));
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
        if tallies.pending >= MOST_PENDING {
            tallies.unfollowed += 1;
            return;
        }
        tallies.pending += 1;
        let pending = Pending {
            kind,
            at,
            filter,
            search,
            begun: false,
            entries: 0,
            bytes: 0,
            lost: exchange.lost,
            awaits: if lasting { Awaits::End } else { Awaits::Answer },
            asks_for_tls: kind == Kind::Extended && message::asks_for_tls(&message.content),
        };
        if let Some(former) = exchange.pending.insert(message.id, pending) {
            let now_ns = tallies.now_ns;
            exchange.left(&former, true, now_ns, tallies);
        }
        let depth = exchange.pending.len() as u64;
        tallies.depth_sum += depth;
        tallies.depth_max = tallies.depth_max.max(depth);
    }

    /// Counts the controls of a request; whether it lasts until it is abandoned.
    fn controlled(&mut self, controls: &assay_ldap::ber::Tlv<'_>) -> bool {
        let mut lasting = false;
        for (name, value) in message::each_control(controls) {
            self.tallies.control(name);
            let value = value.unwrap_or_default();
            lasting |= LASTING.contains(&name)
                || (name == SYNCHRONISED && value.get(2..5) == Some(&[0x0a, 1, 3]));
            if name == PAGED
                && let Some(page) = message::page(value)
            {
                let exchange = &mut *self.exchange;
                let is_new = page == Page::First || (page == Page::Next && !exchange.paging);
                self.tallies.paged_searches += u64::from(is_new);
                self.tallies.pages += u64::from(page != Page::End);
                exchange.paging = page != Page::End;
            }
        }
        lasting
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

    fn answer(&mut self, answer: Answer, message: &Message<'_>, length: u64, at: Option<At>) {
        match answer {
            Answer::Entry => self.tallies.entries += 1,
            Answer::Reference => self.tallies.references += 1,
            Answer::Intermediate => self.tallies.intermediate += 1,
            Answer::Result(Kind::Extended) if message.id == 0 => {
                self.tallies.notices += 1;
                self.exchange.noticed = true;
                return;
            }
            Answer::Result(kind) => {
                self.result(kind, message, length, at);
                return;
            }
        }
        self.part(answer, message.id, length, at);
    }

    /// A part of an answer that goes on.
    fn part(&mut self, answer: Answer, id: u32, length: u64, at: Option<At>) {
        let exchange = &mut *self.exchange;
        let (behind, lost) = (exchange.behind, exchange.lost);
        let Some(pending) = exchange.pending.get_mut(&id) else {
            return;
        };
        let side = Side::Server as usize;
        let lacking = behind[side] || lost[side] != pending.lost[side];
        pending.bytes += length;
        if answer == Answer::Intermediate {
            return;
        }
        let first = !std::mem::replace(&mut pending.begun, true);
        pending.entries += u32::from(answer == Answer::Entry);
        if first
            && !lacking
            && let (Some(from), Some(at)) = (pending.at, at)
            && let Some(ns) = at.since(from)
        {
            let kind = pending.kind;
            self.tallies.of(kind).first_entry.record(ns);
        }
    }

    /// The end of an answer.
    fn result(&mut self, kind: Kind, message: &Message<'_>, length: u64, at: Option<At>) {
        let code = message::result_code(&message.content);
        if kind == Kind::Bind {
            self.bound(code);
        }
        let (exchange, tallies) = (&mut *self.exchange, &mut *self.tallies);
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
            let now_ns = tallies.now_ns;
            exchange.left(&pending, true, now_ns, tallies);
            return;
        }
        tallies.pending -= 1;
        if pending.asks_for_tls && code == Some(0) {
            exchange.opaque = Some(Opaque::StartTls);
        }
        self.answered(&pending, code, length, at);
    }

    fn answered(&mut self, pending: &Pending, code: Option<u32>, length: u64, at: Option<At>) {
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
        let ns = match (pending.at, at) {
            (Some(from), Some(at)) if !doubtful => at.since(from),
            _ => None,
        };
        let row = Use {
            client: exchange.client,
            kind: pending.kind,
            filter: pending.filter,
            code,
        };
        let place = match exchange.row {
            Some((known, place)) if known == row => place,
            _ => tallies.uses.place(row),
        };
        exchange.row = Some((row, place));
        tallies.uses.count(place, pending.entries, ns);
        let asked = Asked {
            kind: pending.kind,
            client: exchange.client,
            filter: pending.filter,
            at: pending.at,
        };
        match ns {
            Some(ns) => tallies.responded(&asked, code, at.unwrap_or_default(), ns),
            None => tallies.untimed += 1,
        }
    }
}

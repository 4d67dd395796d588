//! Everything that is counted over all connections.

use crate::asked::{Asked, Codes, TOGETHER};
use crate::bindings::Bindings;
use crate::cldap::Datagrams;
use crate::hashing::Table;
use crate::message::{Attributes, Kind};
use crate::packet::{At, Sum};
use crate::searches::{Scope, Searches};
use crate::slowest::{Slow, Slowest};
use crate::timeline::{KINDS, Timeline};
use crate::times::Times;
use crate::uses::Uses;
use std::collections::BTreeMap;

/// Filters and clients that are kept apart; what comes after them is counted together.
const MOST_FILTERS: usize = 512;
const MOST_CLIENTS: usize = 4096;
const MOST_PORTS: usize = 1024;
/// Object identifiers that are kept apart.
const MOST_NAMES: usize = 64;
/// Letters of one.
const LONGEST_NAME: usize = 64;
/// Operations that wait for their answers; later ones are counted, but not followed.
pub const MOST_PENDING: u64 = 1 << 20;
pub const SECOND_NS: u64 = 1_000_000_000;

/// The operations of one kind.
#[derive(Default)]
pub struct KindTally {
    pub requests: u64,
    pub answered: u64,
    pub unanswered: u64,
    /// Not answered yet when the capture ended.
    pub open: u64,
    pub codes: Codes,
    pub response: Times,
    pub first_entry: Times,
    pub request_bytes: u64,
    pub answer_bytes: u64,
}

/// The searches with one filter.
pub struct FilterTally {
    pub shape: String,
    pub count: u64,
    pub answered: u64,
    pub entries: u64,
    pub bytes: u64,
    pub codes: Codes,
    pub response: Times,
}

/// What one address asked.
pub struct ClientTally {
    pub address: [u8; 16],
    pub connections: u64,
    pub requests: [u64; KINDS],
    pub answered: u64,
    pub response_sum_ns: u64,
    pub response_max_ns: u64,
    pub bytes: u64,
}

/// How connections are used.
#[derive(Default)]
pub struct Habits {
    /// One operation at most, beside the bind, and then the end.
    pub one_operation: u64,
    /// As many authentications as other operations, twice or more.
    pub rebinding: u64,
    /// Connections with messages, all of which can be read.
    pub readable: u64,
    pub reset: u64,
    pub reset_by_server: u64,
    pub open_at_end: u64,
    pub without_unbind: u64,
    pub open_at_once: u64,
}

/// A limit on response times whose violations are counted.
pub struct Limit {
    /// None: of all kinds.
    pub kind: Option<Kind>,
    pub ns: u64,
    /// Operations that it was held against.
    pub n: u64,
    pub slower: u64,
}

/// A request that was not answered.
pub struct Never {
    pub asked: Asked,
    /// Whether no answer will come; else the capture ended before.
    pub over: bool,
    /// How long at least; None where its time is not known.
    pub waited_ns: Option<u64>,
}

/// What kinds of opaque connections there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    Ldaps,
    StartTls,
    Sasl,
    NotLdap,
}

/// All counts.
#[derive(Default)]
pub struct Tallies {
    /// The time of the frame that is being read.
    pub now_ns: u64,
    pub first_ns: Option<u64>,
    pub last_ns: u64,
    pub frames: u64,
    pub bytes: u64,
    pub ldap_frames: u64,
    pub unreadable_frames: u64,
    pub cut_frames: u64,
    pub undescribed_frames: u64,
    pub unknown_links: BTreeMap<u32, u64>,
    pub ports: Table<u16, u64>,
    /// Frames whose time is before that of one before them.
    pub backwards: u64,
    /// Those that were put in order of time.
    pub reordered: u64,
    pub messages: u64,
    pub malformed: u64,
    pub skipped_bytes: u64,
    pub connections: u64,
    pub opaque: [u64; 4],
    /// Connections whose buffers of SASL were read.
    pub signed: u64,
    /// Connections that began with the header of a proxy.
    pub proxied: u64,
    /// Connections that were refused, whose SYN was not answered, and that carried no byte.
    pub refused: u64,
    pub unanswered_syns: u64,
    pub without_data: u64,
    pub connects: Times,
    pub handshakes: Times,
    pub datagrams: Datagrams,
    pub authentications: u64,
    /// Those on connections that can be read.
    pub readable_authentications: u64,
    pub bindings: Bindings,
    pub controls: BTreeMap<String, u64>,
    pub extended: BTreeMap<String, u64>,
    pub paged_searches: u64,
    pub pages: u64,
    pub uses: Uses,
    pub slowest: Slowest,
    pub opaque_bytes: u64,
    pub kinds: [KindTally; KINDS],
    pub codes: Codes,
    pub entries: u64,
    pub references: u64,
    pub intermediate: u64,
    pub notices: u64,
    pub abandoned: u64,
    pub answers_lost: u64,
    pub answers_without_request: u64,
    pub untimed: u64,
    pub unfollowed: u64,
    pub pending: u64,
    pub slower_1s: u64,
    pub limits: Vec<Limit>,
    pub gaps: u64,
    pub gap_bytes: u64,
    pub cut_bytes: u64,
    pub retransmitted: u64,
    /// Segments that were captured more than once.
    pub copies: u64,
    /// Segments with a bad checksum whose bytes the receiver acknowledged.
    pub bad_used: u64,
    pub out_of_order: u64,
    pub zero_windows: u64,
    pub stalled_ns: u64,
    pub sums: [u64; 4],
    pub capture_drops: u64,
    pub evicted_connections: u64,
    pub habits: Habits,
    pub scopes: [u64; 4],
    pub attributes_all: u64,
    pub attributes_none: u64,
    pub attributes_named: BTreeMap<u32, u64>,
    pub depth_sum: u64,
    pub depth_max: u64,
    pub timeline: Timeline,
    pub filters: Vec<FilterTally>,
    pub filters_together: u64,
    pub searches: Searches,
    pub clients: Vec<ClientTally>,
    pub clients_together: u64,
    filter_places: Table<String, u32>,
    client_places: Table<[u8; 16], u32>,
}

impl Tallies {
    /// Counts that hold response times against limits.
    pub fn new(limits: Vec<Limit>) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The kind's counts.
    pub fn of(&mut self, kind: Kind) -> &mut KindTally {
        &mut self.kinds[kind as usize]
    }

    /// Counts a frame on the wire.
    pub fn frame(&mut self, at: At, wire_bytes: u32) {
        let t_ns = at.t_ns;
        self.now_ns = t_ns;
        if at.is_timed() {
            self.first_ns = Some(self.first_ns.map_or(t_ns, |first| first.min(t_ns)));
            self.last_ns = self.last_ns.max(t_ns);
        }
        self.frames += 1;
        self.bytes += u64::from(wire_bytes);
        let slot = self.timeline.at(t_ns);
        slot.frames += 1;
        slot.bytes += u64::from(wire_bytes);
    }

    /// Counts what a checksum says.
    pub fn sum(&mut self, sum: Sum) {
        self.sums[sum as usize] += 1;
    }

    /// Counts a frame between ports that are not read; by the smaller one, which is the server's as a rule.
    pub fn other_ports(&mut self, one: u16, other: u16) {
        let port = one.min(other);
        if self.ports.len() < MOST_PORTS || self.ports.contains_key(&port) {
            *self.ports.entry(port).or_default() += 1;
        }
    }

    /// The place of a filter.
    pub fn filter(&mut self, shape: &str) -> u32 {
        if let Some(place) = self.filter_places.get(shape) {
            self.filters[*place as usize].count += 1;
            return *place;
        }
        if self.filters.len() >= MOST_FILTERS {
            self.filters_together += 1;
            return TOGETHER;
        }
        let place = self.filters.len() as u32;
        self.filter_places.insert(shape.to_owned(), place);
        self.filters.push(FilterTally {
            shape: shape.to_owned(),
            count: 1,
            answered: 0,
            entries: 0,
            bytes: 0,
            codes: Codes::default(),
            response: Times::default(),
        });
        place
    }

    /// The place of a client, for a new connection of it.
    pub fn client(&mut self, address: [u8; 16]) -> u32 {
        if let Some(place) = self.client_places.get(&address) {
            self.clients[*place as usize].connections += 1;
            return *place;
        }
        if self.clients.len() >= MOST_CLIENTS {
            self.clients_together += 1;
            return TOGETHER;
        }
        let place = self.clients.len() as u32;
        self.client_places.insert(address, place);
        self.clients.push(ClientTally {
            address,
            connections: 1,
            requests: [0; KINDS],
            answered: 0,
            response_sum_ns: 0,
            response_max_ns: 0,
            bytes: 0,
        });
        place
    }

    /// The place of a client that a proxy names for a connection which was another one's.
    pub fn other_client(&mut self, before: u32, address: [u8; 16]) -> u32 {
        if let Some(proxy) = self.clients.get_mut(before as usize) {
            proxy.connections -= 1;
        } else {
            self.clients_together -= 1;
        }
        self.client(address)
    }

    /// Counts a bind that failed.
    pub fn failed_bind(&mut self, client: u32, mechanism: Option<u32>, code: u32) {
        self.bindings.failed(client, mechanism, code);
    }

    /// Counts a control of a request.
    pub fn control(&mut self, name: &[u8]) {
        named(&mut self.controls, name);
    }

    /// Counts an extended operation.
    pub fn extended(&mut self, name: Option<&[u8]>) {
        named(&mut self.extended, name.unwrap_or_default());
    }

    /// Counts what a search asks for.
    pub fn searched(&mut self, scope: Option<Scope>, attributes: Attributes) {
        if let Some(scope) = scope {
            self.scopes[scope as usize] += 1;
        }
        match attributes {
            Attributes::All => self.attributes_all += 1,
            Attributes::None => self.attributes_none += 1,
            Attributes::Named(count) => {
                *self.attributes_named.entry(count.min(64)).or_default() += 1;
            }
            Attributes::Unknown => {}
        }
    }

    /// Counts a response time.
    pub fn responded(&mut self, asked: &Asked, code: Option<u32>, at: At, ns: u64) {
        self.of(asked.kind).response.record(ns);
        self.slower_1s += u64::from(ns > SECOND_NS);
        for limit in &mut self.limits {
            if limit.kind.is_none_or(|only| only == asked.kind) {
                limit.n += 1;
                limit.slower += u64::from(ns > limit.ns);
            }
        }
        let now_ns = self.now_ns;
        let slot = self.timeline.at(now_ns);
        slot.response_sum_ns = slot.response_sum_ns.saturating_add(ns);
        slot.response_max_ns = slot.response_max_ns.max(ns);
        if let Some(filter) = self.filters.get_mut(asked.filter as usize) {
            filter.response.record(ns);
        }
        if let Some(client) = self.clients.get_mut(asked.client as usize) {
            client.response_sum_ns = client.response_sum_ns.saturating_add(ns);
            client.response_max_ns = client.response_max_ns.max(ns);
        }
        if self.slowest.is_among(ns) {
            self.slowest.add(Slow {
                asked: *asked,
                ns,
                answer: Some((at, code)),
            });
        }
    }

    /// Counts an operation that was never answered, or not yet: what waited longer than a limit did not keep it.
    pub fn never_answered(&mut self, never: &Never) {
        let (kind, waited_ns) = (never.asked.kind, never.waited_ns.unwrap_or(0));
        if never.over {
            self.of(kind).unanswered += 1;
        } else {
            self.of(kind).open += 1;
        }
        self.slower_1s += u64::from(waited_ns > SECOND_NS);
        for limit in &mut self.limits {
            let is_of = limit.kind.is_none_or(|only| only == kind);
            if is_of && (never.over || waited_ns > limit.ns) {
                limit.n += 1;
                limit.slower += 1;
            }
        }
        if self.slowest.is_among(waited_ns) {
            self.slowest.add(Slow {
                asked: never.asked,
                ns: waited_ns,
                answer: None,
            });
        }
    }
}

/// Counts an object identifier, if it can be one.
fn named(counts: &mut BTreeMap<String, u64>, name: &[u8]) {
    let is_one = |letter: &u8| letter.is_ascii_digit() || *letter == b'.';
    let name = match std::str::from_utf8(name) {
        Ok(name)
            if (1..=LONGEST_NAME).contains(&name.len())
                && name.bytes().all(|letter| is_one(&letter)) =>
        {
            name
        }
        _ => "malformed",
    };
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
    } else if counts.len() < MOST_NAMES {
        counts.insert(name.to_owned(), 1);
    }
}

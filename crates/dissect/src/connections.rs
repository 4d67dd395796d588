//! The connections of a capture: which there are, whose bytes are whose, and when they end.

use crate::exchange::{Exchange, Hearing};
use crate::framing::Framing;
use crate::message::Side;
use crate::order::{Brought, Order, Payload, Piece};
use crate::packet::{Endpoint, Segment, Sum};
use crate::tallies::{Opaque, Tallies};
use std::collections::{BTreeSet, HashMap};

/// Connections that are followed; beyond, those that were idle longest are taken for ended.
const MOST: usize = 1 << 18;
/// Ended connections that are kept for what may still come.
const MOST_ENDED: usize = 8192;
const LINGER_NS: u64 = 2_000_000_000;
/// Bytes behind holes, over all connections.
const MOST_HELD_BYTES: usize = 64 << 20;
/// Ports where TLS begins at once.
const TLS_PORTS: [u16; 2] = [636, 3269];

type Key = (Endpoint, Endpoint);

struct Half {
    order: Order,
    framing: Framing,
    /// A checksum was right: a wrong one is damage then, and not left to the device.
    summed: bool,
    fin: bool,
    /// Since when this end announces that it has no room.
    full_since_ns: Option<u64>,
}

impl Half {
    fn new(side: Side) -> Self {
        Self {
            order: Order::default(),
            framing: Framing::new(side, false),
            summed: false,
            fin: false,
            full_since_ns: None,
        }
    }
}

struct Connection {
    /// Client, server.
    halves: [Half; 2],
    exchange: Exchange,
    syn: Option<u32>,
    reset: bool,
    last_ns: u64,
}

impl Connection {
    fn is_ended(&self) -> bool {
        self.reset || (self.halves[0].fin && self.halves[1].fin)
    }
}

/// All connections.
pub struct Connections {
    ports: BTreeSet<u16>,
    open: HashMap<Key, Box<Connection>>,
    held_bytes: usize,
    ended: usize,
    sweep_at: usize,
}

impl Connections {
    /// To these ports.
    pub fn new(ports: BTreeSet<u16>) -> Self {
        Self {
            ports,
            open: HashMap::new(),
            held_bytes: 0,
            ended: 0,
            sweep_at: MOST_ENDED,
        }
    }

    /// Takes a segment.
    pub fn segment(&mut self, segment: &Segment<'_>, t_ns: u64, tallies: &mut Tallies) {
        tallies.ldap_frames += 1;
        tallies.sum(segment.sum);
        tallies.cut_frames += u64::from(segment.missing > 0);
        let Some((key, side)) = self.placed(segment, t_ns, tallies) else {
            return;
        };
        let Some(connection) = self.open.get_mut(&key) else {
            return;
        };
        let room = self.held_bytes < MOST_HELD_BYTES;
        let (before, was_ended) = (held(connection), connection.is_ended());
        taken(connection, segment, side, t_ns, room, tallies);
        self.held_bytes = self.held_bytes + held(connection) - before;
        if connection.is_ended() && !was_ended {
            self.ended += 1;
            if self.ended >= self.sweep_at {
                self.sweep(t_ns, tallies);
            }
        }
    }

    /// The connection of a segment and the side that sent it; a new one where it begins one, none where nothing is known of it.
    fn placed(
        &mut self,
        segment: &Segment<'_>,
        t_ns: u64,
        tallies: &mut Tallies,
    ) -> Option<(Key, Side)> {
        let (there, back) = ((segment.from, segment.to), (segment.to, segment.from));
        let known = if self.open.contains_key(&there) {
            Some(there)
        } else {
            self.open.contains_key(&back).then_some(back)
        };
        let first = segment.syn && segment.ack.is_none();
        if let Some(key) = known {
            let again = first
                && self.open.get(&key).is_some_and(|one| {
                    one.is_ended() || one.syn.is_some_and(|syn| syn != segment.seq)
                });
            if !again {
                return Some((
                    key,
                    if key == there {
                        Side::Client
                    } else {
                        Side::Server
                    },
                ));
            }
            self.remove(&key, tallies);
        } else if !segment.syn && segment.payload.is_empty() && segment.missing == 0 {
            return None;
        }
        let side = self.sender(segment);
        let key = if side == Side::Client { there } else { back };
        self.begin(key, t_ns, tallies);
        Some((key, side))
    }

    /// Which side sends the first segment that is seen of a connection.
    fn sender(&self, segment: &Segment<'_>) -> Side {
        match (segment.syn, segment.ack) {
            (true, None) => Side::Client,
            (true, Some(_)) => Side::Server,
            _ if self.ports.contains(&segment.to.port) => Side::Client,
            _ => Side::Server,
        }
    }

    fn begin(&mut self, key: Key, t_ns: u64, tallies: &mut Tallies) {
        if self.open.len() >= MOST {
            self.evict(tallies);
        }
        tallies.connections += 1;
        let opaque = TLS_PORTS.contains(&key.1.port).then_some(Opaque::Ldaps);
        let exchange = Exchange::new(tallies.client(key.0.address), opaque);
        let halves = [Half::new(Side::Client), Half::new(Side::Server)];
        self.open.insert(
            key,
            Box::new(Connection {
                halves,
                exchange,
                syn: None,
                reset: false,
                last_ns: t_ns,
            }),
        );
        tallies.habits.open_at_once = tallies
            .habits
            .open_at_once
            .max((self.open.len() - self.ended) as u64);
    }

    fn remove(&mut self, key: &Key, tallies: &mut Tallies) {
        if let Some(mut connection) = self.open.remove(key) {
            self.held_bytes -= held(&connection);
            self.ended -= usize::from(connection.is_ended());
            closed(&mut connection, tallies);
        }
    }

    /// Closes ended connections that had time for what may still come.
    fn sweep(&mut self, now_ns: u64, tallies: &mut Tallies) {
        let old: Vec<Key> = self
            .open
            .iter()
            .filter(|(_, one)| one.is_ended() && now_ns.abs_diff(one.last_ns) > LINGER_NS)
            .map(|(key, _)| *key)
            .collect();
        for key in &old {
            self.remove(key, tallies);
        }
        self.sweep_at = (2 * self.ended).max(MOST_ENDED);
    }

    /// Closes the quarter that was idle longest.
    fn evict(&mut self, tallies: &mut Tallies) {
        let mut times: Vec<(u64, Key)> = self
            .open
            .iter()
            .map(|(key, one)| (one.last_ns, *key))
            .collect();
        let quarter = times.len() / 4;
        times.select_nth_unstable_by_key(quarter, |(last_ns, _)| *last_ns);
        for (_, key) in &times[..quarter] {
            tallies.evicted_connections +=
                u64::from(self.open.get(key).is_some_and(|one| !one.is_ended()));
            self.remove(key, tallies);
        }
    }

    /// Closes all connections at the end of the capture.
    pub fn finish(&mut self, tallies: &mut Tallies) {
        for (_, mut connection) in std::mem::take(&mut self.open) {
            closed(&mut connection, tallies);
        }
    }
}

fn held(connection: &Connection) -> usize {
    connection
        .halves
        .iter()
        .map(|half| half.order.held_bytes())
        .sum()
}

fn taken(
    connection: &mut Connection,
    segment: &Segment<'_>,
    side: Side,
    t_ns: u64,
    room: bool,
    tallies: &mut Tallies,
) {
    let half = &mut connection.halves[side as usize];
    if segment.sum == Sum::Bad && half.summed {
        return; // the receiver dropped it, too
    }
    half.summed |= segment.sum == Sum::Good;
    connection.last_ns = t_ns;
    window(half, segment, t_ns, tallies);
    if segment.syn {
        synchronized(connection, segment, side);
    }
    if let Some(ack) = segment.ack {
        acknowledged(connection, ack, side, tallies);
    }
    if segment.fin {
        let end = segment
            .seq
            .wrapping_add(segment.payload.len() as u32)
            .wrapping_add(segment.missing);
        connection.halves[side as usize].order.ends_at(end);
        connection.halves[side as usize].fin = true;
    }
    connection.reset |= segment.rst;
    if !segment.syn && !segment.rst {
        payload(connection, segment, side, t_ns, room, tallies);
    }
}

fn synchronized(connection: &mut Connection, segment: &Segment<'_>, side: Side) {
    let half = &mut connection.halves[side as usize];
    if !half.order.is_known() {
        half.order.begin(segment.seq.wrapping_add(1));
        half.framing.begin();
    }
    if side == Side::Client {
        connection.syn = Some(segment.seq);
    }
    if let (Side::Server, Some(ack)) = (side, segment.ack) {
        let client = &mut connection.halves[Side::Client as usize];
        if !client.order.is_known() {
            client.order.begin(ack);
            client.framing.begin();
        }
    }
}

fn acknowledged(connection: &mut Connection, ack: u32, side: Side, tallies: &mut Tallies) {
    let other = if side == Side::Client {
        Side::Server
    } else {
        Side::Client
    };
    let Connection {
        halves, exchange, ..
    } = connection;
    let half = &mut halves[other as usize];
    let hearing = &mut Hearing {
        side: other,
        exchange,
        tallies,
    };
    half.order
        .acknowledged(ack, &mut |piece| heard(&mut half.framing, piece, hearing));
    exchange.behind[other as usize] = half.order.is_behind();
}

fn payload(
    connection: &mut Connection,
    segment: &Segment<'_>,
    side: Side,
    t_ns: u64,
    room: bool,
    tallies: &mut Tallies,
) {
    let Connection {
        halves, exchange, ..
    } = connection;
    let half = &mut halves[side as usize];
    let payload = Payload {
        seq: segment.seq,
        t_ns,
        bytes: segment.payload,
        missing: segment.missing,
    };
    let opaque_before = exchange.opaque.is_some();
    let hearing = &mut Hearing {
        side,
        exchange,
        tallies,
    };
    let brought = half.order.take(payload, room, &mut |piece| {
        heard(&mut half.framing, piece, hearing);
    });
    exchange.behind[side as usize] = half.order.is_behind();
    // A layer begins with a segment; only the answer to StartTLS is clear itself.
    let begins = matches!(exchange.opaque, Some(Opaque::Ldaps | Opaque::Sasl));
    if opaque_before || begins {
        tallies.opaque_bytes += segment.payload.len() as u64 + u64::from(segment.missing);
    }
    match brought {
        Brought::Repeated => tallies.retransmitted += 1,
        Brought::Late => tallies.out_of_order += 1,
        Brought::New | Brought::Nothing => {}
    }
}

fn heard(framing: &mut Framing, piece: Piece<'_>, hearing: &mut Hearing<'_>) {
    match piece {
        Piece::Bytes(bytes, t_ns) => framing.bytes(bytes, t_ns, hearing),
        Piece::Gap(count) => {
            hearing.tallies.gaps += 1;
            hearing.tallies.gap_bytes += u64::from(count);
            framing.hole(count, None, hearing);
        }
        Piece::Cut(count, t_ns) => {
            hearing.tallies.cut_bytes += u64::from(count);
            framing.hole(count, Some(t_ns), hearing);
        }
        Piece::Restart => framing.restart(hearing),
    }
}

/// How often and how long an end had no room.
fn window(half: &mut Half, segment: &Segment<'_>, t_ns: u64, tallies: &mut Tallies) {
    if segment.syn || segment.rst || segment.ack.is_none() {
        return;
    }
    match (segment.window, half.full_since_ns) {
        (0, None) => {
            half.full_since_ns = Some(t_ns);
            tallies.zero_windows += 1;
        }
        (1.., Some(since_ns)) => {
            half.full_since_ns = None;
            tallies.stalled_ns += t_ns.saturating_sub(since_ns);
        }
        _ => {}
    }
}

/// Counts what a connection leaves behind.
fn closed(connection: &mut Connection, tallies: &mut Tallies) {
    let ended = connection.is_ended();
    let Connection {
        halves,
        exchange,
        reset,
        last_ns,
        ..
    } = connection;
    for side in [Side::Client, Side::Server] {
        let other_closed = halves[1 - side as usize].fin;
        let half = &mut halves[side as usize];
        // A window that is full to the end stalls as long as the connection says something.
        if let Some(since_ns) = half.full_since_ns.take() {
            tallies.stalled_ns += last_ns.saturating_sub(since_ns);
        }
        let hearing = &mut Hearing {
            side,
            exchange,
            tallies,
        };
        half.order.finish(other_closed, &mut |piece| {
            heard(&mut half.framing, piece, hearing);
        });
        exchange.behind[side as usize] = false;
    }
    exchange.close(tallies);
    if let Some(kind) = exchange.opaque {
        tallies.opaque[kind as usize] += 1;
    }
    let (binds, others) = (exchange.binds, exchange.others);
    let habits = &mut tallies.habits;
    habits.reset += u64::from(*reset);
    habits.open_at_end += u64::from(!ended);
    habits.without_unbind +=
        u64::from(ended && binds + others > 0 && !exchange.unbound && exchange.opaque.is_none());
    habits.one_operation +=
        u64::from((ended || exchange.unbound) && binds <= 1 && others <= 1 && binds + others > 0);
    habits.rebinding += u64::from(binds >= 2 && binds >= others);
}

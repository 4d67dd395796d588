//! The connections of a capture: which there are, whose bytes are whose, and when they end.

use crate::exchange::{Exchange, Hearing};
use crate::framing::Framing;
use crate::hashing::Table;
use crate::message::Side;
use crate::order::{Brought, Order, Payload, Piece};
use crate::packet::{At, Endpoint, Segment, Sum};
use crate::ports::{self, Sender};
use crate::tallies::Tallies;

/// Connections that are followed; beyond, those that were idle longest are taken for ended.
const MOST: usize = 1 << 18;
/// Ended connections that are kept for what may still come.
const MOST_ENDED: usize = 8192;
const LINGER_NS: u64 = 2_000_000_000;
/// Bytes behind holes, over all connections.
const MOST_HELD_BYTES: usize = 64 << 20;
/// Ports where TLS begins at once.
const TLS_PORTS: [u16; 2] = [636, 3269];
/// Segments of a direction that a copy of one is looked for among.
const RECENT: usize = 16;
/// A copy of a packet without a number comes soon: no sender repeats one so fast.
const SOON_NS: u64 = 1_000_000;
/// Segments with a bad checksum that wait for their acknowledgement, and bytes of them.
const MOST_DOUBTFUL: usize = 16;

/// The ends in an order of their own, whoever sends.
type Key = (Endpoint, Endpoint);

/// What tells a segment from one that was sent again.
#[derive(Clone, Copy, Default)]
struct Mark {
    seq: u32,
    length: u32,
    identification: u16,
    checksum: u16,
    t_ns: u64,
}

impl Mark {
    fn of(segment: &Segment<'_>) -> Self {
        Self {
            seq: segment.seq,
            length: segment.payload.len() as u32 + segment.missing,
            identification: segment.identification,
            checksum: segment.checksum,
            t_ns: segment.at.t_ns,
        }
    }

    /// Whether both are one segment that was captured twice.
    fn is_copy(&self, of: &Self) -> bool {
        (self.seq, self.length, self.identification, self.checksum)
            == (of.seq, of.length, of.identification, of.checksum)
            && (self.identification != 0 || self.t_ns.abs_diff(of.t_ns) < SOON_NS)
    }
}

/// A segment whose checksum is wrong, although others of its sender are right.
struct Doubtful {
    seq: u32,
    at: At,
    bytes: Box<[u8]>,
}

impl Doubtful {
    fn end(&self) -> u32 {
        self.seq.wrapping_add(self.bytes.len() as u32)
    }
}

struct Half {
    order: Order,
    framing: Framing,
    /// A checksum was right: a wrong one is damage then, and not left to the device.
    summed: bool,
    fin: bool,
    /// Since when this end announces that it has no room.
    full_since_ns: Option<u64>,
    /// None: without data so far. Many connections of a scan are.
    spoken: Option<Box<Spoken>>,
}

/// What is kept of segments with data.
#[derive(Default)]
struct Spoken {
    /// The latest ones, and the place of the next.
    recent: [Mark; RECENT],
    next: usize,
    doubtful: Vec<Doubtful>,
    doubtful_bytes: usize,
}

impl Half {
    fn new(side: Side) -> Self {
        Self {
            order: Order::default(),
            framing: Framing::new(side),
            summed: false,
            fin: false,
            full_since_ns: None,
            spoken: None,
        }
    }

    fn held(&self) -> usize {
        let doubtful = self.spoken.as_ref().map_or(0, |one| one.doubtful_bytes);
        self.order.held_bytes() + doubtful
    }

    /// Whether a segment with data was captured before; else it is remembered.
    #[inline]
    fn is_copy(&mut self, mark: Mark, brought: Brought) -> bool {
        let spoken = self.spoken.get_or_insert_default();
        let is_copy =
            brought == Brought::Repeated && spoken.recent.iter().any(|one| mark.is_copy(one));
        if !is_copy {
            spoken.recent[spoken.next] = mark;
            spoken.next = (spoken.next + 1) % RECENT;
        }
        is_copy
    }

    /// Keeps a segment whose checksum is wrong.
    fn doubt(&mut self, segment: &Segment<'_>) {
        let spoken = self.spoken.get_or_insert_default();
        if spoken.doubtful.len() >= MOST_DOUBTFUL {
            let oldest = spoken.doubtful.remove(0);
            spoken.doubtful_bytes -= oldest.bytes.len();
        }
        spoken.doubtful_bytes += segment.payload.len();
        spoken.doubtful.push(Doubtful {
            seq: segment.seq,
            at: segment.at,
            bytes: segment.payload.into(),
        });
    }

    fn doubtful(&self) -> &[Doubtful] {
        self.spoken.as_ref().map_or(&[], |one| &one.doubtful)
    }

    /// Those that end before a number; they are kept no more.
    fn take_doubtful(&mut self, ack: u32) -> Vec<Doubtful> {
        let Some(spoken) = &mut self.spoken else {
            return Vec::new();
        };
        let (mine, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut spoken.doubtful)
            .into_iter()
            .partition(|one| ack.wrapping_sub(one.end()) as i32 >= 0);
        spoken.doubtful_bytes = kept.iter().map(|one| one.bytes.len()).sum();
        spoken.doubtful = kept;
        mine
    }
}

struct Connection {
    /// Client, server.
    halves: [Half; 2],
    exchange: Exchange,
    /// Whether the client is the second end of the key.
    swapped: bool,
    syn: Option<(u32, At)>,
    /// Whether the server was heard, and whether there was data.
    answered: bool,
    data: bool,
    refused: bool,
    reset: bool,
    reset_by_server: bool,
    last_ns: u64,
}

impl Connection {
    fn is_ended(&self) -> bool {
        self.reset || (self.halves[0].fin && self.halves[1].fin)
    }

    /// Whether no answer to a request will come.
    fn is_over(&self) -> bool {
        let exchange = &self.exchange;
        self.reset || exchange.unbound || exchange.noticed || self.halves.iter().any(|one| one.fin)
    }

    fn held(&self) -> usize {
        self.halves[0].held() + self.halves[1].held()
    }
}

/// All connections.
pub struct Connections {
    open: Table<Key, Box<Connection>>,
    held_bytes: usize,
    ended: usize,
    sweep_at: usize,
}

impl Connections {
    pub fn new() -> Self {
        Self {
            open: Table::default(),
            held_bytes: 0,
            ended: 0,
            sweep_at: MOST_ENDED,
        }
    }

    /// Takes a segment.
    pub fn segment(&mut self, segment: &Segment<'_>, tallies: &mut Tallies) {
        tallies.ldap_frames += 1;
        tallies.sum(segment.sum);
        tallies.cut_frames += u64::from(segment.missing > 0);
        let swapped = segment.to < segment.from;
        let key = if swapped {
            (segment.to, segment.from)
        } else {
            (segment.from, segment.to)
        };
        let first = segment.syn && segment.ack.is_none();
        let side = match self.open.get(&key) {
            Some(one) if !(first && is_another(one, segment)) => {
                if one.swapped == swapped {
                    Side::Client
                } else {
                    Side::Server
                }
            }
            Some(_) => {
                self.remove(&key, true, tallies);
                self.begin(key, swapped, segment, tallies)
            }
            None if segment.syn || !segment.payload.is_empty() || segment.missing > 0 => {
                self.begin(key, swapped, segment, tallies)
            }
            None => return,
        };
        let Some(connection) = self.open.get_mut(&key) else {
            return;
        };
        let room = self.held_bytes < MOST_HELD_BYTES;
        let (before, was_ended) = (connection.held(), connection.is_ended());
        connection.taken(segment, side, room, tallies);
        self.held_bytes = self.held_bytes + connection.held() - before;
        if connection.is_ended() && !was_ended {
            self.ended += 1;
            if self.ended >= self.sweep_at {
                self.sweep(segment.at.t_ns, tallies);
            }
        }
    }

    /// Begins a connection; the side that sends its first segment.
    fn begin(
        &mut self,
        key: Key,
        swapped: bool,
        segment: &Segment<'_>,
        tallies: &mut Tallies,
    ) -> Side {
        if self.open.len() >= MOST {
            self.evict(tallies);
        }
        let side = sender(segment);
        let (client, server) = match side {
            Side::Client => (segment.from, segment.to),
            Side::Server => (segment.to, segment.from),
        };
        tallies.connections += 1;
        let of_tls = TLS_PORTS.contains(&server.port);
        let connection = Connection {
            halves: [Half::new(Side::Client), Half::new(Side::Server)],
            exchange: Exchange::new(tallies.client(client.address), of_tls),
            swapped: swapped == (side == Side::Client),
            syn: None,
            answered: false,
            data: false,
            refused: false,
            reset: false,
            reset_by_server: false,
            last_ns: segment.at.t_ns,
        };
        self.open.insert(key, Box::new(connection));
        let open = (self.open.len() - self.ended) as u64;
        let most = &mut tallies.habits.open_at_once;
        *most = open.max(*most);
        side
    }

    fn remove(&mut self, key: &Key, over: bool, tallies: &mut Tallies) {
        if let Some(mut connection) = self.open.remove(key) {
            self.held_bytes -= connection.held();
            self.ended -= usize::from(connection.is_ended());
            connection.close(over, tallies);
        }
    }

    /// Closes ended connections that had time for what may still come.
    fn sweep(&mut self, now_ns: u64, tallies: &mut Tallies) {
        let mut old: Vec<Key> = self
            .open
            .iter()
            .filter(|(_, one)| one.is_ended() && now_ns.abs_diff(one.last_ns) > LINGER_NS)
            .map(|(key, _)| *key)
            .collect();
        old.sort_unstable(); // results are the same each time
        for key in &old {
            self.remove(key, true, tallies);
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
        times.select_nth_unstable(quarter);
        for (_, key) in &times[..quarter] {
            tallies.evicted_connections +=
                u64::from(self.open.get(key).is_some_and(|one| !one.is_ended()));
            self.remove(key, false, tallies);
        }
    }

    /// Closes all connections at the end of the capture.
    pub fn finish(&mut self, tallies: &mut Tallies) {
        let mut left: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        left.sort_unstable_by_key(|(key, _)| *key);
        for (_, mut connection) in left {
            connection.close(false, tallies);
        }
    }
}

/// Whether a SYN begins another connection between the same ends; one that was refused is tried again with the same number.
fn is_another(one: &Connection, segment: &Segment<'_>) -> bool {
    let same = one.syn.is_some_and(|(seq, _)| seq == segment.seq);
    if one.refused {
        return !same;
    }
    one.is_ended() || (one.syn.is_some() && !same)
}

/// Which side sends the first segment that is seen of a connection: by its content where it has a message, else by its ports.
fn sender(segment: &Segment<'_>) -> Side {
    if segment.syn {
        return match segment.ack {
            None => Side::Client,
            Some(_) => Side::Server,
        };
    }
    if let Some(side) = ports::speaker(segment.payload) {
        return side;
    }
    match segment.sender {
        Sender::Client => Side::Client,
        Sender::Server => Side::Server,
        // The smaller port is the server's, as a rule.
        Sender::Either if segment.to.port <= segment.from.port => Side::Client,
        Sender::Either => Side::Server,
    }
}

impl Connection {
    fn taken(&mut self, segment: &Segment<'_>, side: Side, room: bool, tallies: &mut Tallies) {
        let half = &mut self.halves[side as usize];
        if segment.sum == Sum::Bad && half.summed {
            self.doubted(segment, side, room, tallies);
            return;
        }
        half.summed |= segment.sum == Sum::Good;
        self.last_ns = segment.at.t_ns;
        window(half, segment, tallies);
        if segment.syn {
            self.synchronized(segment, side, tallies);
        }
        if let Some(ack) = segment.ack {
            if !self.halves[1 - side as usize].doubtful().is_empty() {
                self.use_doubtful(ack, side, room, tallies);
            }
            self.acknowledged(ack, side, tallies);
        }
        if segment.fin {
            let end = segment
                .seq
                .wrapping_add(segment.payload.len() as u32)
                .wrapping_add(segment.missing);
            let half = &mut self.halves[side as usize];
            half.order.ends_at(end);
            half.fin = true;
        }
        if segment.rst && !self.reset {
            self.reset = true;
            self.reset_by_server = side == Side::Server;
            self.refused = self.reset_by_server && self.syn.is_some() && !self.answered;
        }
        // What a client says after its SYN follows an answer.
        self.answered |= !self.refused && (side == Side::Server || !(segment.syn || segment.rst));
        if segment.rst || (segment.payload.is_empty() && segment.missing == 0) {
            return;
        }
        self.data = true;
        self.payload(segment, side, room, tallies);
    }

    fn synchronized(&mut self, segment: &Segment<'_>, side: Side, tallies: &mut Tallies) {
        let half = &mut self.halves[side as usize];
        if !half.order.is_known() {
            half.order.begin(segment.seq.wrapping_add(1));
            half.framing.begin();
            self.exchange.begun = true;
        }
        if side == Side::Client {
            self.syn.get_or_insert((segment.seq, segment.at));
        }
        if let (Side::Server, Some(ack)) = (side, segment.ack) {
            let client = &mut self.halves[Side::Client as usize];
            if !client.order.is_known() {
                client.order.begin(ack);
                client.framing.begin();
            }
            if let Some((_, at)) = self.syn
                && !self.answered
                && let Some(ns) = segment.at.since(at)
            {
                tallies.connects.record(ns);
            }
        }
    }

    /// Keeps a segment whose checksum is wrong: damage that the receiver drops, too, or bytes that somebody changed afterwards.
    fn doubted(&mut self, segment: &Segment<'_>, side: Side, room: bool, tallies: &mut Tallies) {
        // Its own acknowledgement counts where it names the end of another such segment.
        if let Some(ack) = segment.ack {
            let other = &self.halves[1 - side as usize];
            if other.doubtful().iter().any(|one| one.end() == ack) {
                self.use_doubtful(ack, side, room, tallies);
            }
        }
        if room && !segment.payload.is_empty() && !segment.syn && !segment.rst {
            self.halves[side as usize].doubt(segment);
        }
    }

    /// Uses what was doubtful, if the other side acknowledges it and the capture has nothing else in its place.
    fn use_doubtful(&mut self, ack: u32, side: Side, room: bool, tallies: &mut Tallies) {
        let other = if side == Side::Client {
            Side::Server
        } else {
            Side::Client
        };
        for one in self.halves[other as usize].take_doubtful(ack) {
            let payload = Payload {
                seq: one.seq,
                at: one.at,
                bytes: &one.bytes,
                missing: 0,
            };
            if self.halves[other as usize].order.lacks(&payload) {
                tallies.bad_used += 1;
                self.data = true;
                self.ordered(payload, other, room, tallies);
            }
        }
    }

    fn acknowledged(&mut self, ack: u32, side: Side, tallies: &mut Tallies) {
        let other = if side == Side::Client {
            Side::Server
        } else {
            Side::Client
        };
        let half = &mut self.halves[other as usize];
        let hearing = &mut Hearing {
            side: other,
            exchange: &mut self.exchange,
            tallies,
        };
        half.order
            .acknowledged(ack, &mut |piece| heard(&mut half.framing, piece, hearing));
        self.exchange.behind[other as usize] = half.order.is_behind();
    }

    fn payload(&mut self, segment: &Segment<'_>, side: Side, room: bool, tallies: &mut Tallies) {
        let payload = Payload {
            seq: segment.seq.wrapping_add(u32::from(segment.syn)),
            at: segment.at,
            bytes: segment.payload,
            missing: segment.missing,
        };
        let brought = self.ordered(payload, side, room, tallies);
        if self.halves[side as usize].is_copy(Mark::of(segment), brought) {
            tallies.copies += 1;
            return;
        }
        match brought {
            Brought::Repeated => tallies.retransmitted += 1,
            Brought::Late => tallies.out_of_order += 1,
            Brought::New | Brought::Nothing => {}
        }
    }

    fn ordered(
        &mut self,
        payload: Payload<'_>,
        side: Side,
        room: bool,
        tallies: &mut Tallies,
    ) -> Brought {
        let half = &mut self.halves[side as usize];
        let hearing = &mut Hearing {
            side,
            exchange: &mut self.exchange,
            tallies,
        };
        let brought = half.order.take(payload, room, &mut |piece| {
            heard(&mut half.framing, piece, hearing);
        });
        self.exchange.behind[side as usize] = half.order.is_behind();
        brought
    }

    /// Counts what a connection leaves behind; `over`: it ended, even if its end was not seen.
    fn close(&mut self, over: bool, tallies: &mut Tallies) {
        let over = over || self.is_over();
        let ended = self.is_ended();
        for side in [Side::Client, Side::Server] {
            let other_closed = self.halves[1 - side as usize].fin;
            let half = &mut self.halves[side as usize];
            // A window that is full to the end stalls as long as the connection says something.
            if let Some(since_ns) = half.full_since_ns.take() {
                tallies.stalled_ns += self.last_ns.saturating_sub(since_ns);
            }
            let hearing = &mut Hearing {
                side,
                exchange: &mut self.exchange,
                tallies,
            };
            half.order.finish(other_closed, &mut |piece| {
                heard(&mut half.framing, piece, hearing);
            });
            self.exchange.behind[side as usize] = false;
        }
        let last_ns = if over { self.last_ns } else { tallies.last_ns };
        self.exchange.close(over, last_ns, tallies);
        self.used(ended, tallies);
    }

    /// Counts how it was used.
    fn used(&self, ended: bool, tallies: &mut Tallies) {
        let exchange = &self.exchange;
        if let Some(kind) = exchange.opaque {
            tallies.opaque[kind as usize] += 1;
        }
        tallies.refused += u64::from(self.refused);
        tallies.unanswered_syns += u64::from(self.syn.is_some() && !self.answered && !self.refused);
        tallies.without_data +=
            u64::from(self.syn.is_some() && self.answered && !self.refused && !self.data);
        let readable = exchange.opaque.is_none() && exchange.messages > 0;
        let (binds, others) = (exchange.binds, exchange.others);
        let closed = ended || exchange.unbound;
        tallies.readable_authentications += if readable { u64::from(binds) } else { 0 };
        let habits = &mut tallies.habits;
        habits.readable += u64::from(readable);
        habits.reset += u64::from(self.reset);
        habits.reset_by_server += u64::from(self.reset_by_server && !self.refused);
        habits.open_at_end += u64::from(!ended);
        if readable && binds + others > 0 {
            habits.without_unbind += u64::from(ended && !exchange.unbound && !self.reset_by_server);
            habits.one_operation += u64::from(closed && binds <= 1 && others <= 1);
            habits.rebinding += u64::from(binds >= 2 && others > 0 && binds >= others);
        }
    }
}

fn heard(framing: &mut Framing, piece: Piece<'_>, hearing: &mut Hearing<'_>) {
    match piece {
        Piece::Bytes(bytes, at) => framing.bytes(bytes, at, hearing),
        Piece::Gap(count) => {
            hearing.tallies.gaps += 1;
            hearing.tallies.gap_bytes += u64::from(count);
            framing.hole(count, None, hearing);
        }
        Piece::Cut(count, at) => {
            hearing.tallies.cut_bytes += u64::from(count);
            framing.hole(count, Some(at), hearing);
        }
        Piece::Restart => framing.restart(hearing),
    }
}

/// How often and how long an end had no room.
#[inline]
fn window(half: &mut Half, segment: &Segment<'_>, tallies: &mut Tallies) {
    if segment.syn || segment.rst || segment.ack.is_none() {
        return;
    }
    match (segment.window, half.full_since_ns) {
        (0, None) => {
            half.full_since_ns = Some(segment.at.t_ns);
            tallies.zero_windows += 1;
        }
        (1.., Some(since_ns)) => {
            half.full_since_ns = None;
            tallies.stalled_ns += segment.at.t_ns.saturating_sub(since_ns);
        }
        _ => {}
    }
}

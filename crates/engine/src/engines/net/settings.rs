//! The settings of both roles, and what cannot be.

use crate::load::Load;
use crate::protocol::Fault;
use serde::Deserialize;
use std::net::SocketAddr;

/// The most bytes of a message: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;
/// The most bytes of a datagram, and of a train of segments.
pub const MOST_DATAGRAM: u64 = 65_507;
/// A datagram begins with its tag and its number.
pub const LEAST_DATAGRAM: u64 = 16;
const MOST_CONNECTIONS: u64 = 4_096;
/// The longest token in bytes.
pub const TOKEN: usize = 64;
const STREAM_MESSAGE: u64 = 128 << 10;
/// The payload of a datagram that fills an Ethernet frame.
const DATAGRAM: u64 = 1_472;
const PATIENCE_NS: u64 = 5_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Server,
    Load,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exchange {
    Stream,
    Transaction,
    Datagram,
}

/// Seen from the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    Send,
    Receive,
    Both,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub role: Role,
    pub exchange: Exchange,
    pub token: String,
    #[serde(default = "loopback")]
    pub address: SocketAddr,
    #[serde(default)]
    pub direction: Direction,
    message: Option<u64>,
    #[serde(default = "one")]
    pub request: u64,
    #[serde(default = "one")]
    pub response: u64,
    #[serde(default = "one")]
    pub connections: u64,
    workers: Option<u64>,
    pub window: Option<u64>,
    nodelay: Option<bool>,
    pub congestion: Option<String>,
    #[serde(default)]
    pub mptcp: bool,
    #[serde(default)]
    pub zerocopy: bool,
    #[serde(default)]
    pub segment: bool,
    pub ops: Option<u64>,
    pub duration_ns: Option<u64>,
    #[serde(default = "patience")]
    pub patience_ns: u64,
    #[serde(default)]
    pub load: Load,
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn one() -> u64 {
    1
}

fn patience() -> u64 {
    PATIENCE_NS
}

impl Exchange {
    /// The word in settings and results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Transaction => "transaction",
            Self::Datagram => "datagram",
        }
    }
}

impl Direction {
    /// The word in settings and results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both",
        }
    }
}

impl Role {
    /// The word in settings and results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Load => "load",
        }
    }
}

impl Settings {
    /// Bytes of one message of a stream, or of one datagram.
    pub fn message(&self) -> u64 {
        self.message.unwrap_or(match self.exchange {
            Exchange::Datagram => DATAGRAM,
            _ => STREAM_MESSAGE,
        })
    }

    /// Small answers do not wait for more to come, unless asked to.
    pub fn nodelay(&self) -> bool {
        self.nodelay
            .unwrap_or(self.exchange == Exchange::Transaction)
    }

    /// Threads for each direction.
    pub fn workers(&self) -> u64 {
        self.workers.unwrap_or(self.connections)
    }

    /// Whether this end sends.
    pub fn sends(&self) -> bool {
        let other = match self.role {
            Role::Load => Direction::Receive,
            Role::Server => Direction::Send,
        };
        self.exchange != Exchange::Transaction && self.direction != other
    }

    /// Whether this end receives.
    pub fn receives(&self) -> bool {
        let other = match self.role {
            Role::Load => Direction::Send,
            Role::Server => Direction::Receive,
        };
        self.exchange != Exchange::Transaction && self.direction != other
    }

    /// Whether time or a number of operations ends this end by itself; the other one follows its peers.
    pub fn leads(&self) -> bool {
        self.role == Role::Load || self.sends()
    }

    /// The names of the operations; senders come before receivers.
    pub fn names(&self) -> Vec<String> {
        let names: &[&str] = match (self.exchange, self.role) {
            (Exchange::Transaction, Role::Load) => &["transaction"],
            (Exchange::Transaction, Role::Server) => &["answer"],
            _ if self.sends() && self.receives() => &["send", "receive"],
            _ if self.sends() => &["send"],
            _ => &["receive"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Refuses all that cannot be, at once.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong: Vec<(bool, &str)> = [
            &self.sizes()[..],
            &self.numbers()[..],
            &self.combinations()[..],
        ]
        .concat();
        Fault::of_settings(&wrong)?;
        self.load.check()
    }

    fn sizes(&self) -> [(bool, &'static str); 5] {
        let datagram = self.exchange == Exchange::Datagram;
        let sizes = 1..=MOST_BYTES;
        let message = self.message();
        [
            (
                datagram && !(LEAST_DATAGRAM..=MOST_DATAGRAM).contains(&message),
                "found a message outside 16 to 65507 bytes; expected one that fits into a datagram",
            ),
            (
                !datagram && !sizes.contains(&message),
                "found a message outside 1 byte to 1 GiB",
            ),
            (
                !sizes.contains(&self.request) || !sizes.contains(&self.response),
                "found a request or response outside 1 byte to 1 GiB",
            ),
            (
                self.window
                    .is_some_and(|window| !(1..=MOST_BYTES).contains(&window)),
                "found a window outside 1 byte to 1 GiB",
            ),
            (
                self.token.is_empty() || self.token.len() > TOKEN,
                "found a token outside 1 to 64 bytes",
            ),
        ]
    }

    fn numbers(&self) -> [(bool, &'static str); 4] {
        let lasting = self.duration_ns.or(self.load.lasts_ns());
        [
            (
                !(1..=MOST_CONNECTIONS).contains(&self.connections),
                "found connections outside 1 to 4096",
            ),
            (
                !(1..=self.connections.max(1)).contains(&self.workers()),
                "found workers outside 1 to the number of connections",
            ),
            (
                self.leads() && self.ops.is_none() && lasting.is_none(),
                "found neither ops nor duration_ns; expected at least one of them for an end that sends",
            ),
            (
                self.role == Role::Load && self.address.port() == 0,
                "found port 0 in address; expected the address that the server's arming gave",
            ),
        ]
    }

    fn combinations(&self) -> [(bool, &'static str); 8] {
        let datagram = self.exchange == Exchange::Datagram;
        let stream = self.exchange == Exchange::Stream;
        let shared = self.workers() < self.connections;
        [
            (
                self.exchange == Exchange::Transaction && self.direction != Direction::Send,
                "found a direction of transactions; expected it for stream and datagram only",
            ),
            (
                self.direction == Direction::Both && self.load.is_open(),
                "found a rate with direction both; expected send or receive",
            ),
            (
                shared && datagram,
                "found fewer workers than connections for datagrams; expected as many",
            ),
            (
                shared && self.zerocopy,
                "found zerocopy with fewer workers than connections; expected as many",
            ),
            (
                shared && self.load.think_ns > 0,
                "found think_ns with fewer workers than connections; expected as many",
            ),
            (
                self.zerocopy && (!stream || self.mptcp),
                "found zerocopy without a plain TCP stream; expected exchange stream without mptcp",
            ),
            (
                self.segment && !datagram,
                "found segment without datagrams; expected exchange datagram",
            ),
            (
                datagram && (self.mptcp || self.congestion.is_some() || self.nodelay.is_some()),
                "found mptcp, congestion or nodelay for datagrams; expected them for TCP only",
            ),
        ]
    }
}

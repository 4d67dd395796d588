//! One connection, as its workers and the thread that watches them share it.

use super::hello::Hello;
use super::kernel;
use super::settings::{Exchange, Settings};
use super::{socket, subflows};
use crate::net_result::{Buffer, ConnectionResult, DatagramResult, SubflowResult, ZerocopyResult};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{Shutdown, getpeername, getsockname, shutdown, sockopt};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a connection ended; the later entry prevails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ended {
    /// By this end, in order.
    Finished = 1,
    /// By the other end, in order.
    Closed,
    /// A wait was broken off by this end's own stop or limit.
    Interrupted,
    /// By the other end or something between, or by silence.
    Broken,
}

const WORDS: [&str; 5] = ["open", "finished", "closed", "interrupted", "broken"];

pub struct Connection {
    pub socket: OwnedFd,
    /// The stream beside the datagrams: it says how many there were.
    pub control: Option<OwnedFd>,
    pub hello: Hello,
    pub tag: u64,
    pub peer: String,
    local: String,
    buffers: (Buffer, Buffer),
    is_mptcp: bool,
    ended: AtomicU8,
    interrupted: AtomicBool,
    notes: Mutex<Notes>,
}

/// What the workers of a connection leave behind.
#[derive(Default)]
struct Notes {
    zerocopy: Option<ZerocopyResult>,
    datagrams: Option<DatagramResult>,
    subflows: Vec<SubflowResult>,
    acked: u64,
    slow_since_ns: Option<u64>,
}

impl Connection {
    /// A connection that is ready for data.
    pub fn new(
        socket: OwnedFd,
        control: Option<OwnedFd>,
        hello: Hello,
        settings: &Settings,
    ) -> Self {
        let address =
            |found: Option<SocketAddr>| found.map_or_else(String::new, |at| at.to_string());
        let local = getsockname(&socket).ok().and_then(|at| at.try_into().ok());
        let peer = getpeername(&socket)
            .ok()
            .flatten()
            .and_then(|at| at.try_into().ok());
        Self {
            tag: super::hello::tag(&settings.token, hello),
            buffers: socket::buffers(&socket, settings.window),
            local: address(local),
            peer: address(peer),
            is_mptcp: settings.mptcp && settings.exchange != Exchange::Datagram,
            ended: AtomicU8::new(0),
            interrupted: AtomicBool::new(false),
            notes: Mutex::default(),
            socket,
            control,
            hello,
        }
    }

    /// Ends what workers wait for in this connection.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        let _ = shutdown(&self.socket, Shutdown::Both);
        if let Some(control) = &self.control {
            let _ = shutdown(control, Shutdown::Both);
        }
    }

    /// Whether this end has broken off the waits of this connection.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Notes how it ended.
    pub fn end(&self, how: Ended) {
        self.ended.fetch_max(how as u8, Ordering::Relaxed);
    }

    /// Leaves the count of sends without a copy.
    pub fn note_zerocopy(&self, zerocopy: ZerocopyResult) {
        self.notes().zerocopy = Some(zerocopy);
    }

    /// Leaves the count of datagrams, of those sent or of those received.
    pub fn note_datagrams(&self, found: DatagramResult) {
        let mut notes = self.notes();
        let known = notes.datagrams.unwrap_or_default();
        notes.datagrams = Some(DatagramResult {
            sent: found.sent.or(known.sent),
            received: found.received.or(known.received),
            lost: found.lost.or(known.lost),
            reordered: found.reordered.or(known.reordered),
            duplicated: found.duplicated.or(known.duplicated),
            malformed: found.malformed.or(known.malformed),
            buffer_drops: found.buffer_drops.or(known.buffer_drops),
        });
    }

    /// Notes its subflows: those of a connection that has ended are gone.
    pub fn look(&self) {
        if self.is_mptcp {
            subflows::update(&mut self.notes().subflows, subflows::of(&self.socket));
        }
    }

    /// By how many bytes more the peer has acknowledged than at the former look.
    pub fn rise(&self) -> Option<u64> {
        let info = kernel::Info::of_tcp(&self.socket)?;
        let acked = info.value(kernel::field_of("acked_bytes")?)?;
        let mut notes = self.notes();
        let rise = acked.saturating_sub(notes.acked);
        notes.acked = acked;
        Some(rise)
    }

    /// Notes whether it is slow beside the others, and since when.
    pub fn note_pace(&self, is_slow: bool, since_ns: u64) {
        let mut notes = self.notes();
        notes.slow_since_ns = is_slow.then(|| notes.slow_since_ns.unwrap_or(since_ns));
    }

    /// The sends without a copy so far.
    pub fn zerocopy(&self) -> Option<ZerocopyResult> {
        self.notes().zerocopy
    }

    /// The datagrams so far.
    pub fn datagrams(&self) -> Option<DatagramResult> {
        self.notes().datagrams
    }

    fn slow_since_ns(&self) -> Option<u64> {
        self.notes().slow_since_ns
    }

    fn subflows(&self) -> Vec<SubflowResult> {
        self.notes().subflows.clone()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it is now.
    pub fn result(&self) -> ConnectionResult {
        let socket = self.socket.as_fd();
        let is_datagram = self.control.is_some();
        let (send, receive) = socket::buffers(socket, None);
        let since = |first: Buffer, now: Buffer| Buffer {
            end: now.got,
            ..first
        };
        let protocol = match (is_datagram, self.is_mptcp) {
            (true, _) => "udp",
            (_, true) => "mptcp",
            _ => "tcp",
        };
        let stream = (!is_datagram).then_some(socket);
        ConnectionResult {
            client: self.hello.client,
            number: self.hello.number,
            protocol,
            local: self.local.clone(),
            peer: self.peer.clone(),
            ended: WORDS[usize::from(self.ended.load(Ordering::Relaxed))],
            congestion: stream.and_then(|socket| sockopt::tcp_congestion(socket).ok()),
            nodelay: stream.and_then(|socket| sockopt::tcp_nodelay(socket).ok()),
            send_buffer: since(self.buffers.0, send),
            receive_buffer: since(self.buffers.1, receive),
            tcp: stream.and_then(kernel::tcp),
            mptcp: stream.filter(|_| self.is_mptcp).and_then(kernel::mptcp),
            subflows: self.subflows(),
            slow_since_ns: self.slow_since_ns(),
            datagrams: self.datagrams(),
        }
    }
}

//! The end that is armed last: connects to the server, says who it is, and is let in or learns why not.

use super::connection::Connection;
use super::hall::Hall;
use super::hello::{self, Hello, LENGTH};
use super::kernel::span;
use super::settings::{Exchange, Settings};
use super::socket;
use crate::beside::Beside;
use crate::net_result::NetResult;
use crate::protocol::Fault;
use assay_clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags, bind, connect, getsockname, recv, send, sockopt};
use std::net::SocketAddr;
use std::sync::Arc;

/// How long a server may take to answer.
const ANSWER_NS: u64 = 5_000_000_000;

/// The connections of a load.
pub struct Dialled(Arc<Hall>);

/// Connects to the server as often as the settings say.
pub fn dial(client: u64, settings: &Settings) -> Result<(Dialled, Arc<Hall>), Fault> {
    let hall = Hall::new(settings, settings.address.to_string());
    for number in 0..settings.connections {
        hall.seat(reach(client, number, settings)?);
    }
    let hall = Arc::new(hall);
    Ok((Dialled(Arc::clone(&hall)), hall))
}

fn reach(client: u64, number: u64, settings: &Settings) -> Result<Connection, Fault> {
    let until_ns = monotonic_ns() + ANSWER_NS;
    let failed = |errno| socket::refused("connect", settings.address, errno);
    let stream = socket::tcp(settings)?;
    open(&stream, settings.address, until_ns).map_err(failed)?;
    let datagrams = (settings.exchange == Exchange::Datagram)
        .then(|| datagrams(&stream, settings))
        .transpose()?;
    let port = datagrams.as_ref().map_or(0, |(_, port)| *port);
    let hello = Hello {
        client,
        number,
        port,
    };
    let said = hello::encode(settings, hello);
    send(&stream, &said, SendFlags::NOSIGNAL).map_err(failed)?;
    let answer = hear(&stream, until_ns).map_err(failed)?;
    let port = hello::understand(&answer).map_err(|(what, message)| Fault {
        what,
        path: Some(settings.address.to_string()),
        errno: None,
        message,
    })?;
    let Some((socket, _)) = datagrams else {
        return Ok(Connection::new(stream, None, hello, settings));
    };
    let mut peer = settings.address;
    peer.set_port(port);
    connect(&socket, &peer).map_err(failed)?;
    socket::check_segment(&socket, settings)?;
    Ok(Connection::new(socket, Some(stream), hello, settings))
}

/// A socket for datagrams beside a stream, and its port.
fn datagrams(stream: &OwnedFd, settings: &Settings) -> Result<(OwnedFd, u16), Fault> {
    let failed = |errno| socket::refused("bind", settings.address, errno);
    let mut own = getsockname(stream)
        .and_then(SocketAddr::try_from)
        .map_err(failed)?;
    own.set_port(0);
    let socket = socket::udp(settings)?;
    bind(&socket, &own).map_err(failed)?;
    let own = getsockname(&socket)
        .and_then(SocketAddr::try_from)
        .map_err(failed)?;
    Ok((socket, own.port()))
}

/// Connects before a moment.
fn open(socket: &OwnedFd, address: SocketAddr, until_ns: u64) -> Result<(), Errno> {
    ioctl_fionbio(socket, true)?;
    match connect(socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            wait(socket, PollFlags::OUT, until_ns)?;
            sockopt::socket_error(socket)??;
        }
        Err(errno) => return Err(errno),
    }
    ioctl_fionbio(socket, false)
}

fn hear(socket: &OwnedFd, until_ns: u64) -> Result<[u8; LENGTH], Errno> {
    let mut bytes = [0; LENGTH];
    let mut got = 0;
    while got < LENGTH {
        wait(socket, PollFlags::IN, until_ns)?;
        match recv(socket, &mut bytes[got..], RecvFlags::empty())? {
            (0, _) => return Err(Errno::CONNRESET),
            (length, _) => got += length,
        }
    }
    Ok(bytes)
}

fn wait(socket: &OwnedFd, flags: PollFlags, until_ns: u64) -> Result<(), Errno> {
    let rest = span(until_ns.saturating_sub(monotonic_ns()));
    match poll(&mut [PollFd::new(socket, flags)], Some(&rest))? {
        0 => Err(Errno::TIMEDOUT),
        _ => Ok(()),
    }
}

impl Beside for Dialled {
    fn address(&self) -> Option<String> {
        None
    }

    fn patience_ns(&self) -> u64 {
        self.0.settings.patience_ns
    }

    fn look(&self, at_ns: u64) {
        self.0.account.look(at_ns);
    }

    fn interrupt(&self) {
        self.0.interrupt();
    }

    fn finish(&self) -> NetResult {
        self.0.account.look(monotonic_ns());
        self.0.leave();
        self.0.account.close()
    }
}

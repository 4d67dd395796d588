//! The end that is armed first: listens, lets in who belongs to the trial, refuses and counts the rest.

use super::connection::Connection;
use super::hall::Hall;
use super::hello::{self, LENGTH, Refusal};
use super::kernel::span;
use super::settings::{Exchange, Settings};
use super::socket;
use crate::beside::Beside;
use crate::net_result::NetResult;
use crate::protocol::Fault;
use assay_clock::monotonic_ns;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{
    RecvFlags, SendFlags, SocketFlags, accept_with, bind, connect, getpeername, getsockname,
    listen, recv, send, sockopt,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

const BACKLOG: i32 = 4_096;
/// How long a newcomer may take to say who it is.
const HELLO_NS: u64 = 5_000_000_000;
/// So many newcomers at a time are listened to.
const MOST_NEWCOMERS: usize = 256;

/// The door of a server; the thread that keeps it ends with this value.
pub struct Server {
    hall: Arc<Hall>,
    wake: Arc<OwnedFd>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Listens from now on.
    pub fn open(settings: &Settings) -> Result<(Self, Arc<Hall>), Fault> {
        let listener = socket::tcp(settings)?;
        let failed = |errno| socket::refused("bind", settings.address, errno);
        sockopt::set_socket_reuseaddr(&listener, true).map_err(failed)?;
        bind(&listener, &settings.address).map_err(failed)?;
        listen(&listener, BACKLOG).map_err(failed)?;
        ioctl_fionbio(&listener, true).map_err(failed)?;
        let address = getsockname(&listener).and_then(SocketAddr::try_from);
        let address = address.map_err(failed)?;
        // Keeps the port from others; a connection's own socket takes its datagrams.
        let datagrams = (settings.exchange == Exchange::Datagram)
            .then(|| socket::udp(settings))
            .transpose()?;
        if let Some(datagrams) = &datagrams {
            bind(datagrams, &address).map_err(|errno| socket::refused("bind", address, errno))?;
        }
        let hall = Arc::new(Hall::new(settings, address.to_string()));
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let wake = Arc::new(wake);
        let door = Door {
            hall: Arc::clone(&hall),
            listener,
            address,
            _datagrams: datagrams,
            newcomers: Vec::new(),
        };
        let theirs = Arc::clone(&wake);
        let keeper = std::thread::spawn(move || door.keep(&theirs));
        let server = Self {
            hall: Arc::clone(&hall),
            wake,
            keeper: Mutex::new(Some(keeper)),
        };
        Ok((server, hall))
    }

    fn close(&self) {
        let keeper = self
            .keeper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(keeper) = keeper {
            let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
            let _ = keeper.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

impl Beside for Server {
    fn address(&self) -> Option<String> {
        Some(self.hall.account.address().to_owned())
    }

    fn patience_ns(&self) -> u64 {
        self.hall.settings.patience_ns
    }

    fn look(&self, at_ns: u64) {
        self.hall.account.look(at_ns);
    }

    fn interrupt(&self) {
        self.hall.interrupt();
    }

    fn finish(&self) -> NetResult {
        self.close();
        self.hall.account.look(monotonic_ns());
        self.hall.leave();
        self.hall.account.close()
    }
}

struct Door {
    hall: Arc<Hall>,
    listener: OwnedFd,
    address: SocketAddr,
    _datagrams: Option<OwnedFd>,
    newcomers: Vec<Newcomer>,
}

/// One that has not said yet who it is.
struct Newcomer {
    socket: OwnedFd,
    bytes: [u8; LENGTH],
    got: usize,
    until_ns: u64,
}

/// How far a newcomer is.
enum Heard {
    Incomplete,
    All,
    /// It went away.
    Gone,
}

impl Door {
    fn keep(mut self, wake: &OwnedFd) {
        while let Ok((is_woken, someone, speaking)) = self.wait(wake) {
            if is_woken {
                return;
            }
            for place in speaking.into_iter().rev() {
                self.listen_to(place);
            }
            let now = monotonic_ns();
            for place in (0..self.newcomers.len()).rev() {
                if self.newcomers[place].until_ns <= now {
                    self.hall.account.refuse(Refusal::Stranger);
                    self.newcomers.swap_remove(place);
                }
            }
            if someone {
                self.let_in();
            }
        }
    }

    /// Waits until something happens: the end, someone at the door, newcomers that speak.
    fn wait(&self, wake: &OwnedFd) -> Result<(bool, bool, Vec<usize>), Errno> {
        let has_room = self.newcomers.len() < MOST_NEWCOMERS;
        let door = if has_room {
            PollFlags::IN
        } else {
            PollFlags::empty()
        };
        let mut fds = vec![
            PollFd::new(wake, PollFlags::IN),
            PollFd::new(&self.listener, door),
        ];
        let sockets = self.newcomers.iter().map(|one| &one.socket);
        fds.extend(sockets.map(|socket| PollFd::new(socket, PollFlags::IN)));
        let until_ns = self.newcomers.iter().map(|one| one.until_ns).min();
        let rest = until_ns.map(|at| span(at.saturating_sub(monotonic_ns())));
        match poll(&mut fds, rest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let is_ready = |fd: &PollFd| !fd.revents().is_empty();
        let speaking = (0..self.newcomers.len()).filter(|place| is_ready(&fds[place + 2]));
        Ok((is_ready(&fds[0]), is_ready(&fds[1]), speaking.collect()))
    }

    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while self.newcomers.len() < MOST_NEWCOMERS {
            let Ok(socket) = accept_with(&self.listener, flags) else {
                return;
            };
            self.newcomers.push(Newcomer {
                socket,
                bytes: [0; LENGTH],
                got: 0,
                until_ns: monotonic_ns() + HELLO_NS,
            });
        }
    }

    fn listen_to(&mut self, place: usize) {
        match self.newcomers[place].hear() {
            Heard::Incomplete => {}
            Heard::Gone => {
                self.hall.account.refuse(Refusal::Stranger);
                self.newcomers.swap_remove(place);
            }
            Heard::All => {
                let newcomer = self.newcomers.swap_remove(place);
                self.greet(newcomer);
            }
        }
    }

    /// Answers; gives it a place, or counts why not.
    fn greet(&self, newcomer: Newcomer) {
        let Newcomer { socket, bytes, .. } = newcomer;
        let settings = &self.hall.settings;
        let made = hello::decode(settings, &bytes).and_then(|hello| {
            if self.hall.is_full() {
                let reason = format!(
                    "all {} connections of this server are taken",
                    settings.connections
                );
                return Err((Refusal::Full, reason));
            }
            let datagrams = (hello.port > 0).then(|| self.datagrams(&socket, hello.port));
            Ok((hello, datagrams.transpose()?))
        });
        let port = made
            .as_ref()
            .map(|_| self.address.port())
            .map_err(Clone::clone);
        let _ = ioctl_fionbio(&socket, false);
        let said = send(&socket, &hello::answer(&port), SendFlags::NOSIGNAL);
        match made {
            Err((refusal, _)) => self.hall.account.refuse(refusal),
            Ok(_) if said != Ok(LENGTH) => self.hall.account.refuse(Refusal::Stranger),
            Ok((hello, datagrams)) => {
                let (socket, control) = match datagrams {
                    Some(datagrams) => (datagrams, Some(socket)),
                    None => (socket, None),
                };
                self.hall
                    .seat(Connection::new(socket, control, hello, settings));
            }
        }
    }

    /// A socket on the server's port that takes the datagrams of this peer alone.
    fn datagrams(&self, control: &OwnedFd, port: u16) -> Result<OwnedFd, (Refusal, String)> {
        let failed = |errno: Errno| (Refusal::Socket, errno.to_string());
        let peer = getpeername(control).map_err(failed)?;
        let mut peer: SocketAddr = peer
            .ok_or(Errno::NOTCONN)
            .and_then(SocketAddr::try_from)
            .map_err(failed)?;
        let mut own: SocketAddr = getsockname(control)
            .and_then(SocketAddr::try_from)
            .map_err(failed)?;
        peer.set_port(port);
        own.set_port(self.address.port());
        let settings = &self.hall.settings;
        let socket = socket::udp(settings).map_err(|fault| (Refusal::Socket, fault.message))?;
        bind(&socket, &own)
            .and_then(|()| connect(&socket, &peer))
            .map_err(failed)?;
        socket::check_segment(&socket, settings)
            .map_err(|fault| (Refusal::Socket, fault.message))?;
        Ok(socket)
    }
}

impl Newcomer {
    fn hear(&mut self) -> Heard {
        match recv(
            &self.socket,
            &mut self.bytes[self.got..],
            RecvFlags::empty(),
        ) {
            Ok((0, _)) => Heard::Gone,
            Ok((length, _)) => {
                self.got += length;
                if self.got == LENGTH {
                    Heard::All
                } else {
                    Heard::Incomplete
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => Heard::Incomplete,
            Err(_) => Heard::Gone,
        }
    }
}

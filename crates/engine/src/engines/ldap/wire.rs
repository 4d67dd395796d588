//! One connection as bytes: TCP, a Unix socket, or TLS over TCP.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};

/// A connection's bytes, blocking while it is armed and not afterwards.
pub struct Wire {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    /// Whether calls return at once.
    never_waits: bool,
    /// Whether the last call emptied the socket: it gave less than there was room for.
    is_drained: bool,
    /// Whether what comes is first seen and taken out later, so that its acknowledgement goes with the next request.
    peeks: bool,
    /// Bytes that were seen, and are in the socket still.
    seen: usize,
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

/// The socket as rustls wants it, and whether its last call emptied it.
struct Socket<'a>(BorrowedFd<'a>, bool);

impl Read for Socket<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (received, _) = recv(self.0, &mut *into, RecvFlags::empty())?;
        self.1 = received < into.len();
        Ok(received)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire {
    /// A connected socket.
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            tls: None,
            never_waits: false,
            is_drained: false,
            peeks: false,
            seen: 0,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Begins TLS; waits until both ends agree.
    pub fn start_tls(&mut self, mut session: ClientConnection) -> io::Result<()> {
        let mut socket = Socket(self.socket.as_fd(), false);
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        self.tls = Some(Box::new(session));
        Ok(())
    }

    /// Whether sending is left to be done that the socket did not take.
    pub fn is_blocked(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|session| session.wants_write())
    }

    /// From now on no call waits. Over TCP the kernel acknowledges two segments as soon as they are taken out.
    pub fn never_wait(&mut self, is_tcp: bool) -> rustix::io::Result<()> {
        self.never_waits = true;
        self.peeks = is_tcp && self.tls.is_none();
        ioctl_fionbio(&self.socket, true)
    }

    /// The socket has something again.
    #[inline]
    pub fn wake(&mut self) {
        self.is_drained = false;
    }

    /// Sends as much as the socket takes; TLS takes all of it, and keeps what the socket does not take.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let sent = match &mut self.tls {
            None => match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => 0,
                sent => sent?,
            },
            Some(session) => {
                session.writer().write_all(bytes).map_err(errno)?;
                push(session, self.socket.as_fd())?;
                bytes.len()
            }
        };
        self.sent_bytes += sent as u64;
        Ok(sent)
    }

    /// Sends what TLS kept.
    pub fn push(&mut self) -> rustix::io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(session) => push(session, self.socket.as_fd()),
        }
    }

    /// Receives what is there; None where there is nothing now, 0 at the end.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> rustix::io::Result<Option<usize>> {
        self.take_out(into)?;
        let how = if self.peeks {
            RecvFlags::PEEK
        } else {
            RecvFlags::empty()
        };
        let received = match &mut self.tls {
            None => match recv(&self.socket, &mut *into, how) {
                Ok((received, _)) => {
                    self.seen = if self.peeks { received } else { 0 };
                    self.is_drained = received < into.len();
                    Some(received)
                }
                Err(Errno::AGAIN | Errno::INTR) => None,
                Err(errno) => return Err(errno),
            },
            Some(session) => {
                let mut socket = Socket(self.socket.as_fd(), self.is_drained);
                let received = receive(session, &mut socket, self.never_waits, into);
                self.is_drained = socket.1;
                received?
            }
        };
        self.received_bytes += received.unwrap_or(0) as u64;
        Ok(received)
    }

    /// Takes out of the socket what was seen; `room` has room for it, and is not written.
    #[inline]
    pub fn take_out(&mut self, room: &mut [u8]) -> rustix::io::Result<()> {
        if self.seen > 0 {
            recv(&self.socket, &mut room[..self.seen], RecvFlags::TRUNC)?;
            self.seen = 0;
        }
        Ok(())
    }

    /// Whether more can be received before the socket wakes this thread again; TLS may hold what it has already read.
    #[inline]
    pub fn holds_more(&self) -> bool {
        self.tls.is_some() || !self.is_drained
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn push(session: &mut ClientConnection, socket: BorrowedFd) -> rustix::io::Result<()> {
    while session.wants_write() {
        match session.write_tls(&mut Socket(socket, false)) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(errno(error)),
        }
    }
    Ok(())
}

fn receive(
    session: &mut ClientConnection,
    socket: &mut Socket,
    never_waits: bool,
    into: &mut [u8],
) -> rustix::io::Result<Option<usize>> {
    loop {
        match session.reader().read(into) {
            Ok(received) => return Ok(Some(received)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The server closed without a notice of TLS.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Some(0)),
            Err(error) => return Err(errno(error)),
        }
        if never_waits && socket.1 {
            return Ok(None);
        }
        match session.read_tls(socket) {
            Ok(_) => session.process_new_packets().map_err(|_| Errno::PROTO)?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(errno(error)),
        };
        push(session, socket.0)?;
    }
}

/// The error number of a failed call; EPROTO where TLS itself failed.
pub fn errno(error: impl Into<io::Error>) -> Errno {
    let error: io::Error = error.into();
    let code = error.raw_os_error();
    code.map_or(Errno::PROTO, Errno::from_raw_os_error)
}

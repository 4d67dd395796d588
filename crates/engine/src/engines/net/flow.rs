//! One connection among many: how far its operation is.

use super::connection::Connection;
use super::hall::Hall;
use super::stream::buffer;
use crate::aligned::Aligned;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::Arc;

/// So many messages of one connection follow each other before another one is served.
const TURN: usize = 8;

/// What a worker does with its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Send,
    Receive,
    Ask,
    Answer,
}

/// What became of a connection that was served.
pub enum Outcome {
    /// Nothing more goes until the socket is ready.
    Waits,
    /// It has had its turn, and could go on.
    Again,
    /// An operation is complete; whether there may be another one.
    Complete(bool),
    /// The other end has ended; whether between two operations.
    Closed(bool),
    Failed(Errno),
}

pub struct Flow {
    pub connection: Arc<Connection>,
    /// Operations that may still begin here.
    pub left: u64,
    pub is_over: bool,
    /// It was over by the time of the phase, not by the other end.
    pub is_cut: bool,
    sent: usize,
    got: usize,
    from: u64,
    is_begun: bool,
}

impl Kind {
    /// Whether operations begin at this end.
    pub fn leads(self) -> bool {
        matches!(self, Self::Send | Self::Ask)
    }

    /// Buffers for what goes out and what comes in.
    pub fn buffers(self, hall: &Hall, seed: u64) -> Result<(Aligned, Aligned), Fault> {
        let settings = &hall.settings;
        let (out, into) = match self {
            Self::Send | Self::Receive => (settings.message(), settings.message()),
            Self::Ask => (settings.request, settings.response),
            Self::Answer => (settings.response, settings.request),
        };
        Ok((buffer(out, seed)?, buffer(into, !seed)?))
    }
}

impl Flow {
    /// A connection without an operation.
    pub fn new(connection: Arc<Connection>, ops: Option<u64>) -> Self {
        Self {
            connection,
            left: ops.unwrap_or(u64::MAX),
            is_over: false,
            is_cut: false,
            sent: 0,
            got: 0,
            from: 0,
            is_begun: false,
        }
    }

    /// Begins an operation whose latency counts from a stamp.
    pub fn begin(&mut self, from: u64) {
        (self.sent, self.got, self.from) = (0, 0, from);
        self.is_begun = true;
        self.left -= 1;
    }

    /// Since when the load waits here for an operation to end; None of a server's end, and between operations.
    pub fn waits_since(&self, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Answer => None,
            Kind::Receive => Some(self.from),
            Kind::Send | Kind::Ask => self.is_begun.then_some(self.from),
        }
    }

    /// Goes as far as the socket lets it.
    pub fn advance(
        &mut self,
        kind: Kind,
        slot: usize,
        (out, into): (&[u8], &mut [u8]),
        recorder: &mut Recorder,
    ) -> Outcome {
        let outcome = match kind {
            Kind::Receive => return self.receive_turn(slot, into, recorder),
            Kind::Answer => self.answer(out, into, recorder),
            Kind::Send | Kind::Ask if !self.is_begun => return self.overhear(kind, into),
            Kind::Send => self.send(out),
            Kind::Ask => self.ask(out, into),
        };
        match outcome {
            Ok(()) => {
                let to = recorder.now();
                let bytes = self.sent + self.got;
                (self.sent, self.got, self.is_begun) = (0, 0, false);
                Outcome::Complete(recorder.complete(slot, bytes, self.from, to))
            }
            Err(Errno::AGAIN | Errno::INTR) => Outcome::Waits,
            Err(Errno::PIPE) if kind == Kind::Answer && self.got == 0 => Outcome::Closed(true),
            Err(errno) => Outcome::Failed(errno),
        }
    }

    /// An event without an operation: nobody sends to this end, so it can only be an end.
    fn overhear(&self, kind: Kind, into: &mut [u8]) -> Outcome {
        let room = into.len().min(1);
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        match recv(&self.connection.socket, &mut into[..room], flags) {
            Ok((0, _)) if kind == Kind::Ask => Outcome::Closed(true),
            Err(Errno::AGAIN | Errno::INTR) | Ok(_) => Outcome::Waits,
            Err(errno) => Outcome::Failed(errno),
        }
    }

    fn send(&mut self, out: &[u8]) -> rustix::io::Result<()> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while self.sent < out.len() {
            self.sent += send(&self.connection.socket, &out[self.sent..], flags)?;
        }
        Ok(())
    }

    /// Receives until the buffer is full; the other end's end is a broken pipe.
    fn fill(&mut self, into: &mut [u8]) -> rustix::io::Result<()> {
        while self.got < into.len() {
            match recv(
                &self.connection.socket,
                &mut into[self.got..],
                RecvFlags::DONTWAIT,
            )? {
                (0, _) => return Err(Errno::PIPE),
                (length, _) => self.got += length,
            }
        }
        Ok(())
    }

    /// No response can be there before the whole request has gone out.
    fn ask(&mut self, out: &[u8], into: &mut [u8]) -> rustix::io::Result<()> {
        if self.sent < out.len() {
            self.send(out)?;
            return Err(Errno::AGAIN);
        }
        self.fill(into)
    }

    /// The latency of an answer counts from the whole request on.
    fn answer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        recorder: &Recorder,
    ) -> rustix::io::Result<()> {
        if !self.is_begun {
            self.fill(into)?;
            self.from = recorder.now();
            self.is_begun = true;
        }
        self.send(out)
    }

    fn receive_turn(&mut self, slot: usize, into: &mut [u8], recorder: &mut Recorder) -> Outcome {
        for _ in 0..TURN {
            let from = recorder.now();
            match recv(&self.connection.socket, &mut *into, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Outcome::Closed(true),
                Ok((length, _)) => {
                    let to = recorder.now();
                    if !recorder.complete(slot, length, from, to) {
                        return Outcome::Complete(false);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.from = from;
                    return Outcome::Waits;
                }
                Err(errno) => return Outcome::Failed(errno),
            }
        }
        Outcome::Again
    }
}

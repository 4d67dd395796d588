//! Numbered datagrams in one direction, in trains where the kernel cuts and joins them.
//!
//! A stream beside them says at the end how many were sent: what is missing then was lost.

use super::connection::{Connection, Ended};
use super::flow::Kind;
use super::hall::Hall;
use super::kernel;
use super::sequence::Sequence;
use super::settings::MOST_DATAGRAM;
use super::stream::buffer;
use super::work::{begin, close, complete, lose, receive, send_all, take};
use crate::aligned::Aligned;
use crate::net_result::DatagramResult;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::Worker;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most datagrams that the kernel cuts out of one call.
const MOST_SEGMENTS: u64 = 64;
/// What a receiver may get in one call.
const TRAIN: u64 = 1 << 16;
/// After so long without a datagram a receiver asks whether there will be more.
const SILENCE: Duration = Duration::from_millis(50);
/// How long after its time a receiver waits for the count.
const DRAIN: Duration = Duration::from_secs(1);

/// The worker of one direction of one connection.
pub fn worker(hall: Arc<Hall>, kind: Kind, at: (usize, usize), seed: u64) -> Box<dyn Worker> {
    if kind == Kind::Send {
        Box::new(Sender::new(hall, at, seed))
    } else {
        Box::new(Receiver::new(hall, at))
    }
}

struct Sender {
    hall: Arc<Hall>,
    place: usize,
    slot: usize,
    seed: u64,
    buffer: Option<Aligned>,
}

struct Receiver {
    hall: Arc<Hall>,
    place: usize,
    slot: usize,
    buffer: Option<Aligned>,
}

impl Worker for Sender {
    fn prepare(&mut self) -> Result<(), Fault> {
        let settings = &self.hall.settings;
        let segments = if settings.segment {
            (MOST_DATAGRAM / settings.message()).clamp(1, MOST_SEGMENTS)
        } else {
            1
        };
        self.buffer = Some(buffer(settings.message() * segments, self.seed)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut train) = self.buffer.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        let sent = self.send(recorder, &connection, &mut train);
        connection.end(Ended::Finished);
        connection.note_datagrams(DatagramResult {
            sent: Some(sent),
            ..DatagramResult::default()
        });
        if let Some(control) = &connection.control {
            let _ = send_all(control, &sent.to_le_bytes());
            let _ = shutdown(control, Shutdown::Write);
        }
    }
}

impl Sender {
    /// Of the connection at this place, counted in this slot.
    fn new(hall: Arc<Hall>, (place, slot): (usize, usize), seed: u64) -> Self {
        Self {
            hall,
            place,
            slot,
            seed,
            buffer: None,
        }
    }

    /// Sends until the end; gives the number of datagrams.
    fn send(&self, recorder: &mut Recorder, connection: &Connection, train: &mut [u8]) -> u64 {
        let message = self.hall.settings.message() as usize;
        let mut next: u64 = 0;
        for _ in 0..self.hall.settings.ops.unwrap_or(u64::MAX) {
            let mut number = next;
            for datagram in train.chunks_exact_mut(message) {
                datagram[..8].copy_from_slice(&connection.tag.to_le_bytes());
                datagram[8..16].copy_from_slice(&number.to_le_bytes());
                number += 1;
            }
            let Some(from) = begin(recorder) else { break };
            match send(&connection.socket, train, SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    next = number;
                    if !complete(recorder, self.slot, bytes, from) {
                        break;
                    }
                }
                Err(errno) if connection.is_interrupted() => {
                    lose(
                        &self.hall,
                        connection,
                        recorder,
                        (self.slot, Some(from)),
                        errno,
                    );
                    break;
                }
                Err(errno) => {
                    let now = recorder.now();
                    if !recorder.fail(self.slot, errno.raw_os_error(), now) {
                        break;
                    }
                }
            }
        }
        next
    }
}

impl Worker for Receiver {
    fn prepare(&mut self) -> Result<(), Fault> {
        let settings = &self.hall.settings;
        let least = if settings.segment { TRAIN } else { 0 };
        self.buffer = Some(buffer(settings.message().max(least), 0)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut buffer) = self.buffer.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        let _ = set_socket_timeout(&connection.socket, Timeout::Recv, Some(SILENCE));
        let mut inbox = Inbox {
            tag: connection.tag,
            message: self.hall.settings.message() as usize,
            sequence: Sequence::new(),
            malformed: 0,
        };
        let sent = self.receive(recorder, &connection, &mut inbox, &mut buffer);
        connection.note_datagrams(DatagramResult {
            buffer_drops: kernel::buffer_drops(&connection.socket),
            ..inbox.result(sent)
        });
    }
}

impl Receiver {
    /// Of the connection at this place, counted in this slot.
    fn new(hall: Arc<Hall>, (place, slot): (usize, usize)) -> Self {
        Self {
            hall,
            place,
            slot,
            buffer: None,
        }
    }

    /// Receives until the end; gives the number of datagrams that the other end sent, where it said so.
    fn receive(
        &self,
        recorder: &mut Recorder,
        connection: &Connection,
        inbox: &mut Inbox,
        buffer: &mut [u8],
    ) -> Option<u64> {
        let (hall, slot) = (&self.hall, self.slot);
        loop {
            let Some(from) = begin(recorder) else {
                return drain(connection, inbox, buffer);
            };
            match receive(&connection.socket, buffer) {
                Ok(0) => {
                    close(hall, connection, recorder, (slot, Some(from)), true);
                    return None;
                }
                Ok(bytes) => {
                    let goes_on = complete(recorder, slot, bytes, from);
                    inbox.note(&buffer[..bytes]);
                    if !goes_on {
                        return drain(connection, inbox, buffer);
                    }
                }
                Err(Errno::AGAIN) => match count(connection) {
                    Said::Nothing => {}
                    Said::Sent(sent) => {
                        connection.end(Ended::Closed);
                        return Some(sent);
                    }
                    Said::Gone => {
                        lose(
                            hall,
                            connection,
                            recorder,
                            (slot, Some(from)),
                            Errno::CONNRESET,
                        );
                        return None;
                    }
                },
                Err(errno) => {
                    let now = recorder.now();
                    if !recorder.fail(slot, errno.raw_os_error(), now) {
                        return None;
                    }
                }
            }
        }
    }
}

/// What the other end said beside the datagrams.
enum Said {
    Nothing,
    Sent(u64),
    Gone,
}

fn count(connection: &Connection) -> Said {
    let mut bytes = [0; 8];
    let Some(control) = &connection.control else {
        return Said::Gone;
    };
    match recv(control, &mut bytes, RecvFlags::DONTWAIT) {
        Ok((8, _)) => Said::Sent(u64::from_le_bytes(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Said::Nothing,
        _ => Said::Gone,
    }
}

/// After the phase's time: what still comes is noted, until the other end has said how many there were.
fn drain(connection: &Connection, inbox: &mut Inbox, buffer: &mut [u8]) -> Option<u64> {
    connection.end(Ended::Finished);
    let end = Instant::now() + DRAIN;
    while Instant::now() < end {
        match receive(&connection.socket, buffer) {
            Ok(bytes) => inbox.note(&buffer[..bytes]),
            Err(_) => {
                if let Said::Sent(sent) = count(connection) {
                    return Some(sent);
                }
            }
        }
    }
    None
}

/// What came of one connection.
struct Inbox {
    tag: u64,
    message: usize,
    sequence: Sequence,
    malformed: u64,
}

impl Inbox {
    /// Notes what one call gave: one datagram, or a train of equal ones.
    #[inline]
    fn note(&mut self, train: &[u8]) {
        let datagrams = train.chunks_exact(self.message);
        self.malformed += u64::from(!datagrams.remainder().is_empty());
        for datagram in datagrams {
            let number = |at: usize| {
                let mut wide = [0; 8];
                wide.copy_from_slice(&datagram[at..at + 8]);
                u64::from_le_bytes(wide)
            };
            if number(0) == self.tag {
                self.sequence.note(number(8));
            } else {
                self.malformed += 1;
            }
        }
    }

    fn result(&self, sent: Option<u64>) -> DatagramResult {
        let all = sent.unwrap_or(self.sequence.next).max(self.sequence.next);
        DatagramResult {
            sent: None,
            received: Some(self.sequence.received),
            lost: Some(all - self.sequence.received),
            reordered: Some(self.sequence.reordered),
            duplicated: Some(self.sequence.duplicated),
            malformed: Some(self.malformed),
            buffer_drops: None,
        }
    }
}

//! Bytes in one direction as fast as they go, or at a rate: one thread for one direction of one connection.

use super::connection::{Connection, Ended};
use super::hall::Hall;
use super::work::{begin, close, complete, end_sending, lose, receive, send_all, take};
use super::zerocopy::Zerocopy;
use crate::aligned::Aligned;
use crate::block_data::fill;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::Worker;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after its time a receiver reads what is still on the way, so that the other end can end in order.
const DRAIN: Duration = Duration::from_secs(1);

/// A buffer for one message: on a page, since elsewhere the kernel's copy costs twice as much.
pub fn buffer(bytes: u64, seed: u64) -> Result<Aligned, Fault> {
    let mut buffer =
        Aligned::new(bytes as usize).ok_or_else(|| Fault::settings("the message is too large"))?;
    fill(&mut buffer, seed);
    Ok(buffer)
}

pub struct Sender {
    hall: Arc<Hall>,
    place: usize,
    slot: usize,
    seed: u64,
    buffer: Option<Aligned>,
}

pub struct Receiver {
    hall: Arc<Hall>,
    place: usize,
    slot: usize,
    buffer: Option<Aligned>,
}

impl Worker for Sender {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.buffer = Some(buffer(self.hall.settings.message(), self.seed)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(message) = self.buffer.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        if self.hall.settings.zerocopy {
            self.send_without_copy(recorder, &connection, &message);
        } else {
            self.send(recorder, &connection, &message);
        }
        end_sending(&connection);
    }
}

impl Sender {
    /// Of the connection at this place, counted in this slot.
    pub fn new(hall: Arc<Hall>, (place, slot): (usize, usize), seed: u64) -> Self {
        Self {
            hall,
            place,
            slot,
            seed,
            buffer: None,
        }
    }

    fn send(&self, recorder: &mut Recorder, connection: &Connection, message: &[u8]) {
        for _ in 0..self.hall.settings.ops.unwrap_or(u64::MAX) {
            let Some(from) = begin(recorder) else { return };
            match send_all(&connection.socket, message) {
                Ok(bytes) if complete(recorder, self.slot, bytes, from) => {}
                Ok(_) => return,
                Err(errno) => {
                    return lose(
                        &self.hall,
                        connection,
                        recorder,
                        (self.slot, Some(from)),
                        errno,
                    );
                }
            }
        }
    }

    fn send_without_copy(&self, recorder: &mut Recorder, connection: &Connection, message: &[u8]) {
        let mut zerocopy = Zerocopy::new(&connection.socket);
        for _ in 0..self.hall.settings.ops.unwrap_or(u64::MAX) {
            let Some(from) = begin(recorder) else { break };
            match zerocopy.send_all(message) {
                Ok(bytes) if complete(recorder, self.slot, bytes, from) => {}
                Ok(_) => break,
                Err(errno) => {
                    lose(
                        &self.hall,
                        connection,
                        recorder,
                        (self.slot, Some(from)),
                        errno,
                    );
                    break;
                }
            }
        }
        connection.note_zerocopy(zerocopy.finish());
    }
}

impl Receiver {
    /// Of the connection at this place, counted in this slot.
    pub fn new(hall: Arc<Hall>, (place, slot): (usize, usize)) -> Self {
        Self {
            hall,
            place,
            slot,
            buffer: None,
        }
    }
}

impl Worker for Receiver {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.buffer = Some(buffer(self.hall.settings.message(), 0)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut buffer) = self.buffer.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        let slot = self.slot;
        loop {
            let Some(from) = begin(recorder) else {
                return drain(&connection, &mut buffer);
            };
            match receive(&connection.socket, &mut buffer) {
                Ok(0) => return close(&self.hall, &connection, recorder, (slot, Some(from)), true),
                Ok(bytes) => {
                    if !complete(recorder, slot, bytes, from) {
                        return drain(&connection, &mut buffer);
                    }
                }
                Err(errno) => {
                    return lose(&self.hall, &connection, recorder, (slot, Some(from)), errno);
                }
            }
        }
    }
}

/// Reads and forgets what still comes, until the other end has ended.
pub fn drain(connection: &Connection, buffer: &mut [u8]) {
    connection.end(Ended::Finished);
    let end = Instant::now() + DRAIN;
    let _ = set_socket_timeout(&connection.socket, Timeout::Recv, Some(DRAIN));
    while Instant::now() < end && receive(&connection.socket, buffer).is_ok_and(|bytes| bytes > 0) {
    }
}

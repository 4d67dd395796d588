//! A request and its response, one after the other on one connection.

use super::hall::Hall;
use super::stream::buffer;
use super::work::{
    begin, close, complete, end_sending, lose, receive, receive_all, send_all, take,
};
use crate::aligned::Aligned;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::Worker;
use rustix::io::Errno;
use std::sync::Arc;

/// The load's end: sends a request and waits for the whole response.
pub struct Asker {
    hall: Arc<Hall>,
    place: usize,
    seed: u64,
    buffers: Option<(Aligned, Aligned)>,
}

/// The server's end.
pub struct Answerer {
    hall: Arc<Hall>,
    place: usize,
    seed: u64,
    buffers: Option<(Aligned, Aligned)>,
}

/// Buffers for a request and a response.
fn buffers(hall: &Hall, seed: u64) -> Result<(Aligned, Aligned), Fault> {
    let settings = &hall.settings;
    Ok((
        buffer(settings.request, seed)?,
        buffer(settings.response, !seed)?,
    ))
}

impl Asker {
    /// Of the connection at this place.
    pub fn new(hall: Arc<Hall>, place: usize, seed: u64) -> Self {
        Self {
            hall,
            place,
            seed,
            buffers: None,
        }
    }
}

impl Worker for Asker {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.buffers = Some(buffers(&self.hall, self.seed)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some((request, mut response)) = self.buffers.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        let socket = &connection.socket;
        for _ in 0..self.hall.settings.ops.unwrap_or(u64::MAX) {
            let Some(from) = begin(recorder) else { break };
            let outcome = send_all(socket, &request).and_then(|sent| {
                match receive_all(socket, &mut response)? {
                    got if got == response.len() => Ok(sent + got),
                    _ => Err(Errno::CONNRESET),
                }
            });
            match outcome {
                Ok(bytes) if complete(recorder, 0, bytes, from) => {}
                Ok(_) => break,
                Err(errno) => {
                    lose(&self.hall, &connection, recorder, (0, Some(from)), errno);
                    break;
                }
            }
        }
        end_sending(&connection);
    }
}

impl Answerer {
    /// Of the connection at this place.
    pub fn new(hall: Arc<Hall>, place: usize, seed: u64) -> Self {
        Self {
            hall,
            place,
            seed,
            buffers: None,
        }
    }
}

impl Worker for Answerer {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.buffers = Some(buffers(&self.hall, self.seed)?);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some((mut request, response)) = self.buffers.take() else {
            return;
        };
        let Some(connection) = take(&self.hall, self.place, recorder) else {
            return;
        };
        let (hall, socket) = (&self.hall, &connection.socket);
        loop {
            let first = match receive(socket, &mut request) {
                Ok(0) => return close(hall, &connection, recorder, (0, None), true),
                Ok(bytes) => bytes,
                // Between requests nothing is left unfinished.
                Err(_) if connection.is_interrupted() => {
                    return close(hall, &connection, recorder, (0, None), true);
                }
                Err(errno) => return lose(hall, &connection, recorder, (0, None), errno),
            };
            match receive_all(socket, &mut request[first..]) {
                Ok(rest) if first + rest == request.len() => {}
                Ok(_) => return close(hall, &connection, recorder, (0, None), false),
                Err(errno) => return lose(hall, &connection, recorder, (0, None), errno),
            }
            let from = recorder.now();
            match send_all(socket, &response) {
                Ok(sent) if complete(recorder, 0, request.len() + sent, from) => {}
                Ok(_) => return end_sending(&connection),
                Err(errno) => return lose(hall, &connection, recorder, (0, None), errno),
            }
        }
    }
}

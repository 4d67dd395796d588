//! What all workers of connections do around an operation: begin when it is due, note it, end with the connection.

use super::connection::{Connection, Ended};
use super::hall::Hall;
use super::settings::Role;
use crate::recorder::Recorder;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::sync::Arc;

/// Takes the connection at a place; the worker of the first place says so if nobody came at all.
pub fn take(hall: &Hall, place: usize, recorder: &mut Recorder) -> Option<Arc<Connection>> {
    let control = recorder.control();
    let found = hall.wait(place, &control);
    match &found {
        Some(connection) => recorder.path.clone_from(&connection.peer),
        None if control.reason().is_some() => recorder.recheck(),
        None if place == 0 => {
            hall.account.address().clone_into(&mut recorder.path);
            recorder.fail(0, libc::ETIMEDOUT, recorder.now());
            recorder.give_up();
        }
        None => {}
    }
    found
}

/// Waits until the next operation is due; the stamp that its latency counts from, or None at the end.
#[inline]
pub fn begin(recorder: &mut Recorder) -> Option<u64> {
    let Some(pacer) = recorder.pacer() else {
        return Some(recorder.now());
    };
    let due = pacer.wait();
    if due.is_none() {
        recorder.out_of_time();
    }
    due
}

/// Notes an operation that is complete. False = stop.
#[inline]
pub fn complete(recorder: &mut Recorder, slot: usize, bytes: usize, from: u64) -> bool {
    let to = recorder.now();
    if let Some(pacer) = recorder.pacer() {
        pacer.ended(to);
    }
    recorder.complete(slot, bytes, from, to)
}

/// Sends all of it.
#[inline]
pub fn send_all(socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(length) => sent += length,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(sent)
}

/// Receives so much that the buffer is full; fewer bytes only where the other end has ended.
#[inline]
pub fn receive_all(socket: &OwnedFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match receive(socket, &mut buffer[got..])? {
            0 => break,
            length => got += length,
        }
    }
    Ok(got)
}

/// Receives what there is.
#[inline]
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((length, _)) => return Ok(length),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Nothing more is sent: the other end will read the end of the stream.
pub fn end_sending(connection: &Connection) {
    connection.end(Ended::Finished);
    let _ = shutdown(&connection.socket, Shutdown::Write);
}

/// An operation that did not come to its end: broken off by this end, or an error that ends the connection.
/// `from` is when it began, of an operation of the load.
#[cold]
pub fn lose(
    hall: &Hall,
    connection: &Connection,
    recorder: &mut Recorder,
    (slot, from): (usize, Option<u64>),
    errno: Errno,
) {
    if connection.is_interrupted() {
        hall.account.leave_unfinished();
        if let Some(from) = from {
            recorder.leave(slot, from);
        }
        connection.end(Ended::Interrupted);
        recorder.out_of_time();
        return;
    }
    connection.end(Ended::Broken);
    let now = recorder.now();
    recorder.excuse(slot, errno.raw_os_error(), now);
    if hall.settings.role == Role::Load {
        recorder.give_up();
    }
}

/// The other end has ended in order: between operations, or in the midst of one.
/// `from` is since when this end waited for something that it was to get.
#[cold]
pub fn close(
    hall: &Hall,
    connection: &Connection,
    recorder: &mut Recorder,
    (slot, from): (usize, Option<u64>),
    in_order: bool,
) {
    let from = from.filter(|_| hall.settings.role == Role::Load);
    if in_order && !connection.is_interrupted() {
        connection.end(Ended::Closed);
    } else if in_order && from.is_none() {
        connection.end(Ended::Interrupted);
        recorder.out_of_time();
    } else {
        lose(hall, connection, recorder, (slot, from), Errno::CONNRESET);
    }
}

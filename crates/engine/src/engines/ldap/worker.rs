//! One thread for its connections: begins requests as they are due, and takes answers as they come.

use super::answers::wrong;
use super::connection::Connection;
use super::dial::Own;
use super::mix::{Fate, Mix};
use crate::control::Stopped;
use crate::directory_result::DirectoryResult;
use crate::engines::{Finished, Worker};
use crate::protocol::Fault;
use crate::recorder::Recorder;
use assay_clock::monotonic_ns;
use assay_ldap::build;
use assay_ldap::template::Template;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// Events that one call gives.
const EVENTS: usize = 256;
/// The longest wait in which a worker does not ask whether to go on.
const DOZE_NS: u64 = 100_000_000;
/// Bytes that one call receives.
const ROOM: usize = 64 << 10;
/// An operation that goes on for ever has so many requests left.
pub const ENDLESS: u64 = u64::MAX;

/// The connections of one thread.
pub struct Loader {
    pub connections: Vec<Connection>,
    pub mix: Mix,
    /// What was asked of the server before the start.
    pub own: Own,
    pub patience_ns: u64,
    pub address: String,
    /// A number of a connection for each request that it has room for.
    idle: VecDeque<u32>,
    /// Connections with something to send.
    dirty: Vec<u32>,
    epoll: OwnedFd,
    room: Vec<u8>,
    alive: usize,
    lost: u64,
    quits_ns: u64,
}

impl Loader {
    /// With connections that are armed.
    pub fn new(
        connections: Vec<Connection>,
        mix: Mix,
        own: Own,
        patience_ns: u64,
        address: String,
    ) -> Result<Self, Fault> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        Ok(Self {
            alive: connections.len(),
            connections,
            mix,
            own,
            patience_ns,
            address,
            idle: VecDeque::new(),
            dirty: Vec::new(),
            epoll,
            room: Vec::new(),
            lost: 0,
            quits_ns: u64::MAX,
        })
    }
}

impl Worker for Loader {
    fn prepare(&mut self) -> Result<(), Fault> {
        let depth = self.connections.first().map_or(0, |one| one.free.len());
        for (number, connection) in (0_u32..).zip(&self.connections) {
            let data = epoll::EventData::new_u64(u64::from(number));
            let flags = epoll::EventFlags::IN;
            epoll::add(&self.epoll, &connection.wire, data, flags).map_err(failed)?;
        }
        for _ in 0..depth {
            self.idle.extend(0..self.connections.len() as u32);
        }
        self.dirty.reserve(self.idle.len());
        self.room = vec![0; ROOM];
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path.clone_from(&self.address);
        loop {
            self.begin_due(recorder);
            self.flush(recorder);
            if self.alive == 0 {
                return recorder.give_up();
            }
            if !self.mix.goes_on && (self.under_way() == 0 || self.gives_up_waiting(recorder)) {
                return;
            }
            if !self.wait(recorder) {
                return;
            }
        }
    }

    fn finish(&mut self) -> Finished {
        let mut unbind = Template::new(&build::unbind(), 1);
        let mut result = DirectoryResult {
            connections: self.connections.len() as u64,
            lost: self.lost,
            unasked: self.mix.unasked,
            notices: self.mix.notices,
            ..DirectoryResult::default()
        };
        let mut unbinds = 0;
        for connection in self.connections.iter_mut().filter(|one| !one.is_lost) {
            let id = connection.id(0);
            unbinds += u64::from(connection.wire.send(unbind.patch(id, 0, 0)).is_ok());
        }
        for connection in self.connections.drain(..) {
            result.sent_bytes += connection.wire.sent_bytes;
            result.received_bytes += connection.wire.received_bytes;
        }
        let own = [
            ("bind", self.own.binds),
            ("search", self.own.searches),
            ("extended", self.own.extended),
            ("unbind", unbinds),
        ];
        result.own = own.into_iter().filter(|(_, count)| *count > 0).collect();
        let planned = std::mem::take(&mut self.mix.planned);
        result.operations = planned
            .into_iter()
            .map(super::plan::Planned::finish)
            .collect();
        Finished::Directory(Box::new(result))
    }
}

impl Loader {
    fn under_way(&self) -> usize {
        let lives = |one: &&Connection| !one.is_lost;
        let living = self.connections.iter().filter(lives);
        living.map(Connection::under_way).sum()
    }

    /// Begins requests on idle connections as far as they are due.
    #[inline]
    fn begin_due(&mut self, recorder: &mut Recorder) {
        while self.mix.goes_on
            && let Some(number) = self.idle.front().copied()
        {
            let connection = &mut self.connections[number as usize];
            if connection.is_lost {
                self.idle.pop_front();
                continue;
            }
            let Some(next) = self.mix.look_ahead() else {
                self.mix.goes_on = false;
                return;
            };
            let now = recorder.now();
            let from = match recorder.pacer() {
                None => now,
                Some(pacer) => match pacer.due() {
                    Some(due) if due > now => return,
                    Some(_) => pacer.take(now),
                    None => {
                        self.mix.goes_on = recorder.out_of_time();
                        return;
                    }
                },
            };
            self.idle.pop_front();
            self.mix.begin(connection, next, from, now);
            if !connection.is_dirty {
                connection.is_dirty = true;
                self.dirty.push(number);
            }
        }
    }

    /// Sends what was begun.
    #[inline]
    fn flush(&mut self, recorder: &mut Recorder) {
        if self.mix.goes_on && !self.dirty.is_empty() {
            self.quits_ns = u64::MAX;
        }
        while let Some(number) = self.dirty.pop() {
            let connection = &mut self.connections[number as usize];
            if connection.is_lost {
                continue;
            }
            let was_full = connection.is_full;
            match connection.flush() {
                Ok(()) if was_full == connection.is_full => {}
                Ok(()) => self.listen(number),
                Err(errno) => self.lose(number, Err(errno), recorder),
            }
        }
    }

    /// Whether a socket that has room again wakes this thread.
    #[cold]
    fn listen(&self, number: u32) {
        let connection = &self.connections[number as usize];
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, connection.is_full);
        let data = epoll::EventData::new_u64(u64::from(number));
        let _ = epoll::modify(&self.epoll, &connection.wire, data, flags);
    }

    /// Ends a connection and with it what is under way on it: each is an error of its own.
    #[cold]
    fn lose(&mut self, number: u32, why: Result<&'static str, Errno>, recorder: &mut Recorder) {
        let connection = &mut self.connections[number as usize];
        if connection.is_lost {
            return;
        }
        connection.is_lost = true;
        self.alive -= 1;
        self.lost += 1;
        let now = recorder.now();
        // A closed connection with nothing under way is an error, too: the load has fewer connections from then on.
        let idle = [self.mix.planned[0].slot];
        let under_way = connection.pending.iter().filter(|one| one.id != 0);
        let slots: Vec<usize> = under_way
            .map(|one| self.mix.planned[one.operation].slot)
            .collect();
        let _ = epoll::delete(&self.epoll, &connection.wire);
        let _ = rustix::net::shutdown(&connection.wire, rustix::net::Shutdown::Both);
        for slot in if slots.is_empty() { &idle[..] } else { &slots } {
            self.mix.goes_on &= match why {
                Ok(what) => recorder.refuse_answer(*slot, 0, what, now),
                Err(errno) => recorder.excuse(*slot, errno.raw_os_error(), now),
            };
        }
    }

    /// Loses connections on which a request is under way for too long.
    #[cold]
    fn lose_silent(&mut self, recorder: &mut Recorder) {
        let now_ns = monotonic_ns();
        if self.quits_ns == u64::MAX {
            self.quits_ns = now_ns + self.patience_ns;
        }
        if now_ns < self.quits_ns {
            return;
        }
        for number in 0..self.connections.len() as u32 {
            if self.connections[number as usize].under_way() > 0 {
                self.lose(number, Ok(wrong::UNANSWERED), recorder);
            }
        }
    }

    /// After the end: whether what is under way is left to itself.
    fn gives_up_waiting(&mut self, recorder: &mut Recorder) -> bool {
        self.lose_silent(recorder);
        matches!(
            recorder.control().reason(),
            Some(Stopped::Limit | Stopped::Error)
        )
    }

    /// Waits until something comes or is due; false where waiting is impossible.
    fn wait(&mut self, recorder: &mut Recorder) -> bool {
        let mut timeout_ns = DOZE_NS;
        if self.mix.goes_on && !self.idle.is_empty() {
            let now = recorder.now();
            timeout_ns = recorder
                .pacer()
                .and_then(|pacer| pacer.pause_ns(now))
                .unwrap_or(0);
            if timeout_ns > 0 {
                pause_for(&self.epoll, timeout_ns);
                timeout_ns = 0;
            }
        }
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let timeout = span(timeout_ns);
        match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((events, _)) => {
                for event in &*events {
                    self.serve(event.data.u64() as u32, event.flags, recorder);
                }
                if events.is_empty() {
                    self.mix.goes_on &= recorder.goes_on(recorder.now());
                    self.lose_silent(recorder);
                } else if self.mix.goes_on {
                    self.quits_ns = u64::MAX;
                }
                true
            }
            Err(Errno::INTR) => true,
            Err(errno) => {
                let slot = self.mix.planned[0].slot;
                recorder.fail(slot, errno.raw_os_error(), recorder.now());
                recorder.give_up();
                false
            }
        }
    }

    /// Serves a connection that is ready.
    #[inline]
    fn serve(&mut self, number: u32, flags: epoll::EventFlags, recorder: &mut Recorder) {
        let mut room = std::mem::take(&mut self.room);
        let connection = &mut self.connections[number as usize];
        let was_free = connection.free.len();
        if flags.contains(epoll::EventFlags::OUT) && !connection.is_dirty {
            connection.is_dirty = true;
        }
        let mut why = None;
        while why.is_none() {
            match connection.wire.receive(&mut room) {
                Ok(None) => break,
                Ok(Some(0)) => why = Some(Err(Errno::CONNRESET)),
                Err(errno) => why = Some(Err(errno)),
                Ok(Some(received)) => {
                    let now = recorder.now();
                    match take(connection, &mut self.mix, &room[..received], now, recorder) {
                        Fate::Lost(what) => why = Some(Ok(what)),
                        Fate::Lives if connection.wire.holds_more() => {}
                        Fate::Lives => break,
                    }
                }
            }
        }
        let freed = connection.free.len() - was_free;
        for _ in 0..freed {
            self.idle.push_back(number);
        }
        if connection.is_dirty {
            self.dirty.push(number);
        }
        self.room = room;
        if let Some(why) = why {
            self.lose(number, why, recorder);
        }
    }
}

/// Takes received bytes, after those that were held.
#[inline]
fn take(
    connection: &mut Connection,
    mix: &mut Mix,
    bytes: &[u8],
    now: u64,
    recorder: &mut Recorder,
) -> Fate {
    if connection.held.is_empty() {
        let (used, fate) = mix.take(connection, bytes, now, recorder);
        if used < bytes.len() {
            connection.held.extend_from_slice(&bytes[used..]);
        }
        return fate;
    }
    let mut held = std::mem::take(&mut connection.held);
    held.extend_from_slice(bytes);
    let (used, fate) = mix.take(connection, &held, now, recorder);
    held.drain(..used);
    connection.held = held;
    fate
}

fn failed(errno: Errno) -> Fault {
    Fault::call("epoll", "connections", errno)
}

fn span(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

/// Waits for events, to the nanosecond.
fn pause_for(epoll: &OwnedFd, ns: u64) {
    let mut fds = [PollFd::new(epoll, PollFlags::IN)];
    let _ = poll(&mut fds, Some(&span(ns)));
}

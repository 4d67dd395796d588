//! One thread for its connections: begins requests as they are due, and takes answers as they come.

use super::connection::Connection;
use super::dial::Own;
use super::mix::{Fate, Mix};
use super::settings::Settings;
use crate::directory_result::DirectoryResult;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::{Finished, Worker};
use assay_ldap::build;
use assay_ldap::template::Template;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// Events that one call gives.
const EVENTS: usize = 256;
/// The longest wait in which a worker does not ask whether to go on. A timer of its own ends it: a timeout would be set and
/// taken back with each wait.
const DOZE_NS: u64 = 100_000_000;
/// What the timer's events carry instead of the number of a connection.
const TICK: u64 = u64::MAX;
/// A connection wakes its thread once for what comes, not as long as it is there: nothing is looked at twice.
const ARRIVALS: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);
/// What says that a connection is at its end.
const ENDS: epoll::EventFlags = epoll::EventFlags::RDHUP
    .union(epoll::EventFlags::HUP)
    .union(epoll::EventFlags::ERR);
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
    pub(super) patience_ns: u64,
    address: String,
    pub(super) flush_directory: Option<String>,
    /// A number of a connection for each request that it has room for.
    idle: VecDeque<u32>,
    /// Connections with something to send.
    dirty: Vec<u32>,
    pub(super) epoll: OwnedFd,
    timer: Option<OwnedFd>,
    room: Vec<u8>,
    pub(super) alive: usize,
    pub(super) lost: u64,
    pub(super) quits_ns: u64,
}

impl Loader {
    /// With connections that are armed.
    pub fn new(
        connections: Vec<Connection>,
        mix: Mix,
        own: Own,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        Ok(Self {
            alive: connections.len(),
            connections,
            mix,
            own,
            patience_ns: settings.patience_ns,
            address: settings.address.clone(),
            flush_directory: settings.flush_directory.clone(),
            idle: VecDeque::new(),
            dirty: Vec::new(),
            epoll,
            timer: None,
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
            epoll::add(&self.epoll, &connection.wire, data, ARRIVALS).map_err(failed)?;
        }
        self.timer = Some(ticking(&self.epoll).map_err(failed)?);
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
            self.mix.prepare();
            if self.alive == 0 {
                return recorder.give_up();
            }
            if !self.mix.goes_on && (self.under_way() == 0 || self.gives_up_waiting(recorder)) {
                return self.conclude(recorder);
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
        for (name, account) in planned.into_iter().map(super::plan::Planned::finish) {
            result.operations.entry(name).or_default().add(account);
        }
        Finished::Directory(Box::new(result))
    }
}

impl Loader {
    pub(super) fn under_way(&self) -> usize {
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
            if self.mix.is_held() {
                return;
            }
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
        let mut flags = ARRIVALS;
        flags.set(epoll::EventFlags::OUT, connection.is_full);
        let data = epoll::EventData::new_u64(u64::from(number));
        let _ = epoll::modify(&self.epoll, &connection.wire, data, flags);
    }

    /// Waits until something comes or is due; false where waiting is impossible.
    fn wait(&mut self, recorder: &mut Recorder) -> bool {
        let waits = !self.mix.goes_on || self.idle.is_empty() || self.mix.is_held();
        if !waits {
            let now = recorder.now();
            let pause_ns = recorder.pacer().and_then(|pacer| pacer.pause_ns(now));
            if let Some(pause_ns) = pause_ns.filter(|pause_ns| *pause_ns > 0) {
                pause_for(&self.epoll, pause_ns);
            }
        }
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let at_once = span(0);
        let timeout = (!waits).then_some(&at_once);
        match epoll::wait(&self.epoll, &mut events, timeout) {
            Ok((events, _)) => {
                let mut has_ticked = false;
                for event in &*events {
                    match event.data.u64() {
                        TICK => has_ticked = true,
                        number => self.serve(number as u32, event.flags, recorder),
                    }
                }
                if has_ticked && let Some(timer) = &self.timer {
                    // It goes on only once it has been read (timerfd_create(2)).
                    let _ = rustix::io::read(timer, &mut [0_u8; 8]);
                }
                if events.len() > usize::from(has_ticked) {
                    if self.mix.goes_on {
                        self.quits_ns = u64::MAX;
                    }
                } else if has_ticked {
                    self.doze(recorder);
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

    /// Nothing has come for a while.
    #[cold]
    fn doze(&mut self, recorder: &mut Recorder) {
        self.mix.goes_on &= recorder.goes_on(recorder.now());
        if self.mix.goes_on {
            self.lose_silent(recorder);
        }
    }

    /// Serves a connection that is ready; what is to be sent goes at once, before the next one.
    #[inline]
    fn serve(&mut self, number: u32, flags: epoll::EventFlags, recorder: &mut Recorder) {
        let why = self.receive(number, flags, recorder);
        if let Some(why) = why {
            self.lose(number, why, recorder);
        }
        self.begin_due(recorder);
        self.flush(recorder);
        let taken = self.connections[number as usize]
            .wire
            .take_out(&mut self.room);
        if let Err(errno) = taken {
            self.lose(number, Err(errno), recorder);
        }
    }

    /// Takes what a connection has; gives why it is at its end, if it is.
    #[inline]
    fn receive(
        &mut self,
        number: u32,
        flags: epoll::EventFlags,
        recorder: &mut Recorder,
    ) -> Option<Result<&'static str, Errno>> {
        let connection = &mut self.connections[number as usize];
        if connection.is_lost {
            return None;
        }
        let was_free = connection.free.len();
        connection.is_dirty |= flags.contains(epoll::EventFlags::OUT);
        let ends = flags.intersects(ENDS);
        let mut why = None;
        connection.wire.wake();
        while why.is_none() {
            match connection.wire.receive(&mut self.room) {
                Ok(None) => break,
                Ok(Some(0)) => why = Some(Err(Errno::CONNRESET)),
                Err(errno) => why = Some(Err(errno)),
                Ok(Some(received)) => {
                    let now = recorder.now();
                    let bytes = &self.room[..received];
                    match take(connection, &mut self.mix, bytes, now, recorder) {
                        Fate::Lost(what) => why = Some(Ok(what)),
                        Fate::Lives if ends => connection.wire.wake(),
                        Fate::Lives if connection.wire.holds_more() => {}
                        Fate::Lives => break,
                    }
                }
            }
        }
        let freed = connection.free.len() - was_free;
        self.idle.extend(std::iter::repeat_n(number, freed));
        if connection.is_dirty {
            self.dirty.push(number);
        }
        why
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

/// A timer that wakes a thread again and again.
fn ticking(epoll: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let timer = timerfd_create(
        TimerfdClockId::Monotonic,
        TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
    )?;
    let ticks = Itimerspec {
        it_interval: span(DOZE_NS),
        it_value: span(DOZE_NS),
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &ticks)?;
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(epoll, &timer, epoll::EventData::new_u64(TICK), flags)?;
    Ok(timer)
}

/// Waits for events, to the nanosecond.
fn pause_for(epoll: &OwnedFd, ns: u64) {
    let mut fds = [PollFd::new(epoll, PollFlags::IN)];
    let _ = poll(&mut fds, Some(&span(ns)));
}

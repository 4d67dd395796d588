//! How connections and the work of a thread end: what is under way then, and what is left to be done.

use super::answers::wrong;
use super::wire::errno;
use super::worker::Loader;
use crate::control::Stopped;
use crate::recorder::Recorder;
use assay_clock::monotonic_ns;
use rustix::event::epoll;
use rustix::io::Errno;
use std::path::Path;

impl Loader {
    /// What is left to be done within the time of the work.
    pub(super) fn conclude(&mut self, recorder: &mut Recorder) {
        let slot = self.mix.planned[0].slot;
        if let Some(why) = self.mix.broken() {
            why.clone_into(&mut recorder.path);
            recorder.refuse_answer(slot, 0, wrong::NO_LDIF, recorder.now());
            return recorder.give_up();
        }
        let is_cut = matches!(
            recorder.control().reason(),
            Some(Stopped::Limit | Stopped::Error)
        );
        let Some(directory) = self.flush_directory.take().filter(|_| !is_cut) else {
            return;
        };
        let from = recorder.now();
        match flush_files(Path::new(&directory)) {
            Ok(()) => recorder.prolong(slot, from),
            Err(error) => {
                recorder.path = directory;
                recorder.fail(slot, errno(error).raw_os_error(), recorder.now());
                recorder.give_up();
            }
        }
    }

    /// Ends a connection and with it what is under way on it: each is an error of its own.
    #[cold]
    pub(super) fn lose(
        &mut self,
        number: u32,
        why: Result<&'static str, Errno>,
        recorder: &mut Recorder,
    ) {
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
        let mut slots = Vec::new();
        for one in connection.pending.iter().filter(|one| one.id != 0) {
            let planned = &mut self.mix.planned[one.operation];
            planned.refuse(one, 0, why.unwrap_or(wrong::LOST), b"");
            let binds = self.mix.bind.as_ref();
            slots.push(match binds.filter(|_| one.binds_from.is_some()) {
                None => planned.slot,
                Some((_, slot)) => {
                    planned.withdraw(one);
                    *slot
                }
            });
        }
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
    pub(super) fn lose_silent(&mut self, recorder: &mut Recorder) {
        if !self.has_waited_enough() {
            return;
        }
        for number in 0..self.connections.len() as u32 {
            if self.connections[number as usize].under_way() > 0 {
                self.lose(number, Ok(wrong::UNANSWERED), recorder);
            }
        }
    }

    /// Whether nothing has come for as long as the load waits.
    fn has_waited_enough(&mut self) -> bool {
        let now_ns = monotonic_ns();
        if self.quits_ns == u64::MAX {
            self.quits_ns = now_ns + self.patience_ns;
        }
        now_ns >= self.quits_ns
    }

    /// Requests that time ended before their answers came: each is in the result with how long it had waited.
    #[cold]
    fn leave(&mut self, recorder: &mut Recorder) {
        for connection in self.connections.iter().filter(|one| !one.is_lost) {
            for one in connection.pending.iter().filter(|one| one.id != 0) {
                let planned = &mut self.mix.planned[one.operation];
                planned.withdraw(one);
                let binds = self.mix.bind.as_ref();
                let slot = binds.filter(|_| one.binds_from.is_some());
                recorder.leave(slot.map_or(planned.slot, |(_, slot)| *slot), one.from);
            }
        }
    }

    /// After the end: whether what is under way is left to itself.
    pub(super) fn gives_up_waiting(&mut self, recorder: &mut Recorder) -> bool {
        if recorder.stopped != Stopped::Time {
            self.lose_silent(recorder);
        } else if self.has_waited_enough() {
            self.leave(recorder);
            return true;
        }
        matches!(
            recorder.control().reason(),
            Some(Stopped::Limit | Stopped::Error)
        )
    }
}

/// Flushes each file below a directory, and no other one: a file system has files of other programs, too.
fn flush_files(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            flush_files(&entry.path())?;
        } else if kind.is_file() {
            std::fs::File::open(entry.path())?.sync_all()?;
        }
    }
    Ok(())
}

//! Flushes of what one worker writes: when they are due, and the call that does them.

use super::settings::{FlushCall, Settings};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;

/// Starts writing what is dirty in a range and waits until it, and what was under way before, has been written.
pub const WRITE_AND_WAIT: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE
    | libc::SYNC_FILE_RANGE_WRITE
    | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// From write to write so many, and what is left at the end.
pub struct Flushing {
    every: u64,
    at_end: bool,
    always: bool,
    pub call: FlushCall,
    pub slot: usize,
    unflushed: u64,
    /// What was written since the last flush, where the call asks for it.
    since: Option<Written>,
}

/// From the first to the last byte.
#[derive(Clone, Copy)]
struct Written {
    start: u64,
    end: u64,
}

/// What any write widens.
const NOTHING: Written = Written {
    start: u64::MAX,
    end: 0,
};

impl Flushing {
    pub fn new(settings: &Settings) -> Self {
        let ranged = settings.flush_call == FlushCall::SyncFileRange && settings.flushes();
        Self {
            every: settings.flush.every(),
            at_end: settings.flush.at_end(),
            always: settings.flush.every() == 0,
            call: settings.flush_call,
            slot: settings.names().len() - 1,
            unflushed: 0,
            since: ranged.then_some(NOTHING),
        }
    }

    /// Counts a write; true where a flush is due.
    #[inline]
    pub fn is_due(&mut self, offset: u64, length: usize) -> bool {
        if let Some(since) = &mut self.since {
            since.start = since.start.min(offset);
            since.end = since.end.max(offset + length as u64);
        }
        if self.every == 0 {
            return false;
        }
        self.unflushed += 1;
        let due = self.unflushed == self.every;
        if due {
            self.unflushed = 0;
        }
        due
    }

    /// Whether each write is to be counted.
    pub fn counts(&self) -> bool {
        self.every > 0 || self.since.is_some()
    }

    /// Whether something is to be flushed when all is written.
    pub fn is_left(&self) -> bool {
        self.at_end && (self.always || self.unflushed > 0)
    }

    /// Offset and bytes of what was written since the last time, for calls that name a range; 0 bytes are all to the file's end.
    pub fn take_range(&mut self) -> (u64, u64) {
        match &mut self.since {
            Some(since) if since.start < since.end => {
                let Written { start, end } = std::mem::replace(since, NOTHING);
                (start, end - start)
            }
            _ => (0, 0),
        }
    }

    /// Flushes by the call that was asked for.
    pub fn flush(&mut self, file: &OwnedFd) -> rustix::io::Result<usize> {
        match self.call {
            FlushCall::Fsync => rustix::fs::fsync(file),
            FlushCall::Fdatasync => rustix::fs::fdatasync(file),
            FlushCall::SyncFileRange => write_back(file, self.take_range()),
        }
        .map(|()| 0)
    }
}

fn write_back(file: &OwnedFd, (offset, bytes): (u64, u64)) -> rustix::io::Result<()> {
    let (descriptor, offset, bytes) = (file.as_raw_fd(), offset as i64, bytes as i64);
    // SAFETY: numbers only.
    match unsafe { libc::sync_file_range(descriptor, offset, bytes, WRITE_AND_WAIT) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// What the last call of the C library failed with.
pub fn last_error() -> Errno {
    let error = std::io::Error::last_os_error();
    Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flushing(more: &serde_json::Value) -> Flushing {
        let mut all = json!({"operation": "write", "record_size": 512, "regions": [], "flush_call": "sync_file_range"});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Flushing::new(&serde_json::from_value(all).unwrap())
    }

    #[test]
    fn the_range_is_what_was_written_since_the_last_flush() {
        let mut flushing = flushing(&json!({"flush": 3}));
        let due = [(4096, 512), (512, 512), (8192, 100), (1024, 512)]
            .map(|(offset, length)| flushing.is_due(offset, length));
        assert_eq!(due, [false, false, true, false]);
        assert_eq!(flushing.take_range(), (512, 7780));
        assert_eq!(flushing.take_range(), (0, 0));
        assert!(flushing.is_left());
    }

    #[test]
    fn calls_without_a_range_note_none() {
        let mut flushing = flushing(&json!({"flush": "end", "flush_call": "fdatasync"}));
        assert!(!flushing.counts());
        assert!(!flushing.is_due(4096, 512));
        assert_eq!(flushing.take_range(), (0, 0));
        assert!(flushing.is_left());
    }
}

//! One thread that reads directories and files as long as there are any.

use super::directory::{Chunk, Directory, open};
use super::lister::{Lister, Reached};
use super::queue::{Found, Pending, Queue, Work};
use super::settings::{Advice, Order};
use super::{Plan, slot};
use crate::aligned::Aligned;
use crate::protocol::{Fault, TreeResult};
use crate::recorder::Recorder;
use crate::work::{Finished, Worker};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::num::NonZeroU64;
use std::sync::Arc;

/// So much of a large file is given back at once where nothing is to stay in memory.
const DROPPED_AT_ONCE: u64 = 8 << 20;

pub struct Walker {
    queue: Arc<Queue>,
    plan: Arc<Plan>,
    lister: Lister,
    buffer: Option<Aligned>,
    /// Files that this walker may still read.
    files_left: u64,
}

impl Walker {
    pub fn new(queue: Arc<Queue>, plan: Arc<Plan>) -> Self {
        Self {
            queue,
            lister: Lister::new(Arc::clone(&plan)),
            buffer: None,
            files_left: plan.ops.unwrap_or(u64::MAX),
            plan,
        }
    }

    /// Reads a directory, on from where it was left; false = stop.
    fn walk(&mut self, recorder: &mut Recorder, pending: Pending) -> bool {
        let from = recorder.now();
        let (directory, spent) = match pending {
            Pending::More { directory, spent } => (directory, spent),
            Pending::New { above, node } => {
                match open(
                    &above.descriptor,
                    node.name(),
                    OFlags::DIRECTORY,
                    self.plan.noatime,
                ) {
                    Ok(descriptor) => (Arc::new(Directory { descriptor, node }), 0),
                    Err(errno) => {
                        recorder.path = node.path(None);
                        return recorder.excuse(slot::WALK, errno.raw_os_error(), recorder.now());
                    }
                }
            }
        };
        let (mut found, reached) = self.lister.list(recorder, &directory);
        let to = recorder.now();
        let spent = spent + to.saturating_sub(from);
        self.arrange(&mut found);
        let more = (reached == Ok(Reached::Piece)).then(|| Pending::More {
            directory: Arc::clone(&directory),
            spent,
        });
        self.queue.give(found, more);
        match reached {
            Ok(Reached::Piece) => true,
            Ok(Reached::End) => recorder.complete(slot::WALK, 0, to.saturating_sub(spent), to),
            Err(errno) => {
                recorder.path = directory.node.path(None);
                recorder.excuse(slot::WALK, errno.raw_os_error(), to)
            }
        }
    }

    fn arrange(&self, found: &mut Found) {
        if self.plan.order == Order::Inode {
            found
                .files
                .entries
                .sort_unstable_by_key(|entry| entry.inode);
            found.below.sort_unstable_by_key(|(inode, _)| *inode);
        }
    }

    /// Reads some files; false = stop.
    fn read_files(&mut self, recorder: &mut Recorder, chunk: &Chunk) -> bool {
        let Chunk { batch, entries } = chunk;
        for entry in &batch.entries[entries.clone()] {
            if self.files_left == 0 {
                return true;
            }
            if !self.read_file(recorder, &batch.directory, batch.name(*entry)) {
                return false;
            }
        }
        true
    }

    /// Opens a file, reads it to its end and closes it.
    fn read_file(&mut self, recorder: &mut Recorder, directory: &Directory, name: &CStr) -> bool {
        let Some(from) = begin(recorder) else {
            return recorder.out_of_time();
        };
        let outcome = self
            .open_file(directory, name)
            .map_err(|errno| (slot::FILE, errno))
            .and_then(|(file, size)| {
                let goes_on = self.read_records(recorder, &file, size)?;
                self.drop_pages(&file, 0, None);
                Ok(goes_on)
            });
        let to = recorder.now();
        if let Some(pacer) = recorder.pacer() {
            pacer.ended(to);
        }
        match outcome {
            Ok(true) => {
                self.files_left -= 1;
                recorder.complete(slot::FILE, 0, from, to)
            }
            Ok(false) => false,
            Err((slot, errno)) => {
                recorder.path = directory.node.path(Some(name));
                recorder.excuse(slot, errno.raw_os_error(), to)
            }
        }
    }

    /// A file and its size now. What has become something else meanwhile is not there any more (ENOENT).
    fn open_file(&self, directory: &Directory, name: &CStr) -> rustix::io::Result<(OwnedFd, u64)> {
        let flags = if self.plan.direct {
            OFlags::DIRECT
        } else {
            OFlags::empty()
        };
        let file =
            open(&directory.descriptor, name, flags, self.plan.noatime).map_err(|errno| {
                if errno == Errno::LOOP {
                    Errno::NOENT
                } else {
                    errno
                }
            })?;
        let seen = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
            return Err(Errno::NOENT);
        }
        let advice = match self.plan.advice {
            Advice::None => None,
            Advice::Sequential => Some(rustix::fs::Advice::Sequential),
            Advice::Willneed => Some(rustix::fs::Advice::WillNeed),
            Advice::Noreuse => Some(rustix::fs::Advice::NoReuse),
        };
        if let Some(advice) = advice {
            let _ = rustix::fs::fadvise(&file, 0, None, advice); // only advice
        }
        Ok((file, seen.st_size.unsigned_abs()))
    }

    /// Reads record after record up to the size that the file had; false = stop.
    #[inline]
    fn read_records(
        &mut self,
        recorder: &mut Recorder,
        file: &OwnedFd,
        size: u64,
    ) -> Result<bool, (usize, Errno)> {
        let (mut offset, mut kept) = (0, 0);
        while offset < size {
            let Some(buffer) = self.buffer.as_deref_mut() else {
                return Ok(false);
            };
            let from = recorder.now();
            let outcome = rustix::io::pread(file, &mut *buffer, offset);
            let to = recorder.now();
            match outcome {
                Ok(0) => break, // it has become shorter
                Ok(length) => {
                    offset += length as u64;
                    if !recorder.complete(slot::READ, length, from, to) {
                        return Ok(false);
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err((slot::READ, errno)),
            }
            if offset - kept >= DROPPED_AT_ONCE {
                self.drop_pages(file, kept, NonZeroU64::new(offset - kept));
                kept = offset;
            }
        }
        Ok(true)
    }

    /// Gives back the memory of what was read, where that is wanted.
    fn drop_pages(&self, file: &OwnedFd, offset: u64, length: Option<NonZeroU64>) {
        if self.plan.drop_behind {
            let _ = rustix::fs::fadvise(file, offset, length, rustix::fs::Advice::DontNeed);
        }
    }
}

/// When the next file begins, after the time to think; None where nothing begins any more.
fn begin(recorder: &mut Recorder) -> Option<u64> {
    match recorder.pacer() {
        Some(pacer) => pacer.wait(),
        None => Some(recorder.now()),
    }
}

impl Worker for Walker {
    fn prepare(&mut self) -> Result<(), Fault> {
        let buffer = Aligned::new(self.plan.record_size)
            .ok_or_else(|| Fault::settings("the record_size is too large"))?;
        self.buffer = Some(buffer);
        self.lister.prepare();
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let mut former = None;
        while let Some(work) = self.queue.take(recorder, former) {
            let before = recorder.tallies[slot::FILE].count;
            let goes_on = match work {
                Work::Directory(pending) => self.walk(recorder, pending),
                Work::Files(chunk) => self.read_files(recorder, &chunk),
            };
            former = Some(recorder.tallies[slot::FILE].count > before);
            if !goes_on {
                self.queue.end();
            }
            if self.files_left == 0 {
                return self.queue.leave(former);
            }
        }
    }

    fn finish(&mut self) -> Finished {
        let left = self.lister.left;
        Finished::Tree(TreeResult {
            others: left.others,
            elsewhere: left.elsewhere,
        })
    }
}

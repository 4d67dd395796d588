//! Reads a directory and looks at each of its entries: what is to be read, what is to be gone into.

use super::directory::{Batch, Directory};
use super::queue::Found;
use super::{Plan, slot};
use crate::objects::LIST_BUFFER;
use crate::recorder::Recorder;
use rustix::fs::{AtFlags, FileType, RawDir};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// So many entries are handed out before the rest of a directory is read, whatever its size; up to a buffer more.
const PIECE: usize = 4096;

/// Whether the directory was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    End,
    Piece,
}

/// Entries that are not read, of all directories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// Neither files nor directories.
    pub others: u64,
    /// Directories of other file systems.
    pub elsewhere: u64,
}

/// What one walker needs to read directories.
pub struct Lister {
    plan: Arc<Plan>,
    buffer: Vec<MaybeUninit<u8>>,
    pub left: Left,
}

impl Lister {
    pub fn new(plan: Arc<Plan>) -> Self {
        Self {
            plan,
            buffer: Vec::new(),
            left: Left::default(),
        }
    }

    /// Allocates the buffer.
    pub fn prepare(&mut self) {
        self.buffer = vec![MaybeUninit::new(0); LIST_BUFFER];
    }

    /// Reads on in a directory, a piece of it or all that is left.
    pub fn list(
        &mut self,
        recorder: &mut Recorder,
        directory: &Arc<Directory>,
    ) -> (Found, rustix::io::Result<Reached>) {
        let mut found = Found {
            files: Batch::new(Arc::clone(directory)),
            below: Vec::new(),
        };
        let mut entries = RawDir::new(&directory.descriptor, &mut self.buffer);
        let mut seen = 0;
        loop {
            let entry = match entries.next() {
                None => return (found, Ok(Reached::End)),
                Some(Err(errno)) => return (found, Err(errno)),
                Some(Ok(entry)) => entry,
            };
            let (name, kind) = (entry.file_name(), entry.file_type());
            if !matches!(name.to_bytes(), b"." | b"..") {
                look(
                    &self.plan,
                    recorder,
                    (name, kind),
                    &mut found,
                    &mut self.left,
                );
            }
            seen += 1;
            if seen >= PIECE && entries.is_buffer_empty() {
                return (found, Ok(Reached::Piece));
            }
        }
    }
}

/// Looks at one entry. Of several clients each reads its own, and looks at no more than these and the directories.
fn look(
    plan: &Plan,
    recorder: &mut Recorder,
    (name, kind): (&CStr, FileType),
    found: &mut Found,
    left: &mut Left,
) {
    let directory = &found.files.directory;
    let is_own = plan.is_own(&directory.node, name);
    if !is_own && !matches!(kind, FileType::Directory | FileType::Unknown) {
        return;
    }
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let seen = match rustix::fs::statat(&directory.descriptor, name, flags) {
        Ok(seen) => seen,
        Err(errno) => {
            recorder.path = directory.node.path(Some(name));
            let whose = if kind == FileType::Directory {
                slot::WALK
            } else {
                slot::FILE
            };
            recorder.excuse(whose, errno.raw_os_error(), recorder.now());
            return;
        }
    };
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::Directory if plan.device.is_some_and(|device| device != seen.st_dev) => {
            left.elsewhere += u64::from(is_own);
        }
        FileType::Directory => found.below.push((seen.st_ino, directory.node.below(name))),
        FileType::RegularFile if is_own => found.files.push(seen.st_ino, name),
        FileType::RegularFile => {}
        _ => left.others += u64::from(is_own),
    }
}

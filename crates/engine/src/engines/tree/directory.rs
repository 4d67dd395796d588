//! Directories and files as system calls see them: opened relative to the directory above, links never followed.

use super::node::Node;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

/// An open directory.
pub struct Directory {
    pub descriptor: OwnedFd,
    pub node: Arc<Node>,
}

/// A file of a directory: where its name begins in the names of its batch.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub inode: u64,
    pub name: u32,
}

/// Files of one directory that wait to be read.
pub struct Batch {
    pub directory: Arc<Directory>,
    pub names: Vec<u8>,
    pub entries: Vec<Entry>,
}

/// Some of a batch.
pub struct Chunk {
    pub batch: Arc<Batch>,
    pub entries: Range<usize>,
}

impl Batch {
    /// No files yet.
    pub fn new(directory: Arc<Directory>) -> Self {
        Self {
            directory,
            names: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// One more file.
    pub fn push(&mut self, inode: u64, name: &CStr) {
        let at = self.names.len() as u32;
        self.names.extend_from_slice(name.to_bytes_with_nul());
        self.entries.push(Entry { inode, name: at });
    }

    /// The name of a file, for a system call.
    pub fn name(&self, entry: Entry) -> &CStr {
        CStr::from_bytes_until_nul(&self.names[entry.name as usize..]).unwrap_or(c"")
    }
}

/// Opens what is to be read, without a change of its time of access where that is wanted and permitted.
pub fn open(
    above: impl AsFd,
    name: &CStr,
    flags: OFlags,
    noatime: bool,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags
        | OFlags::RDONLY
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC
        | OFlags::NOCTTY;
    if noatime {
        match rustix::fs::openat(&above, name, flags | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => {}
            opened => return opened,
        }
    }
    rustix::fs::openat(&above, name, flags, Mode::empty())
}

//! The directories that objects are in, and what needs more of a directory than its descriptor.

use crate::objects::Name;
use crate::protocol::Fault;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use std::ffi::CStr;

/// What `setxattr` sets.
const ATTRIBUTE: (&str, &[u8]) = ("user.assay", b"01234567");

/// A directory, open, and the path of the object in it that is worked on.
pub struct Folder {
    pub descriptor: OwnedFd,
    /// The directory's path, a slash, room for a name and its zero.
    path: Vec<u8>,
}

/// The directories of one worker, made where they are not there: `directory` itself, its `wNNNN` where the worker has one
/// of its own, and in that `dNNNNNN` where it has several.
pub fn folders(directory: &str, worker: Option<u64>, count: u64) -> Result<Vec<Folder>, Fault> {
    make(directory)?;
    let own = match worker {
        Some(part) => format!("{directory}/w{part:04}"),
        None => directory.to_owned(),
    };
    make(&own)?;
    if count == 1 {
        return Ok(vec![Folder::open(&own)?]);
    }
    allow_open_files();
    (0..count)
        .map(|number| {
            let path = format!("{own}/d{number:06}");
            make(&path)?;
            Folder::open(&path)
        })
        .collect()
}

fn make(path: &str) -> Result<(), Fault> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(Fault::call("mkdir", path, errno)),
    }
}

/// Raises the number of files that may be open to what this process may ask for.
pub fn allow_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointers are to this frame.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
}

impl Folder {
    fn open(path: &str) -> Result<Self, Fault> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| Fault::call("open", path, errno))?;
        let mut path = format!("{path}/").into_bytes();
        path.extend([0; Name::LENGTH]);
        Ok(Self { descriptor, path })
    }

    /// Sets an extended attribute of eight bytes, by the object's path: there is no call that takes a directory.
    #[inline]
    pub fn set_attribute(&mut self, name: &Name) -> rustix::io::Result<usize> {
        let start = self.path.len() - Name::LENGTH;
        self.path[start..].copy_from_slice(name.text().to_bytes_with_nul());
        let path = CStr::from_bytes_with_nul(&self.path).map_err(|_| Errno::INVAL)?;
        let (attribute, value) = ATTRIBUTE;
        rustix::fs::setxattr(path, attribute, value, XattrFlags::empty()).map(|()| 0)
    }

    /// Gives the object the name with another letter.
    #[inline]
    pub fn rename(&self, name: &Name, letter: u8) -> rustix::io::Result<usize> {
        let new = name.with(letter);
        rustix::fs::renameat(&self.descriptor, name.text(), &self.descriptor, new.text())
            .map(|()| 0)
    }

    /// Gives the object a second name, with another letter.
    #[inline]
    pub fn link(&self, name: &Name, letter: u8) -> rustix::io::Result<usize> {
        let new = name.with(letter);
        let flags = AtFlags::empty();
        rustix::fs::linkat(
            &self.descriptor,
            name.text(),
            &self.descriptor,
            new.text(),
            flags,
        )
        .map(|()| 0)
    }

    /// Makes a symbolic link to the object, with another letter.
    #[inline]
    pub fn link_softly(&self, name: &Name, letter: u8) -> rustix::io::Result<usize> {
        let new = name.with(letter);
        rustix::fs::symlinkat(name.text(), &self.descriptor, new.text()).map(|()| 0)
    }
}

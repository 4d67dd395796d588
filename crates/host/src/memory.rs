//! Memory that is taken and held, so that others have less.

use std::io;
use std::ptr::{NonNull, null_mut};

/// Pages are made in slices, for the map of the process is locked as long as one is made.
const SLICE_BYTES: usize = 64 << 20;
const PAGE_BYTES: usize = 4096;
const MEMORY: &str = "/proc/meminfo";
const AVAILABLE: &str = "MemAvailable:";

/// So many bytes of memory, every page touched; given back when dropped. No child process inherits them.
pub struct MemoryHeld {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the memory belongs to the process, and nothing but the drop refers to it.
unsafe impl Send for MemoryHeld {}

impl MemoryHeld {
    /// Takes the memory in huge pages where there are any, which the kernel hands out again whole.
    ///
    /// # Errors
    /// `ENOMEM` where less is available: the kernel would kill somebody to make room.
    pub fn take(length: usize) -> io::Result<Self> {
        if available().is_some_and(|available| length > available) {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let length = length.max(1);
        let held = Self::map(length)?;
        held.advise(0, length, libc::MADV_HUGEPAGE)
            .or_else(unknown)?;
        held.advise(0, length, libc::MADV_DONTFORK)?;
        for offset in (0..length).step_by(SLICE_BYTES) {
            held.populate(offset, SLICE_BYTES.min(length - offset))?;
        }
        Ok(held)
    }

    /// How many bytes are held.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    fn map(length: usize) -> io::Result<Self> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe { libc::mmap(null_mut(), length, access, kind, -1, 0) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED => Ok(Self { start, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Makes every page of a slice; a kernel before 5.14 makes it when it is written.
    fn populate(&self, offset: usize, length: usize) -> io::Result<()> {
        if let Err(error) = self.advise(offset, length, libc::MADV_POPULATE_WRITE) {
            unknown(error)?;
            for at in (offset..offset + length).step_by(PAGE_BYTES) {
                // SAFETY: within the mapping, which is ours alone.
                unsafe { self.start.as_ptr().cast::<u8>().add(at).write_volatile(1) };
            }
        }
        Ok(())
    }

    fn advise(&self, offset: usize, length: usize, advice: i32) -> io::Result<()> {
        // SAFETY: the range lies within the mapping, which is ours alone.
        match unsafe { libc::madvise(self.start.as_ptr().byte_add(offset), length, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for MemoryHeld {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

/// What can be taken without anybody having to give way; nothing where the kernel does not tell.
fn available() -> Option<usize> {
    let text = std::fs::read_to_string(MEMORY).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(AVAILABLE))?;
    let kibibytes: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// An advice that this kernel does not know is no failure.
fn unknown(error: io::Error) -> io::Result<()> {
    if error.raw_os_error() == Some(libc::EINVAL) {
        return Ok(());
    }
    Err(error)
}

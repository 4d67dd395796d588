//! Memory that is taken and held, so that others have less.

use std::io;
use std::ptr::{NonNull, null_mut};

/// Memory is taken in slices, for its pages are made while the map of the process is locked.
const SLICE_BYTES: usize = 64 << 20;
const PAGE_BYTES: usize = 4096;

/// So many bytes of memory, every page touched; given back when dropped. No child process inherits them.
pub struct MemoryHeld(Vec<Slice>);

struct Slice {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: a slice is memory of the process that nothing but its drop refers to.
unsafe impl Send for Slice {}

impl MemoryHeld {
    /// Takes the memory in huge pages where there are any, which the kernel hands out again whole.
    ///
    /// # Errors
    /// `ENOMEM` where there is not so much.
    pub fn take(length: usize) -> io::Result<Self> {
        let mut held = Self(Vec::new());
        let mut left = length;
        while left > 0 {
            let slice = Slice::map(left.min(SLICE_BYTES))?;
            left -= slice.length;
            slice.populate()?;
            held.0.push(slice);
        }
        Ok(held)
    }

    /// How many bytes are held.
    #[must_use]
    pub fn length(&self) -> usize {
        self.0.iter().map(|slice| slice.length).sum()
    }
}

impl Slice {
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

    /// Makes every page; a kernel before 5.14 makes it when it is written.
    fn populate(&self) -> io::Result<()> {
        self.advise(libc::MADV_HUGEPAGE).or_else(unknown)?;
        self.advise(libc::MADV_DONTFORK)?;
        if let Err(error) = self.advise(libc::MADV_POPULATE_WRITE) {
            unknown(error)?;
            for offset in (0..self.length).step_by(PAGE_BYTES) {
                // SAFETY: within the mapping, which is ours alone.
                unsafe {
                    self.start
                        .as_ptr()
                        .cast::<u8>()
                        .add(offset)
                        .write_volatile(1)
                };
            }
        }
        Ok(())
    }

    fn advise(&self, advice: i32) -> io::Result<()> {
        // SAFETY: the range is the mapping, which is ours alone.
        match unsafe { libc::madvise(self.start.as_ptr(), self.length, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

/// An advice that this kernel does not know is no failure.
fn unknown(error: io::Error) -> io::Result<()> {
    if error.raw_os_error() == Some(libc::EINVAL) {
        return Ok(());
    }
    Err(error)
}

//! A stretch of a file in memory, whose faults are errors and not the end of the process.
//!
//! An access beyond the end of the file, to a full disk or to a broken one is SIGBUS. The handler puts a page of zeros where the
//! access failed, so that it goes on, and leaves a mark that the access itself looks at.

use super::flushing::last_error;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::cell::Cell;
use std::sync::Once;

thread_local! {
    /// The mapping of this thread: first address, bytes, bytes of a page.
    static MAPPED: Cell<(usize, usize, usize)> = const { Cell::new((0, 0, 1)) };
    /// Whether an access has failed since the last look.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

pub struct Mapping {
    start: *mut u8,
    length: usize,
    /// What `start` is in the file.
    offset: u64,
}

// SAFETY: the mapping belongs to this value alone; it is made and used on one thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps so much of the file from an offset on, on the thread that will use it; a file that is to be written grows to its end.
    pub fn new(file: &OwnedFd, offset: u64, size: u64, writes: bool) -> rustix::io::Result<Self> {
        if writes && rustix::fs::fstat(file)?.st_size < (offset + size) as i64 {
            grow(file, offset + size)?;
        }
        watch_faults();
        let page = page_size();
        let first = offset - offset % page as u64;
        let length = (offset + size - first) as usize;
        let access = if writes {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        let (nowhere, descriptor) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                nowhere,
                length,
                access,
                libc::MAP_SHARED,
                descriptor,
                first as i64,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(last_error());
        }
        MAPPED.set((start as usize, length, page));
        FAILED.set(false);
        Ok(Self {
            start: start.cast(),
            length,
            offset: first,
        })
    }

    /// Copies a record out of the file.
    #[inline]
    pub fn read(&self, block: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
        let from = self.place(block.len(), offset);
        // SAFETY: within the mapping; the file may change meanwhile, which bytes allow.
        unsafe { std::ptr::copy_nonoverlapping(from, block.as_mut_ptr(), block.len()) };
        outcome(block.len())
    }

    /// Copies a record into the file.
    #[inline]
    pub fn write(&mut self, block: &[u8], offset: u64) -> rustix::io::Result<usize> {
        let to = self.place(block.len(), offset);
        // SAFETY: within the mapping, which is writable where the phase writes.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, block.len()) };
        outcome(block.len())
    }

    /// Waits until what was written is durable.
    pub fn flush(&self) -> rustix::io::Result<usize> {
        // SAFETY: the whole mapping.
        let status = unsafe { libc::msync(self.start.cast(), self.length, libc::MS_SYNC) };
        if status == 0 {
            Ok(0)
        } else {
            Err(last_error())
        }
    }

    #[inline]
    fn place(&self, length: usize, offset: u64) -> *mut u8 {
        let at = (offset - self.offset) as usize;
        assert!(at + length <= self.length);
        // SAFETY: within the mapping.
        unsafe { self.start.add(at) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        MAPPED.set((0, 0, 1));
        // SAFETY: mapped by us and not used any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// EIO where an access has failed since the last look.
#[inline]
fn outcome(bytes: usize) -> rustix::io::Result<usize> {
    if FAILED.get() {
        FAILED.set(false);
        return Err(Errno::IO);
    }
    Ok(bytes)
}

/// Makes a file end there or later. Others do the same with other ends at the same time, so it must never cut: that forbids ftruncate.
fn grow(file: &OwnedFd, end: u64) -> rustix::io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), end - 1, 1) {
        Err(Errno::OPNOTSUPP) => rustix::io::pwrite(file, &[0], end - 1).map(drop), // nobody has written yet
        outcome => outcome,
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

fn watch_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: sigaction is plain data, for which zero is a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = mend as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler uses nothing but system calls and thread-locals without destructors.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    });
}

/// Puts a page of zeros where an access failed; any other SIGBUS ends the process as if there were no handler.
extern "C" fn mend(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo of a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, length, size) = MAPPED.get();
    let page = (address - address % size) as *mut libc::c_void;
    if address.wrapping_sub(start) < length {
        FAILED.set(true);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: a page of this thread's own mapping is replaced.
        if unsafe { libc::mmap(page, size, access, flags, -1, 0) } == page {
            return;
        }
    }
    // SAFETY: the default action is taken when the access is tried again.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

//! Pages of the page cache: how many a file has there, and how to be rid of them.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use crate::open::to_ask;

/// Number of cachestat(2): the same on every architecture that joined the common table (all but alpha).
const SYS_CACHESTAT: libc::c_long = 451;

/// Unit of `st_blocks` (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// cachestat(2) of a whole file, in pages, with the page size and the file's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStat {
    /// Pages in the page cache.
    pub cached: u64,
    /// Of these, pages not yet given to the device.
    pub dirty: u64,
    /// Of these, pages on their way to the device.
    pub writeback: u64,
    /// Pages that were in the cache once and have been evicted.
    pub evicted: u64,
    /// Of these, pages whose eviction shows that memory is short.
    pub recently_evicted: u64,
    /// Size of one page.
    pub page_bytes: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// What it has of the device or will have (`st_blocks`): less than its size where it has holes.
    pub allocated_bytes: u64,
}

/// `struct cachestat_range` of linux/mman.h; a length of 0 means to the end of the file.
#[repr(C)]
struct RawRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h.
#[repr(C)]
#[derive(Default)]
struct RawStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

const _: () = assert!(size_of::<RawStat>() == 40 && size_of::<RawRange>() == 16);

/// How many pages of a file are in the page cache now.
///
/// # Errors
/// `ENOSYS` before Linux 6.5; `EPERM` where the file is neither ours nor writable by us; and what open(2) returns.
pub fn cachestat(path: &Path) -> io::Result<CacheStat> {
    let file = to_ask(path)?;
    let range = RawRange {
        offset: 0,
        length: 0,
    };
    let mut raw = RawStat::default();
    // SAFETY: the descriptor is open, and both records have the layout that the kernel expects and outlive the call.
    let status = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut raw,
            0_u32,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let about = file.metadata()?;
    Ok(CacheStat {
        cached: raw.cached,
        dirty: raw.dirty,
        writeback: raw.writeback,
        evicted: raw.evicted,
        recently_evicted: raw.recently_evicted,
        page_bytes: page_bytes(),
        file_bytes: about.len(),
        allocated_bytes: about.blocks() * BLOCK_BYTES,
    })
}

/// Writes a file's dirty pages to its device, then asks the kernel to let go of all its pages.
///
/// # Errors
/// What open(2), fsync(2) and `posix_fadvise(2)` return.
pub fn drop_file(path: &Path) -> io::Result<()> {
    let file = to_ask(path)?;
    file.sync_all()?;
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    let status = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(status))
    }
}

/// Flushes the whole file system that holds a path; returns how long that took in nanoseconds.
///
/// # Errors
/// What open(2) and syncfs(2) return.
pub fn syncfs(path: &Path) -> io::Result<u64> {
    let file = to_ask(path)?;
    let start = Instant::now();
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    if unsafe { libc::syncfs(file.as_raw_fd()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(start.elapsed().as_nanos() as u64)
}

fn page_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions; _SC_PAGESIZE cannot fail.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

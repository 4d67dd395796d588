//! Where the bytes of a file are: mapped, preallocated and never written, holes, encoded by the file system.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::open::to_ask;

/// `_IOWR('f', 11, struct fiemap)` in the common encoding of ioctl numbers.
const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const EXTENT_LAST: u32 = 0x1;
const EXTENT_ENCODED: u32 = 0x8;
const EXTENT_UNWRITTEN: u32 = 0x800;
/// `UNKNOWN`, `DELALLOC` and `DATA_INLINE`: extents that have no place on the device of their own.
const EXTENT_PLACELESS: u32 = 0x2 | 0x4 | 0x200;
/// Extents asked for in one call; a file with more takes further calls.
const BATCH: usize = 256;
/// `st_blocks` counts in these, whatever the block size is.
const STAT_BLOCK_BYTES: u64 = 512;

/// FIEMAP and stat of a file: its bytes by kind. Mapped, unwritten and hole add up to the file's size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extents {
    /// Size of the file.
    pub file_bytes: u64,
    /// What the file system has set aside for it.
    pub allocated_bytes: u64,
    /// Bytes that have (or wait for) a place on the device, and data.
    pub mapped_bytes: u64,
    /// Bytes that have a place and were never written: reads of them return zeros and touch no device.
    pub unwritten_bytes: u64,
    /// Bytes without a place: reads of them return zeros and touch no device.
    pub hole_bytes: u64,
    /// Of the mapped bytes, those that the file system compresses or encrypts.
    pub encoded_bytes: u64,
    /// Number of extents.
    pub extents: u64,
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` of linux/fiemap.h with room for a batch of extents.
#[repr(C)]
struct RawMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

const _: () = assert!(size_of::<RawExtent>() == 56 && size_of::<RawMap>() == 32 + 56 * BATCH);

/// Counts a file's bytes by kind. It flushes nothing: delayed allocation counts as mapped.
///
/// # Errors
/// `EOPNOTSUPP` where the file system has no FIEMAP (tmpfs, NFS); and what open(2) and ioctl(2) return.
pub fn fiemap(path: &Path) -> io::Result<Extents> {
    let file = to_ask(path)?;
    let metadata = file.metadata()?;
    let mut sum = Extents {
        file_bytes: metadata.len(),
        allocated_bytes: metadata.blocks() * STAT_BLOCK_BYTES,
        ..Extents::default()
    };
    each_extent(file.as_raw_fd(), metadata.len(), |extent| {
        count(extent, &mut sum);
    })?;
    sum.hole_bytes = sum
        .file_bytes
        .saturating_sub(sum.mapped_bytes + sum.unwritten_bytes);
    Ok(sum)
}

/// The lowest and the highest byte of its device that a file's extents lie between; nothing where none has a place yet.
///
/// # Errors
/// As `fiemap`.
pub fn placed(path: &Path) -> io::Result<Option<(u64, u64)>> {
    let file = to_ask(path)?;
    let mut found: Option<(u64, u64)> = None;
    each_extent(file.as_raw_fd(), u64::MAX, |extent| {
        if extent.flags & EXTENT_PLACELESS == 0 {
            let (low, high) = (extent.physical, extent.physical + extent.length);
            found = Some(found.map_or((low, high), |(lowest, highest)| {
                (lowest.min(low), highest.max(high))
            }));
        }
    })?;
    Ok(found)
}

/// Visits the extents that begin before `end`, in order.
fn each_extent(descriptor: i32, end: u64, mut visit: impl FnMut(&RawExtent)) -> io::Result<()> {
    let mut start = 0;
    while start < end {
        let batch = next_batch(descriptor, start)?;
        batch.iter().for_each(&mut visit);
        match batch.last() {
            Some(extent) if extent.flags & EXTENT_LAST == 0 => {
                start = extent.logical + extent.length;
            }
            _ => break,
        }
    }
    Ok(())
}

fn next_batch(descriptor: i32, start: u64) -> io::Result<Vec<RawExtent>> {
    let mut map = Box::new(RawMap {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped_extents: 0,
        extent_count: BATCH as u32,
        reserved: 0,
        extents: [RawExtent::default(); BATCH],
    });
    // SAFETY: the descriptor is open; the record has the layout and the room for extents that it states.
    if unsafe { libc::ioctl(descriptor, FS_IOC_FIEMAP as _, &raw mut *map) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(map.extents[..map.mapped_extents as usize].to_vec())
}

/// Adds one extent, cut at the end of the file: preallocation and block rounding reach beyond it.
fn count(extent: &RawExtent, sum: &mut Extents) {
    let end = (extent.logical + extent.length).min(sum.file_bytes);
    let bytes = end.saturating_sub(extent.logical);
    sum.extents += 1;
    if extent.flags & EXTENT_UNWRITTEN != 0 {
        sum.unwritten_bytes += bytes;
        return;
    }
    sum.mapped_bytes += bytes;
    if extent.flags & EXTENT_ENCODED != 0 {
        sum.encoded_bytes += bytes;
    }
}

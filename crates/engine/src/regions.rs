//! The part of a file that one worker uses: how it is opened, where it begins and ends, whether direct I/O fits.

use crate::protocol::Fault;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom};
use serde::Deserialize;

/// A region as the settings name it, of which this is part `part` of `parts`. Size 0 = all that the file has now from the offset on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    pub path: String,
    #[serde(default)]
    pub offset: u64,
    pub size: u64,
    #[serde(default)]
    pub part: u64,
    #[serde(default = "one")]
    pub parts: u64,
}

fn one() -> u64 {
    1
}

/// How those that share a region share it: one stretch each, record by record in turn, or record by record at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    #[default]
    Segments,
    Interleaved,
    Random,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
    Both,
}

/// How a file is opened.
#[derive(Clone, Copy)]
pub struct Access {
    pub direction: Direction,
    /// Whether the region must be in the file already.
    pub needs_content: bool,
    /// Of create, truncate, direct and dsync those that were asked for.
    pub flags: OFlags,
}

/// A region with its real size; in `segments` it is the worker's own, else shared by `parts`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub offset: u64,
    pub size: u64,
    pub part: u64,
    pub parts: u64,
    pub layout: Layout,
}

/// What a region is resolved for.
#[derive(Clone, Copy)]
pub struct Use {
    pub access: Access,
    pub layout: Layout,
    pub record_size: u64,
    /// What the sizes of all records, and where they begin in the region, are multiples of.
    pub unit: u64,
    /// Fewer bytes of its own than these are nothing to a worker.
    pub least: u64,
}

/// Opens a region's file; for reading only unless the phase writes, never cut short unless that was asked for.
pub fn open(region: &Region, access: Access) -> Result<OwnedFd, Fault> {
    let direction = match access.direction {
        Direction::Read => OFlags::RDONLY,
        Direction::Write => OFlags::WRONLY,
        Direction::Both => OFlags::RDWR,
    };
    let flags = OFlags::CLOEXEC | direction | access.flags;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    rustix::fs::open(&region.path, flags, mode).map_err(|errno| {
        let mut fault = Fault::call("open", &region.path, errno);
        if access.flags.contains(OFlags::DIRECT) && errno == rustix::io::Errno::INVAL {
            "this file system has no direct I/O; use direct = false".clone_into(&mut fault.message);
        }
        fault
    })
}

/// Where the region begins and ends; refuses what is outside the file, out of alignment or too small.
pub fn resolve(region: &Region, file: &OwnedFd, wanted: Use) -> Result<Span, Fault> {
    let refuse = |message: String| Fault {
        what: "settings",
        path: Some(region.path.clone()),
        errno: None,
        message,
    };
    if region.part >= region.parts {
        let (part, parts) = (region.part, region.parts);
        return Err(refuse(format!(
            "found part {part} of {parts}; expected one below the other"
        )));
    }
    let (offset, size) = if wanted.access.needs_content {
        within(region, file).map_err(|wrong| wrong.unwrap_or_else(refuse))?
    } else {
        (region.offset, region.size)
    };
    let span = share(region, wanted, (offset, size));
    let own = own_bytes(span, wanted.record_size);
    if own < wanted.least {
        return Err(refuse(format!(
            "found a region of {own} bytes; expected at least {}",
            wanted.least
        )));
    }
    let direct = wanted.access.flags.contains(OFlags::DIRECT);
    if direct && let Some(unit) = direct_unit(file).map_err(refuse)? {
        let parts = [wanted.unit, span.offset, span.size];
        if !parts.iter().all(|value| value.is_multiple_of(unit)) {
            let [record, offset, size] = parts;
            return Err(refuse(format!(
                "found records of {record} bytes, offset {offset}, size {size}; \
                 expected multiples of {unit}, the unit of direct I/O here"
            )));
        }
    }
    Ok(span)
}

/// This worker's share of a stretch of the file.
fn share(region: &Region, wanted: Use, (offset, size): (u64, u64)) -> Span {
    let whole = Span {
        offset,
        size,
        part: region.part,
        parts: region.parts,
        layout: wanted.layout,
    };
    if wanted.layout != Layout::Segments || (region.parts == 1 && region.size > 0) {
        return whole;
    }
    let records = size / wanted.record_size;
    let first = records * region.part / region.parts;
    let next = records * (region.part + 1) / region.parts;
    Span {
        offset: offset + first * wanted.record_size,
        size: (next - first) * wanted.record_size,
        part: 0,
        parts: 1,
        layout: Layout::Segments,
    }
}

/// What of a span one worker has for itself.
fn own_bytes(span: Span, record_size: u64) -> u64 {
    if span.layout == Layout::Segments {
        return span.size;
    }
    let records = (span.size / record_size).saturating_sub(span.part);
    records.div_ceil(span.parts) * record_size
}

/// Offset and size of the region within the file as long as it is now (block devices included).
fn within(region: &Region, file: &OwnedFd) -> Result<(u64, u64), Result<Fault, String>> {
    let end = rustix::fs::seek(file, SeekFrom::End(0))
        .map_err(|errno| Ok(Fault::call("seek", &region.path, errno)))?;
    if region.size == 0 {
        return Ok((region.offset, end.saturating_sub(region.offset)));
    }
    let needed = region.offset.saturating_add(region.size);
    if needed > end {
        return Err(Err(format!(
            "found a file of {end} bytes; expected at least {needed}"
        )));
    }
    Ok((region.offset, region.size))
}

/// What offsets and lengths of direct I/O must be multiples of: None where the file system does not say.
fn direct_unit(file: &OwnedFd) -> Result<Option<u64>, String> {
    // SAFETY: statx is plain integers, for which zero is a value.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    let descriptor = file.as_fd().as_raw_fd();
    // SAFETY: an empty path with AT_EMPTY_PATH asks about the descriptor; the answer is in this frame.
    let status = unsafe {
        libc::statx(
            descriptor,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut answer,
        )
    };
    if status != 0 || answer.stx_mask & libc::STATX_DIOALIGN == 0 {
        return Ok(None);
    }
    match answer.stx_dio_offset_align {
        0 => Err(
            "the file system says that this file has no direct I/O; use direct = false".to_owned(),
        ),
        unit => Ok(Some(u64::from(unit))),
    }
}

#[cfg(test)]
impl Span {
    /// A region that nobody shares.
    pub fn alone(offset: u64, size: u64) -> Self {
        Self {
            offset,
            size,
            part: 0,
            parts: 1,
            layout: Layout::Segments,
        }
    }
}

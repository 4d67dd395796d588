//! The part of a file that one worker uses: how it is opened, where it begins and ends, whether direct I/O fits.

use crate::protocol::Fault;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom};
use serde::Deserialize;

/// A region as the settings name it. Size 0 = all that the file has now from the offset on, of which this is part `part` of `parts`.
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

/// How a file is opened.
#[derive(Clone, Copy)]
pub struct Access {
    pub writes: bool,
    /// Of create, truncate, direct and dsync those that were asked for.
    pub flags: OFlags,
}

/// A region with its real size.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub offset: u64,
    pub size: u64,
}

/// Opens a region's file; for reading only unless the phase writes, never cut short unless that was asked for.
pub fn open(region: &Region, access: Access) -> Result<OwnedFd, Fault> {
    let direction = if access.writes {
        OFlags::WRONLY
    } else {
        OFlags::RDONLY
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

/// Where the region begins and ends; refuses what is outside the file, out of alignment or has less than `least` bytes.
pub fn resolve(
    region: &Region,
    file: &OwnedFd,
    access: Access,
    record_size: u64,
    least: u64,
) -> Result<Span, Fault> {
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
    let span = if access.writes {
        let (offset, size) = (region.offset, region.size);
        Span { offset, size }
    } else {
        within(region, file, record_size)?
    };
    let Span { offset, size } = span;
    if size < least {
        return Err(refuse(format!(
            "found a region of {size} bytes; expected at least {least}"
        )));
    }
    let direct = access.flags.contains(OFlags::DIRECT);
    if direct && let Some(unit) = direct_unit(file).map_err(refuse)? {
        let parts = [record_size, offset, size];
        if !parts.iter().all(|value| value.is_multiple_of(unit)) {
            return Err(refuse(format!(
                "found record_size {record_size}, offset {offset}, size {size}; \
                 expected multiples of {unit}, the unit of direct I/O here"
            )));
        }
    }
    Ok(span)
}

/// The region within the file as long as it is now (block devices included).
fn within(region: &Region, file: &OwnedFd, record_size: u64) -> Result<Span, Fault> {
    let end = rustix::fs::seek(file, SeekFrom::End(0))
        .map_err(|errno| Fault::call("seek", &region.path, errno))?;
    if region.size > 0 {
        if region.offset.saturating_add(region.size) > end {
            let message = format!(
                "found a file of {end} bytes; expected at least {}",
                region.offset.saturating_add(region.size)
            );
            return Err(Fault {
                what: "settings",
                path: Some(region.path.clone()),
                errno: None,
                message,
            });
        }
        return Ok(Span {
            offset: region.offset,
            size: region.size,
        });
    }
    let records = end.saturating_sub(region.offset) / record_size;
    let first = records * region.part / region.parts;
    let next = records * (region.part + 1) / region.parts;
    Ok(Span {
        offset: region.offset + first * record_size,
        size: (next - first) * record_size,
    })
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

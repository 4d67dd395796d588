//! An `io_uring` with its buffers: made, registered, filled with requests.

use super::flushing::{Flushing, WRITE_AND_WAIT};
use super::settings::FlushCall;
use crate::aligned::Aligned;
use crate::protocol::Fault;
use io_uring::types::{Fd, Fixed, FsyncFlags};
use io_uring::{IoUring, opcode, squeue::Entry};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;

/// A request for the ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Flush,
}

/// The file and the buffers as requests name them.
pub struct Target {
    descriptor: i32,
    buffers: Aligned,
    /// Bytes from one buffer to the next.
    pitch: usize,
    pub registered: bool,
}

/// A ring for so many requests. The cheapest set-up that this kernel knows.
pub fn make(depth: u64, path: &str) -> Result<IoUring, Fault> {
    let entries = depth as u32;
    let refused = |error: &std::io::Error| {
        let errno = Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO));
        let mut fault = Fault::call("io_uring_setup", path, errno);
        if matches!(errno, Errno::NOSYS | Errno::PERM) {
            fault.message += ": this kernel has no io_uring, or it is switched off (kernel.io_uring_disabled, a seccomp filter); use path = psync";
        }
        fault
    };
    let mut cheapest = IoUring::builder();
    cheapest
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_clamp();
    match cheapest.build(entries) {
        Ok(ring) => Ok(ring),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::builder()
            .setup_clamp()
            .build(entries)
            .map_err(|error| refused(&error)),
        Err(error) => Err(refused(&error)),
    }
}

impl Target {
    /// Buffers of so many bytes, one a request, each on a page of its own; None where there is no such layout.
    pub fn new(file: &OwnedFd, depth: usize, bytes: usize) -> Option<Self> {
        let pitch = bytes.next_multiple_of(4096);
        Some(Self {
            descriptor: file.as_raw_fd(),
            buffers: Aligned::new(depth * pitch)?,
            pitch,
            registered: false,
        })
    }

    /// All buffers, to be touched.
    pub fn memory(&mut self) -> &mut [u8] {
        &mut self.buffers
    }

    /// The buffer of a request.
    #[inline]
    pub fn buffer(&mut self, request: usize, bytes: usize) -> &mut [u8] {
        let at = request * self.pitch;
        &mut self.buffers[at..at + bytes]
    }

    /// Tells the ring the file and the buffers once and for all.
    pub fn register(&mut self, ring: &IoUring) -> std::io::Result<()> {
        let pitch = self.pitch;
        let vectors: Vec<libc::iovec> = self
            .buffers
            .chunks_exact_mut(pitch)
            .map(|buffer| libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: pitch,
            })
            .collect();
        ring.submitter().register_files(&[self.descriptor])?;
        // SAFETY: the buffers live as long as the ring is used, and nothing else frees or moves them.
        unsafe { ring.submitter().register_buffers(&vectors) }?;
        self.registered = true;
        Ok(())
    }

    /// The entry of a request: from `done` bytes of its buffer on, so many bytes; its offset is still to be set.
    pub fn entry(&mut self, kind: Kind, request: usize, done: usize, length: u32) -> Entry {
        let fd = Fd(self.descriptor);
        let start = self.buffer(request, done + length as usize)[done..].as_mut_ptr();
        let index = request as u16;
        let entry = match (kind, self.registered) {
            (Kind::Read, false) => opcode::Read::new(fd, start, length).build(),
            (Kind::Write, false) => opcode::Write::new(fd, start, length).build(),
            (Kind::Read, true) => opcode::ReadFixed::new(Fixed(0), start, length, index).build(),
            (Kind::Write, true) => opcode::WriteFixed::new(Fixed(0), start, length, index).build(),
            (Kind::Flush, _) => unreachable!("a flush moves no bytes"),
        };
        entry.user_data(request as u64)
    }

    /// The entry of a flush of what was written since the last one.
    pub fn flush_entry(&self, flushing: &mut Flushing, request: usize) -> Entry {
        let fd = Fd(self.descriptor);
        let entry = match flushing.call {
            FlushCall::Fsync => opcode::Fsync::new(fd).build(),
            FlushCall::Fdatasync => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            FlushCall::SyncFileRange => {
                let (offset, bytes) = flushing.take_range();
                // A range that an entry has no room for goes to the end of the file.
                opcode::SyncFileRange::new(fd, u32::try_from(bytes).unwrap_or(0))
                    .offset(offset)
                    .flags(WRITE_AND_WAIT)
                    .build()
            }
        };
        entry.user_data(request as u64)
    }
}

//! Whole blocks: short transfers and signals are no ends.

use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Writes the whole block: goes on after a short write or a signal.
#[inline]
pub fn write_all(file: &OwnedFd, block: &[u8], offset: u64) -> rustix::io::Result<usize> {
    match rustix::io::pwrite(file, block, offset) {
        Ok(done) if done == block.len() => Ok(done),
        first => write_rest(file, block, offset, first),
    }
}

#[cold]
fn write_rest(
    file: &OwnedFd,
    block: &[u8],
    offset: u64,
    first: rustix::io::Result<usize>,
) -> rustix::io::Result<usize> {
    let mut done = 0;
    let mut last = first;
    loop {
        match last {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if done == block.len() {
            return Ok(done);
        }
        last = rustix::io::pwrite(file, &block[done..], offset + done as u64);
    }
}

/// Reads the whole block: goes on after a short read or a signal. The end of the file within the block is ENODATA.
#[inline]
pub fn read_all(file: &OwnedFd, block: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
    match rustix::io::pread(file, &mut *block, offset) {
        Ok(done) if done == block.len() => Ok(done),
        first => read_rest(file, block, offset, first),
    }
}

#[cold]
fn read_rest(
    file: &OwnedFd,
    block: &mut [u8],
    offset: u64,
    first: rustix::io::Result<usize>,
) -> rustix::io::Result<usize> {
    let mut done = 0;
    let mut last = first;
    loop {
        match last {
            Ok(0) => return Err(Errno::NODATA),
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if done == block.len() {
            return Ok(done);
        }
        last = rustix::io::pread(file, &mut block[done..], offset + done as u64);
    }
}

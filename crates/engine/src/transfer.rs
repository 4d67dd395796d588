//! Whole blocks: short transfers and signals are no ends.

use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Writes the whole block: goes on after a short write or a signal.
#[inline]
pub fn write_all(file: &OwnedFd, block: &[u8], offset: u64) -> rustix::io::Result<usize> {
    match rustix::io::pwrite(file, block, offset) {
        Ok(done) if done == block.len() => Ok(done),
        first => go_on(first, block.len(), Errno::NOSPC, |done| {
            rustix::io::pwrite(file, &block[done..], offset + done as u64)
        }),
    }
}

/// Reads the whole block: goes on after a short read or a signal. The end of the file within the block is ENODATA.
#[inline]
pub fn read_all(file: &OwnedFd, block: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
    match rustix::io::pread(file, &mut *block, offset) {
        Ok(done) if done == block.len() => Ok(done),
        first => go_on(first, block.len(), Errno::NODATA, |done| {
            rustix::io::pread(file, &mut block[done..], offset + done as u64)
        }),
    }
}

/// Goes on after the first part of a transfer, from as many bytes as are done; a part of no bytes is the error `empty`.
#[cold]
#[inline(never)]
fn go_on(
    first: rustix::io::Result<usize>,
    length: usize,
    empty: Errno,
    mut more: impl FnMut(usize) -> rustix::io::Result<usize>,
) -> rustix::io::Result<usize> {
    let mut done = 0;
    let mut last = first;
    loop {
        match last {
            Ok(0) => return Err(empty),
            Ok(part) => done += part,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if done == length {
            return Ok(done);
        }
        last = more(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(parts: &[rustix::io::Result<usize>]) -> (rustix::io::Result<usize>, Vec<usize>) {
        let mut asked = Vec::new();
        let mut rest = parts[1..].iter();
        let outcome = go_on(parts[0], 10, Errno::NODATA, |done| {
            asked.push(done);
            *rest.next().expect("no more is asked for")
        });
        (outcome, asked)
    }

    #[test]
    fn short_parts_and_signals_are_no_ends() {
        let parts = [Ok(4), Err(Errno::INTR), Ok(1), Ok(5)];
        assert_eq!(moved(&parts), (Ok(10), vec![4, 4, 5]));
    }

    #[test]
    fn nothing_moved_and_errors_are_ends() {
        assert_eq!(moved(&[Ok(4), Ok(0)]), (Err(Errno::NODATA), vec![4]));
        assert_eq!(moved(&[Ok(0)]), (Err(Errno::NODATA), vec![]));
        assert_eq!(moved(&[Ok(9), Err(Errno::IO)]), (Err(Errno::IO), vec![9]));
    }
}

//! The numbers of acknowledged records, noted outside of the target so that they outlive it.

use crate::protocol::Fault;
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufReader, Read, Write};

/// Number and time (`CLOCK_MONOTONIC`) of one acknowledgement.
const ENTRY: usize = 16;

/// A journal that is being written.
pub struct Journal(File);

impl Journal {
    /// An empty one.
    pub fn create(path: &str) -> Result<Self, Fault> {
        File::create(path)
            .map(Self)
            .map_err(|error| fault(path, &error))
    }

    /// Notes a record that the target acknowledged; it is in the page cache of the load's host when this returns.
    pub fn note(&mut self, number: u64, at_ns: u64) -> std::io::Result<()> {
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&number.to_le_bytes());
        entry[8..].copy_from_slice(&at_ns.to_le_bytes());
        self.0.write_all(&entry)
    }
}

/// The numbers of a journal in order.
pub fn numbers(path: &str) -> Result<impl Iterator<Item = u64> + use<>, Fault> {
    let mut file = BufReader::new(File::open(path).map_err(|error| fault(path, &error))?);
    Ok(std::iter::from_fn(move || {
        let mut entry = [0; ENTRY];
        file.read_exact(&mut entry).ok()?;
        Some(u64::from_le_bytes(
            entry[..8].try_into().expect("eight bytes"),
        ))
    }))
}

fn fault(path: &str, error: &std::io::Error) -> Fault {
    let errno = Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO));
    Fault::call("journal", path, errno)
}

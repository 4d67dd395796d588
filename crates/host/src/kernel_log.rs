//! The kernel's log, from one look to the next.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/kmsg";
/// A read gives one record, and is refused where the buffer is too small for it (Linux: ABI/testing/dev-kmsg).
const LONGEST_RECORD: usize = 8192;
/// Of a log that is written faster than it is read.
const MOST_RECORDS: usize = 10_000;
/// A line of its own where records were overwritten before they could be read.
const LOST: &str = "lost";

/// Stays open from look to look.
#[derive(Default)]
pub struct KernelLog(Option<File>);

impl KernelLog {
    /// Not opened yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// The records since the former call, each as the device gives it; the first call only finds the end.
    ///
    /// # Errors
    /// What open(2) and read(2) of the device return.
    pub fn since(&mut self) -> io::Result<String> {
        if self.0.is_none() {
            self.0 = Some(at_its_end()?);
        }
        let mut records = Vec::new();
        let mut buffer = vec![0; LONGEST_RECORD];
        while let (Some(device), true) = (&mut self.0, records.len() < MOST_RECORDS) {
            match device.read(&mut buffer) {
                Ok(length) => {
                    let record = String::from_utf8_lossy(&buffer[..length]);
                    records.push(record.trim_end_matches('\n').to_owned());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(records.join("\n"));
                }
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    records.push(LOST.to_owned());
                }
                Err(error) => return Err(error),
            }
        }
        records.push(LOST.to_owned());
        Ok(records.join("\n"))
    }
}

fn at_its_end() -> io::Result<File> {
    let mut device = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(DEVICE)?;
    device.seek(SeekFrom::End(0))?;
    Ok(device)
}

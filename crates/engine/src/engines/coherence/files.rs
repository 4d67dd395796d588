//! What a writer does to its files at each step, and how a reader sees that it was done.

use super::settings::Step;
use crate::aligned::Aligned;
use crate::transfer::{read_all, write_all};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::{Errno, Result};

/// Bytes of a record: direct I/O takes them, and one page has them.
pub const RECORD: usize = 4096;
const COUNTER: usize = 8;

/// The files of both ends, as one end's mount shows them.
pub struct Files {
    pub directory: String,
    /// Records of each of the two direct writers.
    pub times: u64,
}

/// A lock that both ends want.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    Posix,
    Flock,
}

impl Lock {
    /// Takes it, or says that it is held (AGAIN).
    pub fn take(self, file: &OwnedFd) -> Result<()> {
        let outcome = self.set(file, FlockOperation::NonBlockingLockExclusive);
        outcome.map_err(|errno| match errno {
            Errno::ACCESS => Errno::AGAIN,
            other => other,
        })
    }

    /// Gives it back.
    pub fn release(self, file: &OwnedFd) -> Result<()> {
        self.set(file, FlockOperation::Unlock)
    }

    fn set(self, file: &OwnedFd, operation: FlockOperation) -> Result<()> {
        match self {
            Self::Posix => rustix::fs::fcntl_lock(file, operation),
            Self::Flock => rustix::fs::flock(file, operation),
        }
    }
}

/// Before and after: what the records of a try hold.
fn stamps(number: u64) -> (u64, u64) {
    (2 * number + 1, 2 * number + 2)
}

/// A record that holds a stamp all over.
pub fn record(stamp: u64) -> Aligned {
    let mut made = Aligned::new(RECORD).expect("a page has a layout");
    for place in made.chunks_exact_mut(8) {
        place.copy_from_slice(&stamp.to_le_bytes());
    }
    made
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))
}

/// Makes a file that is not there yet, with these stamps, on the server's storage.
fn make(path: &str, stamps: &[u64]) -> Result<OwnedFd> {
    let file = open(path, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR)?;
    for (place, stamp) in (0_u64..).zip(stamps) {
        write_all(&file, &record(*stamp), place * RECORD as u64)?;
    }
    rustix::fs::fsync(&file)?;
    Ok(file)
}

fn size(path: &str) -> Result<u64> {
    Ok(rustix::fs::stat(path)?.st_size as u64)
}

fn is_gone(path: &str) -> bool {
    size(path) == Err(Errno::NOENT)
}

/// Whether a file, opened now, begins with these records.
fn holds(file: &OwnedFd, stamps: &[u64]) -> Result<bool> {
    let mut found = vec![0; RECORD];
    for (place, stamp) in (0_u64..).zip(stamps) {
        read_all(file, &mut found, place * RECORD as u64)?;
        if found[..] != record(*stamp)[..] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is not there yet, for a reader that waits for it.
fn as_soon_as(is_there: bool) -> Result<()> {
    if is_there { Ok(()) } else { Err(Errno::AGAIN) }
}

impl Files {
    /// The file of one try.
    pub fn path(&self, step: Step, number: u64) -> String {
        format!("{}/{}-{number}", self.directory, step.name())
    }

    fn renamed(&self, step: Step, number: u64) -> String {
        format!("{}-renamed", self.path(step, number))
    }

    /// Writer: what has to be there before; a file that stays open during the try.
    pub fn set_up(&self, step: Step, number: u64) -> Result<Option<OwnedFd>> {
        let (path, (before, _)) = (self.path(step, number), stamps(number));
        let kept = match step {
            Step::Create | Step::List => None,
            Step::Append | Step::Overwrite | Step::PosixLock | Step::Flock => {
                Some(make(&path, &[before])?)
            }
            Step::Truncate | Step::TruncateShared => Some(make(&path, &[before, before])?),
            Step::Reopen | Step::Rename | Step::Unlink => make(&path, &[before]).map(|_| None)?,
            Step::Counter => Some(make(&path, &[0])?),
            Step::DirectWrite => make(&path, &vec![0; 2 * self.times as usize]).map(|_| None)?,
        };
        Ok(kept)
    }

    /// Writer: what the reader is to see.
    pub fn act(&self, step: Step, number: u64, kept: Option<&OwnedFd>) -> Result<()> {
        let (path, (_, after)) = (self.path(step, number), stamps(number));
        let kept = kept.ok_or(Errno::BADF);
        match step {
            Step::Create | Step::List => {
                open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY).map(drop)
            }
            Step::Append => write_all(kept?, &record(after), RECORD as u64).map(drop),
            Step::Overwrite => write_all(kept?, &record(after), 0).map(drop),
            Step::Truncate | Step::TruncateShared => rustix::fs::ftruncate(kept?, RECORD as u64),
            Step::Rename => rustix::fs::rename(&path, self.renamed(step, number)),
            Step::Unlink => rustix::fs::unlink(&path),
            Step::Reopen => {
                let file = open(&path, OFlags::WRONLY)?;
                write_all(&file, &record(after), 0)?;
                write_all(&file, &record(after), RECORD as u64).map(drop)
            }
            Step::PosixLock | Step::Flock | Step::Counter | Step::DirectWrite => Err(Errno::INVAL),
        }
    }

    /// Writer: takes away what is left of a try.
    pub fn clean(&self, step: Step, number: u64) {
        let _ = rustix::fs::unlink(self.path(step, number));
        if step == Step::Rename {
            let _ = rustix::fs::unlink(self.renamed(step, number));
        }
    }

    /// Reader: sees what is there before, so that its caches hold it; AGAIN and NOENT where it is not there yet.
    pub fn prime(&self, step: Step, number: u64) -> Result<Option<OwnedFd>> {
        let (path, (before, _)) = (self.path(step, number), stamps(number));
        let whole = RECORD as u64;
        let kept = match step {
            Step::Create => as_soon_as(is_gone(&path)).map(|()| None)?,
            Step::List => as_soon_as(!self.lists(step, number)?).map(|()| None)?,
            Step::Append => as_soon_as(size(&path)? == whole).map(|()| None)?,
            Step::Unlink => size(&path).map(|_| None)?,
            Step::Rename => {
                size(&path)?;
                as_soon_as(is_gone(&self.renamed(step, number))).map(|()| None)?
            }
            Step::Overwrite | Step::Reopen => {
                let file = open(&path, OFlags::RDONLY)?;
                as_soon_as(holds(&file, &[before])?)?;
                Some(file).filter(|_| step == Step::Overwrite)
            }
            Step::Truncate => {
                as_soon_as(size(&path)? == 2 * whole)?;
                Some(open(&path, OFlags::RDONLY)?)
            }
            Step::TruncateShared => {
                as_soon_as(size(&path)? == 2 * whole)?;
                let file = open(&path, OFlags::RDWR)?;
                write_all(&file, &record(before), whole)?;
                rustix::fs::fsync(&file)?;
                Some(file)
            }
            Step::PosixLock | Step::Flock | Step::Counter => {
                as_soon_as(size(&path)? == whole)?;
                Some(open(&path, OFlags::RDWR)?)
            }
            Step::DirectWrite => {
                as_soon_as(size(&path)? == 2 * self.times * whole)?;
                Some(self.open_direct()?)
            }
        };
        Ok(kept)
    }

    /// Reader: whether what the writer did is to be seen.
    pub fn shows(&self, step: Step, number: u64, kept: Option<&OwnedFd>) -> Result<bool> {
        let (path, (_, after)) = (self.path(step, number), stamps(number));
        let whole = RECORD as u64;
        Ok(match step {
            Step::Create => size(&path).is_ok(),
            Step::List => self.lists(step, number)?,
            Step::Append => size(&path)? == 2 * whole,
            Step::Unlink => is_gone(&path),
            Step::Rename => size(&self.renamed(step, number)).is_ok() && is_gone(&path),
            Step::Overwrite => holds(kept.ok_or(Errno::BADF)?, &[after])?,
            Step::Reopen => holds(&open(&path, OFlags::RDONLY)?, &[after, after])?,
            Step::Truncate | Step::TruncateShared => size(&path)? == whole,
            Step::PosixLock | Step::Flock | Step::Counter | Step::DirectWrite => false,
        })
    }

    fn lists(&self, step: Step, number: u64) -> Result<bool> {
        let wanted = format!("{}-{number}", step.name());
        let entries = std::fs::read_dir(&self.directory)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(entries
            .flatten()
            .any(|entry| entry.file_name().to_str() == Some(&wanted)))
    }

    /// The one file of both direct writers.
    pub fn open_direct(&self) -> Result<OwnedFd> {
        let path = self.path(Step::DirectWrite, 0);
        open(&path, OFlags::WRONLY | OFlags::DIRECT)
    }

    /// How many of so many records of the two direct writers are not in the file, opened now.
    pub fn missing(&self, own: u64, theirs: u64) -> Result<u64> {
        let file = open(&self.path(Step::DirectWrite, 0), OFlags::RDONLY)?;
        let (mut found, mut lost) = (vec![0; RECORD], 0);
        for (parity, count) in [(0, theirs), (1, own)] {
            for place in (0..count).map(|number| 2 * number + parity) {
                read_all(&file, &mut found, place * RECORD as u64)?;
                lost += u64::from(found[..] != record(place + 1)[..]);
            }
        }
        Ok(lost)
    }

    /// The number in the counter's file.
    pub fn counted(file: &OwnedFd) -> Result<u64> {
        let mut bytes = [0; COUNTER];
        read_all(file, &mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Adds one to the counter; its lock is held.
    pub fn increment(file: &OwnedFd) -> Result<()> {
        let next = Self::counted(file)? + 1;
        write_all(file, &next.to_le_bytes(), 0).map(drop)
    }
}

//! Creates, flushes, lists, looks up and removes files or directories in one directory.

use crate::aligned::Aligned;
use crate::block_data::{fill, mix, mix_text};
use crate::engines::{Armed, Worker};
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir};
use rustix::io::Errno;
use serde::Deserialize;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Names have eight digits.
const MOST_OBJECTS: u64 = 100_000_000;
/// Points of the curve where the settings name no interval of lists.
const POINTS: u64 = 64;
/// The most points of the curve that a worker notes itself.
const MOST_POINTS: u64 = 1_000;
/// What the C library reads at once.
const LIST_BUFFER: usize = 32 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Object {
    File,
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Create,
    Fsync,
    List,
    Stat,
    Unlink,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    directory: String,
    object: Object,
    operations: Vec<Operation>,
    count: u64,
    #[serde(default)]
    first: u64,
    #[serde(default)]
    list_every: u64,
    #[serde(default)]
    file_bytes: u64,
}

/// One worker; the directory is made where it is not there.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    check(&settings)?;
    let path = settings.directory.as_str();
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(Fault::call("mkdir", path, errno)),
    }
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| Fault::call("open", path, errno))?;
    let operations = settings
        .operations
        .iter()
        .map(|operation| operation.word().to_owned())
        .collect();
    let worker = Metadata {
        directory,
        name: Name::new(settings.first),
        content: None,
        seed: config.seed ^ mix_text(path),
        settings,
    };
    Ok(Armed {
        operations,
        workers: vec![Box::new(worker)],
        duration_ns: None,
    })
}

fn check(settings: &Settings) -> Result<(), Fault> {
    let operations = &settings.operations;
    let twice = operations
        .iter()
        .enumerate()
        .any(|(at, operation)| operations[..at].contains(operation));
    let after_create = |operation| match (
        place(operations, operation),
        place(operations, Operation::Create),
    ) {
        (Some(this), Some(create)) => create < this,
        (Some(_), None) => operation != Operation::Fsync,
        _ => true,
    };
    let wrong = [
        (
            operations.is_empty() || twice,
            "expected operations, each at most once",
        ),
        (
            !after_create(Operation::Fsync),
            "found fsync without a create before it",
        ),
        (settings.count == 0, "found count 0; expected at least 1"),
        (
            settings.first.saturating_add(settings.count) > MOST_OBJECTS,
            "found more than 100,000,000 objects; expected at most that",
        ),
        (
            settings.object == Object::Directory && settings.file_bytes > 0,
            "found file_bytes for directories; expected 0",
        ),
        (
            settings.file_bytes > 1 << 30,
            "found file_bytes above 1 GiB; expected at most that",
        ),
    ];
    let found: Vec<&str> = wrong
        .iter()
        .filter(|(is_wrong, _)| *is_wrong)
        .map(|(_, text)| *text)
        .collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(Fault::settings(found.join("; ")))
    }
}

fn place(operations: &[Operation], operation: Operation) -> Option<usize> {
    operations.iter().position(|other| *other == operation)
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Fsync => "fsync",
            Self::List => "list",
            Self::Stat => "stat",
            Self::Unlink => "unlink",
        }
    }
}

/// `o00000000` and the zero that ends it; the next name is found by counting in the digits.
struct Name([u8; 10]);

impl Name {
    fn new(first: u64) -> Self {
        let mut text = *b"o00000000\0";
        let mut rest = first;
        for digit in text[1..9].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self(text)
    }

    #[inline]
    fn advance(&mut self) {
        for digit in self.0[1..9].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
    }

    #[inline]
    fn text(&self) -> &CStr {
        // SAFETY: nine bytes that are not zero, then one that is.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

struct Metadata {
    settings: Settings,
    directory: OwnedFd,
    name: Name,
    content: Option<Aligned>,
    seed: u64,
}

impl Worker for Metadata {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.content = Aligned::new(self.settings.file_bytes as usize);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path.clone_from(&self.settings.directory);
        let (list_every, mark_every) = self.intervals();
        recorder.marks.reserve(MOST_POINTS as usize + 1);
        let (mut until_list, mut until_mark) = (list_every, mark_every);
        for index in 0..self.settings.count {
            until_list -= 1;
            until_mark -= 1;
            if !self.object(recorder, index, until_list == 0) {
                return;
            }
            if until_list == 0 {
                until_list = list_every;
            }
            if until_mark == 0 {
                until_mark = mark_every;
                recorder.mark();
            }
            self.name.advance();
        }
    }
}

impl Metadata {
    /// Objects from list to list and from point to point of the curve.
    fn intervals(&self) -> (u64, u64) {
        let Settings {
            count, list_every, ..
        } = self.settings;
        if list_every == 0 {
            return (count, (count / POINTS).max(1));
        }
        (
            list_every,
            list_every * (count / list_every).div_ceil(MOST_POINTS).max(1),
        )
    }

    /// All operations of one object, in the given order.
    #[inline]
    fn object(&mut self, recorder: &mut Recorder, index: u64, list: bool) -> bool {
        let mut opened = None;
        for slot in 0..self.settings.operations.len() {
            let goes_on = match self.settings.operations[slot] {
                Operation::Create => self.create(recorder, slot, index, &mut opened),
                Operation::Fsync => opened
                    .take()
                    .is_none_or(|file| recorder.measure(slot, || flush(file))),
                Operation::List => !list || self.list(recorder, slot),
                Operation::Stat => recorder.measure(slot, || {
                    rustix::fs::statat(&self.directory, self.name.text(), AtFlags::SYMLINK_NOFOLLOW)
                        .map(|_| 0)
                }),
                Operation::Unlink => recorder.measure(slot, || self.unlink()),
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// Makes one object; leaves it open where it is to be flushed.
    #[inline]
    fn create(
        &mut self,
        recorder: &mut Recorder,
        slot: usize,
        index: u64,
        opened: &mut Option<OwnedFd>,
    ) -> bool {
        let keep = self
            .settings
            .operations
            .get(slot + 1..)
            .is_some_and(|rest| rest.contains(&Operation::Fsync));
        if let Some(content) = self
            .content
            .as_mut()
            .filter(|_| self.settings.file_bytes > 0)
        {
            fill(content, self.seed ^ mix(self.settings.first + index));
        }
        recorder.measure(slot, || {
            let file = match self.settings.object {
                Object::File => Some(self.create_file()?),
                Object::Directory => self.create_directory(keep)?,
            };
            *opened = file.filter(|_| keep);
            Ok(self.settings.file_bytes as usize)
        })
    }

    fn create_file(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(
            &self.directory,
            self.name.text(),
            flags,
            Mode::from_raw_mode(0o644),
        )?;
        if let Some(content) = self
            .content
            .as_ref()
            .filter(|_| self.settings.file_bytes > 0)
        {
            write_all(&file, content)?;
        }
        Ok(file)
    }

    fn create_directory(&self, keep: bool) -> rustix::io::Result<Option<OwnedFd>> {
        rustix::fs::mkdirat(
            &self.directory,
            self.name.text(),
            Mode::from_raw_mode(0o755),
        )?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        keep.then(|| rustix::fs::openat(&self.directory, self.name.text(), flags, Mode::empty()))
            .transpose()
    }

    fn unlink(&self) -> rustix::io::Result<usize> {
        let flags = if self.settings.object == Object::Directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        rustix::fs::unlinkat(&self.directory, self.name.text(), flags).map(|()| 0)
    }

    /// Reads the whole directory from a fresh open, as `ls` would, without looking at the objects.
    ///
    /// A list that is shorter than what this client has made is ENOENT.
    fn list(&self, recorder: &mut Recorder, slot: usize) -> bool {
        let operations = &self.settings.operations;
        let created = place(operations, Operation::Create)
            .filter(|_| !operations.contains(&Operation::Unlink));
        let expected = created.map_or(0, |create| recorder.tallies[create].count);
        recorder.measure(slot, || {
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
            let directory = rustix::fs::openat(&self.directory, c".", flags, Mode::empty())?;
            let mut buffer = [const { MaybeUninit::uninit() }; LIST_BUFFER];
            let mut entries = RawDir::new(&directory, &mut buffer);
            let mut seen = 0;
            while let Some(entry) = entries.next() {
                seen += u64::from(entry?.file_name().to_bytes().starts_with(b"o"));
            }
            if seen < expected {
                Err(Errno::NOENT)
            } else {
                Ok(0)
            }
        })
    }
}

fn flush(file: OwnedFd) -> rustix::io::Result<usize> {
    rustix::fs::fsync(&file)?;
    drop(file);
    Ok(0)
}

fn write_all(file: &OwnedFd, content: &[u8]) -> rustix::io::Result<()> {
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(file, rest) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(done) => rest = &rest[done..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_their_digits() {
        let mut name = Name::new(98);
        assert_eq!(name.text(), c"o00000098");
        name.advance();
        name.advance();
        assert_eq!(name.text(), c"o00000100");
        let mut last = Name::new(9_999_999);
        last.advance();
        assert_eq!(last.text(), c"o10000000");
    }
}

//! Creates, flushes, lists, looks up and removes files or directories in one directory.

use crate::block_data::{fill, mix, mix_text};
use crate::engines::{Armed, Worker};
use crate::load::Load;
use crate::objects::{
    LIST_BUFFER, Name, Object, create_directory, create_file, list, look_up, remove,
};
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use std::mem::MaybeUninit;

/// Names have eight digits.
const MOST_OBJECTS: u64 = 100_000_000;
/// Points of the curve where the settings name no interval of lists.
const POINTS: u64 = 64;
/// The most points of the curve that a worker notes itself.
const MOST_POINTS: u64 = 1_000;

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
        content: Vec::new(),
        keeps_open: settings.operations.contains(&Operation::Fsync),
        list_buffer: Vec::new(),
        seed: config.seed ^ mix_text(path),
        settings,
    };
    Ok(Armed {
        operations,
        workers: vec![Box::new(worker)],
        duration_ns: None,
        load: Load::default(),
    })
}

fn check(settings: &Settings) -> Result<(), Fault> {
    let many = settings.first.saturating_add(settings.count) > MOST_OBJECTS;
    let folder = settings.object == Object::Directory;
    let wrong = [
        (
            !in_order(&settings.operations),
            "expected operations, each at most once, fsync after create",
        ),
        (settings.count == 0, "found count 0; expected at least 1"),
        (
            many,
            "found more than 100,000,000 objects; expected at most that",
        ),
        (
            folder && settings.file_bytes > 0,
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

fn in_order(operations: &[Operation]) -> bool {
    let twice = operations
        .iter()
        .enumerate()
        .any(|(at, operation)| operations[..at].contains(operation));
    let flushed = place(operations, Operation::Fsync);
    let flushed_late = flushed.is_none_or(|at| operations[..at].contains(&Operation::Create));
    !operations.is_empty() && !twice && flushed_late
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

struct Metadata {
    settings: Settings,
    directory: OwnedFd,
    name: Name,
    content: Vec<u8>,
    keeps_open: bool,
    list_buffer: Vec<MaybeUninit<u8>>,
    seed: u64,
}

impl Worker for Metadata {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.content = vec![0; self.settings.file_bytes as usize];
        fill(&mut self.content, self.seed);
        self.list_buffer = vec![MaybeUninit::new(0); LIST_BUFFER];
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
                Operation::Stat => {
                    recorder.measure(slot, || look_up(&self.directory, self.name.text()))
                }
                Operation::Unlink => recorder.measure(slot, || {
                    remove(&self.directory, self.name.text(), self.settings.object)
                }),
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
        let bytes = self.settings.file_bytes as usize;
        let keep = self.keeps_open;
        let name = self.name.text();
        let content: &mut [u8] = &mut self.content[..bytes];
        if bytes > 0 {
            fill(content, self.seed ^ mix(self.settings.first + index));
        }
        recorder.measure(slot, || {
            let file = match self.settings.object {
                Object::File => Some(create_file(&self.directory, name, content)?),
                Object::Directory => create_directory(&self.directory, name, keep)?,
            };
            *opened = file.filter(|_| keep);
            Ok(bytes)
        })
    }

    /// A list that is shorter than what this client has made is `ENOENT`.
    fn list(&mut self, recorder: &mut Recorder, slot: usize) -> bool {
        let operations = &self.settings.operations;
        let created = place(operations, Operation::Create)
            .filter(|_| !operations.contains(&Operation::Unlink));
        let expected = created.map_or(0, |create| recorder.tallies[create].count);
        let (directory, buffer) = (&self.directory, &mut self.list_buffer);
        recorder.measure(slot, || {
            let seen = list(directory, buffer)?;
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

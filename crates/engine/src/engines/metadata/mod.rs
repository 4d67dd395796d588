//! Makes, looks at, changes and removes files or directories, in one directory or many.

use crate::block_data::{fill, mix, mix_text};
use crate::folders::{Folder, folders};
use crate::objects::{
    LIST_BUFFER, Name, Object, create_directory, create_file, list, look_up, open_and_close, remove,
};
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::work::{Armed, Worker};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use settings::{Operation, Settings, Sharing};
use sizes::Sizes;
use std::mem::MaybeUninit;

mod settings;
mod sizes;

/// Points of the curve where the settings name no interval of lists.
const POINTS: u64 = 64;
/// The most points of the curve that a worker notes itself.
const MOST_POINTS: u64 = 1_000;

/// The directories are made where they are not there.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    let worker = |part: u64| {
        let own = settings.workers > 1 && settings.sharing == Sharing::Own;
        let folders = folders(
            &settings.directory,
            own.then_some(part),
            settings.directories,
        )?;
        let shared = settings.workers > 1 && !own;
        let first = settings.first + if shared { part * settings.count } else { 0 };
        let whose = if own { part + 1 } else { 0 };
        let seeds = Seeds::new(config, &settings.directory, whose);
        let worker = Metadata::new(settings.clone(), folders, first, &seeds);
        Ok(Box::new(worker) as Box<dyn Worker>)
    };
    Ok(Armed {
        workers: (0..settings.workers)
            .map(worker)
            .collect::<Result<_, Fault>>()?,
        operations: settings.names(),
        duration_ns: None,
        load: settings.load,
        beside: None,
    })
}

/// What the content and the sizes of a worker's files are drawn from; objects of different numbers have different ones.
struct Seeds {
    /// Differs from directory to directory, so that no content is ever written twice.
    content: u64,
    /// The same wherever the directory is, so that trials that are compared make the same files.
    sizes: u64,
}

impl Seeds {
    /// `whose`: 0 where numbers do not repeat among the workers, else the worker's own.
    fn new(config: &Config, directory: &str, whose: u64) -> Self {
        Self {
            content: mix((config.seed ^ mix_text(directory)).wrapping_add(whose)),
            sizes: mix(mix(config.seed ^ mix(config.client)).wrapping_add(whose)),
        }
    }
}

struct Metadata {
    settings: Settings,
    folders: Vec<Folder>,
    /// Which of the folders has the present object.
    folder: usize,
    /// Which of the folders is listed next.
    listed: usize,
    name: Name,
    first: u64,
    sizes: Sizes,
    /// As much as the largest file.
    content: Vec<u8>,
    content_seed: u64,
    keeps_open: bool,
    list_buffer: Vec<MaybeUninit<u8>>,
    /// The operation whose objects a list must show, if there is one.
    shown: Option<usize>,
}

impl Worker for Metadata {
    fn prepare(&mut self) -> Result<(), Fault> {
        self.content = vec![0; self.sizes.largest()];
        fill(&mut self.content, self.content_seed);
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
            self.folder = if self.folder + 1 < self.folders.len() {
                self.folder + 1
            } else {
                0
            };
        }
    }
}

impl Metadata {
    fn new(settings: Settings, folders: Vec<Folder>, first: u64, seeds: &Seeds) -> Self {
        let makes = settings.operations.iter().position(|one| one.makes());
        Self {
            folders,
            folder: 0,
            listed: 0,
            name: Name::new(first, settings.prefix as u8),
            first,
            sizes: Sizes::new(&settings.file_bytes, seeds.sizes),
            content: Vec::new(),
            content_seed: seeds.content,
            keeps_open: settings.operations.contains(&Operation::Fsync),
            list_buffer: Vec::new(),
            shown: makes.filter(|_| !settings.loses_names()),
            settings,
        }
    }

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
        self.name.begin(self.settings.prefix as u8);
        for slot in 0..self.settings.operations.len() {
            let operation = self.settings.operations[slot];
            let goes_on = match operation {
                Operation::Create | Operation::Mkdir => {
                    self.create(recorder, slot, index, &mut opened)
                }
                Operation::Fsync => opened
                    .take()
                    .is_none_or(|file| recorder.follow(slot, || flush(file))),
                _ if operation.lists() => !list || self.list(recorder, slot),
                _ => self.change(recorder, slot, operation),
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// An operation on one object that is there.
    #[inline]
    fn change(&mut self, recorder: &mut Recorder, slot: usize, operation: Operation) -> bool {
        let new = self.settings.new_prefix as u8;
        let object = self.settings.object;
        let Self {
            folders,
            folder,
            name,
            ..
        } = self;
        let folder = &mut folders[*folder];
        let goes_on = recorder.measure(slot, || match operation {
            Operation::Stat => look_up(&folder.descriptor, name.text()),
            Operation::Open => open_and_close(&folder.descriptor, name.text()),
            Operation::Setxattr => folder.set_attribute(name),
            Operation::Rename => folder.rename(name, new),
            Operation::Link => folder.link(name, b'l'),
            Operation::Symlink => folder.link_softly(name, b's'),
            _ => remove(&folder.descriptor, name.text(), object),
        });
        if operation == Operation::Rename {
            name.begin(new);
        }
        goes_on
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
        let bytes = self.make_content(self.first + index);
        let keep = self.keeps_open;
        let name = self.name.text();
        let directory = &self.folders[self.folder].descriptor;
        let content = &self.content[..bytes];
        recorder.measure(slot, || {
            let file = match self.settings.object {
                Object::File => Some(create_file(directory, name, content)?),
                Object::Directory => create_directory(directory, name, keep)?,
            };
            *opened = file.filter(|_| keep);
            Ok(bytes)
        })
    }

    /// Makes what the object of this number has in it; gives how much that is.
    #[inline]
    fn make_content(&mut self, number: u64) -> usize {
        if self.content.is_empty() {
            return 0;
        }
        let bytes = self.sizes.of(number);
        fill(&mut self.content[..bytes], self.content_seed ^ mix(number));
        bytes
    }

    /// The directories are listed in turn. A list that is shorter than what this worker has made there is `ENOENT`.
    fn list(&mut self, recorder: &mut Recorder, slot: usize) -> bool {
        let made = self
            .shown
            .map_or(0, |create| recorder.tallies[create].count);
        let expected = made / self.folders.len() as u64;
        let attributes = self.settings.operations[slot] == Operation::ReaddirPlus;
        let prefix = self.settings.prefix as u8;
        let (directory, buffer) = (&self.folders[self.listed].descriptor, &mut self.list_buffer);
        self.listed = (self.listed + 1) % self.folders.len();
        recorder.measure(slot, || {
            let seen = list(directory, buffer, prefix, attributes)?;
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

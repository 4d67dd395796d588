//! Files that client programs carry to a server and back: made in memory, one command for each, compared byte for byte.
//!
//! What is in a file follows from the seed, the client and the file's number, so that it can be compared without being kept.

use super::{execute, find, prepared};
use crate::block_data::{fill, mix};
use crate::load::Load;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::work::{Armed, Finished, Ran, Worker};
use rustix::io::Errno;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What is made and compared at a time.
const BLOCK: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    step: Step,
    /// One after the other, in this order.
    files: Vec<Errand>,
    /// The length of each file.
    bytes: u64,
    operation: String,
    #[serde(default = "root")]
    directory: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files that are removed when the phase is armed, before its clock.
    #[serde(default)]
    remove: Vec<String>,
}

fn root() -> String {
    "/".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Make,
    Run,
    Compare,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Errand {
    /// What is made or compared; of a command the file that must be there afterwards, if any.
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    argv: Vec<String>,
}

/// One worker that takes one file after the other.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    check(&settings)?;
    let mut programs = Vec::new();
    for errand in &settings.files {
        let Some(name) = errand.argv.first() else {
            continue;
        };
        let found = find(name, &settings.directory, &settings.env);
        programs.push(found.ok_or_else(|| Fault::call("command", name, Errno::NOENT))?);
    }
    for path in &settings.remove {
        let _ = fs::remove_file(path);
    }
    let operations = vec![settings.operation.clone()];
    let worker = Errands {
        seed: mix(config.seed ^ mix(config.client)),
        settings,
        programs,
        ran: None,
    };
    Ok(Armed {
        operations,
        workers: vec![Box::new(worker)],
        duration_ns: None,
        load: Load::default(),
        beside: None,
    })
}

fn check(settings: &Settings) -> Result<(), Fault> {
    let commands = settings.step == Step::Run;
    let lacks = |errand: &Errand| {
        if commands {
            errand.argv.is_empty()
        } else {
            errand.path.is_none()
        }
    };
    Fault::of_settings(&[
        (
            settings.files.is_empty(),
            "found no files; expected at least one",
        ),
        (settings.bytes == 0, "found bytes 0; expected at least 1"),
        (
            settings.files.iter().any(lacks),
            "found a file without argv (run) or without path (make, compare); expected one for each",
        ),
    ])
}

struct Errands {
    seed: u64,
    settings: Settings,
    programs: Vec<PathBuf>,
    /// What all commands together used, and what the last one printed.
    ran: Option<Ran>,
}

impl Worker for Errands {
    fn run(&mut self, recorder: &mut Recorder) {
        for number in 0..self.settings.files.len() {
            let goes_on = match self.settings.step {
                Step::Make => self.make(number, recorder),
                Step::Run => self.carry(number, recorder),
                Step::Compare => self.compare(number, recorder),
            };
            if !goes_on {
                break;
            }
        }
        recorder.recheck();
    }

    fn finish(&mut self) -> Finished {
        self.ran
            .take()
            .map_or(Finished::Nothing, |ran| Finished::Command(Box::new(ran)))
    }
}

impl Errands {
    fn path(&self, number: usize) -> &str {
        self.settings.files[number]
            .path
            .as_deref()
            .unwrap_or_default()
    }

    /// The blocks of a file, each in the same memory.
    fn each_block(
        &self,
        number: usize,
        mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let seed = mix(self.seed ^ mix(number as u64 + 1));
        let mut block = vec![0; BLOCK];
        let (mut left, mut at) = (self.settings.bytes, 0_u64);
        while left > 0 {
            let length = left.min(BLOCK as u64) as usize;
            fill(&mut block[..length], mix(seed.wrapping_add(at)));
            take(&block[..length])?;
            left -= length as u64;
            at += 1;
        }
        Ok(())
    }

    fn make(&self, number: usize, recorder: &mut Recorder) -> bool {
        let path = self.path(number);
        path.clone_into(&mut recorder.path);
        let mut made = false;
        let goes_on = recorder.measure(0, || {
            let opened = OpenOptions::new().write(true).create_new(true).open(path);
            let mut file = opened.map_err(|error| errno(&error))?;
            self.each_block(number, |block| file.write_all(block))
                .map_err(|error| errno(&error))?;
            made = true;
            Ok(self.settings.bytes as usize)
        });
        (goes_on && made) || stop(recorder)
    }

    /// Runs one command; the file that must be there afterwards has its whole length.
    fn carry(&mut self, number: usize, recorder: &mut Recorder) -> bool {
        let (settings, errand) = (&self.settings, &self.settings.files[number]);
        errand.argv[0].clone_into(&mut recorder.path);
        let words = (errand.argv.as_slice(), settings.directory.as_str());
        let mut command = prepared(&self.programs[number], words, &settings.env);
        let (control, mut running, mut succeeded) = (recorder.control(), None, false);
        let goes_on = recorder.measure(0, || {
            let ended = execute(&mut command, &control, None)?;
            succeeded = ended.succeeded;
            running = Some(ended);
            if succeeded {
                Ok(settings.bytes as usize)
            } else {
                Err(Errno::IO)
            }
        });
        let whole = errand
            .path
            .as_deref()
            .is_none_or(|path| fs::metadata(path).is_ok_and(|seen| seen.len() == settings.bytes));
        if succeeded && !whole {
            self.path(number).clone_into(&mut recorder.path);
            recorder.refuse_content(0);
        }
        if let Some(ran) = running.map(super::Running::reap) {
            self.ran = Some(match self.ran.take() {
                Some(before) => together(&before, ran),
                None => ran,
            });
        }
        if succeeded && whole {
            return goes_on;
        }
        stop(recorder)
    }

    fn compare(&self, number: usize, recorder: &mut Recorder) -> bool {
        let path = self.path(number);
        path.clone_into(&mut recorder.path);
        let (mut read, mut same) = (false, true);
        let goes_on = recorder.measure(0, || {
            same = self
                .is_same(number, Path::new(path))
                .map_err(|error| errno(&error))?;
            read = true;
            Ok(self.settings.bytes as usize)
        });
        if !same {
            recorder.refuse_content(0);
        }
        (goes_on && read && same) || stop(recorder)
    }

    /// Whether a file has the length and every byte of what was made.
    fn is_same(&self, number: usize, path: &Path) -> std::io::Result<bool> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() != self.settings.bytes {
            return Ok(false);
        }
        let (mut seen, mut same) = (vec![0; BLOCK], true);
        self.each_block(number, |block| {
            let part = &mut seen[..block.len()];
            file.read_exact(part)?;
            same &= part == block;
            Ok(())
        })?;
        Ok(same)
    }
}

/// Ends the phase as failed, unless it was ended from outside. Always false.
fn stop(recorder: &mut Recorder) -> bool {
    if recorder.control().reason().is_none() {
        recorder.give_up();
    }
    false
}

fn errno(error: &std::io::Error) -> Errno {
    let short = (error.kind() == ErrorKind::UnexpectedEof).then_some(libc::ENODATA);
    Errno::from_raw_os_error(error.raw_os_error().or(short).unwrap_or(libc::EIO))
}

/// Two commands as one: the sums of what they used, the words of the later one.
fn together(before: &Ran, after: Ran) -> Ran {
    Ran {
        command: after.command,
        cost: before.cost.and(&after.cost),
        io: before.io.and(&after.io),
    }
}

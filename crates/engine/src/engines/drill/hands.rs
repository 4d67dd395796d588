//! The thread that makes the system calls on the target, and is left behind where one of them hangs.

use crate::control::Control;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The most threads that are left behind; with so many the last one is waited for.
const MOST_LEFT: u64 = 64;
/// The longest wait for a file that is closed at the end: with its server away the call may never return.
const LONGEST_CLOSE: Duration = Duration::from_secs(10);
/// The longest wait in which nobody asks whether the phase was ended.
const DOZE: Duration = Duration::from_millis(100);

/// What is done to the file.
#[derive(Clone)]
pub enum Task {
    /// Write, and flush where the load flushes.
    Append { offset: u64, data: Arc<[u8]> },
    /// Read so many bytes; fewer at the end of the file, none without a file.
    Read { offset: u64, length: usize },
}

/// The file of one client, and how it is treated.
#[derive(Clone)]
pub struct Place {
    pub path: PathBuf,
    /// Whether an append is flushed, the file's entry in its directory included, before it counts.
    pub flushes: bool,
    /// Whether its directory must be a mount.
    pub mounted: bool,
}

impl Place {
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Refuses the directory below a mount that is gone: it is on another disk.
    fn check_mount(&self) -> std::io::Result<()> {
        if !self.mounted {
            return Ok(());
        }
        let above = self.directory().parent().unwrap_or(Path::new("/"));
        let device = |path: &Path| path.metadata().map(|found| found.dev());
        if device(self.directory())? == device(above)? {
            return Err(std::io::Error::from_raw_os_error(libc::ENOTCONN));
        }
        Ok(())
    }
}

/// Number of an error, as errno(3) has it.
pub type Outcome = Result<Vec<u8>, i32>;

struct Hand {
    tasks: Sender<Task>,
    answers: Receiver<Outcome>,
    /// Whether the answer to a former task has not come yet.
    owes: bool,
}

/// Makes one call after the other, each within a deadline.
pub struct Hands {
    place: Place,
    deadline: Duration,
    hand: Option<Hand>,
    pub left: u64,
}

impl Hands {
    /// Nobody works yet.
    pub fn new(place: Place, deadline: Duration) -> Self {
        Self {
            place,
            deadline,
            hand: None,
            left: 0,
        }
    }

    /// Does it, or gives `ETIMEDOUT` after the deadline; then a later call has another thread.
    pub fn make(&mut self, task: Task, control: &Control) -> Outcome {
        let until = Instant::now() + self.deadline;
        let mut hand = match self.hand.take() {
            Some(hand) => hand,
            None => Hand::start(self.place.clone())?,
        };
        if hand.owes && hand.answer(until, control).is_none() {
            self.hand = Some(hand);
            return Err(libc::ETIMEDOUT);
        }
        if hand.tasks.send(task).is_err() {
            return Err(libc::EIO);
        }
        if let Some(outcome) = hand.answer(until, control) {
            self.hand = Some(hand);
            return outcome;
        }
        hand.owes = true;
        if self.left < MOST_LEFT {
            self.left += 1; // its file stays open until its call returns
        } else {
            self.hand = Some(hand);
        }
        Err(libc::ETIMEDOUT)
    }
}

impl Drop for Hands {
    /// Closes the file before the target may be unmounted; a call that hangs is not waited for, and a close no longer than a try.
    fn drop(&mut self) {
        let Some(hand) = self.hand.take() else { return };
        let Hand {
            tasks,
            answers,
            owes,
        } = hand;
        drop(tasks);
        if owes {
            return;
        }
        // The thread says nothing more: its end of the channel is gone as soon as the file is closed.
        let _ = answers.recv_timeout(self.deadline.min(LONGEST_CLOSE));
    }
}

impl Hand {
    fn start(place: Place) -> Result<Self, i32> {
        let (tasks, wait) = channel::<Task>();
        let (answer, answers) = channel();
        let serve = move || {
            let mut file = None;
            while let Ok(task) = wait.recv() {
                let outcome = perform(&place, &mut file, &task);
                if outcome.is_err() {
                    file = None; // after an error nothing that is open can be relied on
                }
                if answer.send(outcome).is_err() {
                    return;
                }
            }
            drop(file); // it may hang; `answer` goes after it
            drop(answer);
        };
        std::thread::Builder::new()
            .spawn(serve)
            .map_err(|error| number(&error))?;
        Ok(Self {
            tasks,
            answers,
            owes: false,
        })
    }

    /// The answer, where it comes in time and before the phase is ended from outside.
    fn answer(&mut self, until: Instant, control: &Control) -> Option<Outcome> {
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(rest.min(DOZE)) {
                Ok(outcome) => {
                    self.owes = false;
                    return Some(outcome);
                }
                Err(RecvTimeoutError::Disconnected) => return Some(Err(libc::EIO)),
                Err(RecvTimeoutError::Timeout) if rest.is_zero() || control.reason().is_some() => {
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn perform(place: &Place, file: &mut Option<File>, task: &Task) -> Outcome {
    let done = match task {
        Task::Append { offset, data } => append(place, file, *offset, data).map(|()| Vec::new()),
        Task::Read { offset, length } => read(place, file, *offset, *length),
    };
    done.map_err(|error| number(&error))
}

fn append(place: &Place, file: &mut Option<File>, offset: u64, data: &[u8]) -> std::io::Result<()> {
    if file.is_none() {
        *file = Some(created(place)?);
    }
    let file = file.as_ref().expect("just opened");
    file.write_all_at(data, offset)?;
    if place.flushes {
        file.sync_all()
    } else {
        Ok(())
    }
}

/// The file, and where the load flushes its entry in the directory.
fn created(place: &Place) -> std::io::Result<File> {
    place.check_mount()?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&place.path)?;
    if place.flushes {
        file.sync_all()?;
        File::open(place.directory())?.sync_all()?;
    }
    Ok(file)
}

fn read(
    place: &Place,
    file: &mut Option<File>,
    offset: u64,
    length: usize,
) -> std::io::Result<Vec<u8>> {
    if file.is_none() {
        place.check_mount()?;
        match File::open(&place.path) {
            Ok(found) => *file = Some(uncached(found)),
            // Without its directory the target itself is away: nobody knows whether the file is lost.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return place.directory().metadata().map(|_| Vec::new());
            }
            Err(error) => return Err(error),
        }
    }
    let file = file.as_ref().expect("just opened");
    let mut data = vec![0; length];
    let mut got = 0;
    while got < length {
        match file.read_at(&mut data[got..], offset + got as u64)? {
            0 => break,
            more => got += more,
        }
    }
    data.truncate(got);
    Ok(data)
}

/// Gives the client's own pages of the file back: they may hold what the target does not.
fn uncached(file: File) -> File {
    // SAFETY: a plain system call on a descriptor that is open.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    file
}

fn number(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

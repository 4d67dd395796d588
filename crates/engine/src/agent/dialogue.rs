//! A conversation with a command over its pipes, in the one thread that waits for everything that it does.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Read at once.
const PIECE: usize = 64 << 10;

/// What a command is told, by any thread.
pub struct Input {
    waiting: Mutex<Waiting>,
    wake: OwnedFd,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    ended: bool,
}

impl Input {
    /// Nothing yet.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            waiting: Mutex::default(),
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    }

    /// Says more; nothing after the end.
    pub fn add(&self, bytes: &[u8]) {
        let mut waiting = self.waiting();
        if !waiting.ended {
            waiting.bytes.extend_from_slice(bytes);
        }
        self.wake();
    }

    /// Says no more.
    pub fn end(&self) {
        self.waiting().ended = true;
        self.wake();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

/// Takes what a command says.
pub trait Listener {
    /// On its standard output.
    fn output(&mut self, bytes: &[u8]);
    /// On its standard error.
    fn complaint(&mut self, bytes: &[u8]);
}

/// How long to listen.
pub struct Limits {
    pub until: Option<Instant>,
    /// How long after the end of the command itself others may go on writing; None = until they end.
    pub grace: Option<Duration>,
}

/// A command with its pipes.
pub struct Dialogue<'a> {
    input: &'a Input,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// The command itself, until its end is known; None also where the kernel has no such descriptors (before 5.3).
    process: Option<OwnedFd>,
    known_to_have_ended: bool,
    buffer: Vec<u8>,
}

impl<'a> Dialogue<'a> {
    /// Takes the pipes of a child.
    pub fn with(child: &mut Child, input: &'a Input) -> Self {
        let ready = |pipe: OwnedFd| {
            let _ = rustix::io::ioctl_fionbio(&pipe, true);
            pipe
        };
        Self {
            input,
            stdin: child.stdin.take().map(|pipe| ready(pipe.into())),
            stdout: child.stdout.take().map(|pipe| ready(pipe.into())),
            stderr: child.stderr.take().map(|pipe| ready(pipe.into())),
            process: descriptor(child.id()),
            known_to_have_ended: false,
            buffer: vec![0; PIECE],
        }
    }

    /// Speaks and listens until the command and its output have ended; whether they did in time.
    pub fn hold(&mut self, limits: &Limits, listener: &mut dyn Listener) -> bool {
        let mut until = limits.until;
        loop {
            self.tell();
            let output = self.stdout.is_some() || self.stderr.is_some();
            if !output && self.process.is_none() {
                return true;
            }
            let late = until.is_some_and(|until| Instant::now() >= until);
            if late {
                return self.known_to_have_ended && limits.grace.is_some();
            }
            if self.wait(until, listener)
                && let Some(grace) = limits.grace
            {
                let last = Instant::now() + grace;
                until = Some(until.map_or(last, |until| until.min(last)));
            }
        }
    }

    /// Waits for anything to happen, and takes what came; whether the command has ended just now.
    fn wait(&mut self, until: Option<Instant>, listener: &mut dyn Listener) -> bool {
        let talks = self.stdin.is_some() && !self.input.waiting().bytes.is_empty();
        let mut events = [
            event(Some(&self.input.wake), libc::POLLIN),
            event(self.stdin.as_ref().filter(|_| talks), libc::POLLOUT),
            event(self.stdout.as_ref(), libc::POLLIN),
            event(self.stderr.as_ref(), libc::POLLIN),
            event(self.process.as_ref(), libc::POLLIN),
        ];
        // SAFETY: the entries are in this frame, and their descriptors are open.
        if unsafe { libc::poll(events.as_mut_ptr(), 5, milliseconds(until)) } <= 0 {
            return false;
        }
        let [wake, _, output, complaint, end] = events.map(|event| event.revents != 0);
        if wake {
            let _ = rustix::io::read(&self.input.wake, &mut [0; 8]);
        }
        if output && let Some(found) = read(&mut self.stdout, &mut self.buffer) {
            listener.output(&self.buffer[..found]);
        }
        if complaint && let Some(found) = read(&mut self.stderr, &mut self.buffer) {
            listener.complaint(&self.buffer[..found]);
        }
        if end {
            self.process = None;
            self.known_to_have_ended = true;
        }
        end
    }

    /// Says what waits, as far as there is room for it.
    fn tell(&mut self) {
        let Some(pipe) = &self.stdin else { return };
        let mut waiting = self.input.waiting();
        if !waiting.bytes.is_empty() {
            match rustix::io::write(pipe, &waiting.bytes) {
                Ok(written) => drop(waiting.bytes.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => {
                    waiting.bytes.clear();
                    waiting.ended = true;
                }
            }
        }
        if waiting.ended && waiting.bytes.is_empty() {
            self.stdin = None;
        }
    }
}

/// What there is to read; the pipe goes at its end.
fn read(pipe: &mut Option<OwnedFd>, buffer: &mut [u8]) -> Option<usize> {
    match rustix::io::read(pipe.as_ref()?, buffer) {
        Ok(length) if length > 0 => return Some(length),
        Err(Errno::AGAIN | Errno::INTR) => {}
        _ => *pipe = None,
    }
    None
}

fn event(descriptor: Option<&OwnedFd>, events: i16) -> libc::pollfd {
    libc::pollfd {
        fd: descriptor.map_or(-1, AsRawFd::as_raw_fd),
        events,
        revents: 0,
    }
}

fn milliseconds(until: Option<Instant>) -> i32 {
    until.map_or(-1, |until| {
        let left = until.saturating_duration_since(Instant::now());
        i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX)
    })
}

fn descriptor(pid: u32) -> Option<OwnedFd> {
    // SAFETY: integer arguments; the child has not been reaped.
    let found = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let found = i32::try_from(found).ok().filter(|&found| found >= 0)?;
    // SAFETY: a new descriptor that is nobody else's.
    Some(unsafe { OwnedFd::from_raw_fd(found) })
}

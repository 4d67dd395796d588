//! The messages between both ends: they order what a writer does and what a reader looks at.

use crate::protocol::Fault;
use crate::recorder::Recorder;
use assay_clock::{Clock, Source, monotonic_ns, sleep_until};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How often a wait looks whether the phase was ended.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the two ends look for each other.
const MEETING_NS: u64 = 10_000_000_000;
const LENGTH: usize = 24;

/// What one end says to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The first word of each end: whether its stamps are those of the cycle counter.
    Hello,
    /// Set up, or ready to look.
    Ready,
    /// Done, at this stamp.
    Done,
    /// What was looked for is seen, or the time for it is over.
    Over,
    /// The file system does not do it, for this errno.
    Refused,
}

const WORDS: [Word; 5] = [
    Word::Hello,
    Word::Ready,
    Word::Done,
    Word::Over,
    Word::Refused,
];

/// A word with its stamp and a number.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub word: Word,
    pub at: u64,
    pub value: u64,
}

/// Why a talk ended: the phase was ended, or the other end is gone.
#[derive(Debug)]
pub struct Ended;

/// The connection of both ends.
pub struct Talk {
    stream: UnixStream,
    clock: Clock,
    /// Whether the other end's stamps can be held against ours.
    alike: bool,
}

/// Waits for the other end at a name that no file system has.
pub fn listen(meeting: &str) -> Result<UnixListener, Fault> {
    let bound = address(meeting).and_then(|address| UnixListener::bind_addr(&address));
    let listener = bound.and_then(|one| one.set_nonblocking(true).map(|()| one));
    listener.map_err(|error| Fault {
        what: "bind",
        path: Some(meeting.to_owned()),
        errno: error.raw_os_error(),
        message: error.to_string(),
    })
}

fn address(meeting: &str) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("assay-coherence-{meeting}"))
}

impl Talk {
    /// Takes the other end in, or goes to it. None where it does not come.
    pub fn begin(
        listener: Option<&UnixListener>,
        meeting: &str,
        recorder: &mut Recorder,
    ) -> Option<Self> {
        let clock = recorder.clock();
        let deadline = monotonic_ns() + MEETING_NS;
        let stream = loop {
            let met = match listener {
                Some(listener) => listener.accept().map(|(stream, _)| stream),
                None => address(meeting).and_then(|address| UnixStream::connect_addr(&address)),
            };
            match met {
                Ok(stream) => break stream,
                Err(_) if monotonic_ns() < deadline && recorder.goes_on(clock.now()) => {
                    sleep_until(monotonic_ns() + 1_000_000);
                }
                Err(_) => return None,
            }
        };
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut talk = Self {
            stream,
            clock,
            alike: false,
        };
        let own = u64::from(clock.source() == Source::Tsc);
        talk.say(Word::Hello, own).ok()?;
        let hello = talk.hear(recorder).ok()?;
        talk.alike = hello.word == Word::Hello && hello.value == own;
        Some(talk)
    }

    /// Says a word with the present time.
    pub fn say(&mut self, word: Word, value: u64) -> Result<(), Ended> {
        self.say_at(word, self.clock.now(), value)
    }

    /// Says a word with the time at which it became true.
    pub fn say_at(&mut self, word: Word, at: u64, value: u64) -> Result<(), Ended> {
        let mut line = [0; LENGTH];
        let number = WORDS.iter().position(|one| *one == word).unwrap_or(0) as u64;
        for (place, part) in line.chunks_exact_mut(8).zip([number, at, value]) {
            place.copy_from_slice(&part.to_le_bytes());
        }
        self.stream.write_all(&line).map_err(|_| Ended)
    }

    /// Says why the file system does not do it.
    pub fn refuse(&mut self, errno: Errno) -> Result<(), Ended> {
        self.say(Word::Refused, errno.raw_os_error() as u64)
    }

    /// Waits for the next word; its stamp is of our clock, or that of its arrival where the clocks differ.
    pub fn hear(&mut self, recorder: &mut Recorder) -> Result<Message, Ended> {
        let mut line = [0; LENGTH];
        let mut got = 0;
        while got < LENGTH {
            match self.stream.read(&mut line[got..]) {
                Ok(0) => return Err(Ended),
                Ok(bytes) => got += bytes,
                Err(error) if is_wait(&error) && recorder.goes_on(self.clock.now()) => {}
                Err(_) => return Err(Ended),
            }
        }
        let part = |place: usize| {
            let bytes = line[place * 8..place * 8 + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        let word = WORDS.get(part(0) as usize).copied().ok_or(Ended)?;
        let at = if self.alike {
            part(1)
        } else {
            self.clock.now()
        };
        Ok(Message {
            word,
            at,
            value: part(2),
        })
    }
}

fn is_wait(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

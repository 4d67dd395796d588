//! Commands that are spoken to line by line while they run, each with a thread of its own.

use super::AGENT;
use super::answer::Failure;
use super::command::{self, Plan};
use super::dialogue::{Dialogue, Input, Limits, Listener};
use super::output;
use super::request::Spawn;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long others may go on writing after a command has ended, before what is left of its group is killed.
const GRACE: Duration = Duration::from_millis(200);
/// What is kept of the end of its standard error.
const COMPLAINT: usize = 2000;
/// A line without an end is given out when it is as long as this: 16 MiB.
const LONGEST: usize = 16 << 20;

/// The commands that run, by the id of the request that started them.
#[derive(Default)]
pub struct Children(Mutex<BTreeMap<u64, Arc<Spoken>>>);

/// One of them.
struct Spoken {
    input: Input,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    leader: Option<i32>,
    killed: bool,
}

impl Children {
    /// Starts a command in a thread of its own, which answers; it can be spoken to at once.
    pub fn start(&'static self, id: u64, spawn: Spawn) {
        let begun = self.enter(id).and_then(|spoken| {
            let thread = std::thread::Builder::new();
            let started = thread.spawn(move || self.live(id, &spoken, &spawn));
            started.inspect_err(|_| drop(self.all().remove(&id)))
        });
        if let Err(error) = begun {
            output::answer(id, Err(error.into()));
        }
    }

    /// Says one line; nothing where there is no such command any more.
    pub fn send(&self, process: u64, line: &str) {
        if let Some(spoken) = self.find(process) {
            spoken
                .input
                .add(format!("{}\n", line.trim_end_matches('\n')).as_bytes());
        }
    }

    /// Ends its standard input.
    pub fn end_input(&self, process: u64) {
        if let Some(spoken) = self.find(process) {
            spoken.input.end();
        }
    }

    /// Kills it with its group, also where it has not begun yet.
    pub fn kill(&self, process: u64) {
        if let Some(spoken) = self.find(process) {
            let mut state = spoken.state();
            state.killed = true;
            if let Some(leader) = state.leader {
                AGENT.groups.kill(leader);
            }
        }
    }

    fn enter(&self, id: u64) -> io::Result<Arc<Spoken>> {
        let spoken = Arc::new(Spoken {
            input: Input::open()?,
            state: Mutex::default(),
        });
        match self.all().entry(id) {
            Entry::Occupied(_) => Err(io::Error::from_raw_os_error(libc::EEXIST)),
            Entry::Vacant(free) => Ok(Arc::clone(free.insert(spoken))),
        }
    }

    /// The whole life of a command.
    fn live(&self, id: u64, spoken: &Spoken, spawn: &Spawn) {
        let plan = Plan {
            argv: &spawn.argv,
            env: &spawn.env,
            cwd: spawn.cwd.as_deref(),
            stdin: Stdio::piped(),
        };
        match command::start(plan) {
            Ok(Some(child)) => speak(id, spoken, child),
            Ok(None) => output::answer(id, Ok(json!({"missing": true}))),
            Err(error) => output::answer(id, Err(Failure::from(error))),
        }
        self.all().remove(&id);
    }

    fn find(&self, process: u64) -> Option<Arc<Spoken>> {
        self.all().get(&process).cloned()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Spoken>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spoken {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the leader of its group; kills it where that was asked for before.
    fn began(&self, leader: i32) {
        let mut state = self.state();
        state.leader = Some(leader);
        if state.killed {
            AGENT.groups.kill(leader);
        }
    }
}

/// From its start to its last line; what is left of its group then is killed.
fn speak(id: u64, spoken: &Spoken, mut child: Child) {
    let leader = child.id() as i32;
    spoken.began(leader);
    output::answer(id, Ok(json!({"process": id, "pid": leader})));
    let mut lines = Forwarded {
        process: id,
        ..Forwarded::default()
    };
    let limits = Limits {
        until: None,
        grace: Some(GRACE),
    };
    Dialogue::with(&mut child, &spoken.input).hold(&limits, &mut lines);
    command::ended(&child, None);
    AGENT.groups.kill(leader);
    let status = command::reap(child);
    lines.end();
    let stderr = String::from_utf8_lossy(&lines.complaint);
    output::send(&json!({"process": id, "ended": status, "stderr": stderr}));
}

/// Gives out whole lines, and keeps the end of what is complained.
#[derive(Default)]
struct Forwarded {
    process: u64,
    rest: Vec<u8>,
    complaint: Vec<u8>,
}

#[derive(Serialize)]
struct Line<'a> {
    process: u64,
    line: Cow<'a, str>,
}

impl Listener for Forwarded {
    fn output(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.iter().rposition(|&byte| byte == b'\n') else {
            self.rest.extend_from_slice(bytes);
            if self.rest.len() >= LONGEST {
                self.end();
            }
            return;
        };
        self.rest.extend_from_slice(&bytes[..last]);
        self.give();
        self.rest.extend_from_slice(&bytes[last + 1..]);
    }

    fn complaint(&mut self, bytes: &[u8]) {
        self.complaint.extend_from_slice(bytes);
        let more = self.complaint.len().saturating_sub(COMPLAINT);
        self.complaint.drain(..more);
    }
}

impl Forwarded {
    /// Gives out all that is kept as lines, in one piece.
    fn give(&mut self) {
        let mut written = Vec::new();
        for text in self.rest.split(|&byte| byte == b'\n') {
            let line = Line {
                process: self.process,
                line: String::from_utf8_lossy(text),
            };
            serde_json::to_writer(&mut written, &line).expect("lines have text keys only");
            written.push(b'\n');
        }
        output::write(&written);
        self.rest.clear();
    }

    /// Gives out a last line that has no end.
    fn end(&mut self) {
        if !self.rest.is_empty() {
            self.give();
        }
    }
}

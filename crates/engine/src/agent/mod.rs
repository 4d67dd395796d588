//! The far end: one process for a whole host, which reads, runs, watches and undoes what it is asked to, a JSON line each.
//!
//! Three threads last: the first keeps the lease and ends the agent, one reads standard input, one waits for signals.
//! Each process that was started has a thread of its own, which lives as long as it; all else is done by workers.

mod answer;
mod calls;
mod children;
mod command;
mod dialogue;
mod files;
mod groups;
mod held;
mod life;
mod lines;
mod notebook;
mod notes;
mod output;
mod request;
mod run;
mod way_back;
mod workers;

use answer::Failure;
use children::Children;
use groups::Groups;
use held::Held;
use life::Life;
use lines::{Lines, Next};
use notes::Notes;
use request::{Fields, Request};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use workers::Workers;

/// The word that makes an engine an agent, and the word for a mount namespace of its own.
const MODE: &str = "agent";
const OWN_MOUNTS: &str = "--own-mounts";

static AGENT: LazyLock<Agent> = LazyLock::new(Agent::default);

/// All that the threads share.
#[derive(Default)]
struct Agent {
    children: Children,
    groups: Groups,
    held: Held,
    life: Life,
    notes: Notes,
    workers: Workers,
}

/// Serves as an agent where the arguments ask for one, and then never returns.
pub fn serve_if_asked() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_none_or(|first| first != MODE) {
        return;
    }
    if arguments[1..].iter().any(|word| word == OWN_MOUNTS) {
        let _ = assay_host::enter_own_mounts();
    }
    life::watch_signals();
    output::hello();
    std::thread::spawn(|| {
        let _ = catch_unwind(read_requests);
        AGENT.life.end("standard input ended");
    });
    AGENT.life.keep();
}

/// Reads standard input; what never waits is done here, in order, the rest by workers.
fn read_requests() {
    let mut lines = Lines::new(std::io::stdin().lock());
    loop {
        match lines.next() {
            Next::Line(line) => hear(line),
            Next::TooLong => output::damaged("found a line that is too long"),
            Next::End => return,
        }
    }
}

fn hear(line: &[u8]) {
    let mut fields: Fields = match serde_json::from_slice(line) {
        Ok(fields) => fields,
        Err(error) => return output::damaged(&error.to_string()),
    };
    let Some(id) = fields.remove("id").as_ref().and_then(Value::as_u64) else {
        return output::damaged("found no id; expected a whole number");
    };
    match Request::of(fields) {
        Ok(request) => obey(id, request),
        Err(error) => output::answer(id, Err(Failure::of_text(error.to_string()))),
    }
}

fn obey(id: u64, request: Request) {
    match request {
        Request::Clock {} => {
            output::answer(id, Ok(json!({"mono_ns": assay_clock::monotonic_ns()})));
        }
        Request::Lease { for_ns } => {
            AGENT.life.prolong(for_ns);
            output::answer(id, Ok(json!({})));
        }
        Request::Spawn(spawn) => AGENT.children.start(id, *spawn),
        Request::Send { process, line } => AGENT.children.send(process, &line),
        Request::EndInput { process } => AGENT.children.end_input(process),
        Request::Kill { process } => AGENT.children.kill(process),
        other => {
            let given = AGENT.workers.give(Box::new(move || work(id, &other)));
            if let Err(error) = given {
                output::answer(id, Err(error.into()));
            }
        }
    }
}

/// What a worker does; a request that breaks its worker down is answered too.
fn work(id: u64, request: &Request) {
    let done = catch_unwind(AssertUnwindSafe(|| done(request)));
    output::answer(
        id,
        done.unwrap_or_else(|_| Err(Failure::of_text("the request broke down".to_owned()))),
    );
}

fn done(request: &Request) -> Result<Value, Failure> {
    match request {
        Request::Look(look) => Ok(files::look(look)),
        Request::Run(run) => run::completed(run),
        Request::HoldMemory { bytes } => AGENT.held.take(*bytes),
        Request::ReleaseMemory { held } => Ok(AGENT.held.release(*held)),
        Request::Note(note) => AGENT.notes.add(note.clone()),
        Request::Strike { n, file } => AGENT.notes.strike(*n, file.as_deref()),
        Request::Left {} => notes::left(),
        other => files::answer(other).unwrap_or_else(|| calls::answer(other)),
    }
}

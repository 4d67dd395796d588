//! A command that is run to its end.

use super::AGENT;
use super::answer::Failure;
use super::command::{self, Plan};
use super::dialogue::{Dialogue, Input, Limits, Listener};
use super::request::Run;
use assay_clock::monotonic_ns;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What is kept of each output: 16 MiB. What comes after it is read and counted as cut.
const KEPT: usize = 16 << 20;

#[derive(Default)]
struct Outputs {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cut: bool,
}

impl Listener for Outputs {
    fn output(&mut self, bytes: &[u8]) {
        self.cut |= keep(&mut self.stdout, bytes);
    }

    fn complaint(&mut self, bytes: &[u8]) {
        self.cut |= keep(&mut self.stderr, bytes);
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = KEPT - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() > room
}

/// Runs it; a command that takes too long is killed with its group.
pub fn completed(run: &Run) -> Result<Value, Failure> {
    let input = Input::open()?;
    input.add(run.input.as_deref().unwrap_or_default().as_bytes());
    input.end();
    let began_ns = monotonic_ns();
    let limit = run.timeout_ns.map(Duration::from_nanos);
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let Some(mut child) = command::start(Plan {
        argv: &run.argv,
        env: &run.env,
        cwd: run.cwd.as_deref(),
        stdin: run
            .input
            .as_ref()
            .map_or_else(Stdio::null, |_| Stdio::piped()),
    })?
    else {
        return Ok(json!({"missing": true}));
    };
    let mut outputs = Outputs::default();
    let limits = Limits { until, grace: None };
    let in_time = Dialogue::with(&mut child, &input).hold(&limits, &mut outputs)
        && command::ended(&child, until);
    if !in_time {
        AGENT.groups.kill(child.id() as i32);
        command::ended(&child, None);
    }
    let status = command::reap(child);
    Ok(json!({
        "status": status,
        "stdout": String::from_utf8_lossy(&outputs.stdout),
        "stderr": String::from_utf8_lossy(&outputs.stderr),
        "wall_ns": monotonic_ns() - began_ns,
        "timed_out": !in_time,
        "cut": outputs.cut,
    }))
}

//! The lines that go out, each as a whole.

use super::AGENT;
use super::answer::Failure;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;

/// The first line.
pub fn hello() {
    send(&json!({
        "type": "hello",
        "agent": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        // SAFETY: takes nothing and cannot fail.
        "uid": unsafe { libc::geteuid() },
        "mono_ns": assay_clock::monotonic_ns(),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
    }));
}

/// Answers a request; one with the id 0 wants no answer.
pub fn answer(id: u64, found: Result<Value, Failure>) {
    if id == 0 {
        return;
    }
    let mut line = found.unwrap_or_else(|failure| json!({"error": failure}));
    line["id"] = id.into();
    send(&line);
}

/// Says that a line of standard input is no request.
pub fn damaged(message: &str) {
    send(&json!({"type": "error", "what": "request", "message": message}));
}

/// Writes one line. Where nobody reads any more the agent ends, and what is written is lost.
pub fn send(value: &impl Serialize) {
    let mut line = serde_json::to_vec(value).expect("lines have text keys only");
    line.push(b'\n');
    write(&line);
}

/// Writes whole lines.
pub fn write(lines: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(lines).and_then(|()| out.flush()).is_err() {
        AGENT.life.end("nobody reads standard output");
    }
}

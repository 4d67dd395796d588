//! The line: two network namespaces, joined with a stated rate, delay, queue and loss; `docs/line-protocol.md`.
//!
//! Without arguments it speaks on its standard streams, and ends with its input. `detached` answers the first line and goes on by
//! itself, until the process that started it has ended or `end` comes. `ask PID MESSAGE` hands one line to such a process.

mod chance;
mod counts;
mod direction;
mod life;
mod line;
mod packet;
mod protocol;
mod shaper;
mod socket;
mod tun;

use line::Line;
use protocol::{Config, Reply, Request};
use std::io::{BufRead, Write};
use std::sync::Arc;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => in_front(),
        ["detached"] => detached(),
        ["ask", pid, message] => socket::ask(pid, message),
        _ => life::end_with("expected no arguments, `detached`, or `ask PID MESSAGE`"),
    }
}

/// One line of JSON on standard output.
fn say(reply: &Reply) {
    let mut text = as_line(reply);
    text.push('\n');
    let mut output = std::io::stdout().lock();
    if output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .is_err()
    {
        life::end_with("standard output ended");
    }
}

/// An answer as one line of JSON.
fn as_line(reply: &Reply) -> String {
    serde_json::to_string(reply)
        .unwrap_or_else(|error| format!(r#"{{"type":"error","what":"json","message":"{error}"}}"#))
}

fn hello() {
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    say(&Reply::Hello {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        build,
    });
}

/// The first line must be a configuration.
fn first_line() -> Result<Config, Reply> {
    let mut line = String::new();
    let fault = |message: String| Reply::Error {
        what: "request",
        message,
    };
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| fault(error.to_string()))?;
    match serde_json::from_str(&line) {
        Ok(Request::Config(config)) => Ok(config),
        Ok(_) => Err(fault("expected a configuration first".to_owned())),
        Err(error) => Err(fault(error.to_string())),
    }
}

fn begin() -> Arc<Line> {
    let begun = first_line().and_then(|config| Line::begin(&config));
    match begun {
        Ok(line) => {
            let line = Arc::new(line);
            socket::listen(Arc::clone(&line));
            say(&line.ready());
            line
        }
        Err(fault) => {
            say(&fault);
            std::process::exit(1);
        }
    }
}

fn in_front() {
    life::die_with_parent();
    hello();
    let line = begin();
    for text in std::io::stdin().lock().lines() {
        let Ok(text) = text else { break };
        let (reply, last) = answer(&line, &text);
        say(&reply);
        if last {
            return;
        }
    }
    say(&line.answer(Request::Count {}));
}

fn detached() {
    let parent = life::parent();
    if life::leave() {
        return;
    }
    hello();
    let _line = begin();
    life::let_go_of_streams();
    life::wait_for_end(&parent);
}

/// The answer to a line, and whether it was the last one.
fn answer(line: &Line, text: &str) -> (Reply, bool) {
    match serde_json::from_str::<Request>(text) {
        Ok(request) => {
            let last = matches!(request, Request::End {});
            (line.answer(request), last)
        }
        Err(error) => (
            Reply::Error {
                what: "request",
                message: error.to_string(),
            },
            false,
        ),
    }
}

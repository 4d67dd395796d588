//! One engine process, spoken to by lines: what the tests of several engines share.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub const MS: u64 = 1_000_000;

pub struct Engine {
    pub process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Engine {
    pub fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_assay-engine"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the engine can be started");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut engine = Self {
            process,
            input,
            output,
        };
        assert_eq!(engine.hear()["type"], "hello");
        engine
    }

    pub fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{message}").expect("it reads");
    }

    /// The next message that is neither progress nor `told`.
    pub fn hear(&mut self) -> Value {
        let message = self.answer();
        if message["type"] == "told" {
            return self.hear();
        }
        message
    }

    /// The next message that is no progress.
    pub fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it can be read");
            let message: Value = serde_json::from_str(&line).expect("a line of JSON");
            if message["type"] != "progress" {
                return message;
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.wait();
    }
}

//! The engine confirms `go` at once, before it starts and before it answers with a result.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const MS: u64 = 1_000_000;

/// One engine process, spoken to by lines.
struct Engine {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Engine {
    fn start() -> Self {
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

    fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{message}").expect("it reads");
    }

    /// The next message that is no progress.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it can be read");
        let message: Value = serde_json::from_str(&line).expect("a line of JSON");
        if message["type"] == "progress" {
            return self.hear();
        }
        message
    }

    fn arm(&mut self, phase: &str, settings: &Value) {
        self.say(
            &json!({"type": "config", "engine": "null", "phase": phase, "settings": settings}),
        );
        assert_eq!(self.hear()["type"], "armed");
    }

    fn go(&mut self, at_ns: u64) -> Value {
        self.say(&json!({"type": "go", "at_ns": at_ns}));
        self.hear()
    }

    fn now(&mut self) -> u64 {
        self.say(&json!({"type": "clock"}));
        whole(&self.hear(), "mono_ns")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.wait();
    }
}

fn whole(message: &Value, field: &str) -> u64 {
    message[field].as_u64().expect("a whole number")
}

#[test]
fn go_is_confirmed_at_once_and_not_at_the_start() {
    let mut engine = Engine::start();
    engine.arm("w.read", &json!({"operation": "null", "ops": 1}));
    let asked = engine.now();
    let told = engine.go(asked + 300 * MS);
    assert_eq!(
        (&told["type"], &told["phase"]),
        (&json!("told"), &json!("w.read"))
    );
    assert_eq!(whole(&told, "at_ns"), asked + 300 * MS);
    let answered = engine.now();
    assert!(asked <= whole(&told, "mono_ns") && whole(&told, "mono_ns") <= answered);
    let result = engine.hear();
    assert_eq!(result["type"], "result");
    assert!(whole(&result, "started_ns") >= asked + 300 * MS);
}

#[test]
fn a_go_that_comes_late_says_so_before_its_result() {
    let mut engine = Engine::start();
    engine.arm("w.read", &json!({"operation": "null", "ops": 1}));
    let at_ns = engine.now() - MS;
    let told = engine.go(at_ns);
    assert_eq!(told["type"], "told");
    assert!(whole(&told, "mono_ns") > at_ns + MS / 2);
    assert_eq!(engine.hear()["type"], "result");
}

#[test]
fn a_go_beside_a_running_phase_is_confirmed_too() {
    let mut engine = Engine::start();
    engine.arm(
        "w.read",
        &json!({"operation": "null", "duration_ns": 10_000_000_000_000_u64}),
    );
    assert_eq!(engine.go(0)["type"], "told");
    assert_eq!(engine.go(0)["type"], "told");
}

#[test]
fn each_phase_is_confirmed_under_its_own_name() {
    let mut engine = Engine::start();
    for phase in ["w.write", "w.read"] {
        engine.arm(phase, &json!({"operation": "null", "ops": 1}));
        assert_eq!(engine.go(0)["phase"], phase);
        assert_eq!(engine.hear()["type"], "result");
    }
}

#[test]
fn without_a_phase_there_is_nothing_to_confirm() {
    let mut engine = Engine::start();
    assert_eq!(engine.go(0)["type"], "error");
}

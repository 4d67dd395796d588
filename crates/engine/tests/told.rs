//! The engine confirms `go` at once, before it starts and before it answers with a result.

mod spoken;

use serde_json::{Value, json};
use spoken::{Engine, MS};

trait Told {
    fn arm(&mut self, phase: &str, settings: &Value);
    fn go(&mut self, at_ns: u64) -> Value;
    fn now(&mut self) -> u64;
}

impl Told for Engine {
    fn arm(&mut self, phase: &str, settings: &Value) {
        self.say(
            &json!({"type": "config", "engine": "null", "phase": phase, "settings": settings}),
        );
        assert_eq!(self.answer()["type"], "armed");
    }

    fn go(&mut self, at_ns: u64) -> Value {
        self.say(&json!({"type": "go", "at_ns": at_ns}));
        self.answer()
    }

    fn now(&mut self) -> u64 {
        self.say(&json!({"type": "clock"}));
        whole(&self.answer(), "mono_ns")
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
    let result = engine.answer();
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
    assert_eq!(engine.answer()["type"], "result");
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
        assert_eq!(engine.answer()["type"], "result");
    }
}

#[test]
fn without_a_phase_there_is_nothing_to_confirm() {
    let mut engine = Engine::start();
    assert_eq!(engine.go(0)["type"], "error");
}

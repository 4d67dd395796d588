//! The engine `net`: two processes, a server and a load, over the loopback.

mod spoken;

use serde_json::{Value, json};
use spoken::{Engine, MS};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const SECOND: u64 = 1_000 * MS;

trait Net {
    fn arm(&mut self, settings: &Value) -> Value;
    fn go(&mut self);
}

impl Net for Engine {
    fn arm(&mut self, settings: &Value) -> Value {
        self.say(&json!({"type": "config", "engine": "net", "phase": "p", "interval_ns": 50 * MS, "settings": settings}));
        self.hear()
    }

    fn go(&mut self) {
        self.say(&json!({"type": "clock"}));
        let now = self.hear()["mono_ns"].as_u64().expect("a time");
        self.say(&json!({"type": "go", "at_ns": now + MS}));
    }
}

fn with(settings: &Value, more: &Value) -> Value {
    let mut all = settings.as_object().expect("an object").clone();
    all.extend(more.as_object().expect("an object").clone());
    Value::Object(all)
}

/// A server that is armed with these settings, and its address.
fn server(settings: &Value) -> (Engine, Value) {
    let mut engine = Engine::start();
    let own = json!({"role": "server", "token": "t"});
    let armed = engine.arm(&with(&own, settings));
    assert_eq!(armed["type"], "armed", "{armed}");
    (engine, armed["address"].clone())
}

/// The results of both ends. What the load gets in addition ends it.
fn both(settings: &Value, of_server: &Value, of_load: &Value) -> (Value, Value) {
    let (mut server, address) = server(&with(settings, of_server));
    let mut load = Engine::start();
    let own = with(
        &json!({"role": "load", "token": "t", "address": address}),
        of_load,
    );
    let armed = load.arm(&with(settings, &own));
    assert_eq!(armed["type"], "armed", "{armed}");
    assert!(armed["address"].is_null());
    server.go();
    load.go();
    let sent = load.hear();
    (server.hear(), sent)
}

fn bytes(result: &Value, operation: &str) -> u64 {
    result["operations"][operation]["bytes"]
        .as_u64()
        .expect("bytes")
}

#[test]
fn what_is_sent_is_received_to_the_last_byte() {
    for more in [
        json!({}),
        json!({"zerocopy": true}),
        json!({"connections": 5, "workers": 2}),
        json!({"message": 7, "nodelay": true}),
    ] {
        let settings = with(&json!({"exchange": "stream"}), &more);
        let (server, load) = both(&settings, &json!({}), &json!({"ops": 200}));
        let connections = more["connections"].as_u64().unwrap_or(1);
        let message = more["message"].as_u64().unwrap_or(131_072);
        assert_eq!(bytes(&load, "send"), 200 * connections * message, "{more}");
        assert_eq!(bytes(&server, "receive"), bytes(&load, "send"));
        assert_eq!(server["errors"], json!([]));
        assert_eq!(server["stopped_by"], "work");
        let ended = |result: &Value| result["net"]["connections"][0]["ended"].clone();
        assert_eq!(
            (ended(&load), ended(&server)),
            (json!("finished"), json!("closed"))
        );
    }
}

#[test]
fn a_server_can_send_and_both_can() {
    for (direction, workers) in [("receive", 4), ("receive", 1), ("both", 4), ("both", 2)] {
        let settings = json!({"exchange": "stream", "direction": direction, "connections": 4, "workers": workers, "duration_ns": 200 * MS});
        let (server, load) = both(&settings, &json!({}), &json!({}));
        assert!(bytes(&load, "receive") > 0 && bytes(&server, "send") >= bytes(&load, "receive"));
        assert_eq!(
            (&server["errors"], &load["errors"]),
            (&json!([]), &json!([])),
            "{direction} {workers}"
        );
        assert_eq!(load["net"]["unfinished"], 0);
        // A server whose time is over first closes its connections, and the load has nothing left to read.
        let stopped_by = load["stopped_by"].as_str();
        assert!(
            matches!(stopped_by, Some("time" | "work")),
            "{stopped_by:?}"
        );
    }
}

#[test]
fn every_request_has_its_answer() {
    for (connections, workers) in [(1, 1), (6, 6), (6, 2)] {
        let settings = json!({"exchange": "transaction", "request": 100, "response": 70_000, "connections": connections, "workers": workers});
        let (server, load) = both(&settings, &json!({}), &json!({"ops": 50}));
        let count = |result: &Value, name: &str| result["operations"][name]["count"].as_u64();
        assert_eq!(count(&load, "transaction"), Some(50 * connections));
        assert_eq!(count(&server, "answer"), Some(50 * connections));
        assert_eq!(bytes(&load, "transaction"), 50 * connections * 70_100);
        assert_eq!(load["operations"]["transaction"]["errors"], 0);
    }
}

#[test]
fn an_open_loop_counts_from_when_a_transaction_was_due() {
    for workers in [8, 2] {
        let settings = json!({"exchange": "transaction", "connections": 8, "workers": workers});
        let rate = json!({"duration_ns": 500 * MS, "load": {"rate": 400}});
        let (_, load) = both(&settings, &json!({}), &rate);
        let done = load["operations"]["transaction"]["count"]
            .as_u64()
            .expect("a count");
        let left = load["load"]["unstarted"].as_u64().expect("a count");
        assert!((199..=201).contains(&(done + left)), "{load}");
    }
}

#[test]
fn datagrams_are_numbered_and_the_lost_ones_counted() {
    for more in [
        json!({}),
        json!({"segment": true}),
        json!({"direction": "receive"}),
    ] {
        let settings = with(
            &json!({"exchange": "datagram", "message": 1000, "ops": 3_000, "window": 4096}),
            &more,
        );
        let (server, load) = both(&settings, &json!({}), &json!({}));
        let (sender, receiver) = if more["direction"] == "receive" {
            (&server, &load)
        } else {
            (&load, &server)
        };
        let of =
            |result: &Value, name: &str| result["net"]["datagrams"][name].as_u64().expect(name);
        let segments = if more["segment"] == true { 64 } else { 1 };
        assert_eq!(of(sender, "sent"), 3_000 * segments, "{more}");
        assert_eq!(
            of(receiver, "received") + of(receiver, "lost"),
            of(sender, "sent")
        );
        assert_eq!(of(receiver, "received") * 1_000, bytes(receiver, "receive"));
        assert_eq!(
            (of(receiver, "duplicated"), of(receiver, "malformed")),
            (0, 0)
        );
        // What the loopback loses was dropped by the full buffer: a whole train at a time.
        let drops = of(receiver, "buffer_drops");
        assert!(drops <= of(receiver, "lost") && of(receiver, "lost") <= drops * segments);
    }
}

#[test]
fn both_ends_say_what_the_kernel_says() {
    let settings = json!({"exchange": "stream", "window": 65_536, "congestion": "reno", "duration_ns": 300 * MS});
    let (server, load) = both(&settings, &json!({}), &json!({}));
    let net = &load["net"];
    let one = &net["connections"][0];
    assert_eq!(
        (&one["congestion"], &one["protocol"]),
        (&json!("reno"), &json!("tcp"))
    );
    assert_eq!(
        one["send_buffer"],
        json!({"asked": 65_536, "got": 131_072, "end": 131_072})
    );
    assert_eq!(one["peer"], net["address"]);
    assert_eq!(one["local"], server["net"]["connections"][0]["peer"]);
    // What is still under way at the end is not acknowledged: at most what the buffer holds, and the segment that filled it
    // (sk_stream_memory_free is asked before a segment is begun).
    let under_way = 131_072 + 65_536;
    assert!(
        one["tcp"]["acked_bytes"].as_u64().expect("a number") + under_way >= bytes(&load, "send")
    );
    let columns = net["intervals"]["columns"].as_array().expect("columns");
    let rows = net["intervals"]["rows"].as_array().expect("rows");
    assert!(
        rows.len() >= 3
            && rows
                .iter()
                .all(|row| row.as_array().map(Vec::len) == Some(columns.len()))
    );
    let busy = columns
        .iter()
        .position(|name| name == "busy_ns")
        .expect("a column");
    assert!(
        rows.windows(2)
            .all(|pair| pair[0][busy].as_u64() <= pair[1][busy].as_u64())
    );
}

/// A load's answer to settings that differ from those of the server in `more`.
fn answer(load: &mut Engine, address: &Value, more: &Value) -> Value {
    let own =
        json!({"role": "load", "exchange": "stream", "address": address, "ops": 1, "token": "t"});
    load.arm(&with(&own, more))
}

#[test]
fn a_stranger_and_another_trial_are_refused_and_counted() {
    let (mut server, address) = server(&json!({"exchange": "stream"}));
    let place = address.as_str().expect("an address").to_owned();
    let mut stranger = TcpStream::connect(&place).expect("it listens");
    stranger.write_all(&[b'G'; 256]).expect("it reads");
    let _ = stranger.read_to_end(&mut Vec::new());
    let mut load = Engine::start();
    let error = answer(&mut load, &address, &json!({"token": "of another trial"}));
    assert_eq!(
        (&error["what"], &error["path"]),
        (&json!("token"), &address)
    );
    let error = answer(&mut load, &address, &json!({"message": 9}));
    assert_eq!(error["message"], "found message 9; the server has 131072");
    let armed = answer(&mut load, &address, &json!({}));
    assert_eq!(armed["type"], "armed", "{armed}");
    let error = answer(&mut Engine::start(), &address, &json!({}));
    assert_eq!(
        error["message"],
        "all 1 connections of this server are taken"
    );
    server.go();
    load.go();
    assert_eq!(load.hear()["type"], "result");
    let net = &server.hear()["net"];
    assert_eq!(net["accepted"], 1);
    let counts = json!({"stranger": 1, "token": 1, "settings": 1, "full": 1});
    assert_eq!(net["refused"], counts);
}

#[test]
fn a_server_that_nobody_reaches_ends_and_says_so() {
    let (mut server, address) = server(&json!({"exchange": "stream", "patience_ns": 200 * MS}));
    server.go();
    let result = server.hear();
    assert_eq!(result["stopped_by"], "error");
    assert_eq!(result["errors"][0]["errno"], 110);
    assert_eq!(result["errors"][0]["path"], address);
}

#[test]
fn stop_ends_a_server_whose_load_is_silent() {
    for exchange in ["stream", "transaction", "datagram"] {
        let settings = json!({"exchange": exchange});
        let (mut server, address) = server(&settings);
        let mut load = Engine::start();
        let own = json!({"role": "load", "token": "t", "address": address, "ops": 1});
        assert_eq!(load.arm(&with(&settings, &own))["type"], "armed");
        server.go();
        std::thread::sleep(Duration::from_millis(100));
        let asked = Instant::now();
        server.say(&json!({"type": "stop"}));
        let result = server.hear();
        assert_eq!(
            (&result["stopped_by"], &result["errors"]),
            (&json!("stop"), &json!([])),
            "{exchange}"
        );
        assert_eq!(result["net"]["connections"][0]["ended"], "interrupted");
        assert!(asked.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_transaction_without_an_answer_is_unfinished() {
    let settings = json!({"exchange": "transaction"});
    let (_server, address) = server(&settings);
    let mut load = Engine::start();
    let own = json!({"role": "load", "token": "t", "address": address, "duration_ns": 50 * MS, "patience_ns": 200 * MS});
    assert_eq!(load.arm(&with(&settings, &own))["type"], "armed");
    load.go(); // the server never gets go
    let result = load.hear();
    assert_eq!(result["net"]["unfinished"], 1);
    assert_eq!(result["stopped_by"], "time");
    assert_eq!(result["operations"]["transaction"]["count"], 0);
}

#[test]
fn a_load_whose_server_dies_says_so() {
    let settings = json!({"exchange": "stream"});
    let (mut server, address) = server(&settings);
    let mut load = Engine::start();
    let own = json!({"role": "load", "token": "t", "address": address, "duration_ns": 20 * SECOND});
    assert_eq!(load.arm(&with(&settings, &own))["type"], "armed");
    server.go();
    load.go();
    std::thread::sleep(Duration::from_millis(100));
    server.process.kill().expect("it runs");
    let result = load.hear();
    assert_eq!(result["stopped_by"], "error");
    assert_eq!(result["errors"][0]["path"], address);
    assert_eq!(result["net"]["connections"][0]["ended"], "broken");
}

#[test]
fn a_server_that_is_armed_anew_has_its_port_again() {
    let (mut server, address) = server(&json!({"exchange": "datagram"}));
    let again = json!({"role": "server", "token": "t", "exchange": "datagram", "address": address});
    for _ in 0..3 {
        let config =
            json!({"type": "config", "engine": "net", "phase": "p", "cpus": [], "settings": again});
        server.say(&config);
        assert_eq!(server.hear()["type"], "error", "no CPU at all");
        let armed = server.arm(&again);
        assert_eq!(
            (&armed["type"], &armed["address"]),
            (&json!("armed"), &address),
            "{armed}"
        );
    }
}

/// What arming answers instead of `armed` has these words.
fn refuses(cases: &[(Value, &str)]) {
    let mut engine = Engine::start();
    for (more, words) in cases {
        let own = json!({"role": "server", "token": "t", "exchange": "stream"});
        let answer = engine.arm(&with(&own, more));
        assert_eq!(answer["type"], "error", "{more}");
        let message = answer["message"].as_str().expect("words");
        assert!(message.contains(words), "{more}: {message}");
    }
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_what_it_has() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let limit = std::fs::read_to_string("/proc/sys/net/core/wmem_max").expect("a limit");
    refuses(&[
        (json!({"address": taken}), "found the port in use"),
        (json!({"address": "203.0.113.7:0"}), "no interface of this"),
        (json!({"congestion": "carrier-pigeon"}), "expected one of "),
        (json!({"window": 1 << 30}), limit.trim()),
        (json!({"window": 1 << 30}), "sysctl -w net.core.rmem_max"),
        (
            json!({"role": "load", "address": "127.0.0.1:9", "ops": 1}),
            "nothing listens there",
        ),
    ]);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    refuses(&[
        (json!({"connections": 2, "workers": 3}), "found workers"),
        (json!({"zerocopy": true, "mptcp": true}), "found zerocopy"),
        (json!({"exchange": "datagram", "message": 8}), "16 to 65507"),
        (
            json!({"exchange": "datagram", "nodelay": true}),
            "for TCP only",
        ),
        (json!({"direction": "receive"}), "found neither ops nor"),
        (json!({"token": ""}), "found a token"),
        (json!({"role": "load", "ops": 1}), "found port 0"),
    ]);
}

#[test]
fn nobody_who_answers_is_waited_for_5_seconds() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let begun = Instant::now();
    let own =
        json!({"role": "load", "token": "t", "exchange": "stream", "address": address, "ops": 1});
    let answer = Engine::start().arm(&own);
    assert_eq!(
        (&answer["errno"], &answer["path"]),
        (&json!(110), &json!(address))
    );
    assert!(begun.elapsed() >= Duration::from_secs(5));
}

#[test]
fn multipath_tcp_is_used_or_refused_with_the_reason() {
    let settings = json!({"exchange": "stream", "mptcp": true});
    let mut engine = Engine::start();
    let answer = engine.arm(&with(&settings, &json!({"role": "server", "token": "t"})));
    if answer["type"] == "error" {
        assert!(
            answer["message"].as_str().expect("words").contains("MPTCP"),
            "{answer}"
        );
        return;
    }
    let (server, load) = both(&settings, &json!({}), &json!({"ops": 50}));
    let one = &server["net"]["connections"][0];
    assert_eq!(load["net"]["connections"][0]["protocol"], "mptcp");
    assert!(
        one["mptcp"]["received_bytes"].as_u64() >= Some(50 * 131_072),
        "{one}"
    );
}

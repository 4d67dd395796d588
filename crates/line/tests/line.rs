//! The line as a process, between two ends that are real network namespaces. Needs root and /dev/net/tun.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_assay-line");
const SERVER: &str = "198.18.0.2";
const MS: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(20);

fn may_run() -> bool {
    // SAFETY: asks for a number.
    let root = unsafe { libc::geteuid() } == 0;
    let found = root && File::open("/dev/net/tun").is_ok();
    if !found {
        eprintln!("skipped: needs root and /dev/net/tun");
    }
    found
}

struct Line {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    ready: Value,
}

impl Line {
    fn start(config: &Value) -> Self {
        let mut process = Command::new(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the line can be started");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = Self {
            process,
            input,
            output,
            ready: Value::Null,
        };
        assert_eq!(line.hear()["type"], "hello");
        line.ready = line.ask(config);
        line
    }

    fn of(up: &Value, down: &Value) -> Self {
        let line = Self::start(
            &json!({"type": "config", "seed": 5, "links": [{"name": "wan", "up": up, "down": down}]}),
        );
        assert_eq!(line.ready["type"], "ready", "{}", line.ready);
        line
    }

    fn ask(&mut self, message: &Value) -> Value {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{message}").expect("it reads");
        self.hear()
    }

    fn hear(&mut self) -> Value {
        let mut text = String::new();
        self.output.read_line(&mut text).expect("it can be read");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    fn counts(&mut self, way: &str) -> Value {
        self.ask(&json!({"type": "count"}))["links"]["wan"][way].clone()
    }

    /// Runs something with a thread in the namespace of an end.
    fn at<T: Send + 'static>(
        &self,
        end: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::thread::JoinHandle<T> {
        let path = self.ready["ends"][end]["namespace"]
            .as_str()
            .expect("a path");
        let namespace = File::open(path).expect("the namespace is there");
        std::thread::spawn(move || {
            // SAFETY: a descriptor of ours, and a constant.
            let entered = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(entered, 0, "the namespace can be entered");
            work()
        })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.wait();
    }
}

fn number(counts: &Value, name: &str) -> u64 {
    counts[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {counts}"))
}

/// A datagram socket of the server that sends back what it gets.
fn echo(line: &Line) {
    let (sender, bound) = std::sync::mpsc::channel();
    line.at("server", move || {
        let socket = UdpSocket::bind((SERVER, 7)).expect("the address is there");
        sender.send(()).expect("it waits");
        let mut buffer = [0; 2_048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
    bound.recv().expect("it is bound");
}

fn round_trip(line: &Line, patience: Duration) -> Option<Duration> {
    let asked = line.at("load", move || {
        let socket = UdpSocket::bind("198.18.0.1:0").expect("the address is there");
        socket.set_read_timeout(Some(patience)).expect("a time");
        let begun = Instant::now();
        socket.send_to(b"?", (SERVER, 7)).expect("it is sent");
        socket.recv(&mut [0; 16]).ok().map(|_| begun.elapsed())
    });
    asked.join().expect("it asked")
}

/// Sends bytes over TCP from load to server; what arrived there.
fn transfer(line: &Line, bytes: Vec<u8>) -> Vec<u8> {
    let (sender, bound) = std::sync::mpsc::channel();
    let server = line.at("server", move || {
        let listener = TcpListener::bind((SERVER, 9)).expect("the address is there");
        sender.send(()).expect("it waits");
        let (mut stream, _) = listener.accept().expect("one comes");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("it can be read");
        got
    });
    bound.recv().expect("it is bound");
    line.at("load", move || {
        let mut stream = TcpStream::connect((SERVER, 9)).expect("it listens");
        stream.write_all(&bytes).expect("it is sent");
    });
    server.join().expect("it has read")
}

fn bytes(number: u64) -> Vec<u8> {
    (0..number)
        .map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8)
        .collect()
}

#[test]
fn a_round_trip_takes_the_delay_of_both_ways() {
    if !may_run() {
        return;
    }
    let line = Line::of(&json!({"delay_ns": 20 * MS}), &json!({"delay_ns": 10 * MS}));
    echo(&line);
    let took = round_trip(&line, PATIENCE).expect("an answer");
    assert!(took >= Duration::from_millis(30), "{took:?}");
}

#[test]
fn a_cut_link_carries_nothing_until_it_is_mended() {
    if !may_run() {
        return;
    }
    let mut line = Line::of(&json!({}), &json!({}));
    echo(&line);
    assert!(round_trip(&line, PATIENCE).is_some());
    let done = line.ask(&json!({"type": "cut", "link": "wan"}));
    assert_eq!(
        (&done["type"], &done["what"]),
        (&json!("done"), &json!("cut"))
    );
    assert!(round_trip(&line, Duration::from_millis(200)).is_none());
    assert!(number(&line.counts("up"), "cut_segments") > 0);
    line.ask(&json!({"type": "mend", "link": "wan"}));
    assert!(round_trip(&line, PATIENCE).is_some());
}

#[test]
fn lost_segments_of_super_packets_are_sent_again_and_all_bytes_arrive() {
    if !may_run() {
        return;
    }
    let mut line = Line::of(
        &json!({"loss": 0.02, "delay_ns": MS}),
        &json!({"delay_ns": MS}),
    );
    let sent = bytes(8_000_000);
    assert!(transfer(&line, sent.clone()) == sent, "other bytes arrived");
    std::thread::sleep(Duration::from_millis(100)); // the last ones are under way for a millisecond
    let counts = line.counts("up");
    let (segments, lost) = (
        number(&counts, "segments"),
        number(&counts, "lost_segments"),
    );
    assert!(
        number(&counts, "packets") < segments / 2,
        "no super packets: {counts}"
    );
    let (wanted, all) = (segments as f64 * 0.02, segments as f64);
    assert!(
        (lost as f64 - wanted).abs() < 5.0 * (all * 0.02 * 0.98).sqrt(),
        "{counts}"
    );
    let known = ["delivered_segments", "lost_segments", "overrun_segments"];
    assert_eq!(
        known.iter().map(|name| number(&counts, name)).sum::<u64>(),
        segments
    );
}

#[test]
fn a_rate_holds_and_a_full_queue_drops() {
    if !may_run() {
        return;
    }
    let way = json!({"rate_bytes_per_s": 2_000_000, "queue_bytes": 30_000, "frame_bytes": 38});
    let mut line = Line::of(&way, &json!({}));
    let sent = bytes(1_000_000);
    let begun = Instant::now();
    assert!(transfer(&line, sent.clone()) == sent, "other bytes arrived");
    assert!(
        begun.elapsed() >= Duration::from_millis(480),
        "{:?}",
        begun.elapsed()
    );
    let counts = line.counts("up");
    assert!(number(&counts, "queue_most_bytes") <= 32_000, "{counts}");
    assert!(number(&counts, "dropped_segments") > 0, "{counts}");
    assert!(number(&counts, "delivered_bytes") > 1_000_000, "{counts}");
}

#[test]
fn two_links_have_addresses_of_their_own() {
    if !may_run() {
        return;
    }
    let way = json!({"delay_ns": 0});
    let mut line = Line::start(&json!({"type": "config", "links": [
        {"name": "a", "up": way, "down": way}, {"name": "b", "up": way, "down": way}]}));
    let second = &line.ready["ends"]["server"]["interfaces"]["b"];
    assert_eq!(
        (&second["name"], &second["address"]),
        (&json!("path1"), &json!("198.18.1.2"))
    );
    let changed = line.ask(
        &json!({"type": "rate", "link": "b", "up_bytes_per_s": 1000, "down_bytes_per_s": null}),
    );
    assert_eq!(changed["what"], "rate");
    let strange = line.ask(&json!({"type": "cut", "link": "c"}));
    assert_eq!(strange["message"], "no link c; there are a, b");
}

#[test]
fn what_cannot_be_is_refused_with_all_reasons() {
    if !may_run() {
        return;
    }
    let line = Line::start(&json!({"type": "config", "links": [
        {"name": "wan", "up": {"loss": 1.0}, "down": {"rate_bytes_per_s": 0}}]}));
    assert_eq!(line.ready["type"], "error");
    let message = line.ready["message"].as_str().expect("a text");
    assert!(message.contains("wan.up: loss 1") && message.contains("wan.down: rate 0"));
}

#[test]
fn at_the_end_of_input_it_says_what_it_did_and_ends() {
    if !may_run() {
        return;
    }
    let mut line = Line::of(&json!({}), &json!({}));
    line.input = None;
    assert_eq!(line.hear()["type"], "counts");
    assert!(line.process.wait().expect("it ends").success());
}

#[test]
fn a_detached_line_answers_by_its_number_and_ends_with_who_started_it() {
    if !may_run() {
        return;
    }
    let config = r#"{"type":"config","links":[{"name":"wan","up":{},"down":{}}]}"#;
    let script = format!("echo '{config}' | {{ {PROGRAM} detached; }}; read wait");
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut output = BufReader::new(shell.stdout.take().expect("a pipe"));
    let mut text = String::new();
    output.read_line(&mut text).expect("hello");
    text.clear();
    output.read_line(&mut text).expect("ready");
    let ready: Value = serde_json::from_str(&text).expect("a line of JSON");
    let pid = ready["pid"].to_string();
    let ask = |message: &str| Command::new(PROGRAM).args(["ask", &pid, message]).output();
    let counted = ask(r#"{"type":"count"}"#).expect("it is asked");
    assert!(counted.status.success());
    assert!(String::from_utf8_lossy(&counted.stdout).contains("delivered_bytes"));
    let refused = ask(r#"{"type":"cut","link":"x"}"#).expect("it is asked");
    assert_eq!(refused.status.code(), Some(1));
    shell.kill().expect("it can be ended");
    shell.wait().expect("it has ended");
    let begun = Instant::now();
    while ask(r#"{"type":"count"}"#)
        .expect("it is asked")
        .status
        .success()
    {
        assert!(begun.elapsed() < PATIENCE, "the line lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! The load engine: one process for one client, one JSON object a line in and out. With the word `agent`: the far end of a host; with `dissect`: the reader of captures; with `states`: the looks at what threads do.

mod agent;
mod aligned;
mod arrivals;
mod bars;
mod beside;
mod block_data;
mod checkpoints;
mod coherence_result;
mod control;
mod cost;
mod directory_result;
mod drain;
mod drill_result;
mod driver;
mod engines;
mod failures;
mod fault;
mod folders;
mod ldif;
mod lifetime;
mod load;
mod marks;
mod net_result;
mod objects;
mod order;
mod own_cost;
mod pacer;
mod perf;
mod phase;
mod protocol;
mod recorder;
mod regions;
mod result;
mod spread;
mod states;
mod tally;
mod thread;
mod transfer;
mod work;

use control::Control;
use driver::{Driver, Job};
use protocol::{Fault, Reply, Request, send, send_fault};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

fn main() {
    agent::serve_if_asked();
    ldif::write_if_asked();
    assay_dissect::serve_if_asked();
    states::serve_if_asked();
    lifetime::guard();
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    let engines = engines::names();
    send(&Reply::Hello {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        engines,
        build,
    });
    let (sender, jobs) = channel();
    std::thread::spawn(move || read_requests(&sender));
    let mut driver = Driver::new();
    for job in jobs {
        driver.handle(job);
    }
}

/// Reads standard input beside a running phase; clock, lease and stop are served here, the rest one after another.
/// `told` is answered before `go` is handed on: it comes before all that follows from `go`.
fn read_requests(jobs: &Sender<Job>) {
    let mut current: Arc<Control> = Arc::default();
    let mut phase: Option<String> = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Request::Clock {}) => send(&Reply::Clock {
                mono_ns: assay_clock::monotonic_ns(),
            }),
            Ok(Request::Lease { until_ns }) => lifetime::set_lease(until_ns),
            Ok(Request::Stop {}) => {
                current.end(&current.stop);
                lifetime::kill_child_group();
            }
            Ok(Request::Config(config)) => {
                current = Arc::default();
                phase = Some(config.phase.clone());
                let _ = jobs.send(Job::Arm(config, Arc::clone(&current)));
            }
            Ok(Request::Go { at_ns }) => {
                if let Some(phase) = &phase {
                    send(&Reply::Told {
                        phase,
                        at_ns,
                        mono_ns: assay_clock::monotonic_ns(),
                    });
                }
                let _ = jobs.send(Job::Go(at_ns));
            }
            Err(error) => send_fault(
                "",
                &Fault {
                    what: "request",
                    path: None,
                    errno: None,
                    message: error.to_string(),
                },
            ),
        }
    }
    lifetime::end("standard input ended");
}

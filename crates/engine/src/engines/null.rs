//! The whole loop without a system call: what the engine itself costs.

use crate::block_data::Offsets;
use crate::engines::{Armed, Worker};
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use serde::Deserialize;
use std::hint::black_box;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    operation: String,
    ops: Option<u64>,
    duration_ns: Option<u64>,
}

struct Null {
    offsets: Offsets,
    ops: u64,
}

/// One worker that does nothing `ops` times, or for `duration_ns`.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    if settings.ops.is_none() && settings.duration_ns.is_none() {
        return Err(Fault::settings(
            "found neither ops nor duration_ns; expected at least one of them",
        ));
    }
    let offsets = Offsets::new(config.seed, 1 << 20, 4096, 0);
    let worker = Null {
        offsets,
        ops: settings.ops.unwrap_or(u64::MAX),
    };
    Ok(Armed {
        operations: vec![settings.operation],
        workers: vec![Box::new(worker)],
        duration_ns: settings.duration_ns,
    })
}

impl Worker for Null {
    fn run(&mut self, recorder: &mut Recorder) {
        for _ in 0..self.ops {
            let offset = self.offsets.random();
            if !recorder.measure(0, || {
                black_box(offset);
                Ok(0)
            }) {
                return;
            }
        }
    }
}

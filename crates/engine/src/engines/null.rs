//! The whole loop without a system call: what the engine itself costs.

use crate::block_data::mix;
use crate::load::Load;
use crate::order::Random;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::work::{Armed, Worker};
use serde::Deserialize;
use std::hint::black_box;

/// Records of the file that is not there.
const RECORDS: u64 = 1 << 20;
/// Threads of one process.
const MOST_WORKERS: u64 = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    operation: String,
    ops: Option<u64>,
    duration_ns: Option<u64>,
    #[serde(default = "one")]
    workers: u64,
    #[serde(default)]
    load: Load,
}

fn one() -> u64 {
    1
}

struct Null {
    offsets: Random,
    ops: u64,
}

/// Workers that do nothing `ops` times each, or for `duration_ns`.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    let lasting = settings.duration_ns.or(settings.load.lasts_ns());
    Fault::of_settings(&[
        (
            settings.ops.is_none() && lasting.is_none(),
            "found neither ops nor duration_ns; expected at least one of them",
        ),
        (
            !(1..=MOST_WORKERS).contains(&settings.workers),
            "found workers outside 1 to 4096",
        ),
    ])?;
    settings.load.check()?;
    let worker = |index: u64| {
        let worker = Null {
            offsets: Random::new(config.seed ^ mix(index)),
            ops: settings.ops.unwrap_or(u64::MAX),
        };
        Box::new(worker) as Box<dyn Worker>
    };
    Ok(Armed {
        operations: vec![settings.operation],
        workers: (0..settings.workers).map(worker).collect(),
        duration_ns: settings.duration_ns,
        load: settings.load,
        beside: None,
    })
}

impl Worker for Null {
    fn run(&mut self, recorder: &mut Recorder) {
        for _ in 0..self.ops {
            let offset = self.offsets.below(RECORDS) * 4096;
            if !recorder.measure(0, || {
                black_box(offset);
                Ok(0)
            }) {
                return;
            }
        }
    }
}

//! Records for the day on which a target fails: appended by an open loop, acknowledged ones noted outside, looked for later.

mod append;
mod check;
mod hands;
mod journal;
mod record;

use crate::block_data::mix_text;
use crate::load::Load;
use crate::protocol::{Config, Fault};
use crate::work::{Armed, Worker};
use hands::{Hands, Place};
use serde::Deserialize;
use std::time::Duration;

const MOST_BYTES: usize = 1 << 24;

/// What is done with the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Append,
    Check,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    operation: Operation,
    name: Option<String>,
    /// The file on the target.
    path: String,
    /// The file outside with what was acknowledged.
    journal: String,
    /// Whether the file's directory is a mount: where it is none any more, every call fails.
    #[serde(default)]
    mounted: bool,
    /// A word that only this trial and this client have.
    token: String,
    #[serde(default = "record_size")]
    record_size: usize,
    #[serde(default = "yes")]
    flush: bool,
    #[serde(default = "ten_seconds")]
    deadline_ns: u64,
    #[serde(default = "tenth_of_a_second")]
    retry_ns: u64,
    #[serde(default = "half_a_minute")]
    patience_ns: u64,
    duration_ns: Option<u64>,
    #[serde(default)]
    load: Load,
}

fn record_size() -> usize {
    4096
}

fn yes() -> bool {
    true
}

fn ten_seconds() -> u64 {
    10_000_000_000
}

fn tenth_of_a_second() -> u64 {
    100_000_000
}

fn half_a_minute() -> u64 {
    30_000_000_000
}

/// One worker: the records of a client have one order.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    let appends = settings.operation == Operation::Append;
    Fault::of_settings(&[
        (
            !(record::LEAST..=MOST_BYTES).contains(&settings.record_size),
            "found record_size outside 64 to 16777216",
        ),
        (
            settings.deadline_ns == 0 || settings.retry_ns == 0,
            "found deadline_ns or retry_ns 0; expected at least 1",
        ),
        (
            appends && !settings.load.is_open(),
            "found append without rate or schedule; expected an open loop",
        ),
        (
            appends && settings.duration_ns.or(settings.load.lasts_ns()).is_none(),
            "found append without duration_ns or schedule; expected one of them",
        ),
        (
            !appends && settings.load.is_open(),
            "found check with a rate; expected none",
        ),
    ])?;
    settings.load.check()?;
    let name = settings.word();
    let (duration_ns, load) = (settings.duration_ns, settings.load.clone());
    let worker: Box<dyn Worker> = if appends {
        Box::new(append::Append::new(settings)?)
    } else {
        Box::new(check::Check::new(settings)?)
    };
    Ok(Armed {
        operations: vec![name],
        workers: vec![worker],
        duration_ns,
        load,
        beside: None,
    })
}

impl Settings {
    fn hands(&self) -> Hands {
        let place = Place {
            path: self.path.clone().into(),
            flushes: self.flush,
            mounted: self.mounted,
        };
        Hands::new(place, Duration::from_nanos(self.deadline_ns))
    }

    fn word(&self) -> String {
        let usual = match self.operation {
            Operation::Append => "append",
            Operation::Check => "check",
        };
        self.name.clone().unwrap_or_else(|| usual.to_owned())
    }

    fn identity(&self) -> u64 {
        mix_text(&self.token)
    }
}

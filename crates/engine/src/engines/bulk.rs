//! Reads and writes of records in files: sequential or random, buffered or direct, flushed or not.

use crate::aligned::Aligned;
use crate::block_data::{Offsets, fill, mix, mix_text};
use crate::engines::{Armed, Worker};
use crate::load::Load;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::regions::{Access, Region, Span, open, resolve};
use crate::transfer::{read_all, write_all};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Write,
    Read,
    RandomWrite,
    RandomRead,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Flush {
    #[default]
    None,
    End,
    Each,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sync {
    #[default]
    None,
    Dsync,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    operation: Operation,
    name: Option<String>,
    flush_name: Option<String>,
    regions: Vec<Region>,
    record_size: u64,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    sync: Sync,
    #[serde(default)]
    flush: Flush,
    #[serde(default)]
    create: bool,
    #[serde(default)]
    truncate: bool,
    ops: Option<u64>,
    duration_ns: Option<u64>,
    #[serde(default)]
    queue: Vec<serde_json::Value>,
}

/// One worker a region.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    check(&settings)?;
    let access = access(&settings);
    let random = settings.operation.is_random();
    let least = if random { settings.record_size } else { 1 };
    let workers = (0_u64..).zip(&settings.regions).map(|(index, region)| {
        let file = open(region, access)?;
        let span = resolve(region, &file, access, settings.record_size, least)?;
        let bulk = Bulk::new(config, &settings, index, (file, span));
        Ok(Box::new(bulk) as Box<dyn Worker>)
    });
    let workers = workers.collect::<Result<Vec<_>, Fault>>()?;
    let mut operations = vec![
        settings
            .name
            .clone()
            .unwrap_or_else(|| settings.operation.word().to_owned()),
    ];
    if settings.flush != Flush::None {
        operations.push(
            settings
                .flush_name
                .clone()
                .unwrap_or_else(|| "flush".to_owned()),
        );
    }
    Ok(Armed {
        operations,
        workers,
        duration_ns: settings.duration_ns,
        load: Load::default(),
    })
}

fn check(settings: &Settings) -> Result<(), Fault> {
    let wrong = [
        (
            settings.regions.is_empty(),
            "found no regions; expected one for each worker",
        ),
        (
            settings.record_size == 0,
            "found record_size 0; expected at least 1",
        ),
        (
            settings.record_size > 1 << 30,
            "found a record_size above 1 GiB; expected at most that",
        ),
        (
            !settings.queue.is_empty(),
            "found queue; expected none: this engine has no queued operations",
        ),
        (
            !settings.operation.writes() && (settings.create || settings.truncate),
            "found create or truncate with a read; expected neither",
        ),
        (
            !settings.operation.writes() && settings.flush != Flush::None,
            "found flush with a read; expected none",
        ),
    ];
    let found: Vec<&str> = wrong
        .iter()
        .filter(|(is_wrong, _)| *is_wrong)
        .map(|(_, text)| *text)
        .collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(Fault::settings(found.join("; ")))
    }
}

fn access(settings: &Settings) -> Access {
    let flags = [
        (settings.create, OFlags::CREATE),
        (settings.truncate, OFlags::TRUNC),
        (settings.direct, OFlags::DIRECT),
        (settings.sync == Sync::Dsync, OFlags::DSYNC),
    ];
    let flags = flags
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, flag)| flag)
        .collect();
    Access {
        writes: settings.operation.writes(),
        flags,
    }
}

impl Operation {
    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RandomWrite)
    }

    fn is_random(self) -> bool {
        matches!(self, Self::RandomWrite | Self::RandomRead)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::RandomWrite => "random_write",
            Self::RandomRead => "random_read",
        }
    }
}

struct Bulk {
    file: OwnedFd,
    span: Span,
    path: String,
    operation: Operation,
    flush: Flush,
    record_size: u64,
    offsets: Offsets,
    data_seed: u64,
    wraps: bool,
    ops: u64,
    buffer: Option<Aligned>,
}

impl Bulk {
    fn new(config: &Config, settings: &Settings, index: u64, target: (OwnedFd, Span)) -> Self {
        let (file, span) = target;
        let path = settings.regions[index as usize].path.clone();
        let records = span.size / settings.record_size;
        let all = if settings.operation.is_random() {
            records
        } else {
            span.size.div_ceil(settings.record_size)
        };
        let default_ops = if settings.duration_ns.is_some() {
            u64::MAX
        } else {
            all
        };
        let seed = mix(config.seed ^ mix(config.client << 32 | index))
            ^ mix_text(settings.operation.word());
        Self {
            offsets: Offsets::new(seed, records, settings.record_size, span.offset),
            data_seed: mix(config.seed ^ mix_text(&config.phase)) ^ mix_text(&path),
            file,
            span,
            path,
            operation: settings.operation,
            flush: settings.flush,
            record_size: settings.record_size,
            wraps: settings.duration_ns.is_some() || settings.ops.is_some_and(|ops| ops > all),
            ops: settings.ops.unwrap_or(default_ops),
            buffer: None,
        }
    }

    #[inline]
    fn write(&self, recorder: &mut Recorder, block: &mut [u8], offset: u64) -> bool {
        fill(block, self.data_seed ^ mix(offset));
        let block = &*block;
        recorder.measure(0, || write_all(&self.file, block, offset))
            && (self.flush != Flush::Each
                || recorder.measure(1, || rustix::fs::fsync(&self.file).map(|()| 0)))
    }

    #[inline]
    fn read(&self, recorder: &mut Recorder, block: &mut [u8], offset: u64) -> bool {
        recorder.measure(0, || read_all(&self.file, block, offset))
    }

    #[inline]
    fn random(
        &mut self,
        recorder: &mut Recorder,
        block: &mut [u8],
        one: impl Fn(&Self, &mut Recorder, &mut [u8], u64) -> bool,
    ) {
        for _ in 0..self.ops {
            let offset = self.offsets.random();
            if !one(self, recorder, block, offset) {
                return;
            }
        }
    }

    #[inline]
    fn sequential(
        &mut self,
        recorder: &mut Recorder,
        block: &mut [u8],
        one: impl Fn(&Self, &mut Recorder, &mut [u8], u64) -> bool,
    ) {
        let end = self.span.offset + self.span.size;
        let mut offset = self.span.offset;
        for _ in 0..self.ops {
            if offset >= end {
                if !self.wraps {
                    return;
                }
                offset = self.span.offset;
            }
            let length = self.record_size.min(end - offset);
            if !one(self, recorder, &mut block[..length as usize], offset) {
                return;
            }
            offset += length;
        }
    }
}

impl Worker for Bulk {
    fn prepare(&mut self) -> Result<(), Fault> {
        let mut buffer = Aligned::new(self.record_size as usize)
            .ok_or_else(|| Fault::settings("the record_size is too large"))?;
        fill(&mut buffer, self.data_seed);
        self.buffer = Some(buffer);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut buffer) = self.buffer.take() else {
            return;
        };
        recorder.path.clone_from(&self.path);
        match self.operation {
            Operation::Write => self.sequential(recorder, &mut buffer, Self::write),
            Operation::Read => self.sequential(recorder, &mut buffer, Self::read),
            Operation::RandomWrite => self.random(recorder, &mut buffer, Self::write),
            Operation::RandomRead => self.random(recorder, &mut buffer, Self::read),
        }
        if self.flush == Flush::End {
            recorder.measure(1, || rustix::fs::fsync(&self.file).map(|()| 0));
        }
    }
}

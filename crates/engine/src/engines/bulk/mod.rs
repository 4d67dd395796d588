//! Reads and writes of records in files: which records, on which path, with which data, flushed or not.

use crate::block_data::{mix, mix_text};
use crate::order::Random;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::regions::{Span, Use, open, resolve};
use crate::work::{Armed, Worker};
use content::Content;
use described::Origin;
use flushing::Flushing;
use pattern::Pattern;
use rustix::fd::OwnedFd;
use settings::{Operation, Path, Settings, Verify};

mod content;
mod described;
mod flushing;
mod mapping;
mod mmap;
mod pattern;
mod psync;
mod punting;
mod refusals;
mod request_mix;
mod requests;
mod ring;
mod settings;
mod stdio;
mod uring;

/// Of so many records that are read, one is verified where a sample is asked for.
const SAMPLE: u64 = 64;

/// One worker a region.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    let workers = (0_u64..).zip(&settings.regions).map(|(index, region)| {
        let file = open(region, settings.access())?;
        let whole = settings.operation.is_random() || settings.operation == Operation::RequestMix;
        let least = if whole { settings.largest() } else { 1 };
        let wanted = Use {
            access: settings.access(),
            layout: settings.layout,
            record_size: settings.largest(),
            unit: settings.unit(),
            least,
        };
        let span = resolve(region, &file, wanted)?;
        let job = Job::new(config, &settings, index, (file, span));
        Ok(match settings.path {
            Path::Psync => Box::new(psync::Psync::new(job)) as Box<dyn Worker>,
            Path::IoUring => Box::new(uring::Uring::new(job, &settings)),
            Path::Mmap => Box::new(mmap::Mmap::new(job, span)),
            Path::Stdio => Box::new(stdio::Stdio::new(job, &settings)),
        })
    });
    Ok(Armed {
        workers: workers.collect::<Result<Vec<_>, Fault>>()?,
        operations: settings.names(),
        duration_ns: settings.duration_ns,
        load: settings.load,
        beside: None,
    })
}

/// What one worker has to do, on whichever path.
struct Job {
    file: OwnedFd,
    path: String,
    pattern: Pattern,
    content: Content,
    seed: u64,
    origin: Option<Origin>,
    verify: Verify,
    generation: Option<u64>,
    sample: Random,
    flushing: Flushing,
    write_slot: usize,
    /// Bytes of the largest record.
    record_size: usize,
}

impl Job {
    fn new(config: &Config, settings: &Settings, index: u64, target: (OwnedFd, Span)) -> Self {
        let (file, span) = target;
        let path = settings.regions[index as usize].path.clone();
        let seed = mix(config.seed ^ mix(config.client << 32 | index))
            ^ mix_text(settings.operation.word());
        let shared_seed = mix(config.seed) ^ mix_text(&path);
        let data_seed = mix(config.seed ^ mix_text(&config.phase)) ^ mix_text(&path);
        let unit = settings.unit();
        let records = span.size.div_ceil(unit);
        let generation = settings.generation.unwrap_or(0);
        Self {
            file,
            pattern: Pattern::new(settings, span, seed, shared_seed),
            content: Content::new(settings.data, data_seed, span.offset, records, unit),
            seed: data_seed,
            origin: settings.describe.then_some(Origin {
                seed: config.seed,
                generation,
            }),
            verify: settings.verify,
            generation: settings.generation,
            sample: Random::new(seed),
            flushing: Flushing::new(settings),
            write_slot: usize::from(settings.operation.mixes()),
            record_size: settings.largest() as usize,
            path,
        }
    }

    /// Makes the data of a record.
    #[inline]
    fn make(&self, block: &mut [u8], offset: u64) {
        self.content.make(block, offset);
        if let Some(origin) = self.origin {
            described::describe(block, offset, origin);
        }
    }

    /// Looks at a record that was read, outside its latency.
    #[inline]
    fn check(&mut self, recorder: &mut Recorder, block: &[u8], offset: u64) {
        if self.verify != Verify::None {
            self.check_record(recorder, block, offset);
        }
    }

    #[inline(never)]
    fn check_record(&mut self, recorder: &mut Recorder, block: &[u8], offset: u64) {
        let looks = self.verify == Verify::All || self.sample.below(SAMPLE) == 0;
        if looks && !described::is_right(block, offset, self.generation) {
            recorder.refuse_content(0);
        }
    }
}

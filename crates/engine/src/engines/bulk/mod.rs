//! Reads and writes of records in files: which records, on which path, with which data, flushed or not.

use crate::block_data::{mix, mix_text};
use crate::engines::{Armed, Worker};
use crate::order::Random;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::regions::{Span, Use, open, resolve};
use content::Content;
use described::Origin;
use pattern::Pattern;
use rustix::fd::OwnedFd;
use settings::{FlushCall, Operation, Path, Settings, Verify};

mod content;
mod described;
mod mapping;
mod mmap;
mod pattern;
mod psync;
mod punting;
mod refusals;
mod requests;
mod ring;
mod settings;
mod uring;

/// Of so many records that are read, one is verified where a sample is asked for.
const SAMPLE: u64 = 64;

/// One worker a region.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    let workers = (0_u64..).zip(&settings.regions).map(|(index, region)| {
        let file = open(region, settings.access())?;
        let random = settings.operation.is_random();
        let least = if random { settings.record_size } else { 1 };
        let wanted = Use {
            access: settings.access(),
            layout: settings.layout,
            record_size: settings.record_size,
            least,
        };
        let span = resolve(region, &file, wanted)?;
        let job = Job::new(config, &settings, index, (file, span));
        Ok(match settings.path {
            Path::Psync => Box::new(psync::Psync::new(job)) as Box<dyn Worker>,
            Path::IoUring => Box::new(uring::Uring::new(job, &settings)),
            Path::Mmap => Box::new(mmap::Mmap::new(job, span)),
        })
    });
    Ok(Armed {
        workers: workers.collect::<Result<Vec<_>, Fault>>()?,
        operations: settings.names(),
        duration_ns: settings.duration_ns,
        load: settings.load,
    })
}

/// Flushes of one worker: from write to write so many, and what is left at the end.
struct Flushing {
    every: u64,
    at_end: bool,
    always: bool,
    call: FlushCall,
    slot: usize,
    unflushed: u64,
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
        let records = span.size.div_ceil(settings.record_size);
        let generation = settings.generation.unwrap_or(0);
        let mixes = settings.operation == Operation::RandomMix;
        Self {
            file,
            pattern: Pattern::new(settings, span, seed, shared_seed),
            content: Content::new(
                settings.data,
                data_seed,
                span.offset,
                records,
                settings.record_size,
            ),
            seed: data_seed,
            origin: settings.describe.then_some(Origin {
                seed: config.seed,
                generation,
            }),
            verify: settings.verify,
            generation: settings.generation,
            sample: Random::new(seed),
            flushing: Flushing::new(settings),
            write_slot: usize::from(mixes),
            record_size: settings.record_size as usize,
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

impl Flushing {
    fn new(settings: &Settings) -> Self {
        Self {
            every: settings.flush.every(),
            at_end: settings.flush.at_end(),
            always: settings.flush.every() == 0,
            call: settings.flush_call,
            slot: settings.names().len() - 1,
            unflushed: 0,
        }
    }

    /// Counts a write; true where a flush is due.
    #[inline]
    fn is_due(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.unflushed += 1;
        let due = self.unflushed == self.every;
        if due {
            self.unflushed = 0;
        }
        due
    }

    /// Whether something is to be flushed when all is written.
    fn is_left(&self) -> bool {
        self.at_end && (self.always || self.unflushed > 0)
    }

    fn flush(&self, file: &OwnedFd) -> rustix::io::Result<usize> {
        match self.call {
            FlushCall::Fsync => rustix::fs::fsync(file),
            FlushCall::Fdatasync => rustix::fs::fdatasync(file),
        }
        .map(|()| 0)
    }
}

//! One pread or pwrite after the other.

use super::Job;
use super::settings::Verify;
use crate::aligned::Aligned;
use crate::block_data::fill;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::transfer::{read_all, write_all};
use crate::work::Worker;

pub struct Psync {
    job: Job,
    buffer: Option<Aligned>,
}

impl Psync {
    pub fn new(job: Job) -> Self {
        Self { job, buffer: None }
    }

    #[inline]
    fn write(&mut self, recorder: &mut Recorder, block: &mut [u8], offset: u64) -> bool {
        let job = &mut self.job;
        job.make(block, offset);
        let block = &*block;
        recorder.measure(job.write_slot, || write_all(&job.file, block, offset))
            && (!job.flushing.is_due(offset, block.len())
                || recorder.follow(job.flushing.slot, || job.flushing.flush(&job.file)))
    }

    #[inline]
    fn read(&mut self, recorder: &mut Recorder, block: &mut [u8], offset: u64) -> bool {
        if self.job.verify == Verify::None {
            return recorder.measure(0, || read_all(&self.job.file, block, offset));
        }
        let read = recorder.tallies[0].count;
        let goes_on = recorder.measure(0, || read_all(&self.job.file, block, offset));
        if recorder.tallies[0].count > read {
            self.job.check(recorder, block, offset);
        }
        goes_on
    }
}

impl Worker for Psync {
    fn prepare(&mut self) -> Result<(), Fault> {
        let mut buffer = Aligned::new(self.job.record_size)
            .ok_or_else(|| Fault::settings("the record_size is too large"))?;
        fill(&mut buffer, self.job.seed);
        self.buffer = Some(buffer);
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some(mut buffer) = self.buffer.take() else {
            return;
        };
        recorder.path.clone_from(&self.job.path);
        while let Some(step) = self.job.pattern.next() {
            let block = &mut buffer[..step.shape.length()];
            let goes_on = if step.shape.writes() {
                self.write(recorder, block, step.offset)
            } else {
                self.read(recorder, block, step.offset)
            };
            if !goes_on {
                break;
            }
        }
        let job = &mut self.job;
        if job.flushing.is_left() {
            recorder.follow(job.flushing.slot, || job.flushing.flush(&job.file));
        }
    }
}

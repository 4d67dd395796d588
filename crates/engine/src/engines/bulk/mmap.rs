//! Copies to and from the file's pages in memory.

use super::Job;
use super::mapping::Mapping;
use crate::aligned::Aligned;
use crate::block_data::fill;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::regions::Span;
use crate::work::Worker;

pub struct Mmap {
    job: Job,
    span: Span,
    ready: Option<(Mapping, Aligned)>,
}

impl Mmap {
    pub fn new(job: Job, span: Span) -> Self {
        Self {
            job,
            span,
            ready: None,
        }
    }
}

impl Worker for Mmap {
    fn prepare(&mut self) -> Result<(), Fault> {
        let mut buffer = Aligned::new(self.job.record_size)
            .ok_or_else(|| Fault::settings("the record_size is too large"))?;
        fill(&mut buffer, self.job.seed);
        let writes = self.job.pattern.writes();
        let fault = |errno| Fault::call("mmap", &self.job.path, errno);
        let mapping = Mapping::new(&self.job.file, self.span.offset, self.span.size, writes)
            .map_err(fault)?;
        self.ready = Some((mapping, buffer));
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some((mut mapping, mut buffer)) = self.ready.take() else {
            return;
        };
        let job = &mut self.job;
        recorder.path.clone_from(&job.path);
        while let Some(step) = job.pattern.next() {
            let block = &mut buffer[..step.shape.length()];
            let goes_on = if step.shape.writes() {
                job.make(block, step.offset);
                recorder.measure(job.write_slot, || mapping.write(block, step.offset))
                    && (!job.flushing.is_due(step.offset, block.len())
                        || recorder.follow(job.flushing.slot, || mapping.flush()))
            } else {
                let read = recorder.tallies[0].count;
                let goes_on = recorder.measure(0, || mapping.read(block, step.offset));
                if recorder.tallies[0].count > read {
                    job.check(recorder, block, step.offset);
                }
                goes_on
            };
            if !goes_on {
                break;
            }
        }
        if job.flushing.is_left() {
            recorder.follow(job.flushing.slot, || mapping.flush());
        }
    }
}

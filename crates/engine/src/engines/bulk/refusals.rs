//! What of the settings of a `bulk` phase cannot be.

use super::settings::{BLOCK, Flush, Operation, Order, Path, Register, Settings, Sync, Verify};
use crate::protocol::Fault;
use crate::regions::Region;

/// The largest record.
const MOST_RECORD: u64 = 1 << 30;
/// The most requests in flight of one worker, and the most memory that they use.
const MOST_DEPTH: u64 = 4096;
const MOST_QUEUED: u64 = 4 << 30;
impl Settings {
    /// Refuses what cannot be, all of it at once.
    pub fn check(&self) -> Result<(), Fault> {
        let mut wrong = self.wrong_pattern();
        wrong.extend(self.wrong_order());
        wrong.extend(self.wrong_path());
        wrong.extend(self.wrong_data());
        Fault::of_settings(&wrong)?;
        self.load.check()
    }

    fn wrong_pattern(&self) -> Vec<(bool, &'static str)> {
        let reads_only = !self.operation.writes();
        let keeps = self.operation.needs_content();
        let size = self.record_size;
        vec![
            (
                self.regions.is_empty(),
                "found no regions; expected one for each worker",
            ),
            (size == 0, "found record_size 0; expected at least 1"),
            (
                size > MOST_RECORD,
                "found a record_size above 1 GiB; expected at most that",
            ),
            (
                !self.queue.is_empty(),
                "found queue; expected none: use path = io_uring with a depth",
            ),
            (
                keeps && (self.create || self.truncate),
                "found create or truncate with a read or a rewrite; expected neither",
            ),
            (
                reads_only && self.flushes(),
                "found flush with a read; expected none",
            ),
            (
                reads_only && self.sync == Sync::Dsync,
                "found sync with a read; expected none",
            ),
            (
                self.flush == Flush::Every(0),
                "found flush 0; expected none, end, each or a number of writes above 0",
            ),
        ]
    }

    fn wrong_order(&self) -> Vec<(bool, &'static str)> {
        let size = self.record_size;
        let stride = self.stride.unwrap_or(self.record_size);
        let strides = self.operation == Operation::StrideRead;
        let mixes = self.operation == Operation::RandomMix;
        vec![
            (
                strides != self.stride.is_some()
                    || stride == 0
                    || !stride.is_multiple_of(size.max(1)),
                "expected stride with stride_read alone, in whole records",
            ),
            (
                mixes != self.read_share.is_some()
                    || self
                        .read_share
                        .is_some_and(|share| !(0.0..=1.0).contains(&share)),
                "expected read_share from 0 to 1 with random_mix alone",
            ),
            (
                self.order == Order::Permutation && !self.operation.is_random(),
                "found order permutation with an operation that is not random; expected uniform",
            ),
        ]
    }

    fn wrong_path(&self) -> Vec<(bool, &'static str)> {
        let rings = self.path == Path::IoUring;
        let maps = self.path == Path::Mmap;
        let depth = self.depth();
        let queued = self.record_size.saturating_mul(depth);
        let batch = self.batch.unwrap_or(1);
        vec![
            (
                !rings && (depth != 1 || self.batch.is_some() || self.register == Register::On),
                "found depth, batch or register without io_uring; expected none of them",
            ),
            (
                rings && !(1..=MOST_DEPTH).contains(&depth),
                "expected a depth from 1 to 4096",
            ),
            (
                rings && !(1..=depth).contains(&batch),
                "expected a batch from 1 to the depth",
            ),
            (
                rings && queued > MOST_QUEUED,
                "found more than 4 GiB in flight; expected a smaller depth or record_size",
            ),
            (
                depth > 1 && self.load.think_ns > 0,
                "found think_ns with a depth above 1; expected one of them",
            ),
            (
                maps && (self.direct || self.sync == Sync::Dsync),
                "found direct or sync with mmap; expected neither",
            ),
        ]
    }

    fn wrong_data(&self) -> Vec<(bool, &'static str)> {
        let whole = self.record_size.is_multiple_of(BLOCK);
        let checks = self.describe || self.verify != Verify::None;
        let aligned = |region: &Region| region.offset.is_multiple_of(BLOCK);
        vec![
            (
                !self.data.is_possible(),
                "expected in data compressible of at least 1, duplicates and zeros from 0 to 1 together",
            ),
            (
                checks && !(whole && self.regions.iter().all(aligned)),
                "found describe or verify with records that are not whole blocks of 4096 bytes; expected multiples of 4096",
            ),
            (
                self.describe && self.data.repeats(),
                "found describe with duplicates or zeros; expected one of them: a block that says where it is, is unique",
            ),
            (
                self.describe && !self.operation.writes(),
                "found describe with a read; expected verify",
            ),
            (
                self.verify != Verify::None && !self.operation.reads(),
                "found verify without a read; expected none",
            ),
            (
                self.operation == Operation::RandomMix
                    && self.verify != Verify::None
                    && !self.describe,
                "found verify in a mix whose writes do not describe; expected describe",
            ),
        ]
    }
}

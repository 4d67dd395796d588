//! What of the settings of a `bulk` phase cannot be.

use super::request_mix::{MOST_SIZES, SECTOR};
use super::settings::{
    BLOCK, Flush, FlushCall, Operation, Order, Path, Register, Settings, Sync, Verify,
};
use crate::protocol::Fault;
use crate::regions::{Layout, Region};

/// The largest record.
const MOST_RECORD: u64 = 1 << 30;
/// The most requests in flight of one worker, and the most memory that they use.
const MOST_DEPTH: u64 = 4096;
const MOST_QUEUED: u64 = 4 << 30;
/// The largest buffer of a stream.
const MOST_BUFFERED: u64 = 1 << 30;

impl Settings {
    /// Refuses what cannot be, all of it at once.
    pub fn check(&self) -> Result<(), Fault> {
        let mut wrong = self.wrong_pattern();
        wrong.extend(self.wrong_order());
        wrong.extend(self.wrong_mix());
        wrong.extend(self.wrong_path());
        wrong.extend(self.wrong_stream());
        wrong.extend(self.wrong_data());
        Fault::of_settings(&wrong)?;
        self.load.check()
    }

    fn wrong_pattern(&self) -> Vec<(bool, &'static str)> {
        let reads_only = !self.operation.writes();
        let keeps = self.operation.needs_content();
        let mixes = self.operation == Operation::RequestMix;
        let size = self.record_size;
        vec![
            (
                self.regions.is_empty(),
                "found no regions; expected one for each worker",
            ),
            (
                (size == 0) != mixes,
                "expected a record_size of at least 1, and none with request_mix",
            ),
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
        let in_records = |stride: u64| stride > 0 && stride.is_multiple_of(size.max(1));
        let strides = self.operation == Operation::StrideRead;
        let mixes = self.operation.mixes();
        vec![
            (
                strides != self.stride.is_some() || !self.stride.is_none_or(in_records),
                "expected stride with stride_read alone, in whole records",
            ),
            (
                mixes != self.read_share.is_some() || !self.read_share.is_none_or(is_share),
                "expected read_share from 0 to 1 with random_mix and request_mix alone",
            ),
            (
                self.order == Order::Permutation && !self.operation.is_random(),
                "found order permutation with an operation that is not random; expected uniform",
            ),
        ]
    }

    fn wrong_mix(&self) -> Vec<(bool, &'static str)> {
        let mixes = self.operation == Operation::RequestMix;
        let in_sectors = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR);
        let has_end = self.ops.or(self.duration_ns).or(self.load.lasts_ns());
        vec![
            (
                mixes == self.requests.is_empty() || self.requests.len() > MOST_SIZES,
                "expected from 1 to 64 requests with request_mix alone",
            ),
            (
                self.requests.iter().any(|request| {
                    !in_sectors(request.bytes) || request.bytes > MOST_RECORD || request.weight == 0
                }),
                "expected requests of whole 512 bytes up to 1 GiB, with a weight of at least 1",
            ),
            (
                mixes != self.random_share.is_some() || !self.random_share.is_none_or(is_share),
                "expected random_share from 0 to 1 with request_mix alone",
            ),
            (
                self.align.is_some_and(|align| !mixes || !in_sectors(align)),
                "expected align in whole 512 bytes, with request_mix alone",
            ),
            (
                mixes && has_end.is_none(),
                "found request_mix without an end; expected ops, duration_ns or a schedule",
            ),
            (
                mixes && self.layout != Layout::Segments,
                "found layout with request_mix; expected segments",
            ),
            (
                mixes && (self.describe || self.verify != Verify::None),
                "found describe or verify with request_mix; expected neither",
            ),
        ]
    }

    fn wrong_path(&self) -> Vec<(bool, &'static str)> {
        let rings = self.path == Path::IoUring;
        let maps = self.path == Path::Mmap;
        let depth = self.depth();
        let queued = self.largest().saturating_mul(depth);
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
            (
                maps && self.flush_call == FlushCall::SyncFileRange,
                "found flush_call sync_file_range with mmap; expected fsync or fdatasync: a mapping is flushed by msync, which has no such call",
            ),
        ]
    }

    fn wrong_stream(&self) -> Vec<(bool, &'static str)> {
        let streams = self.path == Path::Stdio;
        let in_turn = matches!(
            self.operation,
            Operation::Write | Operation::Rewrite | Operation::Read | Operation::Reread
        );
        vec![
            (
                streams && self.direct,
                "found direct with stdio; expected none: the buffer of a stream is not aligned to what is moved",
            ),
            (
                streams && (!in_turn || self.layout != Layout::Segments),
                "found stdio with records that do not follow each other; expected write, rewrite, read or reread in segments",
            ),
            (
                self.stdio_buffer
                    .is_some_and(|bytes| !streams || !(1..=MOST_BUFFERED).contains(&bytes)),
                "expected a stdio_buffer from 1 byte to 1 GiB, with stdio alone",
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

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

//! What one worker knows of one operation.

use assay_hist::Histogram;

/// So many operations have one among them that is stamped a second time.
const SAMPLE_BLOCK: u64 = 64;
/// 2^64 over the golden ratio: its multiples, modulo 2^64, fill the range evenly and never come round.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Which operation of a block of 64 is stamped a second time, counted from the very first operation.
///
/// Its place within the block moves from block to block. With a fixed one the stamps would keep step with whatever the
/// target does once in 64 operations (a file system that reads 64 inodes at once), and see it always or never.
pub const fn sample_place(block: u64) -> u64 {
    block * SAMPLE_BLOCK + ((block + 1).wrapping_mul(GOLDEN) >> 58)
}

/// All that a worker knows of one operation; times in ticks. On cache lines of its own: it is written with every operation.
#[derive(Clone)]
#[repr(align(128))]
pub struct Tally {
    pub count: u64,
    pub bytes: u64,
    pub errors: u64,
    pub busy: u64,
    pub first: u64,
    pub last: u64,
    pub min: u64,
    pub max: u64,
    pub sampled_count: u64,
    pub sampled: u64,
    /// Operations that were under way at the end and never came to theirs.
    pub unfinished: u64,
    /// When the first of them began, how long they had waited in all, and the longest wait.
    pub unfinished_from: u64,
    pub waited: u64,
    pub longest_wait: u64,
    /// The count at which the next operation is stamped a second time.
    pub sample_at: u64,
    pub histogram: Histogram,
    in_a_row: u64,
    count_at_error: u64,
}

impl Tally {
    /// Nothing done yet.
    pub fn new() -> Self {
        Self {
            count: 0,
            bytes: 0,
            errors: 0,
            busy: 0,
            first: u64::MAX,
            last: 0,
            min: u64::MAX,
            max: 0,
            sampled_count: 0,
            sampled: 0,
            unfinished: 0,
            unfinished_from: u64::MAX,
            waited: 0,
            longest_wait: 0,
            sample_at: sample_place(0),
            histogram: Histogram::new(),
            in_a_row: 0,
            count_at_error: 0,
        }
    }

    /// Counts a second stamp and says where the next one is due; before the operation itself is counted.
    #[inline]
    pub fn sample(&mut self, ticks: u64) {
        self.sampled += ticks;
        self.sampled_count += 1;
        self.sample_at = sample_place(self.count / SAMPLE_BLOCK + 1);
    }

    /// Adds what another worker did of the same operation.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.busy += other.busy;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sampled_count += other.sampled_count;
        self.sampled += other.sampled;
        self.unfinished += other.unfinished;
        self.unfinished_from = self.unfinished_from.min(other.unfinished_from);
        self.waited += other.waited;
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self.histogram.merge(&other.histogram);
    }

    /// Counts an operation that moved `bytes` between two stamps.
    #[inline]
    pub fn record(&mut self, bytes: usize, from: u64, to: u64) {
        let ticks = to.saturating_sub(from);
        self.count += 1;
        self.bytes += bytes as u64;
        self.busy += ticks;
        self.min = self.min.min(ticks);
        self.max = self.max.max(ticks);
        self.first = self.first.min(from);
        self.last = to;
        self.histogram.record(ticks);
    }

    /// The last operation took so much longer: what it left in memory of this process has gone out.
    pub fn prolong(&mut self, from: u64, to: u64) {
        if self.count > 0 {
            self.busy += to.saturating_sub(from);
            self.last = to;
        }
    }

    /// Counts an operation that was given up, with how long it had waited by then.
    pub fn leave(&mut self, from: u64, to: u64) {
        let ticks = to.saturating_sub(from);
        self.unfinished += 1;
        self.unfinished_from = self.unfinished_from.min(from);
        self.waited += ticks;
        self.longest_wait = self.longest_wait.max(ticks);
    }

    /// Counts an error; gives the errors since the last success.
    pub fn record_error(&mut self) -> u64 {
        self.errors += 1;
        self.in_a_row = if self.count == self.count_at_error {
            self.in_a_row + 1
        } else {
            1
        };
        self.count_at_error = self.count;
        self.in_a_row
    }

    /// Count, bytes, busy ticks so far.
    pub fn sums(&self) -> (u64, u64, u64) {
        (self.count, self.bytes, self.busy)
    }
}

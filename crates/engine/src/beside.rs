//! What a phase has beside its workers.

use crate::net_result::NetResult;

/// What a phase has beside its workers, for the thread that watches them.
pub trait Beside: Send + Sync {
    /// Where others reach this client.
    fn address(&self) -> Option<String>;

    /// How long after the end of the phase's time a worker may still wait in a system call.
    fn patience_ns(&self) -> u64;

    /// Notes what there is to see, once per interval and at the end.
    fn look(&self, at_ns: u64);

    /// Ends the system calls in which workers wait.
    fn interrupt(&self);

    /// What was seen; nothing is open any more afterwards.
    fn finish(&self) -> NetResult;
}

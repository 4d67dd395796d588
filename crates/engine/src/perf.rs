//! Instructions and cycles of the workers, from `perf_event_open` where it is allowed and there is a counter.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};

const TYPE_HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
const FORMAT_TIMES: u64 = 1 | 2;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const RESET: libc::c_ulong = 0x2403;
const FLAG_CLOEXEC: libc::c_ulong = 8;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// `struct perf_event_attr` up to its second published size (72 bytes); the rest is zero for the kernel.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
}

/// One counter of this thread and of the threads that it starts from now on.
pub struct Counter {
    file: File,
}

/// Which counter.
#[derive(Clone, Copy)]
pub enum Event {
    UserInstructions,
    KernelInstructions,
    UserCycles,
    KernelCycles,
}

impl Event {
    fn config(self) -> u64 {
        match self {
            Self::UserInstructions | Self::KernelInstructions => INSTRUCTIONS,
            Self::UserCycles | Self::KernelCycles => CYCLES,
        }
    }

    fn excluded(self) -> u64 {
        match self {
            Self::UserInstructions | Self::UserCycles => EXCLUDE_KERNEL,
            Self::KernelInstructions | Self::KernelCycles => EXCLUDE_USER,
        }
    }
}

impl Counter {
    /// The counter, stopped; None where the machine has none or we may not.
    pub fn open(event: Event) -> Option<Self> {
        Self::open_kind(TYPE_HARDWARE, event.config(), event.excluded())
    }

    fn open_kind(kind: u32, config: u64, excluded: u64) -> Option<Self> {
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            read_format: FORMAT_TIMES,
            flags: DISABLED | INHERIT | EXCLUDE_HYPERVISOR | excluded,
            ..Attributes::default()
        };
        // SAFETY: the attributes live through the call and say their own size; the rest are integers.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                0,
                -1,
                -1,
                FLAG_CLOEXEC,
            )
        };
        // SAFETY: a descriptor that is not negative is new and ours.
        (fd >= 0).then(|| Self {
            file: unsafe { File::from_raw_fd(fd as i32) },
        })
    }

    /// Counts from zero.
    pub fn start(&self) {
        self.control(RESET);
        self.control(ENABLE);
    }

    /// Counts no further.
    pub fn stop(&self) {
        self.control(DISABLE);
    }

    /// What was counted; None where the counter was not on the CPU all the time: an estimate is no count.
    pub fn read(&self) -> Option<u64> {
        let mut raw = [0_u8; 24];
        (&self.file).read_exact(&mut raw).ok()?;
        let word =
            |at: usize| u64::from_ne_bytes(raw[at * 8..at * 8 + 8].try_into().unwrap_or_default());
        let (value, enabled, running) = (word(0), word(1), word(2));
        (running > 0 && running == enabled).then_some(value)
    }

    fn control(&self, request: libc::c_ulong) {
        // SAFETY: an ioctl without a pointer on a descriptor of ours.
        unsafe { libc::ioctl(self.file.as_raw_fd(), request, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    const TYPE_SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;

    #[test]
    fn a_counter_has_the_work_of_threads_started_after_it() {
        let Some(clock) = Counter::open_kind(TYPE_SOFTWARE, TASK_CLOCK, 0) else {
            return eprintln!("no perf_event_open here");
        };
        let (start, wait) = channel::<()>();
        let worker = std::thread::spawn(move || {
            wait.recv().expect("started");
            let end = Instant::now() + Duration::from_millis(20);
            while Instant::now() < end {}
        });
        clock.start();
        start.send(()).expect("the worker waits");
        worker.join().expect("the worker ended");
        clock.stop();
        let counted = clock.read().expect("a software counter always counts");
        assert!((1_000_000..10_000_000_000).contains(&counted), "{counted}");
        assert_eq!(clock.read(), Some(counted));
    }
}

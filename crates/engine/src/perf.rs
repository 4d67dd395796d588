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
        let attributes = Attributes {
            kind: TYPE_HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: event.config(),
            read_format: FORMAT_TIMES,
            flags: DISABLED | INHERIT | EXCLUDE_HYPERVISOR | event.excluded(),
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

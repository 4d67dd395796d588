//! What the load itself used: CPU time, switches, faults, instructions, bytes through system calls.

use crate::perf::{Counter, Event};
use crate::protocol::{Cost, Io};

/// The four counters, each where there is one.
#[derive(Default)]
pub struct Meter {
    user_instructions: Option<Counter>,
    kernel_instructions: Option<Counter>,
    user_cycles: Option<Counter>,
    kernel_cycles: Option<Counter>,
}

impl Meter {
    /// Counters for the threads that will be started from here on.
    pub fn open() -> Self {
        Self {
            user_instructions: Counter::open(Event::UserInstructions),
            kernel_instructions: Counter::open(Event::KernelInstructions),
            user_cycles: Counter::open(Event::UserCycles),
            kernel_cycles: Counter::open(Event::KernelCycles),
        }
    }

    /// Counts from now.
    pub fn start(&self) {
        self.each().for_each(Counter::start);
    }

    /// Counts no further.
    pub fn stop(&self) {
        self.each().for_each(Counter::stop);
    }

    fn each(&self) -> impl Iterator<Item = &Counter> {
        [
            &self.user_instructions,
            &self.kernel_instructions,
            &self.user_cycles,
            &self.kernel_cycles,
        ]
        .into_iter()
        .flatten()
    }

    /// The cost between two usages with what the counters show.
    pub fn cost(&self, from: &Usage, to: &Usage) -> Cost {
        let read = |counter: &Option<Counter>| counter.as_ref().and_then(Counter::read);
        Cost {
            user_instructions: read(&self.user_instructions),
            kernel_instructions: read(&self.kernel_instructions),
            user_cycles: read(&self.user_cycles),
            kernel_cycles: read(&self.kernel_cycles),
            ..to.cost.since(&from.cost)
        }
    }
}

/// Counters of this process at one moment.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub cost: Cost,
    pub io: Io,
}

impl Usage {
    /// As it is now.
    pub fn now() -> Self {
        // SAFETY: rusage is plain integers, for which zero is a value; the pointer is to this frame.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        Self {
            cost: Cost::from(&usage),
            io: read_io("/proc/self/io"),
        }
    }
}

impl From<&libc::rusage> for Cost {
    fn from(usage: &libc::rusage) -> Self {
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            cpu_user_ns: ns(usage.ru_utime),
            cpu_system_ns: ns(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            ..Self::default()
        }
    }
}

impl Cost {
    /// The sum of two; what the counters of the CPU show is left out, as no child has such.
    pub fn and(self, other: &Self) -> Self {
        Self {
            cpu_user_ns: self.cpu_user_ns + other.cpu_user_ns,
            cpu_system_ns: self.cpu_system_ns + other.cpu_system_ns,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            ..Self::default()
        }
    }

    fn since(self, from: &Self) -> Self {
        Self {
            cpu_user_ns: self.cpu_user_ns.saturating_sub(from.cpu_user_ns),
            cpu_system_ns: self.cpu_system_ns.saturating_sub(from.cpu_system_ns),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(from.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(from.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(from.minor_faults),
            major_faults: self.major_faults.saturating_sub(from.major_faults),
            ..Self::default()
        }
    }
}

impl Io {
    /// The sum of two.
    pub fn and(self, other: &Self) -> Self {
        Self {
            rchar: self.rchar + other.rchar,
            wchar: self.wchar + other.wchar,
            syscr: self.syscr + other.syscr,
            syscw: self.syscw + other.syscw,
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            cancelled_write_bytes: self.cancelled_write_bytes + other.cancelled_write_bytes,
        }
    }

    /// What was added since.
    pub fn since(&self, from: &Self) -> Self {
        Self {
            rchar: self.rchar.saturating_sub(from.rchar),
            wchar: self.wchar.saturating_sub(from.wchar),
            syscr: self.syscr.saturating_sub(from.syscr),
            syscw: self.syscw.saturating_sub(from.syscw),
            read_bytes: self.read_bytes.saturating_sub(from.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(from.write_bytes),
            cancelled_write_bytes: self
                .cancelled_write_bytes
                .saturating_sub(from.cancelled_write_bytes),
        }
    }
}

/// The counters of one process; zeros where the kernel keeps none.
pub fn read_io(path: &str) -> Io {
    parse_io(&std::fs::read_to_string(path).unwrap_or_default())
}

fn parse_io(text: &str) -> Io {
    let value = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|number| number.trim().parse().ok())
            .unwrap_or(0)
    };
    Io {
        rchar: value("rchar"),
        wchar: value("wchar"),
        syscr: value("syscr"),
        syscw: value("syscw"),
        read_bytes: value("read_bytes"),
        write_bytes: value("write_bytes"),
        cancelled_write_bytes: value("cancelled_write_bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_its_own_counter() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let io = parse_io(text);
        assert_eq!(
            (io.rchar, io.write_bytes, io.cancelled_write_bytes),
            (1, 6, 7)
        );
        assert_eq!(io.since(&io), Io::default());
    }

    #[test]
    fn a_counter_that_is_not_there_is_null_and_never_zero() {
        let meter = Meter::open();
        meter.start();
        meter.stop();
        let cost = meter.cost(&Usage::default(), &Usage::now());
        assert_ne!(cost.user_instructions, Some(0));
        assert!(cost.cpu_user_ns + cost.cpu_system_ns > 0);
    }
}

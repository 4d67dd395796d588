//! How fast a CPU works, by equal pieces of integer work.

use std::hint::black_box;
use std::mem::zeroed;

use crate::booted::now_ns;

/// Pieces of one measurement.
const PIECES: usize = 25;
/// Dependent multiplications of one piece: about 0.4 ms on a server of 2024.
const STEPS: u32 = 300_000;

/// The CPU time in nanoseconds of each of some equal pieces of work, on the first CPU that this thread may run on.
///
/// The work touches no memory and makes no system call between two readings of the thread's own CPU clock.
#[must_use]
pub fn timed_pieces() -> Vec<u64> {
    let allowed = affinity();
    if let Some(set) = &allowed {
        set_affinity(&first_of(set));
    }
    let pieces = (0..PIECES).map(|_| piece_ns()).collect();
    if let Some(set) = &allowed {
        set_affinity(set);
    }
    pieces
}

fn piece_ns() -> u64 {
    let began = now_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let mut value: u64 = black_box(0x1234_5678_90AB_CDEF);
    for _ in 0..STEPS {
        value = (value ^ (value >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    black_box(value);
    (now_ns(libc::CLOCK_THREAD_CPUTIME_ID) - began) as u64
}

fn affinity() -> Option<libc::cpu_set_t> {
    // SAFETY: a set is plain bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the pointer is to this frame and has room for a set.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    (status == 0).then_some(set)
}

fn first_of(set: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: a set is plain bits, for which zero is a value; the numbers lie within it.
    unsafe {
        let mut first: libc::cpu_set_t = zeroed();
        let mut cpus = 0..libc::CPU_SETSIZE as usize;
        if let Some(cpu) = cpus.find(|&cpu| libc::CPU_ISSET(cpu, set)) {
            libc::CPU_SET(cpu, &mut first);
        }
        first
    }
}

fn set_affinity(set: &libc::cpu_set_t) {
    // SAFETY: the set outlives the call. Where the kernel refuses, the thread stays where it was.
    unsafe { libc::sched_setaffinity(0, size_of_val(set), set) };
}

//! How long the process lives: with its parent, or by itself until another process has ended.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// SIGKILL for this process when the thread that started it ends.
pub fn die_with_parent() {
    // SAFETY: integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// A hold on the process that started this one: it tells when that has ended.
pub fn parent() -> OwnedFd {
    // SAFETY: asks for a number.
    let pid = unsafe { libc::getppid() };
    // SAFETY: integer arguments only.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 || pid == 1 {
        end_with("the process that started the line has ended");
    }
    // SAFETY: it was opened just now, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(descriptor as i32) }
}

/// Goes on in a process of its own; true in the one that was started, which waits until the other has answered.
pub fn leave() -> bool {
    let mut ends = [0; 2];
    // SAFETY: two descriptors into an array of two.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        end_with("no pipe");
    }
    // SAFETY: no other thread has been started yet.
    let child = unsafe { libc::fork() };
    if child < 0 {
        end_with("no process");
    }
    if child > 0 {
        let mut byte = 0_u8;
        // SAFETY: our own descriptors; one byte of this frame.
        let heard = unsafe {
            libc::close(ends[1]);
            libc::read(ends[0], (&raw mut byte).cast(), 1)
        };
        if heard != 1 {
            std::process::exit(1); // it has said why
        }
        return true;
    }
    // SAFETY: a new session: a signal of the terminal is for the one that started us.
    unsafe { libc::setsid() };
    ANSWERED.store(ends[1], std::sync::atomic::Ordering::Relaxed);
    false
}

static ANSWERED: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

/// The one who started us may go now; its streams are no longer ours.
pub fn let_go_of_streams() {
    if let Ok(nothing) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        for stream in 0..3 {
            // SAFETY: descriptors of this process.
            unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
        }
    }
    let answered = ANSWERED.load(std::sync::atomic::Ordering::Relaxed);
    // SAFETY: one byte to a pipe of ours.
    unsafe { libc::write(answered, b"!".as_ptr().cast(), 1) };
}

/// Waits until that process has ended.
pub fn wait_for_end(process: &OwnedFd) {
    let mut asked = libc::pollfd {
        fd: process.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd of this frame.
    while unsafe { libc::poll(&raw mut asked, 1, -1) } < 1 {}
}

/// Says why on standard error, and ends.
pub fn end_with(reason: &str) -> ! {
    eprintln!("assay-line: {reason}");
    std::process::exit(1);
}

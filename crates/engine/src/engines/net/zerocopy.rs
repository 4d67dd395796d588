//! Sends whose pages the kernel takes as they are, with its confirmations read from the error queue.

use super::kernel::{last_error, span};
use crate::net_result::ZerocopyResult;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

const MSG_ZEROCOPY: u32 = 0x400_0000;
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_COPIED: u8 = 1;
/// Confirmations are read after so many sends.
const READ_EVERY: u64 = 16;
/// How long the last confirmations are waited for.
const LAST_NS: u64 = 1_000_000_000;
const CONTROL: usize = 128;

/// One connection's sends. The message is never changed, so it can be sent again before it is confirmed.
pub struct Zerocopy<'a> {
    socket: &'a OwnedFd,
    known: ZerocopyResult,
    read_at: u64,
}

impl<'a> Zerocopy<'a> {
    /// Nothing sent yet.
    pub fn new(socket: &'a OwnedFd) -> Self {
        Self {
            socket,
            known: ZerocopyResult::default(),
            read_at: READ_EVERY,
        }
    }

    /// Sends all of it.
    #[inline]
    pub fn send_all(&mut self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::from_bits_retain(MSG_ZEROCOPY);
        let mut sent = 0;
        while sent < bytes.len() {
            match send(self.socket, &bytes[sent..], flags) {
                Ok(length) => {
                    sent += length;
                    self.known.sent += 1;
                }
                Err(Errno::NOBUFS) => self.wait(LAST_NS)?, // so much is unconfirmed that the kernel notes no more
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if self.known.sent >= self.read_at {
            self.read_at = self.known.sent + READ_EVERY;
            self.read();
        }
        Ok(sent)
    }

    /// Waits a moment for the last confirmations; all counts.
    pub fn finish(mut self) -> ZerocopyResult {
        self.read();
        while self.known.completed < self.known.sent && self.wait(LAST_NS).is_ok() {}
        self.known
    }

    /// Waits for one more confirmation.
    #[cold]
    fn wait(&mut self, ns: u64) -> rustix::io::Result<()> {
        let before = self.known.completed;
        let mut fds = [PollFd::new(self.socket, PollFlags::empty())];
        poll(&mut fds, Some(&span(ns)))?;
        self.read();
        if self.known.completed > before {
            Ok(())
        } else {
            Err(Errno::NOBUFS)
        }
    }

    /// Reads all confirmations that are there.
    fn read(&mut self) {
        while let Ok((first, last, copied)) = confirmation(self.socket) {
            let sends = u64::from(last.wrapping_sub(first)) + 1;
            self.known.completed += sends;
            self.known.copied += if copied { sends } else { 0 };
        }
    }
}

/// One message of the error queue: the first and the last send that it confirms, and whether they were copied.
fn confirmation(socket: &OwnedFd) -> rustix::io::Result<(u32, u32, bool)> {
    #[repr(align(8))]
    struct Control([u8; CONTROL]);
    let mut control = Control([0; CONTROL]);
    // SAFETY: msghdr is plain numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes into `message` and into the control buffer of this frame.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) } < 0 {
        return Err(last_error());
    }
    // A header of 16 bytes, then `struct sock_extended_err` of linux/errqueue.h.
    let body = &control.0[16..32];
    let number =
        |at: usize| u32::from_ne_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
    if body[4] != SO_EE_ORIGIN_ZEROCOPY {
        return Err(Errno::BADMSG);
    }
    Ok((number(8), number(12), body[6] == SO_EE_CODE_COPIED))
}

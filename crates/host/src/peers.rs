//! The other ends of a process's sockets, each asked of its socket: the kernel's tables hold the connections of all processes.
//!
//! Sources: `pidfd_open(2)` (Linux 5.3), `pidfd_getfd(2)` (Linux 5.6), getpeername(2), getsockname(2), socket(7). While it is asked a socket has a second
//! descriptor, in this process; one that its owner closes meanwhile is closed some microseconds later.

use std::fs::{read_dir, read_link};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

const SOCKET: &[u8] = b"socket:";

/// Where a connected socket of the internet leads, and what of it decides on the route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketPeer {
    /// The address that it is connected to.
    pub peer: IpAddr,
    /// Its own address.
    pub own: IpAddr,
    /// The interface that it is bound to, as all are that are connected to a link-local address; empty without one.
    pub device: String,
}

/// The ends of a process's connected sockets of the internet, each once.
///
/// # Errors
/// `ESRCH` and `ENOENT` where the process has ended, `EPERM` where it is not ours, `ENOSYS` before Linux 5.6.
pub fn socket_peers(pid: i32) -> io::Result<Vec<SocketPeer>> {
    let process = pidfd_open(Pid::from_raw(pid).ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    let mut found = Vec::new();
    for entry in read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        let is_socket = read_link(entry.path())
            .is_ok_and(|target| target.as_os_str().as_bytes().starts_with(SOCKET));
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let (true, Some(number)) = (is_socket, number) else {
            continue;
        };
        match pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => found.extend(connected(socket.as_fd())),
            Err(Errno::BADF) => {} // closed since
            Err(error) => return Err(error.into()),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn connected(socket: BorrowedFd<'_>) -> Option<SocketPeer> {
    Some(SocketPeer {
        peer: internet(getpeername(socket).ok().flatten()?)?,
        own: internet(getsockname(socket).ok()?)?,
        device: bound_to(socket),
    })
}

/// The name of the interface that a socket is bound to (`SO_BINDTODEVICE`), as its network namespace calls it.
fn bound_to(socket: BorrowedFd<'_>) -> String {
    let mut name = [0_u8; libc::IFNAMSIZ];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `name`, and how many into `length`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    if status == 0 {
        String::from_utf8_lossy(&name[..end]).into_owned()
    } else {
        String::new()
    }
}

fn internet(peer: rustix::net::SocketAddrAny) -> Option<IpAddr> {
    let address = SocketAddr::try_from(peer).ok()?;
    Some(address.ip().to_canonical())
}

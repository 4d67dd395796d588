//! The other ends of a process's sockets, each asked of its socket: the kernel's tables hold the connections of all processes.
//!
//! Sources: `pidfd_open(2)` (Linux 5.3), `pidfd_getfd(2)` (Linux 5.6), getpeername(2). While it is asked a socket has a second
//! descriptor, in this process; one that its owner closes meanwhile is closed some microseconds later.

use std::fs::{read_dir, read_link};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use rustix::net::getpeername;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

const SOCKET: &[u8] = b"socket:";

/// The addresses that a process's sockets of the internet are connected to, each once.
///
/// # Errors
/// `ESRCH` and `ENOENT` where the process has ended, `EPERM` where it is not ours, `ENOSYS` before Linux 5.6.
pub fn socket_peers(pid: i32) -> io::Result<Vec<IpAddr>> {
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
            Ok(socket) => found.extend(getpeername(&socket).ok().flatten().and_then(internet)),
            Err(Errno::BADF) => {} // closed since
            Err(error) => return Err(error.into()),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn internet(peer: rustix::net::SocketAddrAny) -> Option<IpAddr> {
    let address = SocketAddr::try_from(peer).ok()?;
    Some(address.ip().to_canonical())
}

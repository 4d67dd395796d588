//! The two ends: a network namespace each, with the loopback and a TUN device for every link, addresses and all.
//!
//! Namespaces and devices belong to this process: they have no names outside of it, and are gone when it is.

use std::ffi::{CString, c_int, c_short, c_ulong};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub const DEVICE: &str = "/dev/net/tun";
/// Packets that may wait for the line in a device: what waits longer than it takes to read them is told as unread.
const DEVICE_QUEUE: c_int = 20_000;

const TUNSETIFF: c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: c_ulong = 0x4004_54d0;
const IFF_TUN: c_short = 0x0001;
const IFF_NO_PI: c_short = 0x1000;
const IFF_VNET_HDR: c_short = 0x4000;
/// Checksums, TCP over IPv4 and IPv6, with the explicit congestion bit (`TUN_F_CSUM` to `TUN_F_TSO_ECN`).
const OFFLOAD_TCP: c_ulong = 0x0f;
/// Datagrams too (`TUN_F_USO4`, `TUN_F_USO6`), from Linux 6.2 on.
const OFFLOAD_ALL: c_ulong = OFFLOAD_TCP | 0x60;
const OFFLOAD_CHECKSUM: c_ulong = 0x01;

/// One end: its namespace, and the device of each link.
pub struct Made {
    pub namespace: File,
    pub devices: Vec<OwnedFd>,
}

/// The interface of a link.
pub fn interface(link: usize) -> String {
    format!("path{link}")
}

/// The address of an end on a link: of the range for benchmarks (RFC 2544), which is nobody's.
pub fn address(link: usize, end: usize) -> [u8; 4] {
    [198, 18, link as u8, end as u8 + 1]
}

/// Makes one end in a namespace of its own; the caller stays where it is.
pub fn make_end(links: usize, end: usize, offload: bool) -> Result<Made> {
    std::thread::scope(|scope| {
        let made = scope.spawn(|| make_here(links, end, offload));
        made.join()
            .unwrap_or_else(|_| Err(Error::other("a thread broke down")))
    })
}

/// Enters a namespace with the calling thread.
pub fn enter(namespace: &File) -> Result<()> {
    // SAFETY: a descriptor of ours, and a constant.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

fn make_here(links: usize, end: usize, offload: bool) -> Result<Made> {
    // SAFETY: only this thread gets another network namespace.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })
        .map_err(|error| named("unshare", &error))?;
    let namespace = File::open("/proc/thread-self/ns/net")?;
    let socket = datagram_socket()?;
    set_up(&socket, "lo").map_err(|error| named("lo", &error))?;
    let devices = (0..links)
        .map(|link| make_device(&socket, link, end, offload))
        .collect::<Result<_>>()?;
    Ok(Made { namespace, devices })
}

fn make_device(socket: &OwnedFd, link: usize, end: usize, offload: bool) -> Result<OwnedFd> {
    let name = interface(link);
    let device = open_device().map_err(|error| named(DEVICE, &error))?;
    let mut request = request_of(&name);
    request.ifr_ifru.ifru_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    // SAFETY: the kernel reads an ifreq of this frame.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF as _, &raw mut request) })
        .map_err(|error| named("TUNSETIFF", &error))?;
    let wanted = if offload {
        OFFLOAD_ALL
    } else {
        OFFLOAD_CHECKSUM
    };
    if set_offload(&device, wanted).is_err() {
        set_offload(&device, wanted & OFFLOAD_TCP)
            .map_err(|error| named("TUNSETOFFLOAD", &error))?;
    }
    let configured = ioctl_number(socket, &name, libc::SIOCSIFTXQLEN, DEVICE_QUEUE)
        .and_then(|()| ioctl_address(socket, &name, libc::SIOCSIFADDR, address(link, end)))
        .and_then(|()| ioctl_address(socket, &name, libc::SIOCSIFNETMASK, [255, 255, 255, 0]))
        .and_then(|()| set_up(socket, &name));
    configured.map_err(|error| named(&name, &error))?;
    Ok(device)
}

fn open_device() -> Result<OwnedFd> {
    let path = CString::new(DEVICE).map_err(Error::other)?;
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: a text with an end, and flags.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags) };
    checked(descriptor)?;
    // SAFETY: it was opened just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn datagram_socket() -> Result<OwnedFd> {
    // SAFETY: constants only.
    let descriptor =
        unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    checked(descriptor)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn set_offload(device: &OwnedFd, flags: c_ulong) -> Result<()> {
    // SAFETY: the kernel takes the number itself.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD as _, flags) })
}

fn set_up(socket: &OwnedFd, name: &str) -> Result<()> {
    let mut request = request_of(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    ioctl(socket, libc::SIOCSIFFLAGS, &mut request)
}

fn ioctl_number(socket: &OwnedFd, name: &str, call: c_ulong, number: c_int) -> Result<()> {
    let mut request = request_of(name);
    request.ifr_ifru.ifru_metric = number; // ifr_qlen has the same place and width
    ioctl(socket, call, &mut request)
}

fn ioctl_address(socket: &OwnedFd, name: &str, call: c_ulong, address: [u8; 4]) -> Result<()> {
    let mut request = request_of(name);
    let mut data = [0; 14];
    for (place, byte) in data[2..6].iter_mut().zip(address) {
        *place = byte as _;
    }
    request.ifr_ifru.ifru_addr = libc::sockaddr {
        sa_family: libc::AF_INET as _,
        sa_data: data,
    };
    ioctl(socket, call, &mut request)
}

fn ioctl(socket: &OwnedFd, call: c_ulong, request: &mut libc::ifreq) -> Result<()> {
    // SAFETY: the kernel reads an ifreq of the caller's.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), call as _, request) })
}

fn request_of(name: &str) -> libc::ifreq {
    // SAFETY: all bytes of an ifreq may be 0.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as _;
    }
    request
}

fn checked(returned: c_int) -> Result<()> {
    if returned < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(())
    }
}

fn named(what: &str, error: &Error) -> Error {
    let kind = if error.kind() == ErrorKind::NotFound {
        ErrorKind::NotFound
    } else {
        ErrorKind::Other
    };
    Error::new(kind, format!("{what}: {error}"))
}

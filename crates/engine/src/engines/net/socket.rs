//! Sockets made as the settings say, and refused with the reason where the kernel does not.

use super::kernel::set_number;
use super::settings::{Exchange, Settings};
use crate::net_result::Buffer;
use crate::protocol::Fault;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with, sockopt,
};
use std::net::SocketAddr;

const SO_ZEROCOPY: i32 = 60;
const UDP_SEGMENT: i32 = 103;
const UDP_GRO: i32 = 104;
const IPPROTO_MPTCP: Protocol = ipproto::MPTCP;

/// A TCP or MPTCP socket for connections of these settings.
pub fn tcp(settings: &Settings) -> Result<OwnedFd, Fault> {
    let protocol = if settings.mptcp {
        IPPROTO_MPTCP
    } else {
        ipproto::TCP
    };
    let socket = make(settings.address, SocketType::STREAM, protocol).map_err(|errno| {
        let mut fault = Fault::call("socket", &settings.address.to_string(), errno);
        if settings.mptcp {
            no_mptcp(errno).clone_into(&mut fault.message);
        }
        fault
    })?;
    tune_tcp(&socket, settings)?;
    Ok(socket)
}

fn no_mptcp(errno: Errno) -> &'static str {
    if errno == Errno::NOPROTOOPT {
        "MPTCP is off in this network namespace. Turn it on: sysctl -w net.mptcp.enabled=1"
    } else {
        "this kernel has no MPTCP (CONFIG_MPTCP)"
    }
}

/// A UDP socket for datagrams of these settings.
pub fn udp(settings: &Settings) -> Result<OwnedFd, Fault> {
    let failed = |errno| Fault::call("socket", &settings.address.to_string(), errno);
    let socket = make(settings.address, SocketType::DGRAM, ipproto::UDP).map_err(failed)?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(failed)?;
    ask_for_window(&socket, settings)?;
    if settings.segment {
        let message = settings.message() as i32;
        segment(&socket, UDP_SEGMENT, message)?;
        segment(&socket, UDP_GRO, 1)?;
    }
    Ok(socket)
}

fn segment(socket: &OwnedFd, option: i32, value: i32) -> Result<(), Fault> {
    set_number(socket, libc::IPPROTO_UDP, option, value).map_err(|errno| Fault {
        message: "this kernel has no UDP segmentation (Linux 5.0 or newer)".to_owned(),
        ..Fault::call("segment", "udp", errno)
    })
}

fn make(address: SocketAddr, kind: SocketType, protocol: Protocol) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol))
}

/// What connections inherit from the socket that listens, or that connects.
fn tune_tcp(socket: &OwnedFd, settings: &Settings) -> Result<(), Fault> {
    ask_for_window(socket, settings)?;
    if let Some(name) = &settings.congestion {
        sockopt::set_tcp_congestion(socket, name).map_err(|errno| no_congestion(name, errno))?;
    }
    let failed = |what| move |errno| Fault::call(what, "tcp", errno);
    sockopt::set_tcp_nodelay(socket, settings.nodelay()).map_err(failed("nodelay"))?;
    if settings.zerocopy && settings.sends() {
        set_number(socket, libc::SOL_SOCKET, SO_ZEROCOPY, 1).map_err(failed("zerocopy"))?;
    }
    Ok(())
}

fn no_congestion(name: &str, errno: Errno) -> Fault {
    let list = |file: &str| {
        let path = format!("/proc/sys/net/ipv4/tcp_{file}_congestion_control");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(", ")
    };
    let message = if errno == Errno::PERM {
        let allowed = list("allowed");
        format!("found congestion {name:?}; expected one of {allowed}, or root")
    } else {
        let available = list("available");
        format!("found congestion {name:?}; expected one of {available}")
    };
    Fault {
        errno: Some(errno.raw_os_error()),
        ..Fault::settings(message)
    }
}

/// The kernel grants twice what is asked for, up to its limit; less is refused with the limit.
fn ask_for_window(socket: &OwnedFd, settings: &Settings) -> Result<(), Fault> {
    let Some(window) = settings.window else {
        return Ok(());
    };
    let failed = |errno| Fault::call("window", "socket", errno);
    sockopt::set_socket_send_buffer_size(socket, window as usize).map_err(failed)?;
    sockopt::set_socket_recv_buffer_size(socket, window as usize).map_err(failed)?;
    let buffers = buffers(socket, None);
    let short = [("wmem_max", buffers.0.got), ("rmem_max", buffers.1.got)]
        .into_iter()
        .filter(|(_, got)| *got < 2 * window)
        .map(|(name, got)| {
            let limit = limit(name).unwrap_or(got / 2);
            format!("found window {window}; expected at most {limit}, the limit of net.core.{name}. Raise the limit: sysctl -w net.core.{name}={window}")
        });
    let wrong: Vec<String> = short.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Fault::settings(wrong.join("; ")))
}

fn limit(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/core/{name}")).ok()?;
    text.trim().parse().ok()
}

/// The buffers for sending and receiving as the kernel has them now.
pub fn buffers(socket: impl AsFd, asked: Option<u64>) -> (Buffer, Buffer) {
    let socket = socket.as_fd();
    let send = sockopt::socket_send_buffer_size(socket).unwrap_or(0) as u64;
    let receive = sockopt::socket_recv_buffer_size(socket).unwrap_or(0) as u64;
    let buffer = |now| Buffer {
        asked,
        got: now,
        end: now,
    };
    (buffer(send), buffer(receive))
}

/// A fault of a call on an address, in words that say what to do.
pub fn refused(what: &'static str, address: SocketAddr, errno: Errno) -> Fault {
    let words = match errno {
        Errno::ADDRINUSE => "found the port in use; expected a free port, or 0 for any free port",
        Errno::ADDRNOTAVAIL => "no interface of this host has this address",
        Errno::CONNREFUSED => "nothing listens there; expected a server that is armed",
        Errno::TIMEDOUT => {
            "nobody answered within 5 s; expected the server. Open its port in each firewall between, or correct the address"
        }
        Errno::NETUNREACH | Errno::HOSTUNREACH => "there is no route to this address",
        _ => return Fault::call(what, &address.to_string(), errno),
    };
    Fault {
        message: words.to_owned(),
        ..Fault::call(what, &address.to_string(), errno)
    }
}

/// The largest datagram that segmentation may make on the way of this socket.
pub fn check_segment(socket: &OwnedFd, settings: &Settings) -> Result<(), Fault> {
    if !settings.segment || settings.exchange != Exchange::Datagram {
        return Ok(());
    }
    let (mtu, headers) = if settings.address.is_ipv4() {
        (sockopt::ip_mtu(socket), 28)
    } else {
        (sockopt::ipv6_mtu(socket), 48)
    };
    let most = u64::from(mtu.unwrap_or(u32::MAX)) - headers;
    let message = settings.message();
    if message <= most {
        return Ok(());
    }
    Err(Fault::settings(format!(
        "found message {message} with segment; expected at most {most}, the largest datagram of this route"
    )))
}

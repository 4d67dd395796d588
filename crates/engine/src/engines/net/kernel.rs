//! What the kernel says of a socket: options, `TCP_INFO`, `MPTCP_INFO`, memory.

use crate::net_result::Known;
use rustix::event::Timespec;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::{Errno, Result};

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
/// Place of the drops among the numbers of `SO_MEMINFO`.
const MEMINFO_DROPS: usize = 8 * 4;
/// How the values of several connections become one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Together {
    Sum,
    Mean,
    Least,
    /// Not followed over time.
    Apart,
}

/// A number in a structure of the kernel: its name here, place and width in bytes, factor to our unit.
pub struct Field {
    pub name: &'static str,
    at: usize,
    width: usize,
    factor: u64,
    pub together: Together,
}

const fn field(
    name: &'static str,
    at: usize,
    width: usize,
    factor: u64,
    together: Together,
) -> Field {
    Field {
        name,
        at,
        width,
        factor,
        together,
    }
}

/// `struct tcp_info` of linux/tcp.h; its times are in microseconds.
pub const TCP: &[Field] = &[
    field("retransmits", 100, 4, 1, Together::Sum),
    field("retransmitted_bytes", 208, 8, 1, Together::Sum),
    field("dsacks", 216, 4, 1, Together::Sum),
    field("reorderings", 220, 4, 1, Together::Sum),
    field("out_of_order", 224, 4, 1, Together::Sum),
    field("timeouts", 240, 2, 1, Together::Sum),
    field("acked_bytes", 120, 8, 1, Together::Sum),
    field("received_bytes", 128, 8, 1, Together::Sum),
    field("unsent_bytes", 144, 4, 1, Together::Sum),
    field("busy_ns", 168, 8, 1_000, Together::Sum),
    field("receiver_limited_ns", 176, 8, 1_000, Together::Sum),
    field("buffer_limited_ns", 184, 8, 1_000, Together::Sum),
    field("delivery_rate", 160, 8, 1, Together::Sum),
    field("rtt_ns", 68, 4, 1_000, Together::Mean),
    field("min_rtt_ns", 148, 4, 1_000, Together::Least),
    field("cwnd_segments", 80, 4, 1, Together::Sum),
    field("send_window", 228, 4, 1, Together::Sum),
    field("receive_window", 232, 4, 1, Together::Sum),
    field("receive_threshold", 64, 4, 1, Together::Sum),
    field("rtt_variation_ns", 72, 4, 1_000, Together::Apart),
    field("receive_rtt_ns", 92, 4, 1_000, Together::Apart),
    field("pacing_rate", 104, 8, 1, Together::Apart),
    field("send_mss", 16, 4, 1, Together::Apart),
    field("receive_mss", 20, 4, 1, Together::Apart),
    field("path_mtu", 60, 4, 1, Together::Apart),
    field("unacked_segments", 24, 4, 1, Together::Apart),
    field("segments_out", 136, 4, 1, Together::Apart),
    field("segments_in", 140, 4, 1, Together::Apart),
    field("data_segments_in", 152, 4, 1, Together::Apart),
    field("data_segments_out", 156, 4, 1, Together::Apart),
];

/// `struct mptcp_info` of linux/mptcp.h.
const MPTCP: &[Field] = &[
    field("extra_subflows", 0, 1, 1, Together::Apart),
    field("flags", 8, 4, 1, Together::Apart),
    field("retransmits", 44, 4, 1, Together::Apart),
    field("retransmitted_bytes", 48, 8, 1, Together::Apart),
    field("sent_bytes", 56, 8, 1, Together::Apart),
    field("received_bytes", 64, 8, 1, Together::Apart),
    field("acked_bytes", 72, 8, 1, Together::Apart),
    field("subflows", 80, 1, 1, Together::Apart),
];

/// A structure as this kernel fills it.
pub struct Info {
    bytes: [u8; Self::MOST],
    length: usize,
}

impl Info {
    /// As much as any kernel so far has to say.
    pub const MOST: usize = 320;

    /// A structure that came with others.
    pub fn of_bytes(filled: &[u8]) -> Self {
        let length = filled.len().min(Self::MOST);
        let mut bytes = [0; Self::MOST];
        bytes[..length].copy_from_slice(&filled[..length]);
        Self { bytes, length }
    }

    /// `TCP_INFO`; None for sockets that have none.
    pub fn of_tcp(socket: impl AsFd) -> Option<Self> {
        read(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO)
    }

    /// The number in a field; None where this kernel's structure ends before it.
    pub fn value(&self, field: &Field) -> Option<u64> {
        let bytes = self.bytes[..self.length].get(field.at..field.at + field.width)?;
        let mut wide = [0; 8];
        wide[..field.width].copy_from_slice(bytes);
        // No round trip has been measured yet: the kernel shows the largest number.
        let value = Some(u64::from_le_bytes(wide))
            .filter(|value| field.together != Together::Least || *value != u64::from(u32::MAX))?;
        Some(value.saturating_mul(field.factor))
    }

    /// All that is known of these fields.
    pub fn known(&self, fields: &[Field]) -> Known {
        let named = |field: &Field| (field.name, self.value(field));
        fields.iter().map(named).collect()
    }
}

/// The field of this name.
pub fn field_of(name: &str) -> Option<&'static Field> {
    TCP.iter().find(|field| field.name == name)
}

/// All that is known of a TCP connection.
pub fn tcp(socket: impl AsFd) -> Option<Known> {
    Info::of_tcp(socket).map(|info| info.known(TCP))
}

/// All that is known of an MPTCP connection; None for any other.
pub fn mptcp(socket: impl AsFd) -> Option<Known> {
    read(socket.as_fd(), SOL_MPTCP, MPTCP_INFO).map(|info| info.known(MPTCP))
}

/// Datagrams that found the receive buffer of this socket full.
pub fn buffer_drops(socket: impl AsFd) -> Option<u64> {
    let info = read(socket.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    info.value(&field("drops", MEMINFO_DROPS, 4, 1, Together::Sum))
}

fn read(socket: BorrowedFd, level: i32, name: i32) -> Option<Info> {
    let mut bytes = [0; Info::MOST];
    let mut length = Info::MOST as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into this frame.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (outcome == 0).then_some(Info {
        bytes,
        length: length as usize,
    })
}

/// Sets an option that is a number.
pub fn set_number(socket: impl AsFd, level: i32, name: i32, value: i32) -> Result<()> {
    // SAFETY: the kernel reads one integer of this frame.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// The error of the last call into the C library.
pub fn last_error() -> Errno {
    let code = std::io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(code.unwrap_or(libc::EIO))
}

/// So many nanoseconds for a system call.
pub fn span(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_kernel_does_not_say_is_null() {
        let info = Info {
            bytes: [1; Info::MOST],
            length: 104,
        };
        let known = info.known(TCP);
        assert_eq!(known["retransmits"], Some(0x0101_0101));
        assert_eq!(known["rtt_ns"], Some(0x0101_0101 * 1_000));
        assert_eq!(known["dsacks"], None);
    }

    #[test]
    fn a_round_trip_that_was_never_measured_is_null() {
        let info = Info {
            bytes: [0xff; Info::MOST],
            length: Info::MOST,
        };
        assert_eq!(info.known(TCP)["min_rtt_ns"], None);
    }
}

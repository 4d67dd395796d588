//! The subflows of an MPTCP connection: the addresses that each goes between, and the kernel's account of each.

use super::kernel::{self, Info};
use crate::net_result::SubflowResult;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SOL_MPTCP: i32 = 284;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// `struct mptcp_subflow_data` of linux/mptcp.h: its own size, the subflows, the size of an entry here and there.
const HEAD: usize = 16;
/// `struct mptcp_subflow_addrs`: two `sockaddr_storage`.
const ADDRESSES: usize = 256;
const ADDRESS: usize = ADDRESSES / 2;
/// The kernel's own limit is eight paths beside the first one.
const MOST: usize = 16;

/// The subflows that are there now; empty where this kernel does not tell (before Linux 5.16).
pub fn of(socket: impl AsFd) -> Vec<SubflowResult> {
    let socket = socket.as_fd();
    let accounts = entries(socket, MPTCP_TCPINFO, Info::MOST);
    let addresses = entries(socket, MPTCP_SUBFLOW_ADDRS, ADDRESSES);
    if accounts.len() != addresses.len() {
        return Vec::new(); // one came or went between the two calls: the next look tells
    }
    let pairs = addresses.into_iter().zip(accounts);
    pairs
        .map(|(ends, account)| subflow(&ends, &account))
        .collect()
}

/// Takes over what is new of each subflow; one that has gone stays as it was last seen.
pub fn update(known: &mut Vec<SubflowResult>, now: Vec<SubflowResult>) {
    for subflow in now {
        let same =
            |one: &&mut SubflowResult| one.local == subflow.local && one.peer == subflow.peer;
        match known.iter_mut().find(same) {
            Some(found) => *found = subflow,
            None => known.push(subflow),
        }
    }
}

fn subflow(ends: &[u8], account: &[u8]) -> SubflowResult {
    let text = |at: usize| {
        address(&ends[at..at + ADDRESS]).map_or_else(String::new, |found| found.to_string())
    };
    SubflowResult {
        local: text(0),
        peer: text(ADDRESS),
        tcp: Info::of_bytes(account).known(kernel::TCP),
    }
}

/// A `sockaddr_storage` with an IPv4 or IPv6 address.
fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = if family == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[4..8]).ok()?))
    } else if family == libc::AF_INET6 {
        IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[8..24]).ok()?))
    } else {
        return None;
    };
    Some(SocketAddr::new(ip, port))
}

/// One entry of each subflow, as long as this kernel fills it; `size` is the most that we take.
fn entries(socket: BorrowedFd, name: i32, size: usize) -> Vec<Vec<u8>> {
    let mut bytes = vec![0; HEAD + MOST * size];
    bytes[..4].copy_from_slice(&(HEAD as u32).to_ne_bytes());
    bytes[12..16].copy_from_slice(&(size as u32).to_ne_bytes());
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel reads the head of `bytes` and writes at most `length` bytes of it.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            SOL_MPTCP,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if outcome != 0 {
        return Vec::new();
    }
    let number = |at: usize| {
        u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
    };
    // The kernel puts entries as close together as its own are long, where they are shorter than ours.
    let (count, stride) = (number(4).min(MOST), number(12).min(size));
    let entry = |place: usize| bytes[HEAD + place * stride..HEAD + (place + 1) * stride].to_vec();
    (0..count).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(local: &str, acked: u64) -> SubflowResult {
        SubflowResult {
            local: local.to_owned(),
            peer: "10.0.0.2:1".to_owned(),
            tcp: [("acked_bytes", Some(acked))].into(),
        }
    }

    #[test]
    fn an_address_of_either_family_is_read() {
        let mut bytes = [0; ADDRESS];
        bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        bytes[2..8].copy_from_slice(&[0x14, 0x51, 10, 0, 0, 2]);
        assert_eq!(address(&bytes).expect("IPv4").to_string(), "10.0.0.2:5201");
        bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        bytes[8] = 0xfd;
        assert_eq!(address(&bytes).expect("IPv6").to_string(), "[fd00::]:5201");
        assert_eq!(address(&[0; ADDRESS]), None);
    }

    #[test]
    fn a_subflow_that_has_gone_stays_as_it_was() {
        let mut known = vec![named("10.0.0.1:1", 5), named("10.0.1.1:1", 7)];
        update(
            &mut known,
            vec![named("10.0.0.1:1", 9), named("10.0.2.1:1", 1)],
        );
        let acked: Vec<Option<u64>> = known.iter().map(|one| one.tcp["acked_bytes"]).collect();
        assert_eq!(acked, [Some(9), Some(7), Some(1)]);
    }
}

//! What holds up the connections of processes that wait for the other end, as the kernel says of each (`TCP_INFO`).
//!
//! A socket is asked through a second descriptor (`pidfd_getfd(2)`, Linux 5.6), which is closed at once.

use crate::engines::net::kernel::{Info, field_of};
use rustix::fd::OwnedFd;
use rustix::net::{SocketAddrAny, getpeername};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

/// Of more open files of a process, and of more of its sockets, so many are asked at a look.
const MOST_FILES: usize = 512;
const MOST_SOCKETS: usize = 64;
/// Where name servers answer.
const NAMES_PORT: u16 = 53;

/// What a connection waits for at one moment, what tells most last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    /// Nothing is to be sent.
    Quiet,
    /// All that was to be sent is on the way.
    OnTheWay,
    /// More is to be sent, and something on this side lets it go slowly: pacing, a queue.
    Queued,
    /// As much is on the way as congestion control allows.
    Crowded,
    /// As much is on the way as the receiver's window allows.
    Full,
    /// The receiver's window is closed: it does not read.
    Closed,
    /// Less than a segment is kept back until what is on the way was acknowledged (Nagle).
    Small,
}

/// Sums over the looks at which the processes waited for another end.
#[derive(Default)]
pub struct Connections {
    looks: u64,
    /// Looks at which no socket was open; at which a name server was one's other end.
    none: u64,
    names: u64,
    sockets: u64,
    /// Looks by what held up most: `Held` without `Quiet`.
    on_the_way: u64,
    queued: u64,
    crowded: u64,
    full: u64,
    closed: u64,
    small: u64,
    /// Round trips of connections that had one, and the least that the kernel knows of each.
    trips: u64,
    rtt_ns: u64,
    min_rtt_ns: u64,
}

impl Connections {
    /// Asks the sockets of these processes.
    pub fn look(&mut self, pids: impl Iterator<Item = u32>) {
        let (mut most, mut sockets, mut names) = (Held::Quiet, 0, false);
        for pid in pids.collect::<BTreeSet<u32>>() {
            for socket in sockets_of(pid) {
                sockets += 1;
                let Some(peer) = getpeername(&socket).ok().flatten() else {
                    continue; // it listens, or goes to anybody
                };
                names |= is_of_names(peer);
                if let Some(info) = Info::of_tcp(&socket) {
                    most = most.max(self.of_connection(&info));
                }
            }
        }
        self.looks += 1;
        self.none += u64::from(sockets == 0);
        self.names += u64::from(names);
        self.sockets += sockets;
        match most {
            Held::Quiet => {}
            Held::OnTheWay => self.on_the_way += 1,
            Held::Queued => self.queued += 1,
            Held::Crowded => self.crowded += 1,
            Held::Full => self.full += 1,
            Held::Closed => self.closed += 1,
            Held::Small => self.small += 1,
        }
    }

    /// What holds up one connection; its round trips are added.
    fn of_connection(&mut self, info: &Info) -> Held {
        let value = |name| field_of(name).and_then(|field| info.value(field));
        if let (Some(rtt_ns), Some(min_rtt_ns)) =
            (value("rtt_ns").filter(|ns| *ns > 0), value("min_rtt_ns"))
        {
            self.trips += 1;
            self.rtt_ns += rtt_ns;
            self.min_rtt_ns += min_rtt_ns;
        }
        let number = |name| value(name).unwrap_or_default();
        let (unsent, unacked, segment) = (
            number("unsent_bytes"),
            number("unacked_segments"),
            number("send_mss"),
        );
        let (window, allowed) = (number("send_window"), number("cwnd_segments"));
        if unsent == 0 {
            return if unacked == 0 {
                Held::Quiet
            } else {
                Held::OnTheWay
            };
        }
        if window < segment && unacked <= 1 {
            Held::Closed
        } else if unacked >= allowed {
            Held::Crowded
        } else if unacked > 0 && unsent < segment && (unacked + 1) * segment <= window {
            Held::Small
        } else if (unacked + 1) * segment > window {
            Held::Full
        } else {
            Held::Queued
        }
    }

    pub fn told(&self) -> Value {
        json!({
            "looks": self.looks, "none": self.none, "names": self.names, "sockets": self.sockets,
            "on_the_way": self.on_the_way, "queued": self.queued, "crowded": self.crowded, "full": self.full,
            "closed": self.closed, "small": self.small,
            "trips": self.trips, "rtt_ns": self.rtt_ns, "min_rtt_ns": self.min_rtt_ns,
        })
    }
}

/// The sockets of a process; none where it is not ours to ask.
fn sockets_of(pid: u32) -> Vec<OwnedFd> {
    let Some(process) =
        Pid::from_raw(pid as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let numbers = entries
        .take(MOST_FILES)
        .filter_map(Result::ok)
        .filter(|entry| is_socket(&entry.path()))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .take(MOST_SOCKETS)
        .filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok())
        .collect()
}

fn is_socket(path: &Path) -> bool {
    std::fs::read_link(path).is_ok_and(|link| link.to_str().unwrap_or("").starts_with("socket:"))
}

fn is_of_names(peer: SocketAddrAny) -> bool {
    SocketAddr::try_from(peer).is_ok_and(|address| address.port() == NAMES_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_reader_that_does_not_read_closes_the_window() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender =
            TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let (_reader, _) = listener.accept().expect("the other end");
        sender.set_nonblocking(true).expect("an option");
        let block = vec![0_u8; 1 << 16];
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut found = Connections::default();
        while found.closed == 0 && std::time::Instant::now() < until {
            while sender.write(&block).is_ok() {}
            std::thread::sleep(std::time::Duration::from_millis(20));
            found.look([std::process::id()].into_iter());
        }
        assert!(found.closed > 0 && found.none == 0);
        assert!(found.sockets >= found.looks * 3 && found.trips > 0);
    }
}

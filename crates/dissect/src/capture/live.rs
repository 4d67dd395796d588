//! Frames of an interface as they pass: a ring that the kernel fills, whose drops it counts.
//!
//! The capture ends after its time, when standard input ends, and at an interrupt. A line on standard input asks for the counts
//! of what had passed when it came.

use super::missed::Missed;
use super::{Receiver, reason, snap};
use crate::packet::{At, Frame, Link};
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{CStr, CString};
use std::io::Error;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const BLOCK_BYTES: usize = 1 << 20;
const BLOCKS: usize = 48;
/// The kernel wants a size of frames, although a block takes any.
const FRAME_BYTES: usize = 2048;
/// A block that is not full is handed over after this time.
const RETIRE_MS: u32 = 50;
/// How long frames from before the end may still lie in the kernel, in a block that is not handed over yet.
const LAST: Duration = Duration::from_millis(150);
/// The longest wait for frames.
const MOST_REST: Duration = Duration::from_millis(200);
const LOOPBACK: u16 = 772;
const ETHERNET: u16 = 1;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Why an interface cannot be read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Refused {
    NoInterface {
        interface: String,
        interfaces: Vec<String>,
    },
    NoRights {
        interface: String,
    },
    Failed {
        interface: String,
        reason: String,
    },
}

/// Reads the frames of an interface for a time, or until an end is asked for.
pub fn read(
    interface: &str,
    duration: Option<Duration>,
    ports: &BTreeSet<u16>,
    receiver: &mut dyn Receiver,
) -> Result<u64, Refused> {
    let index =
        CString::new(interface).map_or(0, |name| unsafe { libc::if_nametoindex(name.as_ptr()) });
    if index == 0 {
        return Err(Refused::NoInterface {
            interface: interface.into(),
            interfaces: interfaces(),
        });
    }
    let failed = |error: &Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Refused::NoRights {
            interface: interface.into(),
        },
        _ => Refused::Failed {
            interface: interface.into(),
            reason: reason(error),
        },
    };
    let mut ring = Ring::open(interface, index, ports).map_err(|error| failed(&error))?;
    ring.missed = Missed::of(interface);
    unsafe { libc::signal(libc::SIGINT, interrupted as *const () as usize) };
    let ends = duration.map(|duration| Instant::now() + duration);
    ring.follow(ends, receiver);
    ring.take_last(receiver);
    receiver.dropped(ring.drops());
    Ok(ring.frames)
}

extern "C" fn interrupted(_: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// The time by the clock that stamps frames.
fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(u64::MAX, |now| now.as_nanos() as u64)
}

/// When a frame passed.
fn time_ns(packet: &libc::tpacket3_hdr) -> u64 {
    u64::from(packet.tp_sec) * 1_000_000_000 + u64::from(packet.tp_nsec)
}

/// Takes block after block: until one is later than the end, or until the kernel keeps none back any more. A block that waits
/// is taken however long the ones before it took, and a look comes after the wait however late this thread runs.
fn take_rest(kept: Duration, mut take: impl FnMut() -> Block) {
    let until = Instant::now() + kept;
    loop {
        let over = Instant::now() >= until; // before the look: a block that came after it would be missed
        match take() {
            Block::Taken => {}
            Block::Later => return,
            Block::Kept if over => return,
            Block::Kept => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The names of the interfaces that there are.
fn interfaces() -> Vec<String> {
    let mut names = Vec::new();
    unsafe {
        let list = libc::if_nameindex();
        let mut one = list;
        while !one.is_null() && !(*one).if_name.is_null() {
            names.push(
                CStr::from_ptr((*one).if_name)
                    .to_string_lossy()
                    .into_owned(),
            );
            one = one.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    names.sort_unstable();
    names
}

/// What a look at the next block of the ring found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// The kernel has not handed it over.
    Kept,
    /// Its frames were handed on.
    Taken,
    /// All its frames are later than the end.
    Later,
}

struct Ring {
    socket: OwnedFd,
    memory: *mut u8,
    at: usize,
    link: Link,
    loopback: bool,
    frames: u64,
    /// When counts were asked for that are not given yet.
    asked_ns: VecDeque<u64>,
    missed: Missed,
}

impl Drop for Ring {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.memory.cast(), BLOCK_BYTES * BLOCKS) };
    }
}

#[allow(clippy::cast_ptr_alignment)] // the kernel aligns what it puts into the ring
impl Ring {
    fn open(interface: &str, index: u32, ports: &BTreeSet<u16>) -> Result<Self, Error> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(Error::last_os_error());
        }
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let hardware = hardware(&socket, interface)?;
        let link = if [LOOPBACK, ETHERNET].contains(&hardware) {
            Link::Ethernet
        } else {
            Link::Raw
        };
        let ring = Self {
            memory: mapped(&socket)?,
            socket,
            at: 0,
            link,
            loopback: hardware == LOOPBACK,
            frames: 0,
            asked_ns: VecDeque::new(),
            missed: Missed::default(),
        };
        if link == Link::Ethernet {
            ring.copy_less(ports)?;
        }
        ring.bind(index)?;
        Ok(ring)
    }

    /// Leaves the bodies of frames between other ports to their receivers.
    fn copy_less(&self, ports: &BTreeSet<u16>) -> Result<(), Error> {
        let Some(mut steps) = snap::program(ports) else {
            return Ok(());
        };
        let program = libc::sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_mut_ptr(),
        };
        set_at(
            &self.socket,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            &program,
        )
    }

    fn bind(&self, index: u32) -> Result<(), Error> {
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let size = size_of::<libc::sockaddr_ll>() as u32;
        let bound =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size) };
        if bound < 0 {
            Err(Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Hands on frames until the end, an interrupt, or the end of standard input.
    fn follow(&mut self, ends: Option<Instant>, receiver: &mut dyn Receiver) {
        while !INTERRUPTED.load(Ordering::Relaxed) && ends.is_none_or(|end| Instant::now() < end) {
            let mut wait = Duration::ZERO;
            let looked_ns = now_ns(); // before the look: what comes after it is not yet handed on
            if self.take(receiver, u64::MAX) == Block::Kept {
                self.answer(looked_ns.saturating_sub(LAST.as_nanos() as u64), receiver);
                wait = self.rest(ends);
            }
            if self.has_no_more_input(wait) {
                return;
            }
        }
    }

    /// Hands on the frames from before the end: those of all blocks that wait, and those that still lie in the kernel.
    fn take_last(&mut self, receiver: &mut dyn Receiver) {
        let last_ns = now_ns();
        take_rest(LAST, || self.take(receiver, last_ns));
    }

    /// Hands on the frames up to a time of the next block, if it is ready.
    fn take(&mut self, receiver: &mut dyn Receiver, last_ns: u64) -> Block {
        let block = unsafe { self.memory.add(self.at * BLOCK_BYTES) };
        let header = unsafe { &*block.cast::<libc::tpacket_block_desc>() };
        let state = unsafe { &header.hdr.bh1 };
        let status = unsafe { AtomicU32::from_ptr((&raw const state.block_status).cast_mut()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return Block::Kept;
        }
        let mut at = state.offset_to_first_pkt as usize;
        let mut later = state.num_pkts > 0;
        for _ in 0..state.num_pkts {
            if at + size_of::<libc::tpacket3_hdr>() > BLOCK_BYTES {
                break;
            }
            let packet = unsafe { &*block.add(at).cast::<libc::tpacket3_hdr>() };
            later &= time_ns(packet) > last_ns;
            self.frame(block, at, packet, last_ns, receiver);
            at += packet.tp_next_offset as usize;
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.at = (self.at + 1) % BLOCKS;
        if later { Block::Later } else { Block::Taken }
    }

    fn frame(
        &mut self,
        block: *mut u8,
        at: usize,
        packet: &libc::tpacket3_hdr,
        last_ns: u64,
        receiver: &mut dyn Receiver,
    ) {
        let address =
            at + size_of::<libc::tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        let (from, size) = (at + packet.tp_mac as usize, packet.tp_snaplen as usize);
        if from + size > BLOCK_BYTES || address + size_of::<libc::sockaddr_ll>() > BLOCK_BYTES {
            return;
        }
        let address = unsafe { &*block.add(address).cast::<libc::sockaddr_ll>() };
        let outgoing = address.sll_pkttype == libc::PACKET_OUTGOING;
        let t_ns = time_ns(packet);
        if (self.loopback && outgoing) || t_ns > last_ns {
            return; // on the loopback each frame passes twice
        }
        self.answer(t_ns, receiver);
        self.frames += 1;
        let data = unsafe { std::slice::from_raw_parts(block.add(from), size) };
        let unsummed = packet.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
        receiver.frame(&Frame {
            link: self.link,
            at: At::new(t_ns, true, 0, self.frames),
            wire_bytes: packet.tp_len,
            data,
            unsummed,
        });
    }

    /// Gives the counts that were asked for before a time: all that had passed by then is counted.
    fn answer(&mut self, before_ns: u64, receiver: &mut dyn Receiver) {
        while self
            .asked_ns
            .front()
            .is_some_and(|asked| *asked < before_ns)
        {
            self.asked_ns.pop_front();
            receiver.dropped(self.drops());
            receiver.asked();
        }
    }

    /// How long to wait for frames.
    fn rest(&self, ends: Option<Instant>) -> Duration {
        let most = if self.asked_ns.is_empty() {
            MOST_REST
        } else {
            LAST / 10
        };
        ends.map_or(most, |end| {
            end.saturating_duration_since(Instant::now()).min(most) + Duration::from_millis(1)
        })
    }

    /// Waits for frames or input, and takes the input; true where it has ended.
    fn has_no_more_input(&mut self, wait: Duration) -> bool {
        let input = libc::STDIN_FILENO;
        let mut waited = [self.socket.as_raw_fd(), input].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        let found = unsafe { libc::poll(waited.as_mut_ptr(), 2, wait.as_millis() as i32) };
        if found <= 0 || waited[1].revents == 0 {
            return false;
        }
        let mut bytes = [0_u8; 256];
        let size = unsafe { libc::read(input, bytes.as_mut_ptr().cast(), bytes.len()) };
        let Some(taken) = usize::try_from(size).ok().filter(|size| *size > 0) else {
            return true;
        };
        let lines = bytes[..taken].split(|byte| *byte == b'\n').count() - 1;
        self.asked_ns.extend(std::iter::repeat_n(now_ns(), lines));
        false
    }

    /// Frames that found no room in the ring, or in the device.
    fn drops(&mut self) -> u64 {
        let mut found: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::tpacket_stats_v3>() as u32;
        let room = (&raw mut found).cast();
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                room,
                &raw mut size,
            )
        };
        let dropped = if got < 0 {
            0
        } else {
            u64::from(found.tp_drops)
        };
        dropped + self.missed.more()
    }
}

/// The memory of a ring, which the kernel shares.
fn mapped(socket: &OwnedFd) -> Result<*mut u8, Error> {
    set(
        socket,
        libc::PACKET_VERSION,
        &libc::tpacket_versions::TPACKET_V3,
    )?;
    let request = libc::tpacket_req3 {
        tp_block_size: BLOCK_BYTES as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: FRAME_BYTES as u32,
        tp_frame_nr: (BLOCK_BYTES / FRAME_BYTES * BLOCKS) as u32,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set(socket, libc::PACKET_RX_RING, &request)?;
    let (size, access) = (BLOCK_BYTES * BLOCKS, libc::PROT_READ | libc::PROT_WRITE);
    let (file, anywhere) = (socket.as_raw_fd(), std::ptr::null_mut());
    let memory = unsafe { libc::mmap(anywhere, size, access, libc::MAP_SHARED, file, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    Ok(memory.cast())
}

fn set<T>(socket: &OwnedFd, name: i32, value: &T) -> Result<(), Error> {
    set_at(socket, libc::SOL_PACKET, name, value)
}

fn set_at<T>(socket: &OwnedFd, level: i32, name: i32, value: &T) -> Result<(), Error> {
    let (value, size) = (std::ptr::from_ref(value).cast(), size_of::<T>() as u32);
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, size) };
    if done < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The kind of hardware of an interface.
fn hardware(socket: &OwnedFd, interface: &str) -> Result<u16, Error> {
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request
        .ifr_name
        .iter_mut()
        .zip(interface.bytes().take(libc::IFNAMSIZ - 1))
    {
        *place = byte as libc::c_char;
    }
    if unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFHWADDR as _,
            &raw mut request,
        )
    } < 0
    {
        return Err(Error::last_os_error());
    }
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_wait_are_taken_however_long_they_take() {
        let mut left = 4;
        take_rest(Duration::from_millis(10), || {
            if left == 0 {
                return Block::Kept;
            }
            left -= 1;
            std::thread::sleep(Duration::from_millis(10));
            Block::Taken
        });
        assert_eq!(left, 0);
    }

    #[test]
    fn a_last_look_follows_the_wait_and_later_frames_end_it() {
        let mut looks = 0;
        take_rest(Duration::ZERO, || {
            looks += 1;
            Block::Kept
        });
        assert_eq!(looks, 1);
        let mut blocks = vec![Block::Later, Block::Taken];
        take_rest(Duration::from_secs(3600), || blocks.pop().unwrap());
        assert!(blocks.is_empty());
    }
}

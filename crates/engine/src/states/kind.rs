//! What a thread does at one moment, from the text of its `syscall` file.

use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// On a CPU, or ready for one.
    Running,
    ReadFile,
    WriteFile,
    /// A write that waits until others' dirty pages are on the device.
    WriteThrottled,
    Flush,
    Metadata,
    /// Waiting for asynchronous operations: `io_submit`, `io_getevents`, `io_uring_enter`.
    AsyncIo,
    /// Outside of a system call, without a CPU: a page that is read.
    PageFault,
    ReadDevice,
    WriteDevice,
    ReadSocket,
    WriteSocket,
    Connect,
    Sleep,
    /// A mutex, a lock of a file, a semaphore of System V: another thread has it.
    Lock,
    /// A condition variable or a semaphore in memory: another thread will wake this one.
    OtherThread,
    Events,
    ReadPipe,
    WritePipe,
    Terminal,
    Child,
    Stopped,
    Other,
    /// A thread that has not been woken for a long time: of a pool with nothing to do.
    Idle,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::WriteThrottled => "write_throttled",
            Self::Flush => "flush",
            Self::Metadata => "metadata",
            Self::AsyncIo => "async_io",
            Self::PageFault => "page_fault",
            Self::ReadDevice => "read_device",
            Self::WriteDevice => "write_device",
            Self::ReadSocket => "read_socket",
            Self::WriteSocket => "write_socket",
            Self::Connect => "connect",
            Self::Sleep => "sleep",
            Self::Lock => "lock",
            Self::OtherThread => "other_thread",
            Self::Events => "events",
            Self::ReadPipe => "read_pipe",
            Self::WritePipe => "write_pipe",
            Self::Terminal => "terminal",
            Self::Child => "child",
            Self::Stopped => "stopped",
            Self::Other => "other",
            Self::Idle => "idle",
        }
    }

    /// How little a wait of this kind says of what the tree as a whole waits for: 0 where something is really done.
    /// A thread that waits for another one of the tree says nothing while that one is busy.
    pub fn passive(self) -> u8 {
        match self {
            Self::Running
            | Self::ReadFile
            | Self::WriteFile
            | Self::WriteThrottled
            | Self::Flush
            | Self::Metadata
            | Self::AsyncIo
            | Self::PageFault
            | Self::ReadDevice
            | Self::WriteDevice => 0,
            Self::WriteSocket | Self::Connect => 1,
            Self::ReadSocket => 2,
            Self::Sleep => 3,
            Self::Lock => 4,
            Self::Events => 5,
            Self::OtherThread => 6,
            Self::ReadPipe | Self::WritePipe | Self::Terminal => 7,
            Self::Stopped | Self::Other => 8,
            Self::Child => 9,
            Self::Idle => 10,
        }
    }

    /// Whether data go to a file or a device.
    fn is_of_storage(self) -> bool {
        matches!(self, Self::WriteFile | Self::WriteDevice)
    }

    /// Whether the other end of a connection may be what is waited for.
    pub fn is_of_peer(self) -> bool {
        matches!(
            self,
            Self::WriteSocket | Self::ReadSocket | Self::Connect | Self::Events
        )
    }
}

/// What one system call of those with a file descriptor does with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

/// Calls whose first argument is a file descriptor, of which the kind tells what the wait is for.
const READS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
];
const WRITES: &[i64] = &[
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
];
/// Calls whose number alone tells.
const OTHERS: &[(Kind, &[i64])] = &[
    (
        Kind::Flush,
        &[
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_sync_file_range,
            libc::SYS_syncfs,
            libc::SYS_sync,
            libc::SYS_msync,
        ],
    ),
    (
        Kind::ReadSocket,
        &[libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg],
    ),
    (
        Kind::WriteSocket,
        &[libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg],
    ),
    (Kind::Connect, &[libc::SYS_connect]),
    (
        Kind::Lock,
        &[
            libc::SYS_flock,
            libc::SYS_fcntl,
            libc::SYS_semtimedop,
            libc::SYS_semop,
        ],
    ),
    (
        Kind::Events,
        &[
            libc::SYS_ppoll,
            libc::SYS_pselect6,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_accept,
            libc::SYS_accept4,
        ],
    ),
    // Of a file in the page cache io_submit(2) itself waits for the device.
    (
        Kind::AsyncIo,
        &[
            libc::SYS_io_submit,
            libc::SYS_io_getevents,
            libc::SYS_io_uring_enter,
        ],
    ),
    (
        Kind::Sleep,
        &[
            libc::SYS_nanosleep,
            libc::SYS_clock_nanosleep,
            libc::SYS_rt_sigtimedwait,
        ],
    ),
    // A shell that waits for all its children waits for their signal.
    (
        Kind::Child,
        &[libc::SYS_wait4, libc::SYS_waitid, libc::SYS_rt_sigsuspend],
    ),
    (
        Kind::Metadata,
        &[
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_close,
            libc::SYS_statx,
            libc::SYS_fstat,
            libc::SYS_newfstatat,
            libc::SYS_getdents64,
            libc::SYS_unlinkat,
            libc::SYS_mkdirat,
            libc::SYS_renameat2,
            libc::SYS_linkat,
            libc::SYS_symlinkat,
            libc::SYS_ftruncate,
            libc::SYS_truncate,
            libc::SYS_fallocate,
            libc::SYS_utimensat,
            libc::SYS_fchmodat,
            libc::SYS_fchownat,
            libc::SYS_faccessat,
            libc::SYS_faccessat2,
            libc::SYS_readlinkat,
            libc::SYS_setxattr,
            libc::SYS_fsetxattr,
            libc::SYS_getxattr,
            libc::SYS_umount2,
            libc::SYS_mount,
            libc::SYS_execve,
        ],
    ),
];
/// The calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
const OLD: &[(Kind, &[i64])] = &[
    (
        Kind::Events,
        &[libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait],
    ),
    (Kind::Sleep, &[libc::SYS_pause]),
    (
        Kind::Metadata,
        &[
            libc::SYS_open,
            libc::SYS_creat,
            libc::SYS_stat,
            libc::SYS_lstat,
            libc::SYS_access,
            libc::SYS_unlink,
            libc::SYS_rmdir,
            libc::SYS_mkdir,
            libc::SYS_rename,
            libc::SYS_link,
            libc::SYS_symlink,
            libc::SYS_readlink,
            libc::SYS_getdents,
            libc::SYS_chmod,
            libc::SYS_chown,
        ],
    ),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[(Kind, &[i64])] = &[];

/// `FUTEX_CMD_MASK` and commands of linux/futex.h.
const FUTEX_COMMAND: u64 = 0x7f;
const FUTEX_WAIT: u64 = 0;
const FUTEX_LOCK_PI: u64 = 6;
const FUTEX_LOCK_PI2: u64 = 13;
/// A mutex of the C library that somebody has, and somebody waits for.
const TAKEN: u64 = 2;

/// What a thread does, from its `syscall` file: `running`, or the number of its call with arguments in hexadecimal digits, or -1.
/// `state` and `waits_in` are asked only where they tell more: the letter of its state, the kernel function that it sleeps in.
pub fn of(
    text: &str,
    process: &Path,
    state: impl FnOnce() -> char,
    waits_in: impl FnOnce() -> String,
) -> Option<Kind> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    if first == "running" {
        return Some(Kind::Running);
    }
    let number: i64 = first.parse().ok()?;
    if number < 0 {
        return match state() {
            'Z' | 'X' => None,
            'T' | 't' => Some(Kind::Stopped),
            _ => Some(Kind::PageFault),
        };
    }
    let kind = if number == libc::SYS_futex {
        of_futex(words)
    } else if READS.contains(&number) {
        of_descriptor(Way::Read, words.next(), process)
    } else if WRITES.contains(&number) {
        let descriptor = words.next();
        let kind = of_descriptor(Way::Write, descriptor, process);
        let is_stored = number == libc::SYS_pwritev2 && words.nth(4).is_some_and(is_flushed)
            || kind.is_of_storage() && descriptor.is_some_and(|word| is_synchronous(process, word));
        if kind.is_of_storage() && is_stored {
            Kind::Flush
        } else {
            kind
        }
    } else {
        let known = OTHERS.iter().chain(OLD);
        let found = known.into_iter().find(|(_, calls)| calls.contains(&number));
        found.map_or(Kind::Other, |(kind, _)| *kind)
    };
    Some(
        if kind == Kind::WriteFile && waits_in().contains("balance_dirty") {
            Kind::WriteThrottled
        } else {
            kind
        },
    )
}

/// What a futex is: the C library waits for a mutex with the value 2, that it is taken and waited for; what inherits a priority
/// is one, too. Condition variables and semaphores wait with other values.
fn of_futex<'a>(mut words: impl Iterator<Item = &'a str>) -> Kind {
    let mut next = || words.next().and_then(hexadecimal);
    let (_, operation, value) = (next(), next(), next());
    match operation.map(|word| word & FUTEX_COMMAND) {
        Some(FUTEX_LOCK_PI | FUTEX_LOCK_PI2) => Kind::Lock,
        Some(FUTEX_WAIT) if value.map(|word| word & u64::from(u32::MAX)) == Some(TAKEN) => {
            Kind::Lock
        }
        _ => Kind::OtherThread,
    }
}

/// Whether the flags of one call ask for a flush (`pwritev2`).
fn is_flushed(word: &str) -> bool {
    hexadecimal(word).is_some_and(|flags| flags & (libc::RWF_DSYNC | libc::RWF_SYNC) as u64 != 0)
}

/// Whether each write to a descriptor is flushed (`O_DSYNC`, a bit of `O_SYNC`), by its `fdinfo`.
fn is_synchronous(process: &Path, word: &str) -> bool {
    let Some(number) = hexadecimal(word) else {
        return false;
    };
    let text = std::fs::read_to_string(process.join("fdinfo").join(number.to_string()));
    let text = text.unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|digits| i32::from_str_radix(digits.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DSYNC != 0)
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
}

/// What a wait with a file descriptor is for.
fn of_descriptor(way: Way, word: Option<&str>, process: &Path) -> Kind {
    let number = word.and_then(hexadecimal);
    let link = number
        .and_then(|number| std::fs::read_link(process.join("fd").join(number.to_string())).ok());
    let name = link
        .as_ref()
        .map_or("", |link| link.to_str().unwrap_or("/"));
    let (read, write) = if name.starts_with("socket:") {
        (Kind::ReadSocket, Kind::WriteSocket)
    } else if name.starts_with("pipe:") {
        (Kind::ReadPipe, Kind::WritePipe)
    } else if name.starts_with("/dev/pts")
        || name.starts_with("/dev/tty")
        || name.starts_with("/dev/console")
    {
        (Kind::Terminal, Kind::Terminal)
    } else if name.starts_with("/dev/") && !name.starts_with("/dev/shm/") {
        (Kind::ReadDevice, Kind::WriteDevice)
    } else if name.starts_with('/') {
        (Kind::ReadFile, Kind::WriteFile)
    } else {
        (Kind::Events, Kind::Events) // eventfd, timerfd, signalfd, inotify
    };
    if way == Way::Read { read } else { write }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<Kind> {
        of(text, Path::new("/proc/self"), || 'D', String::new)
    }

    #[test]
    fn a_call_is_known_by_its_number_and_what_its_file_is() {
        assert_eq!(kind("running\n"), Some(Kind::Running));
        assert_eq!(
            kind(&format!("{} 0x5 0x0 0x0", libc::SYS_fsync)),
            Some(Kind::Flush)
        );
        assert_eq!(
            kind(&format!("{} 0x7fff 0x80 0x2", libc::SYS_futex)),
            Some(Kind::Lock)
        );
        assert_eq!(
            kind(&format!("{} 0x7fff 0x189 0x0", libc::SYS_futex)),
            Some(Kind::OtherThread)
        );
        assert_eq!(
            kind(&format!("{} 0x7fff 0x86 0x0", libc::SYS_futex)),
            Some(Kind::Lock)
        );
        assert_eq!(kind("-1 0x7ffe 0x7f12"), Some(Kind::PageFault));
        assert_eq!(kind(""), None);
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        assert_eq!(
            kind(&format!("{} {number:#x} 0x0 0x0", libc::SYS_read)),
            Some(Kind::ReadFile)
        );
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("two ends");
        let number = std::os::fd::AsRawFd::as_raw_fd(&ours);
        assert_eq!(
            kind(&format!("{} {number:#x} 0x0 0x0", libc::SYS_write)),
            Some(Kind::WriteSocket)
        );
    }

    #[test]
    fn a_write_that_waits_for_others_dirty_pages_is_throttled() {
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let text = format!("{} {number:#x} 0x0 0x0", libc::SYS_write);
        let found = of(
            &text,
            Path::new("/proc/self"),
            || 'D',
            || "balance_dirty_pages_ratelimited_flags".into(),
        );
        assert_eq!(found, Some(Kind::WriteThrottled));
    }

    #[test]
    fn a_write_that_is_flushed_each_time_is_a_flush() {
        use std::os::unix::fs::OpenOptionsExt;
        let path = std::env::temp_dir().join(format!("states-{}", std::process::id()));
        for (flags, wanted) in [
            (0, Kind::WriteFile),
            (libc::O_DSYNC, Kind::Flush),
            (libc::O_SYNC, Kind::Flush),
        ] {
            let mut options = std::fs::OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(flags)
                .open(&path);
            let file = file.expect("a file");
            let number = std::os::fd::AsRawFd::as_raw_fd(&file);
            assert_eq!(
                kind(&format!("{} {number:#x} 0x0 0x0", libc::SYS_write)),
                Some(wanted)
            );
            let once = format!("{} {number:#x} 0x0 0x1 0x0 0x0 0x2", libc::SYS_pwritev2);
            assert_eq!(kind(&once), Some(Kind::Flush));
        }
        std::fs::remove_file(&path).expect("its file");
    }

    #[test]
    fn a_process_that_was_not_waited_for_does_nothing() {
        assert_eq!(
            of("-1 0x0 0x0", Path::new("/proc/self"), || 'Z', String::new),
            None
        );
        assert_eq!(
            of("-1 0x0 0x0", Path::new("/proc/self"), || 'T', String::new),
            Some(Kind::Stopped)
        );
    }
}

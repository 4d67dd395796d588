"""The system calls of this machine: the page cache, extents, flushes, memory, the kernel's log, the speed of its CPUs."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import CacheStat, Extents, SocketPeer

KMSG = "/dev/kmsg"
LONGEST_RECORD = 8192
"""A read gives one record, and is refused where the buffer is too small for it (Linux: ABI/testing/dev-kmsg)."""
MOST_RECORDS = 10_000
"""Of a log that is written faster than it is read."""
LOST_RECORDS = "lost"
"""A line of its own where records were overwritten before they could be read."""
BOOTED_TRIES = 5
SLICE_BYTES = 64 << 20
"""Memory is taken in slices: between two of them an interrupt is heard."""
LONGEST_ANSWER_S = 5.0
CPU_CLOCK = 2
"""CPUCLOCK_SCHED of the identity of a process's clock (include/uapi/linux/posix-timers)."""
MADV_POPULATE_WRITE = 23
"""Linux 5.14. In huge pages, which the kernel hands out again whole: after freed small pages it was seen to hand out others."""


class KernelLog:
    """Stays open from look to look; the first one only finds the end."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def since(self) -> str:
        """Return the records since the former call, each as the device gives it; empty at the first. Raises OSError."""
        if self._descriptor is None:
            self._descriptor = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        records: list[str] = []
        while len(records) < MOST_RECORDS:
            try:
                records.append(os.read(self._descriptor, LONGEST_RECORD).decode(errors="replace").rstrip("\n"))
            except BlockingIOError:
                return "\n".join(records)
            except BrokenPipeError:
                records.append(LOST_RECORDS)
        return "\n".join((*records, LOST_RECORDS))


BASE, EXPONENT, MODULUS = 0x1234567890ABCDEF**15, (1 << 60) - 3, (1 << 1279) - 1
"""One power to a Mersenne prime: some 60 squarings of 43 digits of 30 bits, about 0.4 ms on a server of 2024."""
PIECES = 25


def timed_pieces() -> tuple[int, ...]:
    """Return the CPU time (ns) of each of PIECES pieces of integer work, on the first CPU that this thread may run on.

    The work touches no memory beyond the nearest cache and makes no system call between two readings of the thread's own CPU
    clock. Where the kernel does not know of time that the hypervisor took, the fastest piece is free of it.
    """
    allowed = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {min(allowed)})
    try:
        return tuple(_piece() for _ in range(PIECES))
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed)


def _piece() -> int:
    began_ns = time.thread_time_ns()
    pow(BASE, EXPONENT, MODULUS)
    return time.thread_time_ns() - began_ns


class KernelCalls:
    """The system calls of `assay._core`, imported at the first call."""

    def __init__(self) -> None:
        self._log = KernelLog()

    def cachestat(self, path: str) -> CacheStat:
        """Pages of the file in the page cache. Raises OSError (ENOSYS before Linux 6.5, EPERM for others' files)."""
        from assay import _core

        return CacheStat(**_core.cachestat(path))

    def cachestats(self, paths: Sequence[str]) -> tuple[CacheStat, ...]:
        """The same of those of these files that are there. Raises OSError."""
        found = []
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                found.append(self.cachestat(path))
        return tuple(found)

    def fiemap(self, path: str) -> Extents:
        """Return bytes of the file by kind of extent. Raises OSError."""
        from assay import _core

        return Extents(**_core.fiemap(path))

    def placed(self, path: str) -> tuple[int, int] | None:
        """Between which bytes of the device the file's extents lie; None where they have no place yet. Raises OSError."""
        from assay.hosts import extents

        return extents.placed(path)

    def drop_file(self, path: str) -> None:
        """Flush the file, then give its pages back. Raises OSError."""
        from assay import _core

        _core.drop_file(path)

    @contextlib.contextmanager
    def memory_held(self, length: int) -> Iterator[None]:
        """Take so many bytes of memory, touch every page, and free them at the end. Raises OSError."""
        import mmap

        with contextlib.ExitStack() as held:
            for at in range(0, length, SLICE_BYTES):
                part = mmap.mmap(-1, min(SLICE_BYTES, length - at), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                held.enter_context(part)
                part.madvise(mmap.MADV_HUGEPAGE)
                part.madvise(MADV_POPULATE_WRITE)
            yield

    def spin(self) -> tuple[int, ...]:
        """Return how long each of some equal pieces of integer work took, in ns of this thread's own time."""
        return timed_pieces()

    def cpu_clock(self, pid: int) -> int:
        """Return the CPU time of a process (ns) with its ended threads: clock_getcpuclockid(3). Raises OSError."""
        try:
            return time.clock_gettime_ns(~pid << 3 | CPU_CLOCK)
        except OSError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"/proc/{pid}") from None

    def booted_ns(self) -> int:
        """CLOCK_REALTIME less CLOCK_BOOTTIME (ns), read with one between two of the other; the closest of some tries."""
        return min(_booted() for _ in range(BOOTED_TRIES))[1]

    def kernel_log(self) -> str:
        """Return what came into the kernel's log since the former call; nothing at the first. Raises OSError."""
        return self._log.since()

    def socket_peers(self, pid: int) -> tuple[SocketPeer, ...]:
        """Return where a process's connected sockets lead. Raises OSError (EPERM, ENOSYS before Linux 5.6)."""
        from assay import _core

        return tuple(SocketPeer(*one) for one in _core.socket_peers(pid))

    def answer(self, socket: str, line: str) -> str:
        """Hand a line to the process that listens at an abstract socket; return its answer. Raises OSError."""
        from socket import AF_UNIX  # only a line is spoken to like this
        from socket import socket as connection

        with connection(AF_UNIX) as made:
            made.settimeout(LONGEST_ANSWER_S)
            made.connect(f"\0{socket}")
            made.sendall(f"{line}\n".encode())
            with made.makefile("r", encoding="utf-8", errors="replace") as answer:
                return answer.readline()

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path; nanoseconds it took. Raises OSError."""
        from assay import _core

        took: int = _core.syncfs(path)
        return took

    def unmount_in(self, namespace: str, point: str) -> None:
        """Unmount a mount point of another mount namespace. Raises OSError."""
        from assay.hosts import mount_namespaces

        mount_namespaces.unmount_in(namespace, point)

    def space(self, path: str) -> tuple[float, float]:
        """Return the shares of space and inodes that an ordinary user may still take. Raises OSError."""
        told = os.statvfs(path)
        free = told.f_bavail / told.f_blocks if told.f_blocks else 1.0
        return free, told.f_favail / told.f_files if told.f_files else 1.0

    def filesystem_semantics(self, path: str) -> Mapping[str, str]:
        """Return the semantics of the file system there, by trying. Raises OSError where nothing can be made in the directory."""
        from assay.hosts import filesystem_semantics

        return filesystem_semantics.probe(path)


def _booted() -> tuple[int, int]:
    """Return how far the two readings of CLOCK_BOOTTIME were apart, and the wall clock less their middle (ns)."""
    before, wall, after = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return after - before, wall - (before + after) // 2

"""What a command's whole process tree used: each process that ends with us as its parent is read while it is a zombie.

The kernel adds the I/O account and the resource usage of a child to its parent's when the parent waits for it, so one zombie
holds its whole waited-for subtree. We are the tree's subreaper: orphans come to us. A child whose parent ignores SIGCHLD is
reaped by the kernel itself and is in nobody's account: its exit record (taskstats) stands in, else it is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from assay.records import OtherKinds, TreeAccount

SIGCHLD_BIT = 1 << 16
COUNTERS = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")
DEEPEST = 64
PIECE_BYTES = 1 << 14


def children(pid: int | str) -> tuple[int, ...]:
    """Return the children of a process, living or zombies, by all its threads; empty where it is gone."""
    found: list[int] = []
    for thread in _names(f"/proc/{pid}/task"):
        found += [int(word) for word in _text(f"/proc/{pid}/task/{thread}/children").split()]
    return tuple(found)


def below(pids: Iterable[int], depth: int = 0) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each process with its children, parents first."""
    for pid in pids:
        found = children(pid)
        yield pid, found
        if found and depth < DEEPEST:
            yield from below(found, depth + 1)


def io_account(pid: int) -> dict[str, int] | None:
    """Return the I/O account of a process with its waited-for children's; None where it is gone or closed to us."""
    text = _text(f"/proc/{pid}/io")
    return counters(text) if text else None


def counters(text: str) -> dict[str, int]:
    """Return the figures of /proc/PID/io by name."""
    found = dict(line.split(": ") for line in text.splitlines())
    return {name: int(found[name]) for name in COUNTERS}


def parent(pid: int) -> int | None:
    """Return the parent of a process; None where it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended and is not waited for yet, or is gone."""
    fields = _stat(pid)
    return not fields or fields[0] in ("Z", "X")


def argv_of(pid: int) -> tuple[str, ...]:
    """Return the words that a process was called with; empty where it is gone or has ended."""
    return tuple(_text(f"/proc/{pid}/cmdline").split("\0")[:-1])


def began_ns(pid: int) -> int | None:
    """When a process began, in ns of CLOCK_MONOTONIC, to one tick (10 ms); None where it is gone."""
    fields = _stat(pid)
    if not fields:
        return None
    asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()  # the kernel counts suspended time too
    return int(fields[19]) * 10**9 // os.sysconf("SC_CLK_TCK") - asleep_ns


def ignores_children(pid: int) -> bool:
    """Return whether a process ignores SIGCHLD, so that the kernel reaps its children and nobody gets their account."""
    _, _, after = _text(f"/proc/{pid}/status").partition("SigIgn:")
    return bool(after and int(after.split(maxsplit=1)[0], 16) & SIGCHLD_BIT)


def open_files(pid: int) -> Iterator[tuple[str, bool]]:
    """Yield each path that a process holds open, and whether for writing; none where it is closed to us."""
    for name in _names(f"/proc/{pid}/fd"):
        path = _link(f"/proc/{pid}/fd/{name}")
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/", "/sys/")):
            yield path, _for_writing(f"/proc/{pid}/fdinfo/{name}")


def holds_socket(pid: int) -> bool:
    """Return whether a process holds a socket of any kind."""
    return any(_link(f"/proc/{pid}/fd/{name}").startswith("socket:[") for name in _names(f"/proc/{pid}/fd"))


LOOPBACK = ("0100007F:", "00000000000000000000000001000000:", "0000000000000000FFFF00000100007F:")
"""How /proc/net writes 127.0.0.1 and ::1."""


def is_connected(pid: int) -> bool:
    """Return whether a process holds a connection that leaves this machine; one without an end yet is none."""
    links = {_link(f"/proc/{pid}/fd/{name}") for name in _names(f"/proc/{pid}/fd")}
    sockets = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    tables = ("tcp", "tcp6", "udp", "udp6") if sockets else ()
    rows = (row.split() for name in tables for row in _text(f"/proc/{pid}/net/{name}").splitlines()[1:])
    return any(row[9] in sockets and row[2].strip("0") != ":" and not row[2].startswith(LOOPBACK) for row in rows)


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - many of them, often
    except OSError:
        return ""


def _for_writing(path: str) -> bool:
    _, _, after = _text(path).partition("flags:")
    return bool(after and int(after.split(maxsplit=1)[0], 8) & os.O_ACCMODE)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command's name, from the state on; empty where the process is gone."""
    return _text(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _names(path: str) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(path))  # noqa: PTH208 - many of them, often
    except OSError:
        return ()


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        # Such a file comes a page at a time, whatever is asked for.
        return b"".join(iter(lambda: os.read(descriptor, PIECE_BYTES), b"")).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
SOURCE = "tree:wait4 and /proc/PID/io"
REAPED_BY_KERNEL = "a process ignored SIGCHLD; the account of its children is lost"
CLOSED = "a process ran with other rights or ended as an orphan; its account is not readable"
STILL_RUNS = "a process of the command still runs"
MOST_HELD = 256
NOTICED_CPU_SHARE = 0.02
NOTICED_CPU_NS = 20_000_000
"""Exit records count the CPU time in another way than wait4, so that they must say clearly more to count."""
USED = {
    "cpu_user_ns": ("ru_utime", 10**9),
    "cpu_system_ns": ("ru_stime", 10**9),
    "voluntary_switches": ("ru_nvcsw", 1),
    "involuntary_switches": ("ru_nivcsw", 1),
    "minor_faults": ("ru_minflt", 1),
    "major_faults": ("ru_majflt", 1),
}
"""Figure of an account -> field of getrusage(2), and its unit in ours."""


def subreaper(wanted: int) -> int:
    """Set whether orphans of our tree become our children; what it was before. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    former = ctypes.c_int()
    if libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(former), 0, 0, 0) or libc.prctl(PR_SET_CHILD_SUBREAPER, wanted, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    return former.value


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A child of ours that has ended."""

    pid: int
    status: int
    """As wait4 gives it."""
    at_ns: int
    """When we found it ended, before its account was read (CLOCK_MONOTONIC)."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The sum of the exit records of a tree; complete where none was missed."""

    counters: Mapping[str, int]
    cpu_ns: int
    tasks: int
    cpu_wait_ns: int = 0


@dataclass
class Tree:
    """The tree of one command, from its start to its last process."""

    before: frozenset[int] = frozenset()
    """Children that we had already: not of this tree."""
    baseline: dict[int, dict[str, int]] = field(default_factory=dict)
    """What a process had used before it became the command."""
    io: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    usage: list[resource.struct_rusage] = field(default_factory=list)
    lost: dict[str, set[int]] = field(default_factory=dict)
    """Reason -> the processes."""
    held: dict[int, int] = field(default_factory=dict)
    """Process -> its open /proc/PID/io: a zombie's belongs to root, so that an ordinary user must have opened it before."""

    def expect(self, pid: int) -> None:
        """Take note of what a child has used before its exec."""
        self.hold(pid)
        self.baseline[pid] = self.io_of(pid) or {}

    def hold(self, pid: int) -> None:
        """Open the account of a living process, to be able to read it when it has ended."""
        if pid not in self.held and len(self.held) < MOST_HELD:
            with contextlib.suppress(OSError):
                self.held[pid] = os.open(f"/proc/{pid}/io", os.O_RDONLY | os.O_CLOEXEC)

    def let_go(self, gone: Iterable[int]) -> None:
        """Close the accounts of processes that are not there any more: whoever waited for them has their account."""
        for pid in gone:
            os.close(self.held.pop(pid))

    def io_of(self, pid: int) -> dict[str, int] | None:
        """Return the account of a process with its waited-for children's; None where it is gone or closed to us."""
        if pid in self.held:
            try:
                return counters(os.pread(self.held[pid], 4096, 0).decode())
            except OSError:
                os.close(self.held.pop(pid))
        return io_account(pid)

    def close(self) -> None:
        """Hold nothing open any more."""
        for descriptor in self.held.values():
            os.close(descriptor)
        self.held = {}

    def others(self) -> tuple[int, ...]:
        """Return the processes of the tree whose parent we are now."""
        return tuple(pid for pid in children("self") if pid not in self.before)

    def collect(self) -> list[Ended]:
        """Read and reap every child that has ended by now.

        A child that another thread of ours started is reaped there, maybe between our two calls: it is none of the command's.
        """
        ended: list[Ended] = []
        while (found := _zombie()) is not None:
            at_ns, known = time.monotonic_ns(), dict(self.io)
            if found not in self.before:
                self.lost.get(REAPED_BY_KERNEL, set()).discard(found)
                self.read(found)
            try:
                _, status, usage = os.wait4(found, 0)
            except ChildProcessError:
                self.io.update(known)
                for pids in self.lost.values():
                    pids.discard(found)
                continue
            if found not in self.before:
                self.usage.append(usage)
                ended.append(Ended(pid=found, status=status, at_ns=at_ns))
        return ended

    def read(self, pid: int) -> None:
        """Add the account of a process and its waited-for children, as far as it goes now."""
        found = self.io_of(pid)
        if pid in self.held:
            os.close(self.held.pop(pid))
        if found is None:
            self.add_lost(CLOSED, pid)
            return
        for name, value in self.own(pid, found).items():
            self.io[name] += value
        if ignores_children(pid):
            self.add_lost(REAPED_BY_KERNEL, pid)

    def own(self, pid: int, found: Mapping[str, int]) -> dict[str, int]:
        """Return an account without what was used before the exec."""
        base = self.baseline.get(pid, {})
        return {name: max(0, value - base.get(name, 0)) for name, value in found.items()}

    def add_lost(self, reason: str, pid: int) -> None:
        """Note a process whose account cannot be had."""
        self.lost.setdefault(reason, set()).add(pid)

    def so_far(self, roots: Iterable[int]) -> dict[str, int]:
        """The counters of all that ended and of all that live; parents are read first, so that no child is counted twice."""
        total = dict(self.io)
        for pid, _ in below(roots):
            for name, value in self.own(pid, self.io_of(pid) or {}).items():
                total[name] += value
        return total

    def account(self, recorded: Recorded | None, kinds: OtherKinds | None = None) -> TreeAccount:
        """Return all that was collected; with exit records of every task, what those have beyond it."""
        found = {**self.io, **self._used()}
        lost = {reason: pids for reason, pids in self.lost.items() if pids}
        if recorded is not None:
            found = with_records(found, recorded)
            lost = {reason: pids for reason, pids in lost.items() if reason == STILL_RUNS}
        return TreeAccount(
            **found,
            max_rss_bytes=max((one.ru_maxrss for one in self.usage), default=0) * 1024,
            processes=len(self.usage),
            lost=sum(len(pids) for pids in lost.values()),
            lost_reason="; ".join(lost) or None,
            kinds=kinds,
            cpu_wait_ns=None if recorded is None else recorded.cpu_wait_ns,
        )

    def _used(self) -> dict[str, int]:
        return {name: round(sum(getattr(one, field) for one in self.usage) * factor) for name, (field, factor) in USED.items()}


def with_records(found: Mapping[str, int], recorded: Recorded) -> dict[str, int]:
    """For each figure the larger one: both are lower bounds of the same, one lacks what nobody waited for, one is cut to KiB."""
    larger = {name: max(value, recorded.counters.get(name, 0)) for name, value in found.items()}
    cpu_ns = found["cpu_user_ns"] + found["cpu_system_ns"]
    if recorded.cpu_ns > cpu_ns * (1 + NOTICED_CPU_SHARE) + NOTICED_CPU_NS:
        larger["cpu_system_ns"] += recorded.cpu_ns - cpu_ns
    return larger


def exceeds(io: Mapping[str, int], recorded: Recorded) -> bool:
    """Return whether exit records have bytes that nobody's account has."""
    return any(recorded.counters.get(name, 0) > value for name, value in io.items())


def _zombie() -> int | None:
    """Return a child of ours that has ended and waits to be reaped."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return None
    return found.si_pid if found is not None else None

"""What a command's whole process tree used: each process that ends with us as its parent is read while it is a zombie.

The kernel adds the I/O account and the resource usage of a child to its parent's when the parent waits for it, so one zombie
holds its whole waited-for subtree. We are the tree's subreaper: orphans come to us. A child whose parent ignores SIGCHLD is
reaped by the kernel itself and is in nobody's account.
"""

from __future__ import annotations

import ctypes
import os
import resource
from dataclasses import dataclass, field
from pathlib import Path

from assay.records import TreeAccount

PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
SIGCHLD_BIT = 1 << 16
COUNTERS = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")
SOURCE = "tree:wait4 and /proc/PID/io"


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


@dataclass
class Tree:
    """The tree of one command, from its start to its last process."""

    before: frozenset[int] = frozenset()
    """Children that we had already: not of this tree."""
    baseline: dict[int, dict[str, int]] = field(default_factory=dict)
    """What a process had used before it became the command."""
    io: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    usage: list[resource.struct_rusage] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    """Reason -> how many."""

    def expect(self, pid: int) -> None:
        """Take note of what a child has used before its exec."""
        self.baseline[pid] = _io(pid) or {}

    def collect(self) -> list[Ended]:
        """Read and reap every child that has ended by now."""
        ended: list[Ended] = []
        while (found := _zombie()) is not None:
            if found not in self.before:
                self._read(found)
            _, status, usage = os.wait4(found, 0)
            if found not in self.before:
                self.usage.append(usage)
                ended.append(Ended(pid=found, status=status))
        return ended

    def miss(self, reason: str, count: int = 1) -> None:
        """Processes were seen whose account cannot be had."""
        self.lost[reason] = self.lost.get(reason, 0) + count

    def account(self) -> TreeAccount:
        """All that was collected."""
        used = self.usage
        return TreeAccount(
            **{name: max(0, value) for name, value in self.io.items()},
            cpu_user_ns=round(sum(one.ru_utime for one in used) * 1e9),
            cpu_system_ns=round(sum(one.ru_stime for one in used) * 1e9),
            voluntary_switches=sum(one.ru_nvcsw for one in used),
            involuntary_switches=sum(one.ru_nivcsw for one in used),
            minor_faults=sum(one.ru_minflt for one in used),
            major_faults=sum(one.ru_majflt for one in used),
            max_rss_bytes=max((one.ru_maxrss for one in used), default=0) * 1024,
            processes=len(used),
            lost=sum(self.lost.values()),
            lost_reason="; ".join(self.lost) or None,
        )

    def _read(self, pid: int) -> None:
        found = _io(pid)
        if found is None:
            self.miss("a process changed its user, so that its account is closed to us")
            return
        base = self.baseline.get(pid, {})
        for name in COUNTERS:
            self.io[name] += found[name] - base.get(name, 0)
        if ignores_children(pid):
            self.miss("a process ignored the end of its children (SIGCHLD), so that nobody has their account")


def alive() -> tuple[int, ...]:
    """Our children that have not been reaped, by all threads of ours."""
    found: list[int] = []
    for thread in Path("/proc/self/task").iterdir():
        found += _numbers(f"{thread}/children")
    return tuple(found)


def ignores_children(pid: int) -> bool:
    """Whether a process ignores SIGCHLD, so that the kernel reaps its children."""
    for line in _text(f"/proc/{pid}/status").splitlines():
        if line.startswith("SigIgn:"):
            return bool(int(line.split()[1], 16) & SIGCHLD_BIT)
    return False


def _zombie() -> int | None:
    """A child of ours that has ended and waits to be reaped."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return None
    return found.si_pid if found is not None else None


def _io(pid: int) -> dict[str, int] | None:
    found = dict(line.split(": ") for line in _text(f"/proc/{pid}/io").splitlines())
    return {name: int(found[name]) for name in COUNTERS} if found else None


def _numbers(path: str) -> list[int]:
    return [int(word) for word in _text(path).split()]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - many small reads
            return file.read()
    except OSError:
        return ""

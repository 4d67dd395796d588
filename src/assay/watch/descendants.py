"""What can be seen of living processes in /proc: who is whose child, which files they hold open, what they moved so far."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

SIGCHLD_BIT = 1 << 16
COUNTERS = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")
DEEPEST = 64
PIECE_BYTES = 1 << 14


def children(pid: int | str) -> tuple[int, ...]:
    """The children of a process, living or zombies, by all its threads; empty where it is gone."""
    found: list[int] = []
    for thread in _names(f"/proc/{pid}/task"):
        found += [int(word) for word in _text(f"/proc/{pid}/task/{thread}/children").split()]
    return tuple(found)


def below(pids: Iterable[int], depth: int = 0) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each process with its children, parents first."""
    for pid in pids:
        found = children(pid)
        yield pid, found
        if found and depth < DEEPEST:
            yield from below(found, depth + 1)


def io(pid: int) -> dict[str, int] | None:
    """The I/O account of a process with its waited-for children's; None where it is gone or closed to us."""
    text = _text(f"/proc/{pid}/io")
    return counters(text) if text else None


def counters(text: str) -> dict[str, int]:
    """The figures of /proc/PID/io by name."""
    found = dict(line.split(": ") for line in text.splitlines())
    return {name: int(found[name]) for name in COUNTERS}


def parent(pid: int) -> int | None:
    """The parent of a process; None where it is gone."""
    text = _text(f"/proc/{pid}/stat")
    return int(text.rpartition(")")[2].split()[1]) if text else None


def is_zombie(pid: int) -> bool:
    """Whether a process has ended and is not waited for yet, or is gone."""
    text = _text(f"/proc/{pid}/stat")
    return not text or text.rpartition(")")[2].split()[0] in ("Z", "X")


def words(pid: int) -> tuple[str, ...]:
    """The words that a process was called with; empty where it is gone or has ended."""
    return tuple(_text(f"/proc/{pid}/cmdline").split("\0")[:-1])


def began_ns(pid: int) -> int | None:
    """When a process began, in ns of CLOCK_MONOTONIC, to one tick (10 ms); None where it is gone."""
    text = _text(f"/proc/{pid}/stat")
    if not text:
        return None
    asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()  # the kernel counts suspended time too
    return int(text.rpartition(")")[2].split()[19]) * 10**9 // os.sysconf("SC_CLK_TCK") - asleep_ns


def ignores_children(pid: int) -> bool:
    """Whether a process ignores SIGCHLD, so that the kernel reaps its children and nobody gets their account."""
    _, _, after = _text(f"/proc/{pid}/status").partition("SigIgn:")
    return bool(after and int(after.split(maxsplit=1)[0], 16) & SIGCHLD_BIT)


def open_files(pid: int) -> Iterator[tuple[str, bool]]:
    """Each path that a process holds open, and whether for writing; none where it is closed to us."""
    for name in _names(f"/proc/{pid}/fd"):
        try:
            path = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115 - many of them, often
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/", "/sys/")):
            yield path, _for_writing(f"/proc/{pid}/fdinfo/{name}")


def _for_writing(path: str) -> bool:
    _, _, after = _text(path).partition("flags:")
    return bool(after and int(after.split(maxsplit=1)[0], 8) & os.O_ACCMODE)


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

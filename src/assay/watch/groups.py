"""The control groups that processes of a command are in, the CPUs that they may run on, how many files they have open and may
have open (`ulimit -n`), and whether their network is ours.

The command begins in our own group and on our CPUs. A shell may move itself before it becomes the load (cgexec, taskset,
systemd-run), so the tree is looked at more often at first: a group's counters count from the first look that found it.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping

from assay.catalogue import Host, Observer
from assay.frozen import dataclass
from assay.machine import group_mounts
from assay.records import Subject

FIRST_S, MOST_S = 0.002, 1.0
"""Until the second look, and the longest time between two; each time twice as long."""
FILES_ROW = "Max open files"
COST_TIMES = 500
"""After a look that took so much, the next one comes no sooner than this many times later."""


@dataclass(frozen=True, kw_only=True)
class OpenFiles:
    """How many files, sockets and pipes a process had open, and how many it may have."""

    open: int
    limit: int

    @property
    def left(self) -> int:
        """How many more it may open."""
        return self.limit - self.open


class Groups:
    """What is known by now of the control groups and CPUs of a tree."""

    def __init__(self, host: Host) -> None:
        self._known = group_mounts.group_mounts(host)
        self._texts: dict[str, tuple[str, ...]] = {}
        self.directories: dict[str, None] = dict.fromkeys(self._of("self"))
        self.cpus: tuple[int, ...] = _cpus(0)
        self._network = _network("self")
        self.other_network = False
        """Whether a process was seen in another network namespace."""
        self.open_files: OpenFiles | None = None
        """Of the process that came nearest to its limit."""
        self._parents: set[int] = set()
        """Who had a child once: it waits for the work of others."""
        self._wait_s, self._next_ns = FIRST_S, 0

    def patience_s(self) -> float:
        """Return how long the next look may wait."""
        return max(0.0, (self._next_ns - time.monotonic_ns()) / 1e9)

    def look(self, processes: Callable[[], Iterable[tuple[int, tuple[int, ...]]]], *, at_end: bool = False) -> bool:
        """Look at each process with its children, where it is time to; return whether one is in a group that was not known.

        `at_end`: one of them has ended and is not waited for yet, so that this is the last time that it can be seen.
        """
        began_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        if began_ns < self._next_ns and not at_end:
            return False
        pairs, before = list(processes()), len(self.directories)
        for pid, _ in pairs:
            self.directories |= dict.fromkeys(self._of(pid))
            self.other_network = self.other_network or _network(pid) not in (self._network, "")
            self._look_at_files(pid)
        self._parents |= {pid for pid, below in pairs if below}
        leaves = {cpu for pid, _ in pairs if pid not in self._parents for cpu in _cpus(pid)}
        self.cpus = tuple(sorted(leaves)) or self.cpus
        spent_ns = time.thread_time_ns() - cpu_ns  # on a busy machine a look takes longer, and costs no more
        self._next_ns = began_ns + max(round(self._wait_s * 1e9), spent_ns * COST_TIMES)
        self._wait_s = min(MOST_S, 2 * self._wait_s)
        return len(self.directories) > before

    def _look_at_files(self, pid: int) -> None:
        found = _open_files(pid)
        if found is not None and (self.open_files is None or found.left < self.open_files.left):
            self.open_files = found

    def _of(self, pid: int | str) -> tuple[str, ...]:
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:  # noqa: PTH123 - many of them, often
                text = file.read()
        except OSError:
            return ()
        if text not in self._texts:
            self._texts[text] = tuple(dict.fromkeys(group_mounts.directories(self._known, text).values()))
        return self._texts[text]

    def seen_by(self, observer: Observer) -> Observer:
        """Return an observer that looks at the groups which are known by then."""

        def read(host: Host, subject: Subject) -> Mapping[str, object]:
            return observer.read(host, dataclasses.replace(subject, cgroups=tuple(self.directories)))

        return dataclasses.replace(observer, read=read)


def _network(pid: int | str) -> str:
    """Return the network namespace of a process; empty where it is gone or closed to us."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115 - many of them, often
    except OSError:
        return ""


def _open_files(pid: int) -> OpenFiles | None:
    """Return the open files of a process; None where it is gone, closed to us, or has no limit."""
    try:
        with open(f"/proc/{pid}/limits", encoding="utf-8") as file:  # noqa: PTH123 - many of them, often
            row = next((line for line in file if line.startswith(FILES_ROW)), "")
        soft = row.removeprefix(FILES_ROW).split()[:1]
        return OpenFiles(open=len(os.listdir(f"/proc/{pid}/fd")), limit=int(soft[0])) if soft and soft[0].isdigit() else None  # noqa: PTH208
    except OSError:
        return None


def _cpus(pid: int) -> tuple[int, ...]:
    try:
        return tuple(sorted(os.sched_getaffinity(pid)))
    except OSError:
        return ()

"""What a running tree leaves as traces: which files it opened, what its tasks used, what it moved so far.

As root the kernel tells of every opened file (fanotify) and every ended task (taskstats) of the machine, and what is not of the
tree is thrown away at each tick. Else the tree's processes in /proc are looked at again and again, which misses what is short.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import posixpath
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.catalogue import Host
from assay.hosts import exits, socket_bytes
from assay.hosts import opens as opened
from assay.machine.stack import Mount, backing_file, mounts
from assay.records import OtherKinds
from assay.watch import files, process_tree
from assay.watch.channels import Channels, above
from assay.watch.files import PROGRAMS
from assay.watch.invocations import CallTracker
from assay.watch.process_tree import REAPED_BY_KERNEL, Recorded, Tree

LEAST_HEAR_S, MOST_HEAR_S = 0.25, 1.0
MOST_EXITS = 1000
"""As many are well within what the kernel keeps for us, and are heard together for less than in several goes."""
HEARING_NS, HEARING_SHARE = 60_000_000, 0.0015
"""Hearing may take so much of the processor and such a share of the time; then we hear of written files alone."""
LOOK_S, MOST_LOOK_S, LOOK_SHARE = 0.1, 2.0, 0.02
"""Between two looks at the tree: at first, at last, and as a share of the time since the exec."""
COUNT_S = 1.0
MOST_POINTS = 20
COST_TIMES = 1000
"""After a look that took so much of the processor, the next one comes no sooner than this many times later: 0.1 %."""
MOST_FILES = 5000
"""More of them cost more to follow than the budget has."""
KEPT_NS = 10 * 10**9
"""For so long the parent of a task that has ended is remembered."""


@dataclass
class TreeTracker:
    """The traces of one tree from before its exec to its end. `close` ends all listening."""

    host: Host
    tree: Tree
    systems: frozenset[str] | None = None
    """The file systems whose files we hear of; None where we hear of none."""
    exits: exits.Exits | None = None
    opens: opened.Opens | None = None
    sockets: socket_bytes.SocketBytes | None = None
    socket_use: dict[int, socket_bytes.SocketUse] | None = None
    """What each process of the machine moved through sockets; None before the end, and where nobody counted."""
    call_tracker: CallTracker | None = None
    """Of the calls of a tool, where each is to be known."""
    no_opens: str | None = None
    """Why nobody tells us of opened files."""
    points: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    """(monotonic ns, counters of the tree)."""
    files: dict[str, bool] = field(default_factory=dict)
    """Path -> written, as found in /proc."""
    handles: dict[bytes, bool] = field(default_factory=dict)
    channels: Channels = field(default_factory=Channels)
    is_connected: bool = False
    """Whether a process was seen with a connection to another machine."""
    holds_socket: bool = False
    """Whether a process was seen with a socket."""
    crowded: bool = False
    broken: str | None = None
    _inside: dict[int, bool] = field(default_factory=dict)
    """Process -> whether it is of the tree."""
    _parents: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Ended task -> its parent, and when we heard of it; the latest last."""
    _pending: dict[int, dict[bytes, bool]] = field(default_factory=dict)
    """Process -> what it opened, of which it could not be told yet whether it is of the tree."""
    _sums: dict[str, int] = field(default_factory=dict)
    _cpu_ns: int = 0
    _cpu_wait_ns: int = 0
    _tasks: int = 0
    _since_ns: int = field(default_factory=time.monotonic_ns)
    _heard_ns: int = 0
    _hear_s: float = LEAST_HEAR_S
    _look_ns: int = 0
    _count_ns: int = 0
    _count_s: float = COUNT_S

    def tick(self) -> None:
        """Take what the kernel told since the last tick, and look at the tree where it is time to.

        What cannot be understood costs the evidence, never the command that is watched.
        """
        try:
            self._take()
        except (OSError, ValueError, KeyError) as error:
            self.broken = self.broken or f"{type(error).__name__}: {error}"

    def _take(self) -> None:
        if self.call_tracker is not None:
            self.call_tracker.look()
        self._hear()
        now_ns = time.monotonic_ns()
        if now_ns >= self._count_ns:
            if len(self.points) == MOST_POINTS:  # a long run is counted as often as a short one, at even times
                del self.points[1::2]
                self._count_s *= 2
            self._count_ns = self._spaced(self._count, self._count_s)
        if not self.hears_all() and now_ns >= self._look_ns:
            since_s = (now_ns - self._since_ns) / 1e9
            self._look_ns = self._spaced(self._look, min(MOST_LOOK_S, max(LOOK_S, since_s * LOOK_SHARE)))

    def patience_s(self) -> float:
        """Return how long the next tick may wait: what the kernel tells it keeps for us."""
        due_ns = self._count_ns if self.hears_all() else min(self._count_ns, self._look_ns)
        most = min(self._hear_s, max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
        return most if self.call_tracker is None else min(most, self.call_tracker.patience_s())

    def forget(self) -> None:
        """Throw away what was told by now: we ourselves did it, before the command was let go."""
        for source in (self.exits, self.opens):
            if source is not None:
                deque(source.drain({}), maxlen=0)

    def hears_all(self) -> bool:
        """Return whether the kernel tells of every file and every task, so that nobody has to look."""
        return self.exits is not None and not self._looks_for_files()

    def _looks_for_files(self) -> bool:
        return self.opens is None or bool(self.opens.refusing) or not self.opens.all_opens

    def recorded(self) -> Recorded | None:
        """Return the sum of the tree's exit records; None where some or all could not be had."""
        if self.exits is None or self.exits.overflowed or self.broken:
            return None
        return Recorded(counters=dict(self._sums), cpu_ns=self._cpu_ns, tasks=self._tasks, cpu_wait_ns=self._cpu_wait_ns)

    def opened_files(self) -> dict[str, bool]:
        """Return path -> written, of every regular file that was opened and still is there."""
        found = dict(self.files)
        if self.opens is not None:
            for key, path in self.opens.paths(self.handles):
                found[path] = found.get(path, False) or self.handles[key]
        return found

    def gaps(self) -> Iterator[str]:
        """Yield why files may have been opened that are not known."""
        if self.no_opens is not None:
            yield f"{self.no_opens}; only files in arguments and files open for a while are known"
        elif self.exits is None:
            yield "short processes could not be attributed"
        if self.opens is not None and self.opens.refusing:
            yield f"fanotify: no events for files on {', '.join(sorted(self.opens.refusing))}"
        if self.broken:
            yield f"files not followed: {self.broken}"
        if self.crowded:
            yield f"only the first {MOST_FILES} files were followed"

    def mounted(self, *, all_known: bool) -> str | None:
        """Return what came too late to be listened to; the files that hold such a file system are no measure of what was written.

        What others mounted does not count where the known files hold all bytes that were dirtied (`all_known`).
        """
        if self.systems is None:
            return None
        late = [mount for mount in opened.whole(mounts(self.host)) if mount.device_number not in self.systems]
        if not late or (all_known and self._are_of_others(late)):
            return None
        return "file systems mounted during the command are not covered by fanotify"

    def _are_of_others(self, late: Sequence[Mount]) -> bool:
        """Whether the tree opened neither the devices that were mounted nor the images behind them, as who mounts them does."""
        if not self.hears_all() or self.crowded or self.broken:
            return False
        ours = self.opened_files()
        return all(
            mount.source.startswith("/dev/")
            and mount.source not in ours
            and backing_file(self.host, posixpath.basename(mount.source)) not in ours
            for mount in late
        )

    def close(self) -> None:
        """Listen no more."""
        if self.sockets is not None:
            self.socket_use = self.sockets.used()
        for source in (self.exits, self.opens, self.sockets):
            if source is not None:
                source.close()

    def of_no_file(self) -> OtherKinds | None:
        """Return what the tree moved that is of no file; None where nobody told of every file and every task."""
        told = self.hears_all() and self.recorded() is not None and self.channels.threads_known and not self.crowded
        return self.channels.of_no_file(self._sizes, self.socket_use) if told else None

    def _sizes(self, keys: Iterable[bytes]) -> tuple[dict[bytes, int], frozenset[bytes]]:
        """Return the sizes of opened files that are still there, and which are no files but devices that never end.

        A program's own files count nothing.
        """
        found: dict[bytes, int] = {}
        endless: set[bytes] = set()
        for key, path in self.opens.paths(keys, files.is_source) if self.opens is not None else ():
            with contextlib.suppress(OSError):
                status = Path(path).stat()
                found[key] = 0 if path.startswith(PROGRAMS) else status.st_size
                if stat.S_ISCHR(status.st_mode):
                    endless.add(key)
        return found, frozenset(endless)

    def _hear(self) -> None:
        began_ns = time.thread_time_ns()
        ended = self._hear_exits()
        self._hear_opens()
        for pid in ended:  # what they opened was told before their end; a later process may have the same number
            self.channels.end(pid, (*above(pid, self._parents),) if pid in self.channels.moved else ())
            self._inside.pop(pid, None)
        self._heard_ns += time.thread_time_ns() - began_ns
        allowed_ns = HEARING_NS + HEARING_SHARE * (time.monotonic_ns() - self._since_ns)
        if self.opens is not None and self.opens.all_opens and self._heard_ns > allowed_ns:
            self.opens.hear_writes_alone()

    def _hear_exits(self) -> list[int]:
        """Take the accounts of the tree's tasks; all tasks that ended."""
        if self.exits is None:
            return []
        heard, now_ns = [*self.exits.drain(self._inside)], time.monotonic_ns()
        for one in heard:
            self._parents.pop(one.pid, None)
            self._parents[one.pid] = (one.parent, now_ns)
            if not one.record:
                self._inside[one.pid] = False
        for one in heard:
            if one.record and self._belongs(one.pid):
                self._cpu_ns += one.cpu_ns
                self._cpu_wait_ns += one.cpu_wait_ns
                self._tasks += 1
                found = one.counters
                for name, value in found.items():
                    self._sums[name] = self._sums.get(name, 0) + value
                self.channels.add_task(one.group, found)
                self.channels.members.add(one.pid)
        for pid in [*itertools.takewhile(lambda pid: self._parents[pid][1] < now_ns - KEPT_NS, self._parents)]:
            del self._parents[pid]
        self._hear_s = min(MOST_HEAR_S, max(LEAST_HEAR_S, self._hear_s * 2 if len(heard) * 2 < MOST_EXITS else self._hear_s / 2))
        return [one.pid for one in heard]

    def _hear_opens(self) -> None:
        if self.opens is None or self.crowded:
            return
        old, self._pending = self._pending, {}
        fresh: dict[int, dict[bytes, bool]] = {}
        for one in self.opens.drain(self._inside):
            files = fresh.setdefault(one.pid, {})
            files[one.key] = files.get(one.key, False) or one.written
        for pid, files in (*old.items(), *fresh.items()):
            inside = self._belongs(pid)
            if inside:
                self.handles |= {key: written or self.handles.get(key, False) for key, written in files.items()}
                self.channels.add_opened(pid, files)
            elif inside is None and files is not old.get(pid):
                self._pending[pid] = files
        if len(self.handles) > MOST_FILES:
            self.crowded = True
            self.opens.hear_nothing()

    def _belongs(self, pid: int) -> bool | None:
        """Whether a process, living or ended, is of the tree: by its parents up to us or past us; None where one is gone."""
        chain: list[int] = []
        at, own = pid, os.getpid()
        while at not in self._inside and at > 1 and at != own and len(chain) < process_tree.DEEPEST:
            chain.append(at)
            ended = self._parents.get(at)
            above = ended[0] if ended is not None else process_tree.parent(at)
            if above is None:
                return None
            at = above
        answer = self._inside.get(at, at == own and pid != own and chain[-1] not in self.tree.before)
        self._inside |= dict.fromkeys(chain, answer)
        return answer

    def _count(self) -> None:
        self.points.append((time.monotonic_ns(), self.tree.so_far(self.tree.others())))
        if not self.holds_socket and self.sockets is None:
            self.holds_socket = any(process_tree.holds_socket(pid) for pid, _ in process_tree.below(self.tree.others()))
        if not self.is_connected:
            self.is_connected = any(process_tree.is_connected(pid) for pid, _ in process_tree.below(self.tree.others()))

    def _look(self) -> None:
        tree = dict(process_tree.below(self.tree.others()))
        if os.geteuid() != 0:
            self.tree.let_go(self.tree.held.keys() - tree.keys())
            for pid in tree:
                self.tree.hold(pid)
        for pid, found in tree.items():
            self.holds_socket = self.holds_socket or process_tree.holds_socket(pid)
            if self.exits is None and found and process_tree.ignores_children(pid):
                for child in found:
                    self.tree.add_lost(REAPED_BY_KERNEL, child)
            if self._looks_for_files():
                for path, written in process_tree.open_files(pid):
                    self.files[path] = self.files.get(path, False) or written

    def _spaced(self, look: Callable[[], None], least_s: float) -> int:
        began = time.thread_time_ns()
        look()
        spent = time.thread_time_ns() - began
        return time.monotonic_ns() + max(round(least_s * 1e9), spent * COST_TIMES)


def follow(host: Host, tree: Tree, programs: frozenset[str], *, sockets: bool = True) -> TreeTracker:
    """Begin to follow the tree of a command that has not been let go yet, and to meet the calls of these programs in it.

    `sockets`: whether their bytes are to be counted, which costs every call on a socket 0.2 µs.
    """
    heard, _ = exits.listen()
    there = systems(host)
    opens, no_opens = opened.listen(mounts(host))
    known = there if opens is not None else None
    call_tracker = CallTracker(tree=tree, programs=programs) if programs else None
    counted, _ = socket_bytes.listen() if sockets and heard is not None and opens is not None else (None, None)
    return TreeTracker(
        host=host,
        tree=tree,
        systems=known,
        exits=heard,
        opens=opens,
        sockets=counted,
        no_opens=no_opens,
        call_tracker=call_tracker,
    )


def systems(host: Host) -> frozenset[str]:
    """MAJ:MIN of every mounted file system that holds data."""
    return frozenset(mount.device_number for mount in opened.whole(mounts(host)))

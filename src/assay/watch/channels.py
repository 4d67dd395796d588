"""What processes of one tree read of no file: from each other, from sockets, from devices such as /dev/zero (decision 022).

A process can have read no more of files than it opened, or found open. The rest came from its sockets, as far as the kernel
counted them, from others of the tree that wrote as much to no file, or from a device that it opened. What is left is a file that
was read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.hosts.socket_bytes import SocketUse
from assay.records import OtherKinds
from assay.watch import process_tree

LEAST_BYTES = 1 << 20
"""What a task moved less is not looked for in pipes."""


@dataclass
class CallBytes:
    """What one process moved by calls, and the files that it may have read."""

    read_bytes: int = 0
    to_no_file_bytes: int = 0
    """What it wrote beyond what it made dirty: into pipes, sockets, terminals, /dev/null."""
    files: dict[int, frozenset[bytes]] = field(default_factory=dict)
    """What it opened and did not write; the same of the processes above it, whose open files it inherited."""


@dataclass
class Channels:
    """The processes of a tree that moved much, and the files that the living ones opened."""

    moved: dict[int, CallBytes] = field(default_factory=dict)
    members: set[int] = field(default_factory=set)
    """Every process of the tree that has ended."""
    threads_known: bool = True
    """Whether the kernel tells which process a task was a thread of."""
    written: set[bytes] = field(default_factory=set)
    """What any process wrote: that another one inherited it open is no reading."""
    _opened: dict[int, dict[bytes, bool]] = field(default_factory=dict)
    """Process -> what it opened -> written."""

    def add_opened(self, process: int, files: Mapping[bytes, bool]) -> None:
        """Note what a process opened, and whether it wrote."""
        known = self._opened.setdefault(process, {})
        self.written |= {key for key, written in files.items() if written}
        known |= {key: written or known.get(key, False) for key, written in files.items()}

    def add_task(self, process: int | None, used: Mapping[str, int]) -> None:
        """Note what a task moved that has ended."""
        to_no_file = max(0, used["wchar"] - used["write_bytes"])
        self.threads_known &= process is not None
        if process is not None and max(used["rchar"], to_no_file) >= LEAST_BYTES:
            moved = self.moved.setdefault(process, CallBytes())
            moved.read_bytes += used["rchar"]
            moved.to_no_file_bytes += to_no_file

    def end(self, process: int, above: Sequence[int]) -> None:
        """Note which files a process may have read that has ended, given those above it; forget what it opened."""
        if process in self.moved:
            own = {pid: self._opened.get(pid, {}) for pid in (process, *above)}
            self.moved[process].files.update(
                {pid: frozenset(key for key, written in files.items() if not written) for pid, files in own.items()}
            )
        self._opened.pop(process, None)

    def of_no_file(
        self,
        look: Callable[[set[bytes]], tuple[Mapping[bytes, int], frozenset[bytes]]],
        sockets: Mapping[int, SocketUse] | None,
    ) -> OtherKinds:
        """Return what was read of no file; `look` returns the sizes of those files that are there, and which are endless devices.

        `sockets` is what each process of the machine moved through sockets; None where nobody counted.
        """
        sizes, endless = look({key for one in self.moved.values() for files in one.files.values() for key in files})
        used = {} if sockets is None else {pid: use for pid, use in sockets.items() if pid in self.members}
        written = {pid: max(0, one.to_no_file_bytes - _sent(used.get(pid))) for pid, one in self.moved.items()}
        between, received, generated, unsure = 0, 0, 0, 0
        for pid, one in self.moved.items():
            own, inherited = self._readable(pid, sizes)
            came = min(max(0, one.read_bytes - own), _received(used.get(pid)))
            rest = max(0, one.read_bytes - own - came - inherited)
            piped = min(rest, sum(written.values()) - written[pid])
            left = rest - piped
            is_generated = any(files & endless for files in one.files.values())
            generated, unsure = (generated + left, unsure) if is_generated else (generated, unsure + left)
            between, received = between + piped, received + came
        local = sum(use.local_received for use in used.values()), sum(use.local_sent for use in used.values())
        return OtherKinds(
            read_bytes=between + received + generated,
            device_bytes=generated,
            received_bytes=None if sockets is None else sum(use.received for use in used.values()) + max(0, local[0] - local[1]),
            sent_bytes=None if sockets is None else sum(use.sent for use in used.values()) + max(0, local[1] - local[0]),
            unsure_bytes=unsure if sockets is None else 0,
        )

    def _readable(self, process: int, sizes: Mapping[bytes, int]) -> tuple[int, int]:
        """Return how much of files a process can have read: of its own all, of those above it what these did not read themselves.

        A file that is gone may have been as large as what was read; so may all, of a process whose end nobody told.
        """
        moved, own, inherited = self.moved[process], 0, 0
        if not moved.files:
            return moved.read_bytes, 0
        for opener, files in moved.files.items():
            if opener == process:
                own += sum(sizes.get(key, moved.read_bytes) for key in files)
            else:
                known = sum(sizes.get(key, moved.read_bytes) for key in files - self.written)
                read = self.moved[opener].read_bytes if opener in self.moved else 0
                inherited += max(0, known - read)
        return own, inherited


def above(pid: int, ended: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """Yield the processes above one, up to us; of those that ended the parents are given."""
    own, depth = os.getpid(), 0
    while depth < process_tree.DEEPEST:
        pid, depth = ended[pid][0] if pid in ended else process_tree.parent(pid) or 0, depth + 1
        if pid <= 1 or pid == own:
            return
        yield pid


def _received(use: SocketUse | None) -> int:
    return 0 if use is None else use.local_received + use.received


def _sent(use: SocketUse | None) -> int:
    return 0 if use is None else use.local_sent + use.sent

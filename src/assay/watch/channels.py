"""What processes of one tree read from each other, through pipes and sockets, and from no file (decision 022).

A process can have read no more of files than it opened, or found open. The rest came from others of the tree that wrote as much
to no file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
    threads_known: bool = True
    """Whether the kernel tells which process a task was a thread of."""
    _opened: dict[int, dict[bytes, bool]] = field(default_factory=dict)
    """Process -> what it opened -> written."""

    def add_opened(self, process: int, files: Mapping[bytes, bool]) -> None:
        """Note what a process opened, and whether it wrote."""
        known = self._opened.setdefault(process, {})
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

    def bytes_between(self, size_of: Callable[[set[bytes]], Mapping[bytes, int]]) -> int:
        """Return the bytes that went through pipes and sockets; `size_of` returns the sizes of those files that are there."""
        sizes = size_of({key for one in self.moved.values() for files in one.files.values() for key in files})
        written = sum(one.to_no_file_bytes for one in self.moved.values())
        rest = {pid: one.read_bytes - self._readable(pid, sizes) for pid, one in self.moved.items()}
        return sum(max(0, min(rest[pid], written - one.to_no_file_bytes)) for pid, one in self.moved.items())

    def _readable(self, process: int, sizes: Mapping[bytes, int]) -> int:
        """Return how much of files a process can have read: of its own all, of those above it what these did not read themselves.

        A file that is gone may have been as large as what was read; so may all, of a process whose end nobody told.
        """
        moved, total = self.moved[process], 0
        if not moved.files:
            return moved.read_bytes
        for opener, files in moved.files.items():
            known = sum(sizes.get(key, moved.read_bytes) for key in files)
            read = self.moved[opener].read_bytes if opener != process and opener in self.moved else 0
            total += max(0, known - read)
        return total


def above(pid: int, ended: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """Yield the processes above one, up to us; of those that ended the parents are given."""
    own, depth = os.getpid(), 0
    while depth < process_tree.DEEPEST:
        pid, depth = ended[pid][0] if pid in ended else process_tree.parent(pid) or 0, depth + 1
        if pid <= 1 or pid == own:
            return
        yield pid

"""Files of threads that stay open between the looks of observers: of a server they are hundreds, and the same at each look."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from assay.catalogue import Host
from assay.hosts.local import KeptOpen, Local, whole

MOST_OPEN = 1024
LEFT = 4
"""At most one in so many of the descriptors that this process may have."""
MOST_SEEN = 16 << 10
LONGEST_OPEN_NS = 10_000_000_000


class ThreadFiles:
    """Files of threads, open from their second reading on: reading an open one costs a tenth.

    The number of a thread that has ended is given to another one at some time, of which an open file does not speak: so each is
    opened again after a while. The former one is closed later still, for another thread of the lab may be reading it.
    """

    def __init__(self) -> None:
        self._most = min(MOST_OPEN, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // LEFT)
        self._seen: set[str] = set()
        self._open: dict[str, tuple[int, int]] = {}
        self._former: list[tuple[int, int]] = []
        self._mutex = threading.Lock()

    def read(self, path: str) -> bytes | None:
        """Return the content; None where the file is not kept open. Raises OSError."""
        kept = self._open.get(path)
        if kept is None and path not in self._seen:
            self._seen.add(path)
            return None
        if kept is not None and time.monotonic_ns() - kept[1] < LONGEST_OPEN_NS:
            with contextlib.suppress(OSError):  # it has ended; there may be another of that number
                return whole(kept[0])
        with self._mutex:
            self._retire((path,))
            if not self._has_room():
                return None
            fresh = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._open[path] = fresh, time.monotonic_ns()
        return whole(fresh)

    def close(self) -> None:
        """Close all; nobody reads any more."""
        with self._mutex:
            self._retire(tuple(self._open))
            while self._former:
                os.close(self._former.pop()[0])

    def _retire(self, paths: Sequence[str]) -> None:
        now = time.monotonic_ns()
        self._former += [(kept[0], now) for path in paths if (kept := self._open.pop(path, None)) is not None]

    def _has_room(self) -> bool:
        """Whether one more may be open, once those are closed that nobody can be reading any more."""
        now = time.monotonic_ns()
        if len(self._open) + len(self._former) >= self._most:
            self._retire([path for path, (_, since_ns) in self._open.items() if now - since_ns >= LONGEST_OPEN_NS])
        if len(self._seen) > MOST_SEEN:
            self._seen = set(self._open)
        while self._former and now - self._former[0][1] >= LONGEST_OPEN_NS:
            os.close(self._former.pop(0)[0])
        return len(self._open) + len(self._former) < self._most


def watched(host: Host) -> AbstractContextManager[Host]:
    """Return a host for observers, who read the same files again and again: this machine keeps them open until it is left."""
    if type(host) is not Local or host.root is not None:
        return contextlib.nullcontext(host)
    kept = KeptOpen(host.name, threads=ThreadFiles())
    kept.syscalls = host.syscalls
    return kept

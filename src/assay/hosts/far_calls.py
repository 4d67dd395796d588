"""The system calls of a far machine, made by its agent."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import CacheStat, Extents, SocketPeer
from assay.errors import LostHostError
from assay.hosts.exchange import Asking, Message


class FarCalls:
    """`catalogue.Syscalls` over an agent. What fails raises OSError that names the host."""

    def __init__(self, asking: Asking) -> None:
        self._ask = asking.ask

    def cachestat(self, path: str) -> CacheStat:
        """Pages of the file in the page cache. Raises OSError (ENOSYS before Linux 6.5, EPERM for others' files)."""
        return CacheStat(**_figures(self._ask("cachestat", path=path)))

    def cachestats(self, paths: Sequence[str]) -> tuple[CacheStat, ...]:
        """The same of those of these files that are there, in one exchange. Raises OSError."""
        found = []
        calls = [{"do": "cachestat", "path": path} for path in paths]
        for answer in self._ask("look", read=[], list=[], exists=[], calls=calls)["calls"]:
            number = answer["error"].get("errno") if "error" in answer else 0
            if number == errno.ENOENT:
                continue
            if "error" in answer:
                raise OSError(number or errno.EIO, str(answer["error"].get("message", "cachestat")))
            found.append(CacheStat(**_figures(answer)))
        return tuple(found)

    def fiemap(self, path: str) -> Extents:
        """Return bytes of the file by kind of extent. Raises OSError."""
        return Extents(**_figures(self._ask("fiemap", path=path)))

    def placed(self, path: str) -> tuple[int, int] | None:
        """Between which bytes of the device the file's extents lie; None where they have no place yet. Raises OSError."""
        span = self._ask("placed", path=path)["span"]
        return None if span is None else (int(span[0]), int(span[1]))

    def drop_file(self, path: str) -> None:
        """Flush the file, then give its pages back. Raises OSError."""
        self._ask("drop_file", path=path)

    @contextlib.contextmanager
    def memory_held(self, length: int) -> Iterator[None]:
        """Take so many bytes of memory, touch every page, and free them at the end. Raises OSError."""
        held = self._ask("hold_memory", bytes=length)["held"]
        try:
            yield
        finally:
            with contextlib.suppress(LostHostError):  # an agent that ends has no memory any more
                self._ask("release_memory", held=held)

    def spin(self) -> tuple[int, ...]:
        """Return how long each of some equal pieces of integer work took, in ns of one thread's own time."""
        return tuple(self._ask("spin")["pieces_ns"])

    def cpu_clock(self, pid: int) -> int:
        """Return the CPU time of a process (ns) with its ended threads. Raises OSError."""
        return int(self._ask("cpu_clock", path=f"/proc/{pid}")["cpu_ns"])

    def booted_ns(self) -> int:
        """CLOCK_REALTIME less CLOCK_BOOTTIME (ns); the closest of some tries."""
        return int(self._ask("booted_ns")["booted_ns"])

    def kernel_log(self) -> str:
        """Return what came into the kernel's log since the former call; nothing at the first. Raises OSError."""
        return str(self._ask("kernel_log")["text"])

    def socket_peers(self, pid: int) -> tuple[SocketPeer, ...]:
        """Raise OSError: the agent has no such request."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), f"/proc/{pid}/fd")

    def answer(self, socket: str, line: str) -> str:  # noqa: ARG002 - the same everywhere
        """Raise OSError: the agent has no such request."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), socket)

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path; nanoseconds it took. Raises OSError."""
        return int(self._ask("syncfs", path=path)["took_ns"])

    def unmount_in(self, namespace: str, point: str) -> None:
        """Unmount a mount point of another mount namespace. Raises OSError."""
        self._ask("unmount_in", namespace=namespace, point=point)

    def space(self, path: str) -> tuple[float, float]:
        """Return the shares of space and inodes that an ordinary user may still take. Raises OSError."""
        found = self._ask("space", path=path)
        return float(found["free"]), float(found["free_inodes"])

    def filesystem_semantics(self, path: str) -> Mapping[str, str]:
        """Return the semantics of the file system there, by trying. Raises OSError where nothing can be made in the directory."""
        return dict(self._ask("semantics", path=path)["semantics"])


def _figures(answer: Message) -> dict[str, int]:
    return {name: value for name, value in answer.items() if name != "id"}

"""The Host protocol: the only door to a machine, and what comes back through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    wall_ns: int
    cpu_ns: int = 0
    """CPU time that it used itself, without the programs that it waited for; 0 where the host does not tell."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Which machine a host is, and which boot of it; either is empty where the host does not tell."""

    serial: str
    """A digest of the names of the hardware and of its installation: the same after a reboot."""
    boot: str
    """The boot id: two hosts with one boot id are one machine."""
    names: tuple[tuple[str, str], ...] = ()
    """Each name that it tells, with its digest: a clone has the machine-id of its original, but a host key of its own."""


Listener = Callable[[str | None, int], None]
"""Takes each line that came, None at the end of the output, with our CLOCK_MONOTONIC (ns) at which it came."""


class Process(Protocol):
    """A running command with line-wise standard input and output."""

    pid: int

    def send(self, line: str) -> None: ...
    def receive(self, timeout_s: float) -> str | None:
        """The next line; None when the output has ended. Raises TimeoutError."""
        ...

    def listen(self, heard: Listener) -> None:
        """Give every line from now on to `heard`, in a thread of the host's; `receive` may not be used any more."""
        ...

    def end_input(self) -> None:
        """End its standard input and nothing else: what it still says can be received."""
        ...

    def kill(self) -> None: ...
    def wait(self, timeout_s: float | None = None) -> int: ...


@dataclass(frozen=True, kw_only=True)
class CacheStat:
    """cachestat(2) of a whole file, in pages, with the page size and the file's size; None where a host tells no more."""

    cached: int
    dirty: int | None
    writeback: int | None
    evicted: int | None
    recently_evicted: int | None
    page_bytes: int
    file_bytes: int
    allocated_bytes: int | None = None
    """What the file has of its device, less than its size where it has holes; None where a host does not tell."""

    @property
    def content_bytes(self) -> int:
        """Its size without holes: the whole of which a resident share is a part."""
        return min(self.file_bytes, self.allocated_bytes or self.file_bytes)


@dataclass(frozen=True, kw_only=True)
class Extents:
    """FIEMAP and stat of a file: bytes by kind."""

    file_bytes: int
    allocated_bytes: int
    """st_blocks x 512."""
    mapped_bytes: int
    unwritten_bytes: int
    hole_bytes: int
    encoded_bytes: int
    extents: int


class SocketPeer(NamedTuple):
    """Where a connected socket leads, and what of it decides on the route."""

    peer: str
    own: str = ""
    """Its own address; empty where it is not known."""
    device: str = ""
    """The interface that it is bound to, as each is that is connected to a link-local address; empty without one."""


class Syscalls(Protocol):
    """System calls; where nothing is installed, what plain tools can do for them, and OSError for the rest."""

    def cachestat(self, path: str) -> CacheStat: ...
    def cachestats(self, paths: Sequence[str]) -> tuple[CacheStat, ...]:
        """The same of those of these files that are there, in few exchanges. Raises OSError."""
        ...

    def fiemap(self, path: str) -> Extents: ...
    def placed(self, path: str) -> tuple[int, int] | None:
        """The lowest and the highest byte of its device that a file's extents lie between; None where none has a place yet."""
        ...

    def drop_file(self, path: str) -> None:
        """fsync, then posix_fadvise(DONTNEED) of the whole file."""
        ...

    def memory_held(self, length: int) -> AbstractContextManager[None]:
        """Take so many bytes of memory, touch every page, and free them at the end. Raises OSError."""
        ...

    def spin(self) -> tuple[int, ...]:
        """How long each of some equal pieces of integer work took (ns of the thread's own time), one after the other."""
        ...

    def cpu_clock(self, pid: int) -> int:
        """CPU time of a process (ns), that of its ended threads included. Raises OSError, also where the host cannot."""
        ...

    def booted_ns(self) -> int:
        """When the host was booted by its wall clock (ns since 1970), to a microsecond: it moves only where that is set."""
        ...

    def kernel_log(self) -> str:
        """What came into the kernel's log since the former call, as /dev/kmsg gives it; nothing at the first. Raises OSError."""
        ...

    def socket_peers(self, pid: int) -> tuple[SocketPeer, ...]:
        """Where the connected sockets of a process lead, each once. Raises OSError, also where the host cannot."""
        ...

    def answer(self, socket: str, line: str) -> str:
        """The answer, in one line, of the process that listens at an abstract socket. Raises OSError, also where it cannot."""
        ...

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path; returns how long it took (ns)."""
        ...

    def unmount_in(self, namespace: str, point: str) -> None:
        """Unmount a mount point of another mount namespace (`/proc/PID/ns/mnt`). Raises OSError."""
        ...

    def space(self, path: str) -> tuple[float, float]:
        """Which shares of the space and of the inodes of the file system that holds path are free (1 where it counts none)."""
        ...

    def filesystem_semantics(self, path: str) -> Mapping[str, str]:
        """The semantics of a directory's file system, tried out in a directory of its own (names, access times, attributes)."""
        ...


class Look(Protocol):
    """One look at a host: an observer reads through `host`; the times are of that host's own clock."""

    host: Host

    def end(self) -> tuple[int, int]:
        """When the look began (CLOCK_MONOTONIC of that host, ns) and how long it took."""
        ...


class Host(Protocol):
    """The only door to a machine. Methods are synchronous; `syscalls` is None where Assay is not installed."""

    name: str
    syscalls: Syscalls | None
    far: bool
    """Whether each call is a trip to another machine, so that many are made in one."""

    def lost(self) -> Exception | None:
        """Why nothing can be done on it any more; None while it is there."""
        ...

    def __hash__(self) -> int:
        """A host is itself: what was learned of it may be kept by it."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input_text: str | None = None,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Completed:
        """Run to the end. With check, a status other than 0 raises TrialError with the command and its stderr."""
        ...

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process: ...
    def read(self, path: str) -> str:
        """Text of a (proc, sys or other small) file. Raises OSError."""
        ...

    def write(self, path: str, text: str) -> None: ...
    def list(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted; empty where there is none."""
        ...

    def exists(self, path: str) -> bool: ...
    def real_path(self, path: str) -> str: ...
    def is_root(self) -> bool: ...
    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC of that machine, which is not ours where the host is far."""
        ...

    def probe(self) -> tuple[int, int, int]:
        """One comparison of clocks: ours at asking, theirs, ours at the answer (ns). Raises OSError where the host is lost."""
        ...

    def machine(self) -> Machine:
        """Which machine it is."""
        ...

    def look(self, name: str) -> Look:
        """Begin a look, by an observer of this name: a far host reads in one exchange what the former look of that name read."""
        ...


@dataclass(frozen=True, kw_only=True)
class Note:
    """What an owner that is gone left written down on a far machine: one thing to undo there."""

    file: str
    """The owner's file on that machine."""
    n: int
    kind: str
    details: Mapping[str, str]
    machine: Machine
    """Which machine it was, and which boot of it, when the note was made."""


@runtime_checkable
class Notes(Protocol):
    """A host that keeps on its own machine what must be undone there, and undoes it when we go away. This machine is none."""

    address: str
    """Where it is reached, in words for the user."""

    def note(self, n: int, kind: str, details: Mapping[str, str], back: str) -> str:
        """Keep one thing to undo, durably before this returns; `back` is the script of /bin/sh that undoes it.

        Returns the name of the file that keeps it on that machine, empty where none can. Raises OSError.
        """
        ...

    def strike(self, n: int, file: str = "") -> None:
        """Strike out a note that was undone: one of ours, or one of the file of an owner that is gone (`Note.file`)."""
        ...

    def left(self) -> tuple[Note, ...]:
        """What owners that are gone left on that machine. Raises OSError."""
        ...


FAMILY = "ASSAY_FAMILY"
"""The variable by which an engine or a server and all that it starts are known; its value is a secret of the ledger."""
LINUX = "Linux"
SNMP = "SNMP"
"""The system of a host that only answers SNMP: nothing runs there, and its times are those of this machine."""


def system_of(host: Host) -> str:
    """Return the name of a host's kernel as uname(1) prints it; `Linux` where a host has no name for it."""
    return str(getattr(host, "system", LINUX))


def lab_bytes(host: Host) -> tuple[int, int]:
    """Return what the lab's own connections moved over a host's interfaces by the begin of this look, and by now.

    Both are 0 where nobody counts them. Between two looks it is at least the second's first less the first's second.
    """
    count: Callable[[], int] = getattr(host, "lab_bytes", int)
    now, before = count(), getattr(host, "moved_before", None)
    return now if before is None else before, now


def needs_system(*systems: str) -> Callable[[Host], str | None]:
    """Return `Observer.available` for evidence from the commands of these systems."""
    return lambda host: None if system_of(host) in systems else f"only {' or '.join(systems)} has these commands"


def needs_file(path: str, lost: str) -> Callable[[Host], str | None]:
    """Return `Observer.available` for evidence from a file; `lost` says what is invisible without the file."""
    return lambda host: None if host.exists(path) else f"{path} does not exist: {lost}"


def needs_assay(what: str) -> Callable[[Host], str | None]:
    """Return `Observer.available` for evidence from system calls."""
    return lambda host: None if host.syscalls is not None else f"{what} on that host. Set engine = true in its table of [hosts]."

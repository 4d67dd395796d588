"""This machine, or a recording of one: the door to its files, its commands and its system calls."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.catalogue import Completed, Host, Machine, Syscalls
from assay.errors import RefusedError
from assay.hosts.kernel_calls import KernelCalls

if TYPE_CHECKING:
    from assay.hosts.commands import LineProcess
    from assay.hosts.thread_files import ThreadFiles
from types import TracebackType
from typing import Self

MOST_AT_ONCE = 64 << 10
PROCESSES = "/proc/"
PROCESS_AT = len(PROCESSES)


class Local:
    """The machine that Assay runs on; with `root`, a directory in which a machine's files were recorded.

    A recorded host reads below its root and refuses everything else with RefusedError.
    """

    far = False

    def __init__(self, name: str = "local", root: str | os.PathLike[str] | None = None) -> None:
        self.name = name
        self.root = None if root is None else Path(root).resolve()
        self.syscalls: Syscalls | None = None if root is not None else KernelCalls()

    def lost(self) -> None:
        """Return None: the machine that Assay runs on is there."""
        return

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
        """Run a command to its end, in the C locale.

        Raises MissingError where there is no such command, TrialError where it fails (with check) or takes longer
        than `timeout_s`, RefusedError on a recorded host.
        """
        self._refuse_if_recorded(f"run {argv[0]!r}")
        from assay.hosts import commands

        done = commands.completed(argv, input_text=input_text, timeout_s=timeout_s, env=env, cwd=cwd)
        _RAN.cpu_ns = spent_by_commands_ns() + done.cpu_ns
        return commands.succeeded(done) if check else done

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> LineProcess:
        """Start a command in a process group of its own, with line-wise pipes. Raises as `run` does."""
        self._refuse_if_recorded(f"start {argv[0]!r}")
        from assay.hosts import commands

        return commands.started(argv, env=env, cwd=cwd)

    def read(self, path: str) -> str:
        """Return the text of a small file. Raises OSError."""
        file = os.open(self._here(path), os.O_RDONLY | os.O_CLOEXEC)  # four fifths of the cost of FileIO, and very many of them
        try:
            return b"".join(iter(lambda: os.read(file, MOST_AT_ONCE), b"")).decode(errors="replace")
        finally:
            os.close(file)

    def write(self, path: str, text: str) -> None:
        """Write a small file as a whole. Raises OSError; RefusedError on a recorded host."""
        self._refuse_if_recorded(f"write {path}")
        with Path(path).open("w", encoding="utf-8") as file:
            file.write(text)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none or we may not look."""
        with contextlib.suppress(OSError):
            return tuple(sorted(os.listdir(self._here(path))))  # noqa: PTH208 - a fifth of the cost, and many of them
        return ()

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        return os.path.exists(self._here(path))  # noqa: PTH110 - as above

    def real_path(self, path: str) -> str:
        """Return the path without symbolic links."""
        if self.root is None:
            return _nameless(path) or _resolved(path)
        real = _resolved(self._here(path))
        within = Path(real)
        return "/" + str(within.relative_to(self.root)) if within.is_relative_to(self.root) else path

    def is_root(self) -> bool:
        """Return whether commands run as root; never on a recorded host."""
        return self.root is None and os.geteuid() == 0

    def lab_bytes(self) -> int:
        """Return what the lab's own connections to other hosts moved over interfaces of this one, at least."""
        if self.root is not None:
            return 0
        from assay.hosts import own_connections

        return own_connections.moved()

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC now."""
        return time.monotonic_ns()

    def probe(self) -> tuple[int, int, int]:
        """Compare our clock with itself."""
        now_ns = self.monotonic_ns()
        return now_ns, now_ns, now_ns

    def machine(self) -> Machine:
        """Return which machine this is."""
        return machine_of(self)

    def look(self, name: str) -> OwnLook:  # noqa: ARG002 - all looks cost the same here
        """Begin a look, whose readings are made one by one."""
        return OwnLook(self)

    def _here(self, path: str) -> str:
        return path if self.root is None else f"{self.root}/{path.lstrip('/')}"

    def _refuse_if_recorded(self, what: str) -> None:
        if self.root is not None:
            raise RefusedError(f"recorded host {self.name!r} is read-only: cannot {what}. Use a live host.")


_RAN = threading.local()


def spent_by_commands_ns() -> int:
    """Return the CPU time of the commands of this machine that this thread has waited for."""
    return int(getattr(_RAN, "cpu_ns", 0))


def is_of_process(path: str) -> bool:
    """Whether a file is one of a process with a number, which comes and goes."""
    return path.startswith(PROCESSES) and path[PROCESS_AT : PROCESS_AT + 1].isdigit()


def _resolved(path: str) -> str:
    """Return a path without symbolic links; as it is where a link goes away meanwhile, as those of a descriptor do."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _nameless(path: str) -> str | None:
    """Where a process's link leads that leads to no path (`net:[4026531840]`, `socket:[17]`), at an eighth of the cost."""
    if not is_of_process(path):
        return None
    with contextlib.suppress(OSError):
        found = os.readlink(path)  # noqa: PTH115 - a third of the cost
        if ":[" in found and "/" not in found:
            return f"{path.rpartition('/')[0]}/{found}"
    return None


class OwnLook:
    """A look at this machine."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._from_ns = host.monotonic_ns()

    def end(self) -> tuple[int, int]:
        """Return when it began, and how long it took."""
        return self._from_ns, self.host.monotonic_ns() - self._from_ns


BOOT_ID = "/proc/sys/kernel/random/boot_id"
NAMES_OF_A_MACHINE = ("/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/board_serial")
HOST_KEY = "ssh host key"
HOST_KEYS = tuple(f"/etc/ssh/ssh_host_{kind}_key.pub" for kind in ("ed25519", "ecdsa", "rsa"))


def machine_of(host: Host) -> Machine:
    """Return which machine a host is: digests of the names that it tells, the first one above all, and its boot id."""
    told = {path.rpartition("/")[2]: _content(host, path) for path in NAMES_OF_A_MACHINE}
    first = next(filter(None, told.values()), "")
    told[HOST_KEY] = next(filter(None, (_content(host, path) for path in HOST_KEYS)), "")
    return machine_told(first, told, _content(host, BOOT_ID))


def machine_told(first: str, names: object, boot: str) -> Machine:
    """Return a machine by its first name, by all of its names as they are (an older note has none), and by its boot id."""
    told = names if isinstance(names, Mapping) else {}
    each = tuple((str(key), serial_of(str(value))) for key, value in told.items() if value)
    return Machine(serial=serial_of(first), boot=boot, names=each)


def serial_of(name: str) -> str:
    """Return the digest of a machine's own name; empty where it has none."""
    import hashlib  # only now: watching a command has no use for it

    return hashlib.sha256(name.encode()).hexdigest() if name else ""


def _content(host: Host, path: str) -> str:
    try:
        return host.read(path).strip()
    except OSError:
        return ""


MADE_WHEN_READ = (PROCESSES, "/sys/")
MOST_OPEN = 128
PIECE_BYTES = 1 << 14
OF_A_THREAD = "/task/"


class KeptOpen(Local):
    """A live `Local`. A file of /proc or /sys stays open from its second reading on, as long as the host is entered.

    The kernel writes such files anew when they are read from their beginning; reading an open one costs less than half.
    """

    def __init__(self, name: str = "local", *, threads: ThreadFiles | None = None) -> None:
        """`threads` keeps files of threads open as well."""
        super().__init__(name)
        self._seen: set[str] = set()
        self._open: dict[str, int] = {}
        self._threads = threads

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        while self._open:
            os.close(self._open.popitem()[1])
        if self._threads is not None:
            self._threads.close()

    def read(self, path: str) -> str:
        """Return the text of a small file as it is now. Raises OSError."""
        known = self._open.get(path)
        if known is None and self._threads is not None and OF_A_THREAD in path and is_of_process(path):
            found = self._threads.read(path)
            return super().read(path) if found is None else found.decode(errors="replace")
        if known is None and (path not in self._seen or len(self._open) >= MOST_OPEN):
            if path.startswith(MADE_WHEN_READ) and not is_of_process(path):
                self._seen.add(path)
            return super().read(path)
        if known is None:
            fresh = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            known = self._open.setdefault(path, fresh)
            if known != fresh:  # another thread was quicker
                os.close(fresh)
        try:
            return whole(known).decode(errors="replace")
        except OSError:  # what it spoke of is gone; there may be another of that name
            return super().read(path)


def whole(descriptor: int) -> bytes:
    """Return what an open file has from its beginning. Raises OSError."""
    found = b""
    while piece := os.pread(descriptor, PIECE_BYTES, len(found)):
        found += piece
    return found

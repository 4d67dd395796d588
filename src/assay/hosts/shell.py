"""A far host without the engine: everything goes through /bin/sh, and nothing is put on that host."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from assay.catalogue import Completed, Host, Machine, Note, Process, Syscalls
from assay.errors import LostHostError
from assay.hosts.commands import ENGINE, succeeded
from assay.hosts.local import machine_of, serial_of
from assay.hosts.shell_calls import ShellCalls
from assay.hosts.shell_commands import Commands, Door, Shells
from assay.hosts.shell_engine import ShellEngine
from assay.hosts.shell_files import FUNCTIONS as FILES
from assay.hosts.shell_files import Files, SeenFiles, Wishes
from assay.hosts.shell_notes import FUNCTIONS as NOTES
from assay.hosts.shell_notes import ShellNotes

SYSTEM = "id -u; uname -s; uname -r; uname -m; getconf PAGESIZE 2>/dev/null || echo 4096"

IDENTITIES = {
    "FreeBSD": ("sysctl -n kern.hostuuid", "sysctl -n kern.boot_id || sysctl -n kern.boottime"),
    "OpenBSD": ("sysctl -n hw.uuid || sysctl -n hw.serialno", "sysctl -n kern.boottime"),
    "NetBSD": ("sysctl -n machdep.dmi.system-uuid || sysctl -n kern.hostid", "sysctl -n kern.boottime"),
    "SunOS": ("hostid", "kstat -p unix:0:system_misc:boot_time"),
    "VMkernel": ("esxcli system uuid get", "true"),
}
"""Kernel -> the commands that print the name of the machine, and of its boot; ESXi has no name of a boot."""


class ShellHost:
    """A far machine behind shells; any thread may use it.

    After it is lost everything raises LostHostError, an AssayError and an OSError.
    """

    far = True

    def __init__(self, name: str, door: Door, *, address: str = "") -> None:
        """Start the first shell. Raises what the door raises, OSError where there is no /bin/sh.

        `address` says in words for the user where it is reached. The door is closed with the host.
        """
        self.name, self.address = name, address
        self._door, self._shells = door, Shells(name, door)
        self._first = self._shells.first = self._shells.shell()
        self.lab_bytes: Callable[[], int] = int
        """What the lab's own connections to it moved over its interfaces, at least."""
        self.moved_before: int | None = None
        """The same when the look began that this host is of."""
        self._first.ask(f"A_TOKEN={self._shells.token}\n{NOTES}{FILES}")
        user, self.system, self.release, self.architecture, page = self._first.ask(SYSTEM).text.split("\n")[:5]
        self._user = user
        self._files: Files | SeenFiles = Files(self._first)
        self._notes = ShellNotes(self._first, self._lose)
        self._commands = Commands(self._shells, self._notes)
        self.syscalls: Syscalls | None = ShellCalls(self._commands, self._files, int(page))
        self._machine: list[Machine] = []
        self._looks: dict[str, Wishes] = {}
        self._mutex = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.close()

    def __hash__(self) -> int:
        return id(self._first)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShellHost) and other._first is self._first

    def lost(self) -> LostHostError | None:
        """Return why the host is lost; None while it is there."""
        return self._first.failure() if self._first.lost else None

    def close(self) -> None:
        """End the shells; the first one kills what they started and undoes what is noted. May be called twice."""
        self._notes.close()
        self._first.close()
        self._door.close()

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
        """Run a command to its end, in the C locale. Raises as `Local.run`, and OSError where the host is lost."""
        done = self._commands.run(argv, input_text=input_text, timeout_s=timeout_s, env=env, cwd=cwd)
        return succeeded(done, self.name) if check else done

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process:
        """Start a command, or a client that can do the engine `command`. Raises MissingError, OSError."""
        if argv[0] == ENGINE:
            return ShellEngine(self.name, self._commands, self._files.clock, env)
        return self._commands.spawn(argv, env, cwd)

    def read(self, path: str) -> str:
        """Return the text of a small file. Raises OSError."""
        return self._files.read(path)

    def write(self, path: str, text: str) -> None:
        """Write a small file as a whole. Raises OSError."""
        self._files.write(path, text)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none or the far user may not look."""
        return self._files.list(path)

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        return self._files.exists(path)

    def real_path(self, path: str) -> str:
        """Return the path without symbolic links."""
        return self._files.real_path(path)

    def is_root(self) -> bool:
        """Return whether commands run as root."""
        return self._user == "0"

    def monotonic_ns(self) -> int:
        """That machine's clock as it is known from the last comparisons (ns); asks it only every 20 s."""
        return self._files.clock.now_ns()

    def probe(self) -> tuple[int, int, int]:
        """Compare the clocks once more. The stamps are such that half of what lies between them is the true bound."""
        return self._files.clock.probe()

    def machine(self) -> Machine:
        """Return which machine it is; asked once, for the shells do not outlive a boot."""
        if not self._machine:
            self._machine.append(self._other_machine() if self.system in IDENTITIES else machine_of(self))
        return self._machine[0]

    def _other_machine(self) -> Machine:
        """Ask a system other than Linux. Two machines may boot in one second, so the name of a boot has that of the machine."""
        first, second = IDENTITIES[self.system]
        script = f"{{ {first}; }} 2>/dev/null; echo; printf '\\0'; {{ {second}; }} 2>/dev/null"
        name, _, boot = (part.strip() for part in self._first.ask(script).text.partition("\0"))
        return Machine(serial=serial_of(name), boot=serial_of(f"{name} {boot}") if boot else "")

    def look(self, name: str) -> ShellLook:
        """Begin a look; what the former look of this name read is read in one exchange."""
        with self._mutex:
            wishes = self._looks.get(name, Wishes())
        return ShellLook(self, name, wishes)

    def note(self, n: int, kind: str, details: Mapping[str, str], back: str) -> str:
        """Keep one thing to undo on that host; return the name of the file of notes, empty without one. Raises OSError."""
        return self._notes.note(n, kind, details, back)

    def strike(self, n: int, file: str = "") -> None:
        """Strike out a note of ours, or one of a file that `left` named. Raises OSError."""
        if file:
            self._notes.strike_in(file, n)
        else:
            self._notes.strike(n)

    def left(self) -> tuple[Note, ...]:
        """Return the notes of owners that are gone, on that host. Raises OSError."""
        return self._notes.left()

    def seen(self, name: str, wishes: Wishes) -> tuple[ShellHost, SeenFiles]:
        """Return the same host, with its files as one look finds them."""
        assert isinstance(self._files, Files), "a look inside a look"
        same, files = copy.copy(self), SeenFiles(self._files, name, wishes)
        vars(same).update(_files=files, moved_before=self.lab_bytes())
        return same, files

    def remember(self, name: str, wishes: Wishes) -> None:
        """Keep what the next look of this name should find."""
        with self._mutex:
            self._looks[name] = wishes

    def _lose(self) -> None:
        """Give the host up: whoever waits for one of its shells hears so."""
        self._first.give_up()
        self._door.close()


class ShellLook:
    """One look at a host without the engine."""

    def __init__(self, host: ShellHost, name: str, wishes: Wishes) -> None:
        self._host, self._name = host, name
        seen, self._files = host.seen(name, wishes)
        self.host: Host = seen

    def end(self) -> tuple[int, int]:
        """Return when the look began (CLOCK_MONOTONIC of that host, ns) and how long it took. Raises OSError."""
        self._host.remember(self._name, self._files.wishes())
        return self._files.span_ns()

"""Commands of a host without the engine: each runs in a shell of its own beside the first one, which kills it with itself.

A shell that has run its command is kept for the next: a login shell costs that machine a tenth of a second.
"""

from __future__ import annotations

import contextlib
import queue
import re
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.catalogue import Completed, Listener
from assay.errors import MissingError, TrialError
from assay.hosts.far_shell import FarShell, Session, quoted
from assay.hosts.line_feed import LineFeed
from assay.hosts.shell_notes import ShellNotes

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MISSING = 127
SIGNALLED = range(129, 193)
"""128 and a signal: what a shell says of a command that was killed."""
START_S = 60.0
PREPARE = "LC_ALL=C; PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH; unset ENV"
"""As Local: the C locale, and the directories that an ordinary user's PATH often lacks."""


class Door(Protocol):
    """Starts commands on a host, by the login shell of the far user."""

    def open(self, command: str) -> Session:
        """Start a command. Raises OSError, and an AssayError with words for the user."""
        ...

    def close(self) -> None:
        """End everything at once; whoever opens something hears so."""
        ...


class Shells:
    """The shells of one host, all with one token among their words: by it they are known as ours."""

    def __init__(self, name: str, door: Door) -> None:
        self.name, self.token = name, secrets.token_hex(8)
        self._door = door
        self.first: FarShell | None = None
        """The shell that holds the way back: when it is lost, the host is."""

    def session(self, env: Mapping[str, str] | None = None) -> Session:
        """Start a shell, with these variables from its first moment. Raises what the door raises."""
        if self.first is not None and self.first.lost:
            raise self.first.failure()
        assigned = [f"{name}={text}" for name, text in (env or {}).items()]
        return self._door.open(f"exec {quoted(*(('env', *assigned) if assigned else ()), '/bin/sh', '-s', self.token)}")

    def shell(self, env: Mapping[str, str] | None = None) -> FarShell:
        """As `session`, for scripts. Whatever the login shell printed is behind it."""
        shell = FarShell(self.name, self.session(env), secrets.token_hex(8))
        shell.ask(PREPARE, START_S)
        return shell


class Commands:
    """Runs and starts commands."""

    def __init__(self, shells: Shells, notes: ShellNotes) -> None:
        self._shells, self._notes = shells, notes
        self._idle: list[tuple[FarShell, int]] = []
        self._mutex = threading.Lock()

    def run(
        self,
        argv: Sequence[str],
        *,
        input_text: str | None = None,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Completed:
        """Run a command to its end. Raises MissingError, TrialError where it takes longer than `timeout_s`, OSError."""
        mark = secrets.token_hex(8)
        given = "" if input_text is None else f"printf %s {quoted(input_text)} | "
        source = " </dev/null" if input_text is None else ""
        body = f"{given}{{ {body_of(argv, env, cwd, mark)}{source}; }}"
        script = f'{{ A_E=$( {{ {body}; }} 2>&1 >&3 3>&- ); A_S=$?; }} 3>&1; printf \'\\n%s %s\\n%s\' {mark} "$A_S" "$A_E"; A_E='
        shell, pid = self._take()
        try:
            answer = shell.ask(script, timeout_s)
        except BaseException as error:
            self.discard(shell, pid)
            if isinstance(error, TimeoutError):
                raise TrialError(
                    f"{' '.join(argv)}: stopped after {timeout_s} s (time limit) on host {self._shells.name}"
                ) from error
            raise
        with self._mutex:
            self._idle.append((shell, pid))
        stdout, _, rest = answer.text.rpartition(f"\n{mark} ")
        status, _, stderr = rest.partition("\n")
        if stderr == mark:
            raise MissingError(f"{argv[0]}: command not found on host {self._shells.name}. Install its package there.")
        wall_ns = answer.answered_ns - answer.asked_ns
        return Completed(argv=tuple(argv), status=status_of(int(status)), stdout=stdout, stderr=stderr, wall_ns=wall_ns)

    def spawn(self, argv: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None) -> ShellProcess:
        """Start a command with line-wise pipes. Raises MissingError, OSError."""
        process = ShellProcess(self._shells, self._notes)
        try:
            process.start(argv, env, cwd)
        except BaseException:
            with contextlib.suppress(OSError):
                process.kill()
            raise
        return process

    def fresh(self, env: Mapping[str, str] | None = None) -> tuple[FarShell, int]:
        """Return a new shell and its process, which the first shell kills with itself."""
        shell = self._shells.shell(env)
        pid = int(shell.ask("printf %s $$").text)
        self._notes.keep_group(pid)
        return shell, pid

    def discard(self, shell: FarShell, pid: int) -> None:
        """End a shell and all that runs in its group."""
        with contextlib.suppress(OSError):
            self._notes.kill_group(pid)
        shell.close()

    def kill_inside(self, pid: int) -> None:
        """End what runs in the group of a shell, but not the shell itself. Raises OSError."""
        self._notes.kill_inside(pid)

    def _take(self) -> tuple[FarShell, int]:
        with self._mutex:
            while self._idle:
                shell, pid = self._idle.pop()
                if not shell.lost:
                    return shell, pid
        return self.fresh()


class ShellProcess:
    """A command that is spoken to line by line; its shell tells its start and its end between its own lines."""

    def __init__(self, shells: Shells, notes: ShellNotes) -> None:
        self._notes = notes
        self._session = shells.session()
        self._name, self._mark = shells.name, secrets.token_hex(8)
        self._out = LineFeed()
        self._told: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
        self._begun = self._held_back = False
        self._status: int | None = None
        self._ended = threading.Event()
        self._leader = 0
        self.pid = 0
        self._session.listen(self._hear)

    def start(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> None:
        """Start the command; what is said before its shell has answered could be lost to that."""
        self._session.send(f"{PREPARE}; printf '%s here %s\\n' {self._mark} $$")
        self._leader = int(self._news("here")[1])
        self._notes.keep_group(self._leader)
        announced = 'printf "%s started %s\\n" "$0" $$; exec "$@"'
        body = body_of(argv, env, cwd, self._mark, through=("sh", "-c", announced, self._mark))
        self._session.send(
            f"exec 3<&0; {{ {body}; }} <&3 3<&- & exec 3<&-; wait $!; printf '\\n%s ended %s\\n' {self._mark} $?; exit"
        )
        word, text = self._news("started", "ended")
        if word == "ended":
            missing = int(text) == MISSING and self._mark in self._session.complaint()
            reason = "command not found. Install its package there." if missing else self._session.complaint()
            raise MissingError(f"{argv[0]}: on host {self._name}: {reason}")
        self.pid = int(text)

    def send(self, line: str) -> None:
        """Send one line. Raises TrialError where the command has ended."""
        try:
            self._session.send(line.rstrip("\n"))
        except OSError as error:
            raise TrialError(f"process {self.pid} on host {self._name} has ended (status {self._status}): {error}") from error

    def receive(self, timeout_s: float) -> str | None:
        """Return the next line; None when the output has ended. Raises TimeoutError."""
        return self._out.next(timeout_s, f"process {self.pid} on host {self._name} gave no output")

    def listen(self, heard: Listener) -> None:
        """Give every line from now on to `heard`."""
        self._out.listen(heard)

    def end_input(self) -> None:
        """End its standard input and nothing else."""
        self._session.end_input()

    def kill(self) -> None:
        """End it and what it started."""
        with contextlib.suppress(OSError):
            self._notes.kill_group(self._leader)
        self._session.close()

    def wait(self, timeout_s: float | None = None) -> int:
        """End its input and wait; the exit status (negative: the signal). Raises TimeoutError."""
        self.end_input()
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"process {self.pid} on host {self._name} still runs after {timeout_s} s")
        with contextlib.suppress(OSError):
            self._notes.drop_group(self._leader)
        self._session.close()
        return -9 if self._status is None else self._status

    def complaint(self) -> str:
        """Return the end of its standard error."""
        return self._session.complaint()

    def _news(self, *words: str) -> tuple[str, ...]:
        """The next thing that its shell tells of it. Raises TrialError where it tells nothing."""
        deadline = time.monotonic() + START_S
        while (left_s := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                told = self._told.get(timeout=left_s)
                if not told:
                    break
                if told[0] in words:
                    return told
        raise TrialError(f"host {self._name}: its shell starts no command: {self._session.complaint() or 'no answer'}")

    def _hear(self, line: str | None, at_ns: int) -> None:
        if line is None:
            self._told.put(())
            self._finish(at_ns)
        elif line.startswith(self._mark):
            self._begun = self._begun or line.startswith(f"{self._mark} started")
            self._told.put(tuple(line.split(" ")[1:]))
            if line.startswith(f"{self._mark} ended"):
                self._status = status_of(int(line.rpartition(" ")[2]))
                self._held_back = False
                self._finish(at_ns)
        elif self._begun:
            self._pass_on(line, at_ns)

    def _pass_on(self, line: str, at_ns: int) -> None:
        """An empty line is held back: the shell begins the end with one."""
        with self._out.turn:
            if self._held_back:
                self._out.give("", at_ns)
            self._held_back = not line
            if line:
                self._out.give(line, at_ns)

    def _finish(self, at_ns: int) -> None:
        with self._out.turn:
            if not self._ended.is_set():
                self._ended.set()
                self._out.give(None, at_ns)


def body_of(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, mark: str, through: Sequence[str] = ()) -> str:
    """Return what becomes a command in a subshell: its directory, its variables, the search for it, exec."""
    wrong = [name for name in env or {} if not VARIABLE.fullmatch(name)]
    if wrong:
        raise ValueError(f"found the name of a variable {wrong[0]!r}; expected letters, digits and _")
    parts = [] if cwd is None else [f"cd -- {quoted(cwd)} || exit 126"]
    parts += [f"export {name}={quoted(text)}" for name, text in (env or {}).items()]
    parts += [f"command -v -- {quoted(argv[0])} >/dev/null 2>&1 || {{ printf %s {mark} >&2; exit {MISSING}; }}"]
    return "; ".join((*parts, f"exec {quoted(*through, *argv)}"))


def status_of(status: int) -> int:
    """Return a shell's $? as Python has it: negative for a signal."""
    return 128 - status if status in SIGNALLED else status

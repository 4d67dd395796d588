"""Commands of this machine: run to their end, or spoken to line by line while they run."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from assay.catalogue import Completed, Listener
from assay.errors import MissingError, TrialError

SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Searched after $PATH: an ordinary user's PATH often lacks them, yet losetup and mkfs are there."""

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", '[ "$PPID" = "$0" ] || exit 125; exec "$@"')
"""A command in flight must not finish its work (attach, mount) after the lab that asked for it was killed.

The death signal (PR_SET_PDEATHSIG) is not sent for a parent that died before it was asked for: hence the look at the parent.
"""

LISTEN_S = 5.0
"""How long a listening thread waits at once; only how soon it sees that it is no longer wanted."""

CLOCK_BITS, CPU_CLOCK = 3, 2
"""How clock_getcpuclockid(3) makes the number of a process's CPU clock."""

ENGINE = "assay-engine"
"""The load engine as the name of a command of a far host: the agent's own file; a shell can do the engine `command` of it."""

STDERR_SHOWN = 2000
"""Characters of a failed command's standard error that its message shows."""


def completed(
    argv: Sequence[str],
    *,
    input_text: str | None = None,
    timeout_s: float | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Completed:
    """Run a command to its end, in the C locale. Raises MissingError, and TrialError where it takes longer than `timeout_s`."""
    environment = _environment(env)
    command = [*_die_with_parent(environment), _executable(argv[0], environment, cwd), *argv[1:]]
    started_ns = time.monotonic_ns()
    with CountedCommand(
        command,
        stdin=subprocess.DEVNULL if input_text is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
        cwd=cwd,
        process_group=0,
    ) as process:
        stdout, stderr = _outputs(process, argv, input_text, timeout_s)
    return Completed(
        argv=tuple(argv),
        status=process.returncode,
        stdout=stdout,
        stderr=stderr,
        wall_ns=time.monotonic_ns() - started_ns,
        cpu_ns=process.cpu_ns,
    )


class CountedCommand(subprocess.Popen[str]):
    """A command whose own CPU time is known when it has ended."""

    cpu_ns = 0

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; with a time limit its clock is read before, when it has closed its output."""
        if self.returncode is None:
            with contextlib.suppress(OSError):
                if timeout is None:
                    os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
                self.cpu_ns = time.clock_gettime_ns(~self.pid << CLOCK_BITS | CPU_CLOCK)
        return super().wait(timeout)


def started(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> LineProcess:
    """Start a command in a process group of its own, with line-wise pipes. Raises MissingError."""
    environment = _environment(env)
    return LineProcess([_executable(argv[0], environment, cwd), *argv[1:]], environment, cwd)


def succeeded(done: Completed, host: str = "") -> Completed:
    """Return what a command gave that succeeded. Raises TrialError with the error text of one that failed."""
    if done.status == 0:
        return done
    said = (done.stderr.strip() or done.stdout.strip() or "no output")[-STDERR_SHOWN:]
    on = f"{host}: " if host else ""
    raise TrialError(f"{on}{' '.join(done.argv)}: exit status {done.status}: {said}")


class LineProcess:
    """A command that is running, spoken to line by line; its standard error is kept for the message when it fails."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> None:
        self._stderr: IO[bytes] = os.fdopen(os.memfd_create("stderr"), "w+b")  # closed when the process is reaped
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=dict(environment),
            cwd=cwd,
            process_group=0,
            bufsize=0,
        )
        self._name = command[0]
        self._rest = b""
        self._ended = False
        self._closed = False
        self._listener: threading.Thread | None = None
        self.pid = self._process.pid

    def send(self, line: str) -> None:
        """Send one line. Raises TrialError with the status and standard error where the command has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.rstrip("\n").encode() + b"\n")
        except (BrokenPipeError, ValueError) as error:
            self._raise_ended(error)

    def receive(self, timeout_s: float) -> str | None:
        """Return the next line without its end; None when the output has ended. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest and not self._ended:
            self._fill(max(0.0, deadline - time.monotonic()), timeout_s)
        line, found, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace") if found or line else None

    def listen(self, heard: Listener) -> None:
        """Give every line to `heard` from a thread of its own."""
        self._listener = threading.Thread(target=self._hear, args=(heard,), name=f"listens to {self.pid}", daemon=True)
        self._listener.start()

    def _hear(self, heard: Listener) -> None:
        line: str | None = ""
        while line is not None and not self._closed:
            try:
                line = self.receive(LISTEN_S)
            except TimeoutError:
                continue
            except (OSError, ValueError):
                line = None
            heard(line, time.monotonic_ns())
        if self._process.stdout is not None:
            self._process.stdout.close()

    def end_input(self) -> None:
        """End its standard input and nothing else: what it still says can be received."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def kill(self) -> None:
        """End the whole process group at once and reap the command."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def wait(self, timeout_s: float | None = None) -> int:
        """End its input and wait; the exit status (negative: the signal). Raises TimeoutError."""
        self.end_input()
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{self._name} still runs after {timeout_s} s") from error
        self._close()
        return status

    def complaint(self) -> str:
        """Return the end of its standard error."""
        if self._stderr.closed:
            return ""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), STDERR_SHOWN, max(0, size - STDERR_SHOWN)).decode("utf-8", "replace")

    def _fill(self, wait_s: float, timeout_s: float) -> None:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(wait_s):
                raise TimeoutError(f"{self._name} gave no output for {timeout_s} s")
        chunk = os.read(self._process.stdout.fileno(), 1 << 16)
        self._rest += chunk
        self._ended = not chunk

    def _raise_ended(self, error: Exception) -> NoReturn:
        status = self._process.poll()
        raise TrialError(f"{self._name} has ended (status {status}): {self.complaint().strip() or 'no output'}") from error

    def _close(self) -> None:
        # A listener closes its pipe itself: closed under it, its number could be another file's.
        self._closed = True
        output = None if self._listener is not None and self._listener.is_alive() else self._process.stdout
        for pipe in (self._process.stdin, output, self._stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._ended = True


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    environment = {**os.environ, "LC_ALL": "C", **(env or {})}
    environment["PATH"] = ":".join((environment.get("PATH", "/usr/bin:/bin"), *SYSTEM_PATHS))
    return environment


def _executable(name: str, environment: Mapping[str, str], cwd: str | None) -> str:
    # A name with a slash is left to the kernel, which resolves it from `cwd`.
    if "/" in name and Path(cwd or ".", name).exists():
        return name
    found = shutil.which(name, path=environment["PATH"])
    if found is None:
        raise MissingError(f"{name}: command not found. Install its package.")
    return found


def _die_with_parent(environment: Mapping[str, str]) -> tuple[str, ...]:
    return (*DIE_WITH_PARENT, str(os.getpid())) if shutil.which(DIE_WITH_PARENT[0], path=environment["PATH"]) else ()


def _outputs(
    process: subprocess.Popen[str], argv: Sequence[str], input_text: str | None, timeout_s: float | None
) -> tuple[str, str]:
    try:
        return process.communicate(input_text, timeout_s)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if isinstance(error, subprocess.TimeoutExpired):
            raise TrialError(f"{' '.join(argv)}: stopped after {timeout_s} s (time limit)") from error
        raise

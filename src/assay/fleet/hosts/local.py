"""This machine, or a recording of one: the door to its files, its commands and its system calls."""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from assay.catalogue import CacheStat, Completed, Extents, Syscalls
from assay.errors import MissingError, RefusedError, TrialError
from assay.fleet.hosts.kernel_log import KernelLog

SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Searched after $PATH: an ordinary user's PATH often lacks them, yet losetup and mkfs are there."""

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", '[ "$PPID" = "$0" ] || exit 125; exec "$@"')
"""A command in flight must not finish its work (attach, mount) after the lab that asked for it was killed.

The death signal (PR_SET_PDEATHSIG) is not sent for a parent that died before it was asked for: hence the look at the parent.
"""

STDERR_SHOWN = 2000
"""Characters of a failed command's standard error that its message shows."""


class Local:
    """The machine that Assay runs on; with `root`, a directory in which a machine's files were recorded.

    A recorded host reads below its root and refuses everything else with RefusedError.
    """

    def __init__(self, name: str = "local", root: str | os.PathLike[str] | None = None) -> None:
        self.name = name
        self.root = None if root is None else Path(root).resolve()
        self.syscalls: Syscalls | None = None if root is not None else KernelCalls()

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
        self._refuse_if_recorded(f"to run {argv[0]!r}")
        environment = _environment(env)
        command = [*_die_with_parent(environment), _executable(argv[0], environment, cwd), *argv[1:]]
        started = time.monotonic_ns()
        with subprocess.Popen(
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
        wall_ns = time.monotonic_ns() - started
        done = Completed(argv=tuple(argv), status=process.returncode, stdout=stdout, stderr=stderr, wall_ns=wall_ns)
        if check and done.status != 0:
            raise TrialError(_failure(done))
        return done

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> LineProcess:
        """Start a command in a process group of its own, with line-wise pipes. Raises as `run` does."""
        self._refuse_if_recorded(f"to start {argv[0]!r}")
        environment = _environment(env)
        return LineProcess([_executable(argv[0], environment, cwd), *argv[1:]], environment, cwd)

    def read(self, path: str) -> str:
        """The text of a small file. Raises OSError."""
        with io.FileIO(path if self.root is None else str(self._here(path))) as file:  # half the cost of Path.read_text
            return file.readall().decode(errors="replace")

    def write(self, path: str, text: str) -> None:
        """Write a small file as a whole. Raises OSError; RefusedError on a recorded host."""
        self._refuse_if_recorded(f"to write {path}")
        with Path(path).open("w", encoding="utf-8") as file:
            file.write(text)

    def list(self, path: str) -> tuple[str, ...]:
        """The names in a directory, sorted; empty where there is none or we may not look."""
        with contextlib.suppress(OSError):
            return tuple(sorted(entry.name for entry in self._here(path).iterdir()))
        return ()

    def exists(self, path: str) -> bool:
        """Whether there is something at this path."""
        with contextlib.suppress(OSError):
            return self._here(path).exists()
        return False

    def real_path(self, path: str) -> str:
        """The path without symbolic links."""
        real = os.path.realpath(self._here(path))
        if self.root is None:
            return real
        within = Path(real)
        return "/" + str(within.relative_to(self.root)) if within.is_relative_to(self.root) else path

    def is_root(self) -> bool:
        """Whether commands run as root; never on a recorded host."""
        return self.root is None and os.geteuid() == 0

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC now."""
        return time.monotonic_ns()

    def _here(self, path: str) -> Path:
        return Path(path) if self.root is None else self.root / path.lstrip("/")

    def _refuse_if_recorded(self, what: str) -> None:
        if self.root is not None:
            raise RefusedError(f"asked {what} on the recorded host {self.name!r}; a recording can only be read: use a live host")


class KernelCalls:
    """The system calls of `assay._core`, imported at the first call."""

    def __init__(self) -> None:
        self._log = KernelLog()

    def cachestat(self, path: str) -> CacheStat:
        """Pages of the file in the page cache. Raises OSError (ENOSYS before Linux 6.5, EPERM for others' files)."""
        from assay import _core

        return CacheStat(**_core.cachestat(path))

    def fiemap(self, path: str) -> Extents:
        """Bytes of the file by kind of extent. Raises OSError."""
        from assay import _core

        return Extents(**_core.fiemap(path))

    def placed(self, path: str) -> tuple[int, int] | None:
        """Between which bytes of the device the file's extents lie; None where they have no place yet. Raises OSError."""
        from assay.fleet.hosts import fiemap

        return fiemap.placed(path)

    def drop_file(self, path: str) -> None:
        """Flush the file, then give its pages back. Raises OSError."""
        from assay import _core

        _core.drop_file(path)

    def spin(self) -> tuple[int, ...]:
        """How long each of some equal pieces of integer work took, in ns of this thread's own time."""
        from assay.fleet.hosts.spin import spin

        return spin()

    def kernel_log(self) -> str:
        """What came into the kernel's log since the former call; nothing at the first. Raises OSError."""
        return self._log.since()

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path; nanoseconds it took. Raises OSError."""
        from assay import _core

        took: int = _core.syncfs(path)
        return took

    def space(self, path: str) -> tuple[float, float]:
        """The shares of space and inodes that an ordinary user may still take. Raises OSError."""
        told = os.statvfs(path)
        free = told.f_bavail / told.f_blocks if told.f_blocks else 1.0
        return free, told.f_favail / told.f_files if told.f_files else 1.0

    def promises(self, path: str) -> Mapping[str, str]:
        """What the file system promises there, by trying. Raises OSError where nothing can be made in the directory."""
        from assay.fleet.hosts import promises

        return promises.probe(path)


class LineProcess:
    """A command that is running, spoken to line by line; its standard error is kept for the message when it fails."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> None:
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is reaped
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
        self.pid = self._process.pid

    def send(self, line: str) -> None:
        """Send one line. Raises TrialError with the status and standard error where the command has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.rstrip("\n").encode() + b"\n")
        except (BrokenPipeError, ValueError) as error:
            self._raise_ended(error)

    def receive(self, timeout_s: float) -> str | None:
        """The next line without its end; None when the output has ended. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest and not self._ended:
            self._fill(max(0.0, deadline - time.monotonic()), timeout_s)
        line, found, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace") if found or line else None

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
        """The end of its standard error."""
        if self._stderr.closed:
            return ""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), STDERR_SHOWN, max(0, size - STDERR_SHOWN)).decode("utf-8", "replace")

    def _fill(self, wait_s: float, timeout_s: float) -> None:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(wait_s):
                raise TimeoutError(f"{self._name} said nothing for {timeout_s} s")
        chunk = os.read(self._process.stdout.fileno(), 1 << 16)
        self._rest += chunk
        self._ended = not chunk

    def _raise_ended(self, error: Exception) -> NoReturn:
        status = self._process.poll()
        raise TrialError(f"{self._name} has ended (status {status}): {self.complaint().strip() or 'it said nothing'}") from error

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
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
        raise MissingError(f"found no command {name!r} on this machine; expected it on $PATH: install the package that has it")
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
            raise TrialError(f"{' '.join(argv)}: still running after {timeout_s} s, so it was ended") from error
        raise


def _failure(done: Completed) -> str:
    said = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-STDERR_SHOWN:]
    return f"{' '.join(done.argv)}: exit status {done.status}: {said}"

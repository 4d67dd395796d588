"""Starts an external command behind a gate: it exists before it runs, so that everything can be looked at before its exec.

The child waits for one byte, then becomes the command, with its own arguments, environment, standard input and open files. It
stays in our process group, so that the terminal's signals reach it and its foreground is kept.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from assay.errors import MissingError, RefusedError
from assay.frozen import dataclass

NOT_STARTED = 125
"""Exit status of a child whose watcher went away before it opened the gate."""
BEGAN = "@"
"""Around the time just before the exec, which the child sends through the pipe of its failure."""
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these from its start; what the command would have got without us is their default."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A child behind its gate."""

    pid: int
    gate: int
    failure: int

    def go(self) -> int:
        """Let it become the command; when it asked the kernel for that (ns of CLOCK_MONOTONIC), once it has become it.

        Raises MissingError (127) or RefusedError (126) where it cannot.
        """
        opened_ns = time.monotonic_ns()
        with contextlib.suppress(BrokenPipeError):  # it has failed already
            os.write(self.gate, b"!")
        os.close(self.gate)
        with open(self.failure, "rb") as pipe:  # noqa: PTH123 - a descriptor, not a path
            noted = pipe.read().decode()
        began, failed = noted.removeprefix(BEGAN).split(BEGAN, 1) if noted.startswith(BEGAN) else ("", noted)
        if failed:
            os.waitpid(self.pid, 0)
            raise _failed(failed)
        return int(began) if began else opened_ns

    def abandon(self) -> None:
        """End it before it was let go."""
        for descriptor in (self.gate, self.failure):
            os.close(descriptor)
        os.waitpid(self.pid, 0)


def behind_gate(argv: Sequence[str], directory: str, streams: Mapping[int, int], blocked: Iterable[int]) -> Waiting:
    """Fork a child that waits for `go`.

    `streams` maps a descriptor of the command (1, 2) to the one of ours that it becomes; `blocked` are the signals that the
    command finds blocked.
    """
    gate_read, gate = os.pipe()
    failure, failure_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, directory, (gate_read, gate, failure_write), (streams, blocked))
    os.close(gate_read)
    os.close(failure_write)
    return Waiting(pid=pid, gate=gate, failure=failure)


def _become(
    argv: Sequence[str],
    directory: str,
    pipes: tuple[int, int, int],
    given: tuple[Mapping[int, int], Iterable[int]],
) -> NoReturn:
    """In the child: prepare, wait, exec; nothing of ours ever runs in it afterwards."""
    gate, other_end, failure = pipes
    streams, blocked = given
    status = NOT_STARTED
    try:
        os.close(other_end)
        for own, ours in streams.items():
            os.dup2(ours, own)
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set(blocked))
        os.chdir(directory)
        if os.read(gate, 1):
            os.write(failure, f"{BEGAN}{time.monotonic_ns()}{BEGAN}".encode())
            _execute(argv)
    except OSError as error:
        os.write(failure, f"{error.errno} {argv[0]}".encode())
    finally:
        os._exit(status)


def _execute(argv: Sequence[str]) -> NoReturn:
    """As execvp(3): along $PATH, and a text without `#!` by the shell."""
    try:
        os.execvp(argv[0], [*argv])  # noqa: S606 - the command is what we were asked to run
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    import shutil  # only now: a watcher has no use for it

    os.execv("/bin/sh", ["/bin/sh", shutil.which(argv[0]) or argv[0], *argv[1:]])  # noqa: S606 - as above


def _failed(report: str) -> MissingError | RefusedError:
    number, _, name = report.partition(" ")
    reason = os.strerror(int(number))
    if int(number) in (errno.ENOENT, errno.ENOTDIR):
        hint = ". Write the command without quotes around the whole of it, or as: sh -c '...'" if " " in name else ""
        return MissingError(f"{name}: command not found ({reason}){hint}")
    return RefusedError(f"{name}: cannot be executed ({reason})")

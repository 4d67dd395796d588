"""Relays between us and a command: its output to our streams, byte for byte, and our signals to it, once.

The command is in our process group, so signals of the terminal reach it without us; signals to us alone are passed on.
All of them, and the end of children, are blocked and taken one by one, so nothing runs at an unforeseen moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import termios
import threading
import tty
from array import array
from dataclasses import dataclass, field
from typing import Self

from assay.catalogue.console import decoded
from assay.records import Stream
from assay.terminal.output import refusal

KEPT_BYTES = 1 << 20
"""Of the beginning, and as much of the end."""
PAUSE_S = 0.02
PIPE_BYTES = 1 << 20
"""Size asked for the pipe: fewer wake-ups of ours; what the kernel refuses stays at its default."""
LEFT_OUT = "\n[... {} bytes not kept ...]\n"


@dataclass
class StreamCopy:
    """One stream of the command: its end to write to, and a thread that copies from the other end to our own stream.

    The thread blocks on our own stream only, so the command waits exactly as long as it would have without us.
    """

    passed_to: int | None
    """Our own descriptor (1 or 2); None to keep only."""
    inside: int = -1
    """What becomes the command's descriptor; closed by `start`."""
    outside: int = -1
    head: bytearray = field(default_factory=bytearray)
    total_bytes: int = 0
    full: bytearray = field(default_factory=bytearray)
    """The last so many bytes before those of `filling`; the two change places, so that nothing is copied to be kept."""
    filling: bytearray = field(default_factory=lambda: bytearray(KEPT_BYTES))
    filled: int = 0
    terminal: bool = False
    busy: bool = False
    """Whether something was taken from the stream that is not passed on yet."""
    refused: str = ""
    """Why our own stream took no more."""
    _thread: threading.Thread | None = None

    def open(self) -> StreamCopy:
        """Make the pipe, or a pseudo-terminal where ours is a terminal, so that the command finds what it would have found."""
        self.terminal = self.passed_to is not None and os.isatty(self.passed_to)
        if self.terminal:
            self.outside, self.inside = os.openpty()
            _leave_output_alone(self.inside)
            self.fit()
        else:
            self.outside, self.inside = os.pipe()
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.inside, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return self

    def fit(self) -> None:
        """Give the pseudo-terminal the size of our terminal."""
        if self.terminal and self.passed_to is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetwinsize(self.outside, termios.tcgetwinsize(self.passed_to))

    def start(self) -> None:
        """Begin to copy; the command has its own copy of the inner end by now."""
        os.close(self.inside)
        self._thread = threading.Thread(target=self._copy, name=f"tee-{self.passed_to}", daemon=True)
        self._thread.start()

    def finish(self, *, held: bool) -> Stream:
        """Wait until all is passed on, however slow our reader is, and say what came.

        `held` says that processes still run that may hold the stream open: then its end is not waited for.
        """
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(PAUSE_S)
            if held and self._idle():
                break
        return self.kept()

    def _idle(self) -> bool:
        """Return whether nothing has come that is not passed on yet."""
        waiting = array("i", [0])
        try:
            fcntl.ioctl(self.outside, termios.FIONREAD, waiting)
        except OSError:
            return True
        return not self.busy and not waiting[0]

    def kept(self) -> Stream:
        """Return what is kept so far, as text."""
        after = max(0, min(KEPT_BYTES, self.total_bytes - len(self.head)))
        tail = bytes((self.full + self.filling[: self.filled])[-after:]) if after else b""
        lost = self.total_bytes - len(self.head) - len(tail)
        middle = LEFT_OUT.format(lost) if lost > 0 else ""
        return Stream(text=_text(bytes(self.head)) + middle + _text(tail), truncated=lost > 0, refused=self.refused)

    def _copy(self) -> None:
        try:
            while chunk := self._next():
                if self.passed_to is not None:
                    _write_all(self.passed_to, chunk)
        except BrokenPipeError:
            pass  # nobody reads us any more: closing our end tells the command, as it would have been told without us
        except OSError as error:
            self.refused = refusal(error)
        finally:
            os.close(self.outside)

    def _next(self) -> memoryview:
        """Return what came, read into the place where it is kept; empty at the end."""
        if self.filled == KEPT_BYTES:
            self.full, self.filling = self.filling, self.full or bytearray(KEPT_BYTES)
            self.filled = 0
        room = memoryview(self.filling)[self.filled :]
        self.busy = False
        select.select([self.outside], [], [])
        self.busy = True
        try:
            count = os.readv(self.outside, [room])
        except OSError:
            count = 0  # a pseudo-terminal ends with EIO
        if len(self.head) < KEPT_BYTES:
            self.head += room[: min(count, KEPT_BYTES - len(self.head))]
        self.filled += count
        self.total_bytes += count
        return room[:count]


def _leave_output_alone(terminal: int) -> None:
    """Our own terminal translates line ends; done twice, it would change what is passed on."""
    mode = termios.tcgetattr(terminal)
    mode[tty.OFLAG] &= ~termios.OPOST
    mode[tty.LFLAG] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, mode)


def _write_all(descriptor: int, chunk: memoryview) -> None:
    while chunk:
        chunk = chunk[_written(descriptor, chunk) :]


def _written(descriptor: int, chunk: memoryview) -> int:
    """Write once; a stream that somebody made non-blocking is waited for."""
    try:
        return os.write(descriptor, chunk)
    except BlockingIOError:
        select.select([], [descriptor], [])
        return 0


def _text(raw: bytes) -> str:
    return decoded(raw)


PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGTSTP,
)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Signals:
    """While entered, signals wait for `take`. What is ignored stays ignored (nohup)."""

    def __init__(self) -> None:
        heard = (number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN)
        self._set = {*heard, signal.SIGCHLD}
        self.former: set[int] = set()
        """What was blocked before; the command finds just that blocked."""

    def __enter__(self) -> Self:
        self.former = set(signal.pthread_sigmask(signal.SIG_BLOCK, self._set))
        return self

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.former)

    def take(self, within_s: float) -> signal.struct_siginfo | None:
        """Return the next signal, waited for at most so long."""
        return signal.sigtimedwait(self._set, within_s)


def pass_on(info: signal.struct_siginfo, pid: int) -> None:
    """Give the command a signal that it has not got by itself, and stop with it where it is to stop."""
    sent_by_process = info.si_code <= 0
    if sent_by_process or info.si_signo == signal.SIGWINCH:
        # After WINCH the command looks at the pseudo-terminal, which has its new size only now.
        send(pid, info.si_signo)
    if info.si_signo == signal.SIGTSTP:
        _stop()
        if sent_by_process:
            send(pid, signal.SIGCONT)


def _stop() -> None:
    """Stop by the signal itself, as the command does: where nobody could ever continue us, the kernel stops neither."""
    former = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    try:
        os.kill(os.getpid(), signal.SIGTSTP)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)

"""Signals that we get while a command runs: the command gets them too, once.

The command is in our process group, so what the terminal sends reaches it without us; what was sent to us alone is passed on.
All of them, and the end of children, are blocked and taken one by one, so nothing runs at an unforeseen moment.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Self

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
        """The next signal, waited for at most so long."""
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

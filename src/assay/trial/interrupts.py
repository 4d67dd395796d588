"""Ctrl-C, SIGTERM and a closed terminal during a trial: once they end it in order, and they never disturb the tidying up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While entered, these signals raise KeyboardInterrupt, but not before the end of `shielded` and `uninterrupted`.

    What is ignored stays ignored (nohup).

    In a thread other than the main one signals are left alone: Python delivers them to the main thread.
    """

    def __init__(self) -> None:
        self._former: dict[int, Any] = {}
        self._waiting = 0
        self._shields = 0
        self._uninterrupted = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._former = {number: signal.signal(number, self._come) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former = {}

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Something must not be left half done: the first signal waits for its end, a second one does not."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
        self._raise_waiting()

    @contextlib.contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Tidying up: every signal waits for its end, for it could only keep things from being undone."""
        self._uninterrupted += 1
        try:
            yield
        finally:
            self._uninterrupted -= 1
        self._raise_waiting()

    def _come(self, _number: int, _frame: FrameType | None) -> None:
        self._waiting += 1
        if self._uninterrupted or (self._shields and self._waiting == 1):
            return
        self._waiting = 0
        raise KeyboardInterrupt

    def _raise_waiting(self) -> None:
        if self._waiting and not self._shields and not self._uninterrupted:
            self._waiting = 0
            raise KeyboardInterrupt

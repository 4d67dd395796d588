"""The lines that something says: kept until they are asked for, or given to a listener as they come."""

from __future__ import annotations

import contextlib
import queue
import threading

from assay.catalogue import Listener


class LineFeed:
    """Lines with their times, the end as None; `turn` is held by whoever gives one on."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self._kept: queue.SimpleQueue[tuple[str | None, int]] = queue.SimpleQueue()
        self._heard: Listener = lambda line, at_ns: self._kept.put((line, at_ns))

    def give(self, line: str | None, at_ns: int) -> None:
        """Give a line on."""
        self._heard(line, at_ns)

    def next(self, timeout_s: float, silence: str) -> str | None:
        """Return the next line; None at the end. Raises TimeoutError with the words for silence."""
        try:
            return self._kept.get(timeout=timeout_s)[0]
        except queue.Empty:
            raise TimeoutError(f"{silence} for {timeout_s} s") from None

    def listen(self, heard: Listener) -> None:
        """Give every line from now on to `heard`, and first those that are kept."""
        with self.turn:
            with contextlib.suppress(queue.Empty):
                while True:
                    heard(*self._kept.get_nowait())
            self._heard = heard

"""Progress on standard error: a line a second on a terminal, a line every 10 s in a pipe, NDJSON on request."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TextIO

from assay.terminal.remaining import Remaining, TimeLeft

SECOND_NS = 1_000_000_000
PIPED_NS = 10 * SECOND_NS
"""Time between two lines in a pipe or a file."""
EVENTS = ("started", "finished", "enough")
"""Events that are shown at once."""


class ProgressMode(StrEnum):
    """The form of progress."""

    AUTO = "auto"
    JSON = "json"
    NONE = "none"


class ProgressLine:
    """The line itself: rewritten in place on a terminal, a new line elsewhere."""

    def __init__(self, mode: ProgressMode, stream: TextIO | None = None) -> None:
        self.mode = mode
        self._stream = stream or sys.stderr
        self._in_place = mode is ProgressMode.AUTO and self._stream.isatty()
        self._every_ns = SECOND_NS if self._in_place or mode is ProgressMode.JSON else PIPED_NS
        self.started_ns = self._written_ns = time.monotonic_ns()
        self._width = 0

    def is_due(self, *, event: bool = False, alarm: bool = False) -> bool:
        """Return whether it is time for a line; an event is shown at once, except in a pipe, and an alarm everywhere."""
        if self.mode is ProgressMode.NONE or alarm:
            return self.mode is not ProgressMode.NONE
        return time.monotonic_ns() - self._written_ns >= self._every_ns or (event and self._every_ns == SECOND_NS)

    def write(self, words: str, news: Mapping[str, object]) -> None:
        """Write the words for people, or the news as an object on a line. A stream that takes nothing costs no trial."""
        self._written_ns = time.monotonic_ns()
        if self.mode is ProgressMode.JSON:
            self._put(json.dumps(news, default=str) + "\n")
        elif self._in_place:
            self._put("\r" + words.ljust(self._width))
            self._width = len(words)
        else:
            self._put(words + "\n")

    def close(self) -> None:
        """Erase the line on a terminal."""
        if self._width:
            self._put("\r" + " " * self._width + "\r")
            self._width = 0

    def _put(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


class Progress:
    """The progress of the trials of a plan; callable with the records of a running trial.

    Within `beating()` a line is also written where nothing happens for long: a stage may take minutes without news.
    """

    def __init__(self, mode: ProgressMode, remaining: Remaining, stream: TextIO | None = None) -> None:
        self._line = ProgressLine(mode, stream)
        self._remaining = remaining
        self._failed: object = None
        self._news: Mapping[str, object] = {}
        self._turn = threading.Lock()

    def __call__(self, news: Mapping[str, object]) -> None:
        """Take one record: `trial`, `attempt`, `phase`, `event` and, while running, `operations`, `silent` and `failed`."""
        with self._turn:
            self._remaining.take(time.monotonic_ns() / SECOND_NS, news)
            former, self._failed = self._failed, news.get("failed")
            self._news = news
            self._write(event=news.get("event") in EVENTS, alarm=self._failed not in (None, former))

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Write the line when it is time for one, also between two records; take it away at the end."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(1):
                with self._turn:
                    self._write()

        thread = threading.Thread(target=beat, name="progress", daemon=True)
        if self._line.mode is not ProgressMode.NONE:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if thread.ident is not None:
                thread.join()
            self._line.close()

    def _write(self, *, event: bool = False, alarm: bool = False) -> None:
        """Write a line where it is time for one."""
        if not self._line.is_due(event=event, alarm=alarm):
            return
        left = self._remaining.left(time.monotonic_ns() / SECOND_NS)
        numbers = {} if left is None else {"left_s": left.value_s, "left_low_s": left.low_s, "left_high_s": left.high_s}
        counts = {"done": self._remaining.done, "of": len(self._remaining.trials)}
        self._line.write(self._words(left), {**self._news, **counts, **{key: round(value, 1) for key, value in numbers.items()}})

    def _words(self, left: TimeLeft | None) -> str:
        news, most, attempt = self._news, len(self._remaining.trials), self._remaining.attempt
        number = self._remaining.number
        trial = f"trial {number}/{most}" if self._remaining.fewest_blocks is None else f"trial {number}, at most {most}"
        trial += f" (attempt {attempt})" if attempt > 1 else ""
        listed = (news.get(key) for key in ("failed", "silent"))
        named = "; ".join(str(one) for words in listed if isinstance(words, list) for one in words)
        parts = (
            trial,
            *(str(news.get(name) or "") for name in ("workload", "phase", "event")),
            named,
            left.words() if left else "",
        )
        return "  ".join(part for part in parts if part)

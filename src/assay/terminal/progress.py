"""Progress on standard error: a line a second on a terminal, a line every 10 s in a pipe, NDJSON on request."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO

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

    def is_due(self, *, event: bool = False) -> bool:
        """Return whether it is time for a line; an event is shown at once, except in a pipe."""
        if self.mode is ProgressMode.NONE:
            return False
        return time.monotonic_ns() - self._written_ns >= self._every_ns or (event and self._every_ns == SECOND_NS)

    def write(self, words: str, news: Mapping[str, object]) -> None:
        """Write the words for people, or the news as an object on a line."""
        self._written_ns = time.monotonic_ns()
        if self.mode is ProgressMode.JSON:
            self._stream.write(json.dumps(news, default=str) + "\n")
        elif self._in_place:
            self._stream.write("\r" + words.ljust(self._width))
            self._width = len(words)
        else:
            self._stream.write(words + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Erase the line on a terminal."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


class Progress:
    """The progress of the trials of a plan; callable with the records of a running trial."""

    def __init__(self, mode: ProgressMode, trials: int, stream: TextIO | None = None) -> None:
        self._line = ProgressLine(mode, stream)
        self._trials = trials
        self._done: set[object] = set()

    def __call__(self, news: Mapping[str, object]) -> None:
        """Take one record: `trial`, `attempt`, `phase`, `event` and, while running, `operations`."""
        if news.get("event") == "finished":
            self._done.add(news.get("trial"))
        if self._line.is_due(event=news.get("event") in EVENTS):
            self._line.write(self._words(news), {**news, "done": len(self._done), "of": self._trials})

    def _words(self, news: Mapping[str, object]) -> str:
        trial = f"trial {min(len(self._done) + 1, self._trials)}/{self._trials}"
        parts = (trial, *(str(news.get(name) or "") for name in ("workload", "phase", "event")), self._left())
        return "  ".join(part for part in parts if part)

    def _left(self) -> str:
        if not self._done:
            return ""
        each_s = (time.monotonic_ns() - self._line.started_ns) / SECOND_NS / len(self._done)
        return f"about {each_s * (self._trials - len(self._done)):.0f} s left"

    def close(self) -> None:
        """Erase the line on a terminal."""
        self._line.close()

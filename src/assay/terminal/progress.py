"""Tell how far a campaign is: one line a second on a terminal, NDJSON where asked, nothing in a pipe."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO

SECOND_NS = 1_000_000_000


class ProgressMode(StrEnum):
    """How progress is told."""

    AUTO = "auto"
    JSON = "json"
    NONE = "none"


class Progress:
    """Callable with the fleet's progress records; writes to standard error at most once a second."""

    def __init__(self, mode: ProgressMode, trials: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._mode = self._resolve(mode)
        self._trials = trials
        self._done: set[object] = set()
        self._started_ns = time.monotonic_ns()
        self._told_ns = 0
        self._width = 0

    def _resolve(self, mode: ProgressMode) -> ProgressMode:
        if mode is ProgressMode.AUTO and not self._stream.isatty():
            return ProgressMode.NONE
        return mode

    def __call__(self, news: Mapping[str, object]) -> None:
        """Take one record: `trial`, `attempt`, `phase`, `event` and, while running, `operations`."""
        if self._mode is ProgressMode.NONE:
            return
        if news.get("event") == "finished":
            self._done.add(news.get("trial"))
        now_ns = time.monotonic_ns()
        if now_ns - self._told_ns < SECOND_NS and news.get("event") not in ("started", "finished", "enough"):
            return
        self._told_ns = now_ns
        if self._mode is ProgressMode.JSON:
            self._stream.write(json.dumps({**news, "done": len(self._done), "of": self._trials}, default=str) + "\n")
        else:
            self._line(self._words(news, now_ns))
        self._stream.flush()

    def _words(self, news: Mapping[str, object], now_ns: int) -> str:
        share = f"{len(self._done) + 1 if len(self._done) < self._trials else self._trials}/{self._trials}"
        left = self._left(now_ns)
        parts = [f"trial {share}", str(news.get("workload") or ""), str(news.get("phase") or ""), str(news.get("event") or "")]
        return "  ".join(part for part in [*parts, left] if part)

    def _left(self, now_ns: int) -> str:
        if not self._done:
            return ""
        each_s = (now_ns - self._started_ns) / SECOND_NS / len(self._done)
        return f"about {each_s * (self._trials - len(self._done)):.0f} s left"

    def _line(self, words: str) -> None:
        self._stream.write("\r" + words.ljust(self._width))
        self._width = len(words)

    def close(self) -> None:
        """Take the line away."""
        if self._mode is ProgressMode.AUTO and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

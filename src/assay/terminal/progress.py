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

    def is_due(self, *, event: bool = False, alarm: bool = False) -> bool:
        """Return whether it is time for a line; an event is shown at once, except in a pipe, and an alarm everywhere."""
        if self.mode is ProgressMode.NONE or alarm:
            return self.mode is not ProgressMode.NONE
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
    """The progress of the trials of a plan; callable with the records of a running trial.

    `guesses_s` has how long each trial is guessed to take; what the finished ones took corrects the guesses of the others.
    `most_s` is the end of a budget, `word` says whether the schedule may end before.
    """

    def __init__(
        self,
        mode: ProgressMode,
        trials: int,
        stream: TextIO | None = None,
        guesses_s: Mapping[object, float] | None = None,
        most_s: float | None = None,
        word: str = "about",
    ) -> None:
        self._line = ProgressLine(mode, stream)
        self._trials = trials
        self._guesses_s = guesses_s or {}
        self._most_s, self._word = most_s, word
        self._done: set[object] = set()
        self._current: object = None
        self._failed: object = None
        self._worked_ns = self._since_ns = self._line.started_ns
        self._guessed_s = 0.0

    def __call__(self, news: Mapping[str, object]) -> None:
        """Take one record: `trial`, `attempt`, `phase`, `event` and, while running, `operations`, `silent` and `failed`."""
        self._count(news.get("event"), news.get("trial"))
        former, self._failed = self._failed, news.get("failed")
        if self._line.is_due(event=news.get("event") in EVENTS, alarm=self._failed not in (None, former)):
            self._line.write(self._words(news), {**news, "done": len(self._done), "of": self._trials, "left_s": self._left_s()})

    def _count(self, event: object, trial: object) -> None:
        """Note which trial runs, and what the finished attempts took against their guesses; a repeated trial is not done."""
        if event == "started":
            self._current, self._since_ns = trial, time.monotonic_ns()
            self._done.discard(trial)
        elif event == "finished":
            self._done.add(trial)
            self._guessed_s += self._guess_s(trial)
            self._worked_ns = self._since_ns = time.monotonic_ns()
            self._current = None

    def _guess_s(self, trial: object) -> float:
        return self._guesses_s.get(trial, 1.0)

    def _words(self, news: Mapping[str, object]) -> str:
        trial = f"trial {min(len(self._done) + 1, self._trials)}/{self._trials}"
        left_s = self._left_s()
        left = "" if left_s is None or left_s < 1 else f"{self._word} {left_s:.0f} s left"
        listed = (news.get(key) for key in ("failed", "silent"))
        named = "; ".join(str(one) for words in listed if isinstance(words, list) for one in words)
        parts = (trial, *(str(news.get(name) or "") for name in ("workload", "phase", "event")), named, left)
        return "  ".join(part for part in parts if part)

    def _left_s(self) -> float | None:
        """Seconds that the rest is expected to take; None without a guess and a finished trial."""
        if not self._guesses_s and not self._guessed_s:
            return None
        taken_s = (self._worked_ns - self._line.started_ns) / SECOND_NS
        times = taken_s / self._guessed_s if self._guessed_s else 1.0
        waiting = [trial for trial in self._guesses_s if trial not in self._done and trial != self._current]
        running = self._current is not None
        others = sum(map(self._guess_s, waiting)) if self._guesses_s else self._trials - len(self._done) - running
        now_ns = time.monotonic_ns()
        current_s = times * self._guess_s(self._current) * running - (now_ns - self._since_ns) / SECOND_NS
        left_s = times * others + max(0.0, current_s)
        return (
            left_s if self._most_s is None else min(left_s, max(0.0, self._most_s - (now_ns - self._line.started_ns) / SECOND_NS))
        )

    def close(self) -> None:
        """Erase the line on a terminal."""
        self._line.close()

"""Recorded experiments: what was known before, their news with their times, and what is said to be left at some moments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.terminal.courses import Expected
from assay.terminal.remaining import Remaining, TimeLeft

SHARES = (0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An experiment that is over: what was known before, its news with their times, and its end."""

    before: Mapping[str, object]
    news: tuple[tuple[float, Mapping[str, object]], ...]
    end_s: float

    def estimates(self) -> Iterator[tuple[float, float, TimeLeft]]:
        """Yield share of the time, seconds that were left, and the estimate."""
        remaining, places = remaining_of(self.before), iter(SHARES)
        began_s = self.news[0][0]
        share = next(places)
        for (at_s, one), (after_s, _) in zip(self.news, (*self.news[1:], (self.end_s, {})), strict=True):
            remaining.take(at_s, one)
            while share is not None and after_s > (now_s := began_s + share * (self.end_s - began_s)):
                found = remaining.left(max(now_s, at_s))
                assert found is not None
                yield share, self.end_s - now_s, found
                share = next(places, None)


def remaining_of(before: Mapping[str, object]) -> Remaining:
    """Return an estimate that knows what was known before the first trial."""
    trials = {int(number): Expected(**known) for number, known in dict(before["trials"]).items()}
    rest = {name: before[name] for name in ("fewest_blocks", "most_s", "after_s")}
    return Remaining(trials=trials, **rest)


def recorded(path: Path) -> Recorded:
    """Read a recording."""
    first, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    *news, (end_s, _) = lines
    return Recorded(before=first, news=tuple((at_s, one) for at_s, one in news), end_s=end_s)

"""Service levels: `search p99 <= 50 ms`, read and held against what a capture says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from assay import units
from assay.dissect.result import Dissection, ResponseTimes
from assay.units import Refusal, Unit

KINDS = ("search", "bind", "compare", "modify", "add", "delete", "rename", "extended")
ALL = "all"
PERMILLE: Mapping[str, int] = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999, "max": 1000}
"""How many of a thousand operations keep the limit."""
WRITTEN = re.compile(r"\s*([a-z]+)\s+(\S+)\s*<=\s*(.+?)\s*")
_CHOICES = f"operation: {', '.join((*KINDS, ALL))}; figure: {', '.join(PERMILLE)}"
EXPECTED = f'"OPERATION FIGURE <= TIME" such as "search p99 <= 50 ms" ({_CHOICES})'


@dataclass(frozen=True, kw_only=True)
class ServiceLevel:
    """A limit on response times."""

    text: str
    operation: str
    figure: str
    limit_ns: int


class Kept(Enum):
    """Whether a service level was kept."""

    MET = "met"
    NOT_MET = "not met"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class LevelResult:
    """A service level against the capture."""

    level: ServiceLevel
    n: int
    """Operations that were timed, or never answered, or that waited longer than the limit when the capture ended."""
    slower: int
    value_ns: int | None
    """The figure itself; None over all kinds, without a time, and where it is one of an operation without an answer."""
    state: Kept

    @property
    def slower_share(self) -> float | None:
        """The share above the limit; None without a time."""
        return self.slower / self.n if self.n else None


def parse(text: str) -> ServiceLevel | Refusal:
    """Return the service level, or why the text is none."""
    match = WRITTEN.fullmatch(text)
    if match is None or match[1] not in (*KINDS, ALL) or match[2] not in PERMILLE:
        return Refusal(found=repr(text), expected=EXPECTED)
    limit = units.attempt(match[3], Unit.NANOSECONDS)
    if isinstance(limit, Refusal):
        return Refusal(found=f"{limit.found} in {text!r}", expected=limit.expected)
    return ServiceLevel(text=" ".join(text.split()), operation=match[1], figure=match[2], limit_ns=int(limit))


def judged(levels: Sequence[ServiceLevel], found: Dissection) -> tuple[LevelResult, ...]:
    """Hold each level against the exact count of slower operations, so that no rounding of a percentile decides."""
    counts = [(int(one["n"]), int(one["slower"])) for one in found.values["limits"]]
    return tuple(_judged(level, *count, found) for level, count in zip(levels, counts, strict=True))


def _judged(level: ServiceLevel, n: int, slower: int, found: Dissection) -> LevelResult:
    times = [one.response_ns for one in found.operations if level.operation in (one.operation, ALL)]
    allowed = n - -(-n * PERMILLE[level.figure] // 1000)
    without = n - sum(one.n for one in times)
    value_ns = figure(times[0], level.figure) if len(times) == 1 and without <= allowed else None
    state = Kept.UNKNOWN if not n else Kept.MET if slower <= allowed else Kept.NOT_MET
    return LevelResult(level=level, n=n, slower=slower, value_ns=value_ns, state=state)


def figure(times: ResponseTimes, name: str) -> int | None:
    """Return a figure by its name in a service level."""
    if not times.n:
        return None
    return {"p50": times.p50, "p90": times.p90, "p99": times.p99, "p99.9": times.p999, "max": times.max}[name]

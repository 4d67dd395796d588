"""A running trial as its live rows tell it: rates since the row before, what passed each layer, and the stages one by one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.measures import with_unit
from assay.notebook import index, layout
from assay.records import Direction
from assay.serve.chart import curves
from assay.serve.shelf import times
from assay.units import Unit

MOST_ROWS = 7200
"""Of one trial so many rows are kept, two hours of them; the oldest go."""
RUNNING = "running"


@dataclass(frozen=True, kw_only=True)
class LiveRow:
    """A row with its time."""

    at_s: float
    news: Mapping[str, Any]

    @property
    def place(self) -> tuple[str, str]:
        """Workload and phase."""
        return str(self.news.get("workload") or ""), str(self.news.get("phase") or "")

    @property
    def words(self) -> str:
        """`Trial 7, attempt 1: w write`, as far as the row says it."""
        named = (("trial", "trial"), ("attempt", "attempt"), ("block", "block"))
        parts = [f"{word} {self.news[key]}" for key, word in named if key in self.news]
        return ": ".join(part for part in (", ".join(parts), " ".join(filter(None, self.place))) if part)

    @property
    def event(self) -> str:
        """Its event, with the reason where it has one."""
        return ": ".join(str(self.news[key]) for key in ("event", "reason") if key in self.news)

    @property
    def alarms(self) -> tuple[str, ...]:
        """Which clients have failed, and which show no progress."""
        return tuple(str(one) for key in ("failed", "silent") for one in self.news.get(key, ()))

    @property
    def operations(self) -> Mapping[str, Mapping[str, int]]:
        """Operation -> count and bytes so far."""
        found = self.news.get("operations")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What an operation does now, and has done in this phase."""

    operation: str
    per_s: float
    bytes_per_s: float
    count: int
    bytes: int

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The cells of its row."""
        return (
            f"{self.per_s:,.0f}/s",
            with_unit(self.bytes_per_s, Unit.BYTES_PER_S) if self.bytes else "-",
            f"{self.count:,}",
            with_unit(self.bytes, Unit.BYTES) if self.bytes else "-",
        )


@dataclass(frozen=True, kw_only=True)
class LiveStep:
    """What passed one layer in this phase."""

    name: str
    read_bytes: float
    write_bytes: float
    share: float
    """Of the widest layer, for its bar."""

    @property
    def words(self) -> tuple[str, str]:
        """The cells of its row."""
        return with_unit(self.read_bytes, Unit.BYTES), with_unit(self.write_bytes, Unit.BYTES)


@dataclass(frozen=True, kw_only=True)
class LiveStage:
    """A stage of the trial: when it began, and how long it took; None for the present one."""

    name: str
    from_s: float
    took_s: float | None


@dataclass(kw_only=True)
class Feed:
    """The rows of the trial that runs, or ran last, of one experiment; each look reads what is new."""

    folder: Path
    rows: list[LiveRow] = field(default_factory=list)
    _last: int = 0
    _inode: object = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Read the new rows, once for two pages that are made at the same time; another trial begins anew."""
        with self._turn:
            self._look()

    def _look(self) -> None:
        inode = times(self.folder / layout.INDEX)[:1]
        if inode != self._inode:
            self._inode, self._last, self.rows = inode, 0, []
        for number, at_utc, row in index.live(self.folder, self._last):
            self._last = number
            if not isinstance(row, dict):
                continue
            if row.get("event") == "started" or (self.rows and row.get("trial", self.trial) != self.trial):
                self.rows = []
            self.rows.append(LiveRow(at_s=datetime.fromisoformat(at_utc).timestamp(), news=row))
        del self.rows[:-MOST_ROWS]

    @property
    def trial(self) -> object:
        """The trial of the rows."""
        return next((one.news["trial"] for one in self.rows if "trial" in one.news), None)

    @property
    def waiting_bytes(self) -> int | None:
        """How many bytes of this machine wait in memory to be written, as the newest row of the phase has it."""
        return next((one.news["dirty_bytes"] for one in reversed(self.phase()) if "dirty_bytes" in one.news), None)

    @property
    def newest(self) -> LiveRow | None:
        """The newest row."""
        return self.rows[-1] if self.rows else None

    def phase(self) -> tuple[LiveRow, ...]:
        """Return the rows with operations of the phase that runs, or ran last."""
        found = [one for one in self.rows if one.news.get("event") == RUNNING]
        return tuple(one for one in found if one.place == found[-1].place)

    def rates(self) -> tuple[Rate, ...]:
        """Return the rates of the phase: between its last two rows."""
        rows = self.phase()
        if not rows:
            return ()
        former, last = rows[-2] if len(rows) > 1 else rows[-1], rows[-1]
        return tuple(between(name, former, last) for name in last.operations)

    def course(self) -> str:
        """Return operations a second over the time of the trial as SVG; empty without two rows of a phase."""
        lines: dict[str, list[tuple[float, float]]] = {}
        began_s = self.rows[0].at_s if self.rows else 0.0
        running = [one for one in self.rows if one.operations]
        for former, last in pairwise(running):
            for name in last.operations if former.place == last.place else ():
                rate = between(name, former, last)
                lines.setdefault(f"{' '.join(last.place[:1])} {name}", []).append((last.at_s - began_s, rate.per_s))
        shown = dict(list(lines.items())[-6:])
        return curves(shown, "seconds since the trial began; operations a second").element if shown else ""

    def ladder(self) -> tuple[LiveStep, ...]:
        """Return what passed the application and each device of the target in this phase, host-wide below the application."""
        rows = [one for one in self.phase() if one.news.get("passed") is not None]
        if not rows:
            return ()
        asked = application(rows[-1], next((one.news["directions"] for one in rows if one.news.get("directions")), {}))
        found = [("application asked", *asked)]
        first, last = rows[0].news["passed"], rows[-1].news["passed"]
        for device in last:
            before = first.get(device, last[device])
            found.append((device, *(float(last[device][way] - before[way]) for way in ("read_bytes", "write_bytes"))))
        widest = max(max(read, write) for _, read, write in found) or 1.0
        return tuple(
            LiveStep(name=name, read_bytes=read, write_bytes=write, share=max(read, write) / widest)
            for name, read, write in found
        )

    def stages(self) -> tuple[LiveStage, ...]:
        """Return the stages of the trial in their order."""
        named = [(one.at_s, " ".join(part for part in (*one.place, str(one.news.get("event", ""))) if part)) for one in self.rows]
        starts = [one for at, one in enumerate(named) if at == 0 or named[at - 1][1] != one[1]]
        began_s = starts[0][0] if starts else 0.0
        ends: list[float | None] = [*(at for at, _ in starts[1:]), None]
        return tuple(
            LiveStage(name=name, from_s=at - began_s, took_s=None if end is None else end - at)
            for (at, name), end in zip(starts, ends, strict=True)
        )


def between(name: str, former: LiveRow, last: LiveRow) -> Rate:
    """Return the rate of an operation between two rows of a phase."""
    now, before = last.operations.get(name, {}), former.operations.get(name, {})
    seconds = max(last.at_s - former.at_s, 1e-9)
    count, moved = int(now.get("count", 0)), int(now.get("bytes", 0))
    is_one = former is last
    return Rate(
        operation=name,
        per_s=0.0 if is_one else max(0, count - int(before.get("count", 0))) / seconds,
        bytes_per_s=0.0 if is_one else max(0, moved - int(before.get("bytes", 0))) / seconds,
        count=count,
        bytes=moved,
    )


def application(row: LiveRow, directions: Mapping[str, str]) -> tuple[float, float]:
    """Return what the application says that it read and wrote."""
    ways = {Direction.READ.value: 0.0, Direction.WRITE.value: 0.0}
    for name, amounts in row.operations.items():
        way = directions.get(name, Direction.READ.value if "read" in name else Direction.WRITE.value)
        if way in ways:
            ways[way] += float(amounts.get("bytes", 0))
    return ways[Direction.READ.value], ways[Direction.WRITE.value]

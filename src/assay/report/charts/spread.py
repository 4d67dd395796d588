"""Latency over time: for every step of time the shares of its operations by latency, with the median and the 99th percentile.

Drawn from the coarse latency buckets that the engine notes over time. A percentile is the highest latency of the bucket that
holds it, so at most a quarter above the truth; it is drawn where at least ten operations of a step were slower.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.answer import marks as words
from assay.answer.scales import DASH, show
from assay.answer.wording import trends
from assay.frozen import dataclass
from assay.measures.timelines import from_zero, interpolated
from assay.records import Experiment, Judged, Observations, Phase, Series
from assay.report.charts.figure import ChartFigure, Panel, Table
from assay.report.charts.latency import BEYOND, TIME
from assay.report.charts.theme import Row, Spec, axis_over, frame, round_times, rows_of, ticks

HEIGHT = 230
MOST, LEAST = 48, 6
"""Steps of time: at most, and with fewer there is nothing to see."""
FEWEST = 100
"""Operations of a map, at least."""
TABLE_ROWS = 8
SHARES = (0.001, 0.01, 0.03, 0.1, 0.25, 0.5)
"""From which shares of a step's operations on a cell takes the next colour of the ramp."""
SAID = ("under 0.1 %", "0.1 to 1 %", "1 to 3 %", "3 to 10 %", "10 to 25 %", "25 to 50 %", "half or more")
SAME = 1.05
"""Two buckets whose ends differ by less are the same one, of clients whose clocks tick differently."""
NARROW_SPAN = 50
"""Latencies that span a smaller factor have marks at two and five as well."""
WIDEST = 1.25
"""The end of a bucket over its beginning, at most."""
LEDE = (
    "Each column is a step of time, each cell a latency bucket. The stronger the colour, the greater its share of the step's"
    " operations: the palest is under 0.1 %, the strongest half of them or more. Lines: the median and,"
    " if ten or more operations were slower, the 99th percentile."
)
Counts = Mapping[float, float]
"""Highest latency of a bucket (ns) -> operations."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """One operation of one run: the width of a step (s), the counts of each step, the time of the last operation (s)."""

    judged: Judged
    width: float
    steps: tuple[Counts, ...]
    seconds: float


def figures(experiment: Experiment, shown: Sequence[tuple[Judged, Observations]]) -> tuple[ChartFigure, ...]:
    """One figure for each measured operation, with a map for each run that is looked at."""
    found: dict[tuple[str, str], list[Map]] = {}
    for judged, seen in shown:
        for phase in judged.run.phases:
            for operation in phase.operations if phase.measured else ():
                if made := map_of(judged, phase, seen, operation):
                    found.setdefault((phase.name, operation), []).append(made)
    return tuple(_figure(experiment, *key, maps) for key, maps in found.items())


def left_out(shown: Sequence[tuple[Judged, Observations]], drawn: Sequence[ChartFigure]) -> str:
    """Name the measured operations that have no map, and why; empty where all have one."""
    known = {one.name for one in drawn}
    names = dict.fromkeys(
        words.operation(phase.workload, operation)
        for judged, _ in shown
        for phase in judged.run.phases
        for operation in (phase.operations if phase.measured else ())
        if name_of(phase.name, operation) not in known
    )
    few = f"fewer than {LEAST} intervals of the engine (0.1 s each) or {FEWEST} operations"
    return f" No heat map of {', '.join(names)}: {few}." if names else ""


def name_of(phase: str, operation: str) -> str:
    """The figure's name."""
    return f"latency-over-time-{phase}-{operation}"


def map_of(judged: Judged, phase: Phase, seen: Observations, operation: str) -> Map | None:
    """The counts by step and bucket; None where the engine noted none, or the phase was too short."""
    found = buckets(phase, seen, operation)
    every = [series for same in found.values() for series in same]
    if not every:
        return None
    native = interval(phase, max(every, key=lambda series: len(series.at_ns)))
    last = max(series.at_ns[-1] for series in every)
    count = math.ceil((last - phase.start_ns) / native)
    merged = max(1, math.ceil(count / MOST))
    if count < LEAST:
        return None
    whole = max(1, round((last - phase.start_ns) / (native * merged)))  # a piece of less than half a step belongs to the last one
    edges = [*(phase.start_ns + native * merged * step for step in range(whole)), last]
    steps = tuple(_between(found, before, after) for before, after in itertools.pairwise(edges))
    if sum(sum(step.values()) for step in steps) < FEWEST:
        return None
    return Map(
        judged=judged,
        width=native * merged / 1e9,
        steps=steps,
        seconds=(last - phase.start_ns) / 1e9,
    )


def interval(phase: Phase, one: Series) -> int:
    """The engine's interval (ns): the last look is the end of the phase, at any time after the one before."""
    first, second, *more = one.at_ns
    return second - first if more else max(1, first - phase.start_ns)


def buckets(phase: Phase, seen: Observations, operation: str) -> dict[float, list[Series]]:
    """The series of each bucket of all clients, lowest bucket first."""
    pattern = re.compile(rf"{re.escape(operation)}\.bucket_(\d+)_ns")
    there = [
        (int(match[1]), series)
        for series in seen.series
        if series.phase == phase.name and series.layer == "application" and (match := pattern.fullmatch(series.metric))
    ]
    found: dict[float, list[Series]] = {}
    for upper, series in sorted(there, key=lambda pair: pair[0]):
        if len(series.at_ns) > 1:
            key = next((known for known in reversed(found) if upper < known * SAME), float(upper))
            found.setdefault(key, []).append(from_zero(phase, series))
    return found


def _between(found: Mapping[float, Sequence[Series]], before: int, after: int) -> Counts:
    """How many operations of each bucket ended between two times."""
    risen = {upper: sum(interpolated(one, after) - interpolated(one, before) for one in same) for upper, same in found.items()}
    return {upper: count for upper, count in risen.items() if count >= 0.5}


def quantile(counts: Counts, share: float) -> float | None:
    """The highest latency of the bucket that holds it; None where fewer than ten operations were slower, but for the median."""
    total = sum(counts.values())
    if not total or (share > 0.5 and total * (1 - share) < BEYOND):
        return None
    below = 0.0
    for upper in sorted(counts):
        below += counts[upper]
        if below >= share * total:
            return upper
    return max(counts)


def _figure(experiment: Experiment, phase: str, operation: str, maps: Sequence[Map]) -> ChartFigure:
    uppers = sorted({upper for one in maps for step in one.steps for upper in step})
    return ChartFigure(
        name=name_of(phase, operation),
        title=f"{words.operation(phase.partition('.')[0], operation)}: latency over time",
        alone=LEDE,
        caption=f"{_shows(maps)} Steps of {maps[0].width:.3g} s.".strip(),
        panels=tuple(_panel(experiment, one, uppers) for one in maps),
        seconds=max(one.seconds for one in maps),
        table=Table(
            head=("run", "levels", "seconds", "operations", "50 % at most", "99 % at most", "longest at most"),
            rows=tuple(row for one in maps for row in _rows(experiment, one)),
        ),
    )


def _shows(maps: Sequence[Map]) -> str:
    """How the median goes from the first to the last steps; nothing of several runs, whose panels are looked at one by one."""
    tenth = max(1, len(maps[0].steps) // 10)
    ends = [quantile(_merged(steps), 0.5) for steps in (maps[0].steps[:tenth], maps[0].steps[-tenth:])]
    first, last = ends
    return trends.latency(first, last) if len(maps) == 1 and first is not None and last is not None else ""


def _merged(steps: Sequence[Counts]) -> Counts:
    """The counts of several steps together."""
    found: dict[float, float] = {}
    for step in steps:
        for upper, count in step.items():
            found[upper] = found.get(upper, 0.0) + count
    return found


def _rows(experiment: Experiment, one: Map) -> Iterator[tuple[str, ...]]:
    """A few equal parts of the time, each with its percentiles."""
    every = math.ceil(len(one.steps) / TABLE_ROWS)
    for first in range(0, len(one.steps), every):
        part = one.steps[first : first + every]
        counts = _merged(part)
        yield (
            one.judged.id,
            words.levels(experiment, one.judged.run.trial.levels) or "all the same",
            f"{first * one.width:.3g} to {one.seconds if first + every >= len(one.steps) else (first + every) * one.width:.3g}",
            f"{sum(counts.values()):,.0f}",
            *(show(quantile(counts, share), "ns") for share in (0.5, 0.99)),
            show(max(counts), "ns") if counts else DASH,
        )


def _panel(experiment: Experiment, one: Map, uppers: Sequence[float]) -> Panel:
    cells: list[Row] = [
        {"c": column, "b": uppers.index(upper), "k": sum(count / total >= share for share in SHARES)}
        for column, step in enumerate(one.steps)
        if (total := sum(step.values()))
        for upper, count in step.items()
    ]
    halves = [found for step in one.steps if (found := quantile(step, 0.5))]
    levels = words.levels(experiment, one.judged.run.trial.levels)
    median = f"half of the operations within {show(min(halves), 'ns')} to {show(max(halves), 'ns')}" if halves else "nothing done"
    return Panel(
        heading=" · ".join(part for part in (levels, f"run {one.judged.id}") if part),
        spec=_spec(one, uppers, cells),
        height=HEIGHT,
        description=f"{levels or 'all runs'}: over {one.seconds:.3g} s {median}",
    )


def _spec(one: Map, uppers: Sequence[float], cells: Sequence[Row]) -> Spec:
    x: Spec = axis_over([0, round(one.seconds, 4)], title="seconds since the start", tickCount=5)
    low, high = uppers[0] / WIDEST, uppers[-1]
    y: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"title": None, "labelExpr": TIME, "grid": False, **ticks(round_times(low, high, NARROW_SPAN))},
    }
    lowers = [max(before, upper / WIDEST) for before, upper in zip([0.0, *uppers[:-1]], uppers, strict=True)]
    return {**frame(HEIGHT, [_cells(one, (lowers, uppers), x, y, cells), *_lines(one, x, y)])}


def _cells(one: Map, ends: tuple[Sequence[float], Sequence[float]], x: Spec, y: Spec, cells: Sequence[Row]) -> Spec:
    """The coloured cells; places are calculated in the page, which keeps it small."""
    width = round(one.width, 6)
    whole = {
        "x": f"datum.c * {width}",
        "z": f"datum.c === {len(one.steps) - 1} ? {round(one.seconds, 4)} : (datum.c + 1) * {width}",
        "l": f"{json.dumps([round(end) for end in ends[0]])}[datum.b]",
        "h": f"{json.dumps([round(end) for end in ends[1]])}[datum.b]",
        "t": f"format(datum.x, '.2f') + ' s: ' + {json.dumps(SAID)}[datum.k] + ' took at most '"
        " + format(datum.h / 1e6, ',.3~r') + ' ms'",
        "f": f"{json.dumps([f'var(--h{step})' for step in range(len(SAID))])}[datum.k]",
    }
    return {
        "data": rows_of(cells),
        "transform": [{"calculate": text, "as": name} for name, text in whole.items()],
        "mark": {"type": "rect", "stroke": None},
        "encoding": {
            "x": {**x, "field": "x"},
            "x2": {"field": "z"},
            "y": {**y, "field": "l"},
            "y2": {"field": "h"},
            "fill": {"field": "f", "type": "nominal", "scale": None},
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }


def _lines(one: Map, x: Spec, y: Spec) -> Iterator[Spec]:
    """The median and the 99th percentile of each step, named where they end."""
    for share, dash in ((0.5, [1, 0]), (0.99, [4, 2])):
        known = [(step, found) for step, counts in enumerate(one.steps) if (found := quantile(counts, share)) is not None]
        if len(known) < 0.8 * len(one.steps):
            continue
        rows: list[Row] = [{"x": round(min(one.seconds, (step + 0.5) * one.width), 4), "v": found} for step, found in known]
        encoding: Spec = {"x": {**x, "field": "x"}, "y": {**y, "field": "v"}}
        line: Spec = {"type": "line", "interpolate": "step", "strokeWidth": 1.6, "color": "var(--ink)", "strokeDash": dash}
        yield {"data": rows_of(rows), "mark": line, "encoding": encoding}
        end: Spec = {"type": "text", "align": "left", "x": {"expr": "width"}, "dx": 5, "fontWeight": 600, "color": "var(--ink)"}
        yield {"data": rows_of(rows[-1:]), "mark": {**end, "text": f"{100 * share:g} %"}, "encoding": {"y": encoding["y"]}}

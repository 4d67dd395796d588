"""The schedule as it happened: a row for each block, each run a bar over the time it took; runs that do not count are hollow.

Where every block has one run, all stand in one row. Pauses longer than the longest run are drawn as long as that.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime

from assay.answer import marks
from assay.answer.doubts import losses
from assay.answer.scales import DASH, NARROW, Scale, scale_for, show
from assay.frozen import dataclass
from assay.records import Experiment, Judged, Results, VerdictState, worst
from assay.report.charts.dots import EXCLUDED, SHAPE, VERDICT_COLOURS, filling, named
from assay.report.charts.figure import ChartFigure, Panel, Table
from assay.report.charts.roles import Roles, roles
from assay.report.charts.theme import Row, Spec, axis_over, downward, frame, rows_of, series_colours, ticks
from assay.rulekit.chronology import in_order

NAME = "schedule"
_OWN: list[Spec] = [{"test": f"datum.d === '{name}'", "value": colour} for name, colour in VERDICT_COLOURS.items()]
OWN: Spec = {"condition": _OWN}
"""The channel of marks in the colours of verdicts: bars have the scale of levels, and all layers share scales."""
HOLLOWED: Spec = {"condition": [filling({})["condition"], *_OWN]}
"""The same for what fills the marks: only those of states without doubt."""
ROOM, MOST_ROW, LEAST_ROW = 620, 30, 5
"""Pixels: all rows together, and the ends of what one of them gets."""
EDGES = 78
NAMED = 12
"""Most blocks that have their number at the axis."""
LETTER, BOLD_LETTER = 5.8, 7.4
"""Pixels of a letter in a bar, and of one in the key."""
KEY = 14
"""Pixels between two names of the key, besides their letters."""


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    """What all bars share: colours, the scale of time, pixels of a row, the measure whose verdicts are the marks."""

    roles: Roles
    scale: Scale
    high: int
    measure: str


def figure(results: Results) -> ChartFigure | None:
    """The picture with the table of all runs; None where none was made."""
    if not results.runs:
        return None
    bars = bars_of(results)
    names = _names(results, bars)
    drawing = _Drawing(
        roles=roles(results.experiment),
        scale=scale_for("ns", [max(bar.end for bar in bars) * 1e9]),
        high=min(MOST_ROW, max(LEAST_ROW, ROOM // len(names))),
        measure=next((measure.name for measure in results.experiment.measures), ""),
    )
    panel = Panel(
        heading="",
        spec=_spec(drawing, bars, names),
        height=drawing.high * len(names) + EDGES,
        description=f"{marks.count(len(bars), 'run')} in {marks.count(len(names), 'row')}; the table has them all.",
    )
    return ChartFigure(
        name=NAME,
        title="Schedule",
        caption=_caption(results, bars),
        panels=(panel,),
        table=Table(head=HEAD, rows=tuple(_cells(results.experiment, bar) for bar in bars)),
        wide=True,
    )


def _names(results: Results, bars: Sequence[Bar]) -> dict[str, float]:
    """Name of each row -> its number, from 1."""
    rows = {bar.row: bar.judged.run.trial for bar in bars}
    if len(rows) == 1 and len({block_of(bar.judged) for bar in bars}) > 1:
        return {"all": 1.0}
    several = len(results.plan.sittings) > 1
    return {
        (f"{trial.sitting + 1}.{trial.block + 1}" if several else f"{trial.block + 1}"): row + 1.0 for row, trial in rows.items()
    }


def _spec(drawing: _Drawing, bars: Sequence[Bar], names: Mapping[str, float]) -> Spec:
    parts, scale, high = drawing.roles, drawing.scale, drawing.high
    divisor = scale.divisor / 1e9
    rows = [_row(drawing, bar) for bar in bars]
    every = max(1, -(-len(names) // NAMED))
    shown = {name: at for index, (name, at) in enumerate(names.items()) if index % every == 0}
    several = any("." in name for name in names)
    x: Spec = axis_over(
        [0, max(bar.end for bar in bars) / divisor or 1.0],
        "x",
        title=f"time in the row{NARROW}({scale.label})",
        tickCount=6,
        format=",~r",
    )
    y: Spec = downward(
        [0.5, len(names) + 0.5],
        **ticks(list(shown.values())),
        labelExpr=named(shown),
        title="sitting.block" if several else "block",
        grid=False,
        titleY=-26,
    )
    layers = [_bars(x, y), *([_letters(x, y)] if high >= MOST_ROW / 2 else []), _marks(x, y), *_key(parts)]
    return {**frame(high * len(names) + EDGES, layers), "data": rows_of(rows)}


def _row(drawing: _Drawing, bar: Bar) -> Row:
    parts, divisor = drawing.roles, drawing.scale.divisor / 1e9
    trial = bar.judged.run.trial
    rest = {path: level for path, level in trial.levels.items() if parts.series is None or path != parts.series.path}
    label = marks.levels(parts.experiment, trial.levels if len(trial.levels) == 1 else rest)
    short = ", ".join(marks.level(parts.experiment, path, level) for path, level in rest.items())
    why = "; ".join(dict.fromkeys(bar.excluded.values())) or bar.judged.run.error or ""
    verdict = bar.judged.verdicts.get(drawing.measure)
    state = EXCLUDED if verdict is None or bar.is_hollow or drawing.measure in bar.excluded else verdict.state.value
    start = f"run {bar.judged.id} · {marks.levels(parts.experiment, trial.levels) or 'all the same'} · block {trial.block + 1} · "
    found = f" · {verdict.state.value}" if verdict else ""
    return {
        "x": round(bar.start / divisor, 4),
        "z": round(bar.end / divisor, 4),
        "y": bar.row + 0.58,
        "q": bar.row + 1.42,
        "m": bar.row + 1.0,
        "s": str(parts.colour_index(trial.levels)),
        "e": int(bar.is_hollow),
        "d": state,
        "n": label,
        "l": short,
        "v": round(LETTER * len(short) + 21),
        "w": round(LETTER * len(label) + 21),
        "t": start + bar.judged.run.outcome.value + found + (f" · not counted: {why}" if why else ""),
    }


def _bars(x: Spec, y: Spec) -> Spec:
    """A bar for each run: filled where it counts, an empty one with a broken edge where it counts for nothing."""
    hollow = "datum.e === 1"
    return {
        "mark": {"type": "rect", "strokeWidth": 1.2, "cornerRadius": 2, "strokeDash": {"expr": f"{hollow} ? [3, 3] : [1, 0]"}},
        "encoding": {
            "x": x,
            "x2": {"field": "z"},
            "y": {**y, "field": "y"},
            "y2": {"field": "q"},
            "fill": {"condition": {"test": hollow, "value": "transparent"}, **series_colours()},
            "fillOpacity": {"value": 0.2},
            "stroke": series_colours(),
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }


def _letters(x: Spec, y: Spec) -> Spec:
    """The levels inside the bars: with their names where there is room, else bare, else none."""
    wide = "scale('x', datum.z) - scale('x', datum.x)"
    inside = {"expr": f"{wide} > datum.w ? datum.n : {wide} > datum.v ? datum.l : ''"}
    return {
        "mark": {"type": "text", "align": "left", "dx": 19, "fontSize": 11, "color": "var(--ink)", "text": inside},
        "encoding": {"x": x, "y": {**y, "field": "m"}},
    }


def _marks(x: Spec, y: Spec) -> Spec:
    """The mark of each run's worst verdict, or of one that does not count."""
    return {
        "mark": {"type": "point", "size": {"expr": f"datum.d === '{EXCLUDED}' ? 60 : 34"}, "strokeWidth": 1.4, "xOffset": 10},
        "encoding": {
            "x": x,
            "y": {**y, "field": "m"},
            "shape": SHAPE,
            "stroke": OWN,
            "fill": HOLLOWED,
        },
    }


def _key(parts: Roles) -> list[Spec]:
    """The names of the colours, above the first row."""
    if parts.series is None:
        return []
    rows: list[Row] = []
    at = 0.0
    for level in parts.series.levels:
        levels = {parts.series.path: level}
        name = f"■ {parts.name(levels)}"
        rows.append({"k": round(at), "n": name, "s": str(parts.colour_index(levels))})
        at += BOLD_LETTER * len(name) + KEY
    mark: Spec = {"type": "text", "align": "left", "x": {"expr": "datum.k"}, "y": -12, "fontWeight": 600, "fontSize": 12}
    return [{"data": rows_of(rows), "mark": mark, "encoding": {"text": {"field": "n"}, "color": series_colours()}}]


def _caption(results: Results, bars: Sequence[Bar]) -> str:
    missing = losses(results).missing
    parts = [
        "Each bar is a run from its start to its end, in the order that was drawn.",
        f"Marks: the verdict on {results.experiment.measures[0].name}." if results.experiment.measures else "",
        f"{marks.count(missing, 'trial')} of {len(results.plan.trials):,} not run." if missing else "",
        *reasons(results, bars),
    ]
    return " ".join(part for part in parts if part)


HEAD = ("run", "levels", "block", "started (UTC)", "took", "outcome", "worst verdict", "not counted")


def _cells(experiment: Experiment, bar: Bar) -> tuple[str, ...]:
    run = bar.judged.run
    every, whys = len(bar.judged.verdicts), bar.measures_by_reason
    texts = [why + ("" if len(names) >= every else f" ({', '.join(names)})") for why, names in whys.items()]
    return (
        bar.judged.id,
        marks.levels(experiment, run.trial.levels) or "all the same",
        str(run.trial.block + 1),
        run.started_utc[:19].replace("T", " "),
        show(took(bar.judged) * 1e9, "ns"),
        run.outcome.value,
        bar.state.value if bar.state else DASH,
        "; ".join(texts) or run.error or "",
    )


REASONS = 5
"""Reasons that a caption names; the table has them all."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One run: its row, from when to when (s since its row began), why it does not count for which measures."""

    judged: Judged
    row: int
    start: float
    end: float
    excluded: Mapping[str, str]
    state: VerdictState | None

    @property
    def measures_by_reason(self) -> dict[str, list[str]]:
        """Why the run does not count -> the measures for which it does not."""
        found: dict[str, list[str]] = {}
        for measure, why in self.excluded.items():
            found.setdefault(why, []).append(measure)
        return found

    @property
    def is_hollow(self) -> bool:
        """Whether the run counts for no measure."""
        return not self.judged.verdicts or set(self.judged.verdicts) <= set(self.excluded)


def bars_of(results: Results) -> tuple[Bar, ...]:
    """The runs in rows, those of a row in the order in which they began."""
    excluded = _excluded(results)
    alone = len({block_of(judged) for judged in results.runs}) == len({judged.run.trial.id for judged in results.runs})
    rows: dict[tuple[int, int], list[Judged]] = {}
    for judged in sorted(results.runs, key=block_of):
        rows.setdefault((0, 0) if alone else block_of(judged), []).append(judged)
    longest = max(took(judged) for judged in results.runs)
    found = []
    for row, here in enumerate(rows.values()):
        ordered = in_order(here)
        for judged, start in zip(ordered, _starts(ordered, longest), strict=True):
            states = [verdict.state for verdict in judged.verdicts.values()]
            found.append(
                Bar(
                    judged=judged,
                    row=row,
                    start=start,
                    end=start + took(judged),
                    excluded=excluded.get(judged.id, {}),
                    state=worst(states) if states else None,
                )
            )
    return tuple(found)


def block_of(judged: Judged) -> tuple[int, int]:
    """Sitting and block of a run, from 0."""
    return judged.run.trial.sitting, judged.run.trial.block


def _starts(here: Sequence[Judged], longest: float) -> list[float]:
    """When each run of a row began (s since the first), long pauses cut."""
    starts = [0.0]
    for before, after in itertools.pairwise(here):
        pause = (_at(after.run.started_utc) - _at(before.run.started_utc)).total_seconds() - took(before)
        starts.append(starts[-1] + took(before) + min(max(pause, 0.0), longest))
    return starts


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def took(judged: Judged) -> float:
    """Seconds from the start to the end of a run."""
    return max(0.0, (_at(judged.run.ended_utc) - _at(judged.run.started_utc)).total_seconds())


def _excluded(results: Results) -> dict[str, dict[str, str]]:
    """Run -> measure -> why it does not count."""
    found: dict[str, dict[str, str]] = {}
    for cell in results.cells:
        for run, why in cell.excluded.items():
            found.setdefault(run, {})[cell.measure] = marks.exclusion(why)
    return found


def reasons(results: Results, bars: Sequence[Bar]) -> list[str]:
    """`Not counted: 0009/1 (partial: client 3 was lost)`, the same reasons together."""
    found: dict[tuple[str, str], list[str]] = {}
    for bar in bars:
        for why, measures in bar.measures_by_reason.items():
            everything = len(measures) >= len(results.experiment.measures)
            where = "" if everything else f" for {measures[0]}" if len(measures) == 1 else f" for {len(measures)} measures"
            found.setdefault((why, where), []).append(bar.judged.id)
    if not found:
        return []
    texts = [f"{_few(runs)}{where} ({why})" for (why, where), runs in found.items()]
    more = f"; {len(texts) - REASONS} more reasons in the table" if len(texts) > REASONS else ""
    return [f"Not counted: {'; '.join(texts[:REASONS])}{more}."]


def _few(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= 4 else f"{', '.join(runs[:3])} and {len(runs) - 3} more"

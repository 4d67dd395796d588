"""The charts that need observations or the analysis: the runs that they show, and each kind with its name and its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.frozen import dataclass
from assay.records import Judged, Observations, Outcome, Results, Scaled, Value
from assay.report.charts import curves, latency, limits, scaling, spread, timeline, times, tornado
from assay.report.charts.figure import ChartFigure, Table
from assay.report.charts.roles import Key, Roles, roles

REPRESENTATIVES = 8
"""Most runs whose ladders are drawn."""
ROW = 3
"""Most pictures of a section that are shown at once where nothing is compared: one row on a desk."""
SIDE_BY_SIDE = 3
"""Most runs whose timelines are beside each other."""
LATENCY = (
    "The share of the operations within a given time; both axes are logarithmic, and a line ends where fewer than {}"
    " operations were slower. Runs of the same levels are merged."
)
TIMELINE = (
    "One representative run of {}: the run nearest to the estimate of the first measure."
    " If the application's line leaves the device's, memory is at work. Phases too short for a few samples are left out."
    f" Lines are means over equal steps of time.{timeline.DRAINED}{timeline.CHANGED}"
)
FACTORS = (
    "The effect of each factor on a measure, the largest effect on top; below it how far two factors change each other's effect."
    " All effects of the experiment are Holm-adjusted."
)
LIMITS = (
    "How far the load used each part that its data passed, in one representative run of {}."
    " A caption names the part that was nearest to its limit, if it reached half of it."
    " A device that is busy all the time may still serve more requests in parallel."
    " Declared limits are those that the audit compared with the figures or with the device's own counters."
)
OBJECTS = "How the time of one operation grows as objects are added, with the number of clients that were at work."
ANSWERS = ("factors", "scaling")
"""Sections that show the answer itself, if a design or a count was compared."""
Load = Callable[[str], Observations]


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Data of pictures that come from the analysis and are not part of Results."""

    curves: tuple[curves.Curve, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    """Heading and table."""
    scaled: tuple[Scaled, ...] = ()
    command: str | None = None
    """The command line that made the experiment run, for the reader who wants to do it again."""


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """One section; without figures it is left out."""

    id: str
    name: str
    lede: str
    figures: tuple[ChartFigure, ...]
    most: int | None = None
    """So many are shown at once; None: all that are not of a phase under a second."""

    @property
    def answers(self) -> bool:
        """Whether it is the picture of the answer: then it comes before the evidence."""
        return self.id in ANSWERS

    @property
    def open(self) -> tuple[ChartFigure, ...]:
        """The figures that are shown at once."""
        return tuple(one for one in self.figures if not one.brief)[: self.most]

    @property
    def folded(self) -> tuple[ChartFigure, ...]:
        """All others: of phases under a second, and beyond the number that is shown."""
        return tuple(one for one in self.figures if one not in self.open)


def galleries(results: Results, load: Load, found: Sequence[Group], pictures: Pictures) -> tuple[Gallery, ...]:
    """Make all sections in the order of the page."""
    chosen = representatives(results, found)
    compared = beside(results, chosen, SIDE_BY_SIDE)
    shown = [(judged, load(judged.id)) for judged in compared]
    maps = spread.figures(results.experiment, shown)
    blank = spread.left_out(shown, maps)
    which = "each compared level" if len(compared) == len(chosen) else f"{len(compared)} combinations of levels, named above it"
    sections = (
        ("factors", "Which factors matter", FACTORS, tornado.figures(results)),
        ("scaling", "Over the number at work", scaling.LEDE, scaling.figures(results, pictures.scaled)),
        ("curves", "Over the number of objects", OBJECTS, curves.figures(results, pictures.curves)),
        (
            "latency",
            "Latency",
            LATENCY.format(latency.BEYOND) + ("" if maps else blank),
            latency.figures(results, merged(found), load),
        ),
        ("latency-over-time", "Latency over time", spread.LEDE + blank, maps),
        ("timeline", "Over time", TIMELINE.format(which), timeline.figures(results.experiment, shown)),
        ("time", "Ladder of time", times.LEDE, times.figures(results)),
        ("limits", "Bottlenecks", LIMITS.format(which), limits.figures(results.experiment, shown)),
    )
    most = None if results.comparisons or results.sensitivity or results.scaling else ROW
    return tuple(Gallery(id=id_, name=name, lede=lede, figures=figures, most=most) for id_, name, lede, figures in sections)


@dataclass(frozen=True, kw_only=True)
class Group:
    """The runs that count at one combination of levels, and the one nearest to the estimate of the first measure."""

    levels: Mapping[str, Value]
    runs: tuple[Judged, ...]
    representative: Judged


def groups(results: Results) -> tuple[Group, ...]:
    """Make a group for each combination of levels with at least one finished run, in the order of the cells or runs."""
    found: dict[Key, list[Judged]] = {}
    for cell in results.cells:
        found.setdefault(tuple(cell.levels.items()), [])
    for judged in results.runs:
        if judged.run.outcome is Outcome.FINISHED:
            found.setdefault(tuple(judged.run.trial.levels.items()), []).append(judged)
    return tuple(
        Group(levels=dict(key), runs=tuple(runs), representative=_nearest(results, dict(key), runs))
        for key, runs in found.items()
        if runs
    )


def _nearest(results: Results, levels: Mapping[str, Value], runs: Sequence[Judged]) -> Judged:
    """Find the run whose first measure is nearest to that cell's estimate; the first run where there is none."""
    cell = next((cell for cell in results.cells if dict(cell.levels) == dict(levels) and cell.estimate and cell.values), None)
    if cell is None or cell.estimate is None:
        return runs[0]
    values, middle = cell.values, cell.estimate.value
    return min(runs, key=lambda judged: abs(values.get(judged.id, float("inf")) - middle))


def representatives(results: Results, found: Sequence[Group]) -> tuple[Judged, ...]:
    """Choose one run for each compared level and panel, at the highest level of the factor along the axis.

    Those that differ in nothing but the compared level are beside each other: the first few are a fair comparison.
    """
    parts = roles(results.experiment)
    highest = _highest(parts, found)
    kept = [group for group in found if parts.along is None or group.levels.get(parts.along.path) == highest]
    panels = list(dict.fromkeys(parts.panel_levels(group.levels) for group in kept))
    kept.sort(key=lambda group: panels.index(parts.panel_levels(group.levels)))
    return tuple(group.representative for group in kept[:REPRESENTATIVES])


def beside(results: Results, chosen: Sequence[Judged], most: int) -> tuple[Judged, ...]:
    """Give the representatives that are drawn beside each other, at most so many: they differ in the compared level alone.

    Of more levels than that the first and the last are among them, and the rest lie evenly between.
    """
    parts = roles(results.experiment)
    panels = [parts.panel_levels(judged.run.trial.levels) for judged in chosen]
    alike = [judged for judged, panel in zip(chosen, panels, strict=True) if panel == panels[0]]
    pool = alike if len(alike) > 1 else list(chosen)
    if len(pool) <= most:
        return tuple(pool)
    return tuple(pool[round(place * (len(pool) - 1) / (most - 1))] for place in range(most))


def _highest(parts: Roles, found: Sequence[Group]) -> Value:
    if parts.along is None:
        return None
    seen = {group.levels.get(parts.along.path) for group in found}
    present = [level for level in parts.along.levels if level in seen and isinstance(level, int | float)]
    return max(present, key=float, default=None)


def merged(found: Sequence[Group]) -> tuple[tuple[Judged, ...], ...]:
    """Give the runs of each group whose histograms and curves are read."""
    each = max(1, latency.MERGED // max(1, len(found)))
    return tuple(group.runs[:: max(1, -(-len(group.runs) // each))] for group in found)

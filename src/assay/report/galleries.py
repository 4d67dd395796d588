"""The charts that need observations or the analysis, kind by kind: what a section is called, what it shows, its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.records import Observations, Results
from assay.report import selection
from assay.report.charts import curves, latency, limits, scaling, spread, timeline, tornado
from assay.report.charts.figure import Figure
from assay.report.inputs import Pictures

SIDE_BY_SIDE = 3
"""Most runs whose timelines stand beside each other."""
LATENCY = (
    "So many percent of the operations took at most so long; both axes are logarithmic, and a line ends where fewer than {}"
    " operations were slower. Runs of the same levels are merged."
)
TIMELINE = (
    "One representative run of {}: the run nearest to the estimate of the first measure."
    " Where the application's line leaves the device's, memory is at work. Phases too short for a few samples are left out."
)
FACTORS = (
    "What each factor does to a measure, the largest effect on top; below it how far two factors change each other's effect."
    " All effects of the experiment were held together (Holm)."
)
LIMITS = (
    "How far the load used each part that its data passed, in one representative run of {}. A device that is"
    " busy all the time may still do more at once; declared limits are those that the audit held the figures against, or that"
    " the device's own count stands against."
)
OBJECTS = "How the time of one operation grows as objects are added, with the number of clients that were at work."
ANSWERS = ("factors", "scaling")
"""Sections that show what was asked, where a design or a count was compared."""
Load = Callable[[str], Observations]


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """One section; without figures it is left out."""

    id: str
    name: str
    lede: str
    figures: tuple[Figure, ...]

    @property
    def answers(self) -> bool:
        """Whether it is the picture of the answer: then it stands before the evidence."""
        return self.id in ANSWERS


def galleries(results: Results, load: Load, found: Sequence[selection.Group], pictures: Pictures) -> tuple[Gallery, ...]:
    """All sections in the order of the page."""
    looked_at = selection.representatives(results, found)
    beside = selection.beside(results, looked_at, SIDE_BY_SIDE)
    shown = [(judged, load(judged.id)) for judged in beside]
    which = "each compared level" if len(beside) == len(looked_at) else f"{len(beside)} combinations of levels, named above it"
    percentiles = latency.figures(results, selection.merged(found), load)
    return (
        _gallery("factors", "Which factors matter", FACTORS, tornado.figures(results)),
        _gallery("scaling", "Over the number at work", scaling.LEDE, scaling.figures(results, pictures.scaled)),
        _gallery("curves", "Over the number of objects", OBJECTS, curves.figures(results, pictures.curves)),
        _gallery("latency", "Latency", LATENCY.format(latency.BEYOND), percentiles),
        _gallery("latency-over-time", "Latency over time", spread.LEDE, spread.figures(results.experiment, shown)),
        _gallery("timeline", "Over time", TIMELINE.format(which), timeline.figures(results.experiment, shown)),
        _gallery("limits", "What limits it", LIMITS.format(which), limits.figures(results.experiment, shown)),
    )


def _gallery(id_: str, name: str, lede: str, figures: tuple[Figure, ...]) -> Gallery:
    return Gallery(id=id_, name=name, lede=lede, figures=figures)

"""What changed between the first sitting and a later one at the same level, which should be nothing.

Going back to the first level (`returns = 1`) is an A/A comparison of sittings: its ratio is the drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.compare import conclude
from assay.records import Cell, Change, Conclusion, Estimate, Experiment, Judged, Value
from assay.statistics.contrast import Contrast, p_value
from assay.statistics.welch_ratio import welch_ratio


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The ratio of a later sitting to the first one at the same levels."""

    measure: str
    levels: Mapping[str, Value]
    first: int
    later: int
    """Sittings, counted from 0."""
    ratio: Estimate | None
    conclusion: Conclusion
    """Equivalent is what should come out; different and matters says that the sittings cannot be compared."""
    p_value: float | None


def drifts(experiment: Experiment, cells: Sequence[Cell], runs: Sequence[Judged]) -> tuple[Drift, ...]:
    """The drift of every cell that was measured in more than one sitting; none without a manual factor."""
    if not any(factor.change is Change.MANUAL for factor in experiment.factors):
        return ()
    by_id = {judged.id: judged for judged in runs}
    return tuple(drift for cell in cells for drift in of_cell(experiment, cell, by_id))


def of_cell(experiment: Experiment, cell: Cell, runs: Mapping[str, Judged]) -> Iterator[Drift]:
    """Each later sitting of a cell against its first."""
    sittings: dict[int, list[float]] = {}
    for run, value in cell.values.items():
        sittings.setdefault(runs[run].run.trial.sitting, []).append(value)
    order = sorted(sittings)
    for later in order[1:]:
        found = contrast(sittings[order[0]], sittings[later])
        ratio, conclusion = conclude(found, "unpaired (sittings), Welch's t interval on logarithms", experiment.matters_share)
        yield Drift(
            measure=cell.measure,
            levels=cell.levels,
            first=order[0],
            later=later,
            ratio=ratio,
            conclusion=conclusion,
            p_value=p_value(found[0]) if found else None,
        )


def contrast(first: Sequence[float], later: Sequence[float]) -> tuple[Contrast, ...]:
    """The contrast of two sittings; none where a value is 0."""
    return (welch_ratio(first, later),) if all(value > 0 for value in (*first, *later)) else ()

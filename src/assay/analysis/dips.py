"""Dips: levels of a numeric factor at which a measure is worse than at the levels on both sides, beyond noise.

Every cell with a neighbour on both sides along a numeric factor is tested, all other factors being equal. The contrast is
paired by block; neighbours are interpolated by the logarithm of the levels, since throughput over sizes is
usually concave there, which is no dip. All contrasts of an experiment are tested together (Holm), and a dip is named only
where its interval lies beyond what matters. A fall, a cliff or a step has no cell below both of its neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from assay import measures
from assay.analysis.cells import measure_of
from assay.analysis.compare import WIDE, by_block
from assay.frozen import dataclass
from assay.records import Cell, Dip, Estimate, Experiment, Factor, Judged, Method, Value
from assay.statistics.contrast import NeighbourContrast, dip, interval, weight_of
from assay.statistics.intervals import LEAST
from assay.statistics.significance import LEVEL, holm


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One cell between its neighbours along a factor."""

    cell: Cell
    factor: str
    neighbours: tuple[Value, Value]
    contrast: NeighbourContrast
    """Of the figure where higher is better, else of its reciprocal: below is worse."""


def dips(experiment: Experiment, cells: Sequence[Cell], runs: Sequence[Judged]) -> tuple[Dip, ...]:
    """The dips of all measures whose better side is known, in the order of the cells; none without a numeric factor."""
    by_id = {judged.id: judged for judged in runs}
    tested = list(candidates(experiment, cells, by_id))
    adjusted = holm([one.contrast.p_value for one in tested])
    margin = math.log1p(experiment.matters_share)
    return tuple(
        found(experiment, one, p)
        for one, p in zip(tested, adjusted, strict=True)
        if p < LEVEL and interval(one.contrast.depth, WIDE)[1] < -margin
    )


def candidates(experiment: Experiment, cells: Sequence[Cell], runs: Mapping[str, Judged]) -> Iterator[Candidate]:
    """Every cell between two neighbours along a numeric factor of which at least three blocks have all three."""
    there = {(cell.measure, frozenset(cell.levels.items())): cell for cell in cells if cell.values}
    asked = {measure.name for measure in experiment.compared_measures()}
    for cell, factor in itertools.product((one for one in cells if one.measure in asked), experiment.factors):
        neighbours = around(cell.levels.get(factor.path), factor)
        if neighbours is None:
            continue
        beside = [there.get((cell.measure, frozenset({**cell.levels, factor.path: level}.items()))) for level in neighbours]
        contrast = contrasted(experiment, factor, (beside[0], cell, beside[1]), runs)
        if contrast is not None:
            yield Candidate(cell=cell, factor=factor.path, neighbours=neighbours, contrast=contrast)


def around(level: Value, factor: Factor) -> tuple[Value, Value] | None:
    """The next smaller and the next larger level; None where one is missing or a level is no number.

    0 is no neighbour: of many knobs it leaves the choice to the kernel, or switches something off.
    """
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in factor.levels):
        return None
    ordered = sorted((each for each in factor.levels if each != 0), key=number)
    if level not in ordered[1:-1]:
        return None
    place = ordered.index(level)
    return ordered[place - 1], ordered[place + 1]


def number(level: Value) -> float:
    """A numeric level as a number."""
    assert isinstance(level, int | float)
    return float(level)


def contrasted(
    experiment: Experiment, factor: Factor, row: tuple[Cell | None, Cell, Cell | None], runs: Mapping[str, Judged]
) -> NeighbourContrast | None:
    """The contrast of the middle one of three cells; None where too few blocks have all, a value is 0, or no side is better."""
    left, cell, right = row
    kind = measures.figure_kind(measure_of(experiment, cell.measure).figure)
    if left is None or right is None or kind is None:
        return None
    found = [by_block(one.values, runs) for one in (left, cell, right)]
    blocks = [key for key in found[0] if key in found[1] and key in found[2]]
    values = [[one[key][1] for key in blocks] for one in found]
    if len(blocks) < LEAST or any(value <= 0 for one in values for value in one):
        return None
    if kind.better is measures.Better.LOWER:
        values = [[1 / value for value in one] for one in values]
    places = [number(one.levels[factor.path]) for one in (left, cell, right)]
    return dip(values[0], values[1], values[2], weight_of(places[0], places[1], places[2]))


def found(experiment: Experiment, one: Candidate, adjusted: float) -> Dip:
    """A candidate that is a dip."""
    kind = measures.figure_kind(measure_of(experiment, one.cell.measure).figure)
    return Dip(
        measure=one.cell.measure,
        levels=one.cell.levels,
        factor=one.factor,
        neighbours=one.neighbours,
        depth=depth_of(one.contrast, kind),
        p_value=one.contrast.p_value,
        adjusted_p_value=adjusted,
    )


def depth_of(found: NeighbourContrast, kind: measures.FigureKind | None) -> Estimate:
    """The ratio of the cell to its interpolated neighbours, with its interval, in the figure's own direction."""
    low, high = interval(found.depth, WIDE)
    ends = [low, found.depth.difference, high]
    if kind is not None and kind.better is measures.Better.LOWER:
        ends = [-high, -found.depth.difference, -low]
    low, value, high = (math.exp(end) for end in ends)
    return Estimate(value=value, low=low, high=high, confidence=WIDE, unit="ratio", n=found.depth.n, method=Method.NEIGHBOURS)

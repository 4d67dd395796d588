"""The levels of the compared factor in order, which of them could be the best, and by how much the best is ahead of the second.

Three levels or more; with two the comparison says it. Every level is held against every other one, so the order of the file and
its baseline play no part (`statistics.best`). A level that cannot be ruled out stands with those ahead, also where it was not
measured often enough to say anything.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay import measures
from assay.analysis.cells import summary_of
from assay.analysis.compare import ArmPair, by_block, compare, contrast, on_clean_pairs
from assay.analysis.together import demoted, with_effects
from assay.frozen import dataclass
from assay.records import (
    Adjustment,
    Cell,
    Change,
    Comparison,
    Experiment,
    Factor,
    Judged,
    Measure,
    Pairs,
    Rank,
    Ranking,
    Summary,
    Value,
)
from assay.statistics.best import Above, above, alike, by_pairs
from assay.statistics.significance import LEVEL

FEWEST = 3


def rankings(experiment: Experiment, cells: Sequence[Cell], runs: Sequence[Judged]) -> tuple[Ranking, ...]:
    """One for each compared measure with a better side, under each condition; none of fewer than three levels with figures."""
    factor = next((one for one in experiment.factors if one.path == experiment.compare), None)
    by_id = {judged.id: judged for judged in runs}
    if factor is None:
        return ()
    families = [
        Family(experiment=experiment, factor=factor, measure=measure, cells=same, runs=by_id)
        for measure in experiment.compared_measures()
        for same in _conditions(factor, [cell for cell in cells if cell.measure == measure.name])
        if measures.figure_kind(measure.figure) is not None and len(same) >= FEWEST
    ]
    together = Counter(experiment.decides_by(one.measure.name) for one in families)
    return tuple(_ranked(one, together[experiment.decides_by(one.measure.name)]) for one in families)


@dataclass(frozen=True, kw_only=True)
class Family:
    """The cells of a measure that differ in the level of the compared factor alone, the best first; all have a figure."""

    experiment: Experiment
    factor: Factor
    measure: Measure
    cells: Sequence[Cell]
    runs: Mapping[str, Judged]

    @property
    def higher(self) -> bool:
        """Whether more is better."""
        kind = measures.figure_kind(self.measure.figure)
        return kind is not None and kind.better is measures.Better.HIGHER


def _conditions(factor: Factor, cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """The cells with a figure that differ in the level of the factor alone."""
    same: dict[tuple[tuple[str, Value], ...], list[Cell]] = {}
    for cell in cells:
        if cell.estimate is not None and cell.levels.get(factor.path) in factor.levels:
            same.setdefault(tuple((path, level) for path, level in cell.levels.items() if path != factor.path), []).append(cell)
    yield from same.values()


def _ranked(family: Family, together: int) -> Ranking:
    """The order of a family of so many that are tested together."""
    found = [(cell, cell.estimate) for cell in family.cells if cell.estimate is not None]
    found.sort(key=lambda one: -one[1].value if family.higher else one[1].value)
    known, path = [cell for cell, _ in found], family.factor.path
    arms = _arms(family, known[1], known[0])
    ahead = compare(arms, family.experiment.matters_share)
    ruled = _at_once(family, known) or _each_pair(family, known)
    adjusted = min(1.0, together * ruled[1][0])
    return Ranking(
        measure=family.measure.name,
        factor=path,
        within={name: level for name, level in known[0].levels.items() if name != path},
        ranks=tuple(
            Rank(level=cell.levels[path], estimate=estimate, may_be_best=min(row) * together > LEVEL)
            for (cell, estimate), row in zip(found, ruled, strict=True)
        ),
        ahead=with_effects(
            replace(
                ahead,
                conclusion=demoted(ahead.conclusion, adjusted),
                adjusted_p_value=max(adjusted, ahead.p_value or 0.0),
                adjusted_by=Adjustment.HSU,
                tested=together * len(known) * (len(known) - 1) // 2,
                secondary=not family.experiment.decides_by(family.measure.name),
            ),
            [one for one in contrast(arms).contrasts if one.n],
        ),
    )


def _pair(family: Family, baseline: Cell, candidate: Cell) -> Comparison:
    return compare(_arms(family, baseline, candidate), family.experiment.matters_share)


def _arms(family: Family, baseline: Cell, candidate: Cell) -> ArmPair:
    """Two cells with the runs that count for both."""
    arms = ArmPair(
        factor=family.factor,
        baseline=baseline,
        candidate=candidate,
        runs=family.runs,
        summary=summary_of(family.measure),
        pairs=Pairs.ALL,
    )
    return arms if family.factor.change is Change.MANUAL else on_clean_pairs(arms)


def _each_pair(family: Family, known: Sequence[Cell]) -> Above:
    """By each pair alone, compared once: what speaks for one cell speaks against the other."""
    p_values = [[1.0] * len(known) for _ in known]
    for i, j in itertools.combinations(range(len(known)), 2):
        one = _pair(family, known[i], known[j])
        if one.ratio is not None and one.ratio.low is not None and one.p_value is not None:
            above = one.p_value / 2 if (one.ratio.value > 1) == family.higher else 1 - one.p_value / 2
            p_values[i][j], p_values[j][i] = above, 1 - above
    return by_pairs(p_values)


def _at_once(family: Family, known: Sequence[Cell]) -> Above | None:
    """By one variance for all, where the levels were mixed in time, have the same blocks, spread alike and carry no bounds."""
    simple = summary_of(family.measure) is Summary.GEOMETRIC and family.factor.change is Change.AUTOMATIC
    if not simple or any(cell.estimate is None or cell.estimate.range is not None for cell in known):
        return None
    found = [{key: value for key, (_, value) in by_block(cell.values, family.runs).items()} for cell in known]
    blocks = sorted(found[0])
    if any(value <= 0 for one in found for value in one.values()) or any(one.keys() != found[0].keys() for one in found):
        return None
    arms = [[one[key] if family.higher else 1 / one[key] for key in blocks] for one in found]
    return above(arms) if alike(arms) else None

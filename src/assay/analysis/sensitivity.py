"""Which factors matter to a measure, by how much, and which only together: the answer of a designed experiment.

Effects are ratios, from contrasts of logarithms in randomised blocks (statistics/effects.py). All effects of an experiment are
tested together (Holm); each is concluded from as a comparison is. Effects that the design cannot tell apart are one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.analysis.compare import by_block, conclude
from assay.analysis.require import trust
from assay.analysis.together import demoted, shown_in_errors
from assay.frozen import dataclass
from assay.records import (
    Cell,
    Conclusion,
    DesignKind,
    Experiment,
    Factor,
    FactorEffect,
    Judged,
    Measure,
    Method,
    Sensitivity,
    Step,
)
from assay.statistics.contrast import Contrast, p_value
from assay.statistics.effects import Effect, Steps, alone, conditional, contrasts, crossed
from assay.statistics.significance import LEVEL, holm


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """One measure: its cells in the order of the design, the effects asked of them, and what was found of each."""

    measure: Measure
    cells: tuple[Cell, ...]
    effects: tuple[Effect, ...]
    found: tuple[Contrast | None, ...]
    within: Mapping[Steps, tuple[float, float]]
    """Of a pair that is mixed with none: the ratio of its first factor at the second's baseline, and at its other level."""


def sensitivity(experiment: Experiment, cells: Sequence[Cell], runs: Sequence[Judged]) -> tuple[Sensitivity, ...]:
    """The answers, in the order of the measures; none where the experiment has no design, or nothing was measured yet."""
    if experiment.design is None:
        return ()
    by_id, factors = {judged.id: judged for judged in runs}, varying(experiment)
    found = [
        effects_on(experiment.design, measure, of_measure(factors, measure, cells), by_id, factors)
        for measure in experiment.compared_measures()
        if any(cell.values for cell in cells if cell.measure == measure.name)
    ]
    tested = [p_value(one) for each in found for one in each.found if one is not None]
    adjusted = iter(holm(tested))
    return tuple(answer(experiment, each, adjusted, (len(tested), by_id)) for each in found)


def varying(experiment: Experiment) -> tuple[Factor, ...]:
    """The factors of the design."""
    return tuple(factor for factor in experiment.factors if len(factor.levels) > 1)


def of_measure(factors: Sequence[Factor], measure: Measure, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of a measure, that of the baseline first."""
    return tuple(sorted((cell for cell in cells if cell.measure == measure.name), key=functools.partial(row, factors)))


def row(factors: Sequence[Factor], cell: Cell) -> tuple[int, ...]:
    """The places of a cell's levels among those of the factors."""
    return tuple(factor.levels.index(cell.levels[factor.path]) for factor in factors)


def effects_on(
    kind: DesignKind, measure: Measure, cells: tuple[Cell, ...], runs: Mapping[str, Judged], factors: Sequence[Factor]
) -> Estimated:
    """Estimate the effects on one measure; none is found where a value is 0, for then it has no logarithm."""
    rows = [row(factors, cell) for cell in cells]
    single = kind is DesignKind.ONE_AT_A_TIME
    effects = alone(rows) if single else crossed(rows, pairs=kind is not DesignKind.SCREENING)
    pairs = [one.steps for one in effects if len(one.steps) > 1 and not one.mixed_with]
    corners = [weights for pair in pairs for weights in conditional(rows, pair)]
    found = estimated(cells, runs, [*(one.weights for one in effects), *corners])
    ends = [None if one is None else math.exp(one.difference) for one in found[len(effects) :]]
    both = dict(zip(pairs, zip(ends[::2], ends[1::2], strict=True), strict=True))
    known = {pair: (first, second) for pair, (first, second) in both.items() if first is not None and second is not None}
    return Estimated(measure=measure, cells=cells, effects=effects, found=found[: len(effects)], within=known)


def estimated(
    cells: Sequence[Cell], runs: Mapping[str, Judged], weights: Sequence[Sequence[float]]
) -> tuple[Contrast | None, ...]:
    """The contrasts of the logarithms of all runs that count."""
    values, blocks, places = [], [], []
    for place, cell in enumerate(cells):
        for block, (_, value) in by_block(cell.values, runs).items():
            values.append(value)
            blocks.append(block)
            places.append(place)
    if any(value <= 0 for value in values):
        return (None,) * len(weights)
    return contrasts([math.log(value) for value in values], blocks, places, weights)


def answer(
    experiment: Experiment, each: Estimated, adjusted: Iterator[float], known: tuple[int, Mapping[str, Judged]]
) -> Sensitivity:
    """The effects on one measure with their conclusions, the largest first."""
    assert experiment.design is not None
    factors, (tested, runs) = varying(experiment), known
    found = [
        concluded(experiment, named(factors, one, each.within.get(one.steps)), contrast, adjusted)
        for one, contrast in zip(each.effects, each.found, strict=True)
    ]
    ordered = tuple(sorted(found, key=lambda one: (len(one.steps), -size(one))))
    empty = next((cell for cell in each.cells if not cell.values), None)
    return Sensitivity(
        measure=each.measure.name,
        design=experiment.design,
        effects=ordered,
        matters_share=experiment.matters_share,
        tested=tested,
        verdict=trust(runs, each.cells),
        excluded={run: why for cell in each.cells for run, why in cell.excluded.items()},
        empty=None if empty is None else empty.levels,
    )


def named(factors: Sequence[Factor], one: Effect, within: tuple[float, float] | None) -> FactorEffect:
    """An effect with its factors and levels, nothing found yet."""

    def steps(of: Steps) -> tuple[Step, ...]:
        return tuple(
            Step(factor=factors[place].path, baseline=factors[place].levels[0], level=factors[place].levels[level])
            for place, level in of
        )

    return FactorEffect(
        steps=steps(one.steps),
        mixed_with=tuple(steps(other) for other in one.mixed_with),
        ratio=None,
        conclusion=Conclusion.UNDECIDED,
        p_value=None,
        adjusted_p_value=None,
        within=within,
        detectable_share=None,
    )


def concluded(experiment: Experiment, bare: FactorEffect, found: Contrast | None, adjusted: Iterator[float]) -> FactorEffect:
    """An effect with its ratio and its conclusion; `adjusted` has the p-value of the next effect that was found."""
    if found is None:
        return bare
    ratio, conclusion = conclude([found], Method.EFFECT, experiment.matters_share)
    assert ratio is not None
    p = next(adjusted)
    needed = shown_in_errors(max(1, round(found.degrees)), LEVEL)
    return replace(
        bare,
        ratio=ratio,
        conclusion=demoted(conclusion, p),
        p_value=p_value(found),
        adjusted_p_value=p,
        detectable_share=math.expm1(needed * found.standard_error) if ratio.low is not None else None,
    )


def size(one: FactorEffect) -> float:
    """How far a ratio is from one, either way."""
    return 0.0 if one.ratio is None else abs(math.log(one.ratio.value))

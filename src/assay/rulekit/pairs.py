"""The data of a comparison: values of its arms by trial, its pairs by block, and its answer from any subset.

For the rules of statistics, which analyse the same runs under a different treatment. Trials are named by their id; values are
positive where a logarithm is taken of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from assay.catalogue import ComparisonCase
from assay.frozen import dataclass
from assay.records import Bound, Change, Conclusion, Method, Run, Trial, Value
from assay.rulekit import preparations
from assay.rulekit.preparations import preparation
from assay.statistics.contrast import Contrast, four_way, interval, paired_ratio, welch_ratio

Values = Mapping[int, float]
"""Trial -> value."""
Key = tuple[int, int]
"""Sitting and block."""
GEOMETRIC = (Method.PAIRED_GEOMETRIC, Method.PAIRED_PREPARATIONS, Method.UNPAIRED_GEOMETRIC)
"""Methods that this module has, too."""
NOTEBOOK = "notebook"
"""The factor that two notebooks held against each other stand for; no file names it."""


@dataclass(frozen=True, kw_only=True)
class PairedRatio:
    """The ratio of the arms as a contrast of logarithms, and what follows from it."""

    contrast: Contrast
    conclusion: Conclusion
    means: str = ""
    """What it is the ratio of, where the comparison itself is of something else."""

    def __str__(self) -> str:
        return f"{math.exp(self.contrast.difference):.3g} times{self.means}, {self.conclusion.value}"

    @property
    def bound(self) -> Bound:
        """The 95 % interval of the ratio."""
        low, high = interval(self.contrast, 0.95)
        return Bound(low=math.exp(low), high=math.exp(high), unit="ratio")


def values(case: ComparisonCase) -> dict[int, float]:
    """The values of the comparison."""
    counted = ((run.trial.id, case.verdicts.get(run.id)) for run, _ in (*case.baseline, *case.candidate))
    return {trial: verdict.value for trial, verdict in counted if verdict is not None and verdict.value is not None}


def trials(case: ComparisonCase) -> dict[int, Trial]:
    """The trials whose runs count in the two arms, in the order of the schedule, by id."""
    counted = (run.trial for run, _ in (*case.baseline, *case.candidate))
    return {trial.id: trial for trial in sorted(counted, key=lambda trial: trial.position)}


def schedule(case: ComparisonCase) -> tuple[Trial, ...]:
    """All trials of the plan up to the last one that was run for the comparison; a plan may be drawn for many more."""
    last = max((run.trial.position for run in runs(case)), default=-1)
    return tuple(itertools.takewhile(lambda trial: trial.position <= last, case.plan.trials))


def runs(case: ComparisonCase) -> Iterator[Run]:
    """Every run of the two arms, those that are left out at the end."""
    yield from (run for run, _ in (*case.baseline, *case.candidate))
    yield from (judged.run for judged in case.left_out)


def is_arm(case: ComparisonCase, trial: Trial) -> bool:
    """Whether a trial belongs to one of the two arms."""
    one, levels = case.comparison, trial.levels
    within = all(levels.get(path) == level for path, level in one.within.items())
    return within and levels.get(one.factor) in (one.baseline, one.candidate)


def arm(case: ComparisonCase, level: Value, of: Values) -> dict[int, float]:
    """Those of the values that belong to one level of the compared factor, in the order of the schedule."""
    return {
        number: of[number] for number, t in trials(case).items() if number in of and t.levels.get(case.comparison.factor) == level
    }


def by_block(case: ComparisonCase, of: Values) -> dict[Key, tuple[float, float]]:
    """Sitting and block -> values of baseline and candidate, where both have one, in the order of the schedule.

    In a duet sitting and preparation -> the means of its slices.
    """
    known, one = trials(case), case.comparison
    first, second = (
        {(known[number].sitting, known[number].block): (number, value) for number, value in arm(case, level, of).items()}
        for level in (one.baseline, one.candidate)
    )
    both = [key for key in first if key in second]
    means = [preparations.means((preparation(known[arm[key][0]], key), arm[key][1]) for key in both) for arm in (first, second)]
    return {key: (value, means[1][key]) for key, value in means[0].items()}


def answer(case: ComparisonCase, of: Values) -> PairedRatio | None:
    """The answer by these values, made as the comparison is: paired by block, or unpaired where a person changes the level.

    None where fewer than three pairs, or values that are not positive, give no interval.
    """
    arms = [list(arm(case, level, of).values()) for level in (case.comparison.baseline, case.comparison.candidate)]
    if not all(arms) or any(value <= 0 for values_of_arm in arms for value in values_of_arm):
        return None
    pairs = list(by_block(case, of).values())
    if by_hand(case):
        contrast = welch_ratio(*arms)
    elif pairs:
        contrast = paired_ratio([first for first, _ in pairs], [second for _, second in pairs])
    else:
        return None
    return concluded(case, contrast) if contrast.n > 2 else None


def concluded(case: ComparisonCase, contrast: Contrast) -> PairedRatio:
    """The answer that follows from a contrast."""
    wide, narrow = interval(contrast, 0.95), interval(contrast, 0.90)
    ratio, means = case.comparison.ratio, ""
    if ratio is not None and ratio.method not in GEOMETRIC:
        means = " by geometric means"
    return PairedRatio(contrast=contrast, conclusion=four_way(wide, narrow, case.comparison.matters_share), means=means)


def by_hand(case: ComparisonCase) -> bool:
    """Whether a person changes the compared factor."""
    return any(factor.path == case.comparison.factor and factor.change is Change.MANUAL for factor in case.experiment.factors)

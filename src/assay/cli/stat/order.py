"""The order of several commands by a figure that all of them have, and by how much the best is ahead of the second. Pure.

Of three commands or more the best is found by multiple comparisons with the best (`statistics.best`), so that the order of the
call plays no part; of two by their pairs alone. Commands that failed, or did other work than the first, are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.analysis.together import blocks_to_detect, demoted
from assay.answer import marks
from assay.cli.stat.commands import Command
from assay.cli.stat.ratios import Arm, figures_of, is_higher_better, main_figure, unit_of, unlikeness, worst_of
from assay.records import Conclusion, Experiment, VerdictState, worst
from assay.statistics import best
from assay.statistics.contrast import Contrast, four_way, interval, p_value, paired_ratio
from assay.statistics.intervals import LEAST, geometric_mean
from assay.statistics.significance import LEVEL
from assay.units import Unit


@dataclass(frozen=True, kw_only=True)
class Order:
    """Commands with their means, the best first."""

    arms: tuple[Arm, ...]
    means: tuple[float, ...]
    runs: int
    measure: str
    unit: str
    may_be_best: tuple[bool, ...]
    """Which are not ruled out as the best."""
    ahead: Contrast
    """The logarithm of the best over the second."""
    conclusion: Conclusion
    p_value: float
    """That the best is ahead of the second, among all."""

    @property
    def state(self) -> VerdictState | None:
        """The worst verdict of all runs; None where nothing is claimed of one."""
        states = [worst_of(arm.runs).state for arm in self.arms]
        return None if None in states else worst(state for state in states if state is not None)


def order_of(arms: Sequence[Arm]) -> Order | None:
    """The order of all commands that can be compared with the first; None of fewer than two, and where no side is better."""
    name = main_figure(arms)
    unit = unit_of(arms[0].runs, name)
    higher = is_higher_better(unit)
    if higher is None:
        return None
    alike = [arm for arm in arms if arm is arms[0] or unlikeness(arms[0].runs, arm.runs, name) is None]
    if len(alike) < 2:
        return None
    found = [(geometric_mean(values).value, values, arm) for arm in alike for values in (figures_of(arm.runs)[name],)]
    found.sort(key=lambda one: -one[0] if higher else one[0])
    values = [one[1] for one in found]
    ahead, may_be_best, p = paired_ratio(values[1], values[0]), (True,) * len(found), 1.0
    conclusion = Conclusion.UNDECIDED
    if ahead.n >= LEAST:
        conclusion = four_way(interval(ahead, 1 - LEVEL), interval(ahead, 1 - 2 * LEVEL), Experiment.matters_share)
        behind = beaten(values, higher=higher)
        may_be_best = tuple(min(row) > LEVEL for row in behind)
        p = behind[1][0] if len(found) > 2 else p_value(ahead)
    return Order(
        arms=tuple(arm for _, _, arm in found),
        means=tuple(mean for mean, _, _ in found),
        runs=ahead.n,
        measure=name.removesuffix("_ns"),
        unit=unit,
        may_be_best=may_be_best,
        ahead=ahead,
        conclusion=demoted(conclusion, p),
        p_value=p,
    )


def beaten(values: Sequence[Sequence[float]], *, higher: bool) -> best.Above:
    """[i][j]: the probability of command j so far ahead of command i where it is not ahead."""
    arms = [[one if higher else 1 / one for one in arm] for arm in values]
    if len(arms) > 2 and best.alike(arms):
        return best.above(arms)
    p_values = [[1.0] * len(arms) for _ in arms]
    for i, j in itertools.combinations(range(len(arms)), 2):
        contrast = paired_ratio(arms[i], arms[j])
        half = p_value(contrast) / 2
        p_values[i][j], p_values[j][i] = (half, 1 - half) if contrast.difference > 0 else (1 - half, half)
    return best.by_pairs(p_values)


def sentence(order: Order, names: Mapping[Command, str]) -> str:
    """`lz4: 230 ms; zstd: 460 ms (elapsed, 5 runs each); lz4 is faster, 0.50 times as long as zstd (...)`."""
    called = [names[arm.command] for arm in order.arms]
    values = [f"{name}: {measures.with_unit(mean, order.unit)}" for name, mean in zip(called, order.means, strict=True)]
    return f"{'; '.join(values)} ({order.measure}, {order.runs} runs each); {winner(order, called)}"


def winner(order: Order, names: Sequence[str]) -> str:
    """Which is best and by how much, or what is not shown and how many runs would show it."""
    if order.runs < LEAST:
        return f"undecided: {LEAST} runs at least"
    first, second = names[:2]
    low, high = (math.exp(end) for end in interval(order.ahead, 1 - LEVEL))
    times, edges = f"{math.exp(order.ahead.difference):.3g} times", f" (95 % CI {low:.3g} to {high:.3g})"
    compared = f"{times} as long as {second}" if order.unit == Unit.NANOSECONDS else f"{times} the rate of {second}"
    best = "fastest" if len(names) > 2 else "faster"
    ahead = f"{first} is {best}, {compared}{edges}"
    margin = measures.percent(Experiment.matters_share)
    if order.conclusion is Conclusion.EQUIVALENT:
        return f"{first} and {second} are equivalent within {margin}: {times}{edges}"
    if order.conclusion is Conclusion.MATTERS:
        return ahead
    if order.conclusion is Conclusion.IMMATERIAL:
        return f"{ahead}, too little to matter ({margin})"
    seen, least = abs(order.ahead.difference), math.log1p(Experiment.matters_share)
    among = LEVEL / math.comb(len(names), 2)
    more = needed(order, max(seen, least), among, "a difference as seen" if seen > least else margin)
    if not low <= 1 <= high and order.p_value > LEVEL:  # the interval of the pair alone would say what is not shown among all
        return f"{first} leads, {compared}, not shown among {len(names)} (p = {order.p_value:.2g} by Hsu){more}"
    if not low <= 1 <= high:
        more = needed(order, abs(seen - least), LEVEL, "it")
        return f"{ahead}; whether by more than {margin} is undecided{more}"
    leaders = [name for name, may in zip(names, order.may_be_best, strict=True) if may]
    lead = f"{marks.listed(leaders)} lead, and " if len(leaders) < len(names) else ""
    return f"{lead}which is {best} is undecided: {first} {compared}{edges}{more}"


def needed(order: Order, wanted: float, level: float, what: str) -> str:
    """`; --repeat 14 would show 5 %`: the runs that show such a difference of logarithms; empty where nobody knows."""
    runs = blocks_to_detect(order.ahead, wanted, level)
    return f"; --repeat {runs} would show {what}" if runs is not None and runs > order.runs else ""

"""Finds curves over a number of clients that still grow at their end: they say nothing about more clients.

The rule takes the slope of the last step, d ln X / d ln N. It uses the geometric means at the two largest numbers, for each rate
of all clients together.
From `flat_exponent` on the curve still grows. The note names it; the highest rate is a lower bound of the capacity.
The analysis itself claims no peak, break-even or saturation outside the measured numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from assay.catalogue import ExperimentCase, Rule
from assay.measures import AMOUNTS, CONCURRENCY
from assay.records import Bound, Factor, Finding, Scope, Severity, State, Value
from assay.rulekit.findings import found

LEAST = 2
Levels = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, kw_only=True)
class End:
    """The last step of one curve."""

    measure: str
    where: Levels
    what: str
    largest: int
    slope: float
    highest: float

    def __str__(self) -> str:
        at = f" at {', '.join(f'{path} = {level}' for path, level in self.where)}" if self.where else ""
        return f"{self.measure}{at} at {self.largest} {self.what} (d ln X / d ln N = {self.slope:.2f})"


def counted(case: ExperimentCase) -> tuple[Factor, ...]:
    """The factors that count what works at the same time, at two numbers or more."""
    several = (factor for factor in case.experiment.factors if len(factor.levels) >= LEAST)
    return tuple(factor for factor in several if factor.path.rpartition(".")[2] in CONCURRENCY)


def applies(case: ExperimentCase) -> str | None:
    """Experiments that vary such a number and measure a rate of all together."""
    if not counted(case):
        return "no factor counts clients, workers or requests"
    rates = any(measure.figure in AMOUNTS for measure in case.experiment.measures)
    return None if rates else "no common rate is measured"


def ends(case: ExperimentCase) -> Iterator[End]:
    """The last step of every curve that has two numbers with figures."""
    for factor in counted(case):
        for measure in (one.name for one in case.experiment.measures if one.figure in AMOUNTS):
            for where, means in curves(case, factor, measure).items():
                numbers = sorted(means)[-LEAST:]
                if len(numbers) == LEAST:
                    last, before = means[numbers[1]], means[numbers[0]]
                    yield End(
                        measure=measure,
                        where=where,
                        what=factor.path.rpartition(".")[2],
                        largest=numbers[1],
                        slope=(last - before) / math.log(numbers[1] / numbers[0]),
                        highest=math.exp(last),
                    )


def curves(case: ExperimentCase, factor: Factor, measure: str) -> dict[Levels, dict[int, float]]:
    """Levels of the other factors -> number -> mean logarithm of the rates that are known."""
    known: dict[Levels, dict[int, list[float]]] = {}
    for judged in case.runs:
        verdict, number = judged.verdicts.get(measure), judged.run.trial.levels.get(factor.path)
        if verdict is not None and verdict.value is not None and verdict.value > 0 and isinstance(number, int) and number > 0:
            rest = tuple((path, level) for path, level in judged.run.trial.levels.items() if path != factor.path)
            known.setdefault(rest, {}).setdefault(number, []).append(math.log(verdict.value))
    return {where: {number: fmean(logs) for number, logs in at.items()} for where, at in known.items()}


def check(case: ExperimentCase) -> Finding:
    """A note where a curve still grows at the largest number."""
    every = list(ends(case))
    if not every:
        return found(RULE, case, State.UNVERIFIED, "No curve with figures at two numbers.")
    growing = [end for end in every if end.slope >= case.thresholds["flat_exponent"]]
    observed = {str(end): end.slope for end in every}
    if not growing:
        return found(RULE, case, State.PASS, "Every curve stops growing within the measured numbers.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Still growing at the end: {'; '.join(map(str, growing))}. The capacity is at least the highest measured rate;"
        " a peak, or the order beyond it, is unknown.",
        observed=observed,
        bound=Bound(low=growing[0].highest, high=None, unit="") if len(growing) == 1 else None,
    )


RULE = Rule(
    id="S11",
    name="extrapolation",
    scope=Scope.EXPERIMENT,
    severity=Severity.NOTES,
    part="statistics",
    applies=applies,
    check=check,
    wrong="Eight clients were measured and the purchase is for thirty. The curve rose all the way, so it is extended by eye or "
    "by a fitted law. The data do not contain the point at which it flattens or peaks. With points up to 8 and a true peak at "
    "21.8, the 90 % interval of the fitted peak was 12.6 to infinity (simulated).",
    alternatives=(
        "The limit is known from another source (a link, a throttle). Report it, and that it was not reached.",
        "Production has no more clients than were measured. Then nothing is missing.",
    ),
    advice="Measure up to one and a half times the number at which the rate stops growing. Until then report the figure as a "
    "lower bound of the capacity.",
    sources=(
        "Gunther: Guerrilla Capacity Planning, 2007, ch. 5: too few points before the peak fix nothing",
        "Simulated: with points up to 8 clients and a true peak at 21.8, the 90 % interval of the peak is 12.6 to infinity",
    ),
)

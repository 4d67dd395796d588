"""The figures of several commands under `assay stat`, and the ratio of each command to the first one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.cli.stat import described, likeness, shown
from assay.cli.stat.commands import Command
from assay.cli.stat.execution import JudgedExecution
from assay.laboratory.gate import is_worse
from assay.records import Conclusion, Experiment, VerdictState, worst
from assay.statistics.contrast import four_way, interval, paired_ratio
from assay.statistics.intervals import LEAST
from assay.statistics.signed_ranks import typical_ratio
from assay.units import Unit

ELAPSED = "elapsed_ns"
"""What commands are compared by that have no figure in common."""
WIDE, NARROW = 0.05, 0.10
"""The error of the interval that is shown, and of that for equivalence; shared by all comparisons of a measure (Bonferroni)."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One command with its runs, in the order of the rounds."""

    command: Command
    runs: list[JudgedExecution]


@dataclass(frozen=True, kw_only=True)
class CommandRatio:
    """A command's figure over the first one's."""

    command: Command
    measure: str
    value: float
    low: float | None
    high: float | None
    pairs: int
    together: int
    """How many commands are compared with the first: the intervals of all hold together."""
    conclusion: Conclusion
    state: VerdictState | None
    """The worst verdict of the runs that it rests on; None where nothing is claimed of them."""
    typical: tuple[float, float, float] | None = None
    """The ratio of the typical pair with its interval, which shares the error as the other does; None of few pairs."""
    unlike: str | None = None
    """Why there is nothing to compare: an arm failed, or both did other work; None where they are alike."""
    digits_share: float = 0.0
    """What the last printed digits of both leave open, as a share."""
    unit: str = Unit.NANOSECONDS

    @property
    def is_worse(self) -> bool:
        """Whether it is shown to be worse by more than what matters; a time is better if it is less, a rate if it is more."""
        higher_better = is_higher_better(self.unit)
        if self.unlike or higher_better is None:
            return False
        found = ((self.value, self.low, self.high), *([self.typical] if self.typical else ()))
        return any(is_worse(value, ends, Experiment.matters_share, lower_better=not higher_better) for value, *ends in found)

    @property
    def is_of_digits(self) -> bool:
        """Whether the difference is no more than that."""
        return abs(self.value - 1) <= self.digits_share * max(1.0, self.value)


def is_higher_better(unit: str) -> bool | None:
    """Whether more of a figure is better: of a rate, and not of a time; None where no side is."""
    return True if unit.endswith("/s") else False if unit == Unit.NANOSECONDS else None


def figures_of(runs: Sequence[JudgedExecution]) -> dict[str, list[float]]:
    """The values of every figure that all runs have, drain charged where the claim asks for it; the elapsed time."""
    each = [
        {described.operation_of(verdict): verdict.value for verdict in execution.verdicts if verdict.value is not None}
        for execution in runs
    ]
    shared = [name for name in each[0] if all((found.get(name) or 0) > 0 for found in each)] if each else []
    return {
        **{name: [found[name] for found in each] for name in shared},
        ELAPSED: [float(execution.watched.elapsed_ns) for execution in runs],
    }


def unit_of(runs: Sequence[JudgedExecution], name: str) -> str:
    """The unit of a figure."""
    units = [verdict.unit for verdict in runs[-1].verdicts if described.operation_of(verdict) == name]
    return units[0] if units else Unit.NANOSECONDS


def worst_of(runs: Sequence[JudgedExecution]) -> JudgedExecution:
    """The run with the worst verdict, of equals the last; the last one where nothing is claimed."""
    order = list(VerdictState)
    return min(reversed(runs), key=lambda one: len(order) if one.state is None else order.index(one.state))


def ratios(arms: Sequence[Arm], *, with_elapsed: bool = False) -> tuple[CommandRatio, ...]:
    """The ratio of each shared figure of each further command to the first; of the elapsed time where none is shared, or also."""
    first, *others = arms
    return tuple(ratio for other in others for ratio in compared(first, other, len(others), with_elapsed=with_elapsed))


def main_figure(arms: Sequence[Arm]) -> str:
    """What commands are compared by first: the first figure that all of them print, else the elapsed time."""
    if not all(execution.external.reported for arm in arms for execution in arm.runs):
        return ELAPSED
    first, *others = (figures_of(arm.runs) for arm in arms)
    return next(name for name in first if all(name in figures for figures in others))


def compared(first: Arm, other: Arm, together: int, *, with_elapsed: bool) -> Iterator[CommandRatio]:
    """Yield the ratios of one command; `together` commands share the error of the intervals."""
    mine, theirs = figures_of(first.runs), figures_of(other.runs)
    shared = [name for name in mine if name in theirs and (with_elapsed or name != ELAPSED)]
    if main_figure((first, other)) == ELAPSED:
        shared = [ELAPSED]
    for name in shared:
        contrast = paired_ratio(mine[name], theirs[name])
        low, high, conclusion, typical = None, None, Conclusion.UNDECIDED, None
        unlike = unlikeness(first.runs, other.runs, name)
        if contrast.n >= LEAST and unlike is None:
            wide, narrow = interval(contrast, 1 - WIDE / together), interval(contrast, 1 - NARROW / together)
            low, high = math.exp(wide[0]), math.exp(wide[1])
            conclusion = four_way(wide, narrow, Experiment.matters_share)
            typical = typical_ratio(mine[name], theirs[name], 1 - WIDE / together)
        yield CommandRatio(
            command=other.command,
            measure=name,
            value=math.exp(contrast.difference),
            low=low,
            high=high,
            pairs=contrast.n,
            together=together,
            conclusion=conclusion,
            state=VerdictState.INVALID if unlike else worst_of((*first.runs, *other.runs)).state,
            typical=typical,
            unlike=unlike,
            digits_share=digits_share(first.runs, name) + digits_share(other.runs, name),
            unit=unit_of(first.runs, name),
        )


def unlikeness(first: Sequence[JudgedExecution], other: Sequence[JudgedExecution], name: str) -> str | None:
    """Why a figure of two commands cannot be compared; None where it can."""
    if failure := likeness.failed(first, other):
        return failure
    amounts = likeness.unlike_amounts(first, other) if name == ELAPSED else None
    return amounts or likeness.unlike_sizes(first, other, name, unit_of(first, name))


def digits_share(runs: Sequence[JudgedExecution], name: str) -> float:
    """The most that the last printed digit of a figure leaves open in any run, as a share of the figure."""
    every = (
        (execution, verdict) for execution in runs for verdict in execution.verdicts if described.operation_of(verdict) == name
    )
    return max((described.digits_share(*one) for one in every), default=0.0)


def ratio_line(ratio: CommandRatio, names: Mapping[Command, str], baseline: str) -> str:
    """Return `dd bs=4k: write 1.31 times that of dd bs=8k (95 % CI ..., 5 pairs): faster by more than 5 %`."""
    what, name = ratio.measure.removesuffix("_ns"), names[ratio.command]
    if ratio.unlike:
        return shown.line("vs", f"{name}: {what} INVALID, no comparison with {baseline}: {ratio.unlike}")
    share = "" if ratio.together == 1 else f" for all {ratio.together} ratios together"
    interval = "" if ratio.low is None else f"95 % CI {ratio.low:.3g} to {ratio.high:.3g}{share}, "
    state = "" if ratio.state in (None, VerdictState.SOUND) else f"; runs are {ratio.state}"
    digits = f"; within the print precision of {measures.percent(ratio.digits_share)}" if ratio.is_of_digits else ""
    times = f"{what} {ratio.value:.3g} times that of {baseline} ({interval}{ratio.pairs} pairs)"
    return shown.line("vs", f"{name}: {times}{digits}{typical_of(ratio)}: {decided(ratio)}{state}")


def decided(ratio: CommandRatio) -> str:
    """`slower by more than 5 %`, `slower; whether by more than 5 % is undecided`, `equivalent within 5 %`, `undecided`."""
    margin, more = measures.percent(Experiment.matters_share), ratio.value > 1
    side, higher_better = "higher" if more else "lower", is_higher_better(ratio.unit)
    if higher_better is not None:
        side = "faster" if more == higher_better else "slower"
    if ratio.conclusion is Conclusion.EQUIVALENT:
        return f"equivalent within {margin}"
    if ratio.conclusion is not Conclusion.UNDECIDED:
        return f"{side} by {'more' if ratio.conclusion is Conclusion.MATTERS else 'less'} than {margin}"
    if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return "undecided"
    return f"{side}; whether by more than {margin} is undecided"


def typical_of(ratio: CommandRatio) -> str:
    """`; of the typical pair 1.10 (1.08 to 1.12)`, where the mean decides nothing and this excludes no change; else empty."""
    if ratio.typical is None or ratio.conclusion is not Conclusion.UNDECIDED:
        return ""
    value, low, high = ratio.typical
    return "" if low <= 1 <= high else f"; of the typical pair {value:.3g} times ({low:.3g} to {high:.3g})"


def worst_state(runs: Sequence[JudgedExecution]) -> VerdictState | None:
    """The worst verdict of all runs; None where nothing is claimed of one."""
    states = [execution.state for execution in runs]
    return None if None in states else worst(state for state in states if state is not None)

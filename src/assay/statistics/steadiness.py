"""The five-round criterion of a steady state, as SNIA has it for solid state storage.

Source: SNIA Solid State Storage Performance Test Specification 2.0.1, definition of steady state: over the last five rounds
the range of the values is at most 20 % of their average, and the best linear fit (least squares) through them runs over at
most 10 % of the average within the window. It is a coarse filter: with a noise of 6 % it takes a drift of 10 % for steady in
most runs; MSER-5 and change points see what it does not.

Imports nothing heavy: the fleet asks it while it measures.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.frozen import dataclass
from assay.statistics.segments import largest_step, segments

ROUNDS = 5
RANGE_SHARE = 0.20
EXCURSION_SHARE = 0.10


@dataclass(frozen=True, kw_only=True)
class Steady:
    """How far five rounds differ, in shares of their mean."""

    range_share: float
    """Largest minus smallest."""
    excursion_share: float
    """Ends of the least-squares line, from the first round to the last, without its sign."""

    def within(self, range_share: float = RANGE_SHARE, excursion_share: float = EXCURSION_SHARE) -> bool:
        """Whether both are at most so large."""
        return self.range_share <= range_share and self.excursion_share <= excursion_share


def five_rounds(rates: Sequence[float]) -> Steady | None:
    """The last five of the rates of rounds of equal length; None where there are fewer, or their mean is not above 0."""
    last = rates[-ROUNDS:]
    mean = sum(last) / ROUNDS
    if len(last) < ROUNDS or mean <= 0:
        return None
    middle = (ROUNDS - 1) / 2
    leaning = sum((at - middle) * rate for at, rate in enumerate(last))
    slope = leaning / sum((at - middle) ** 2 for at in range(ROUNDS))
    return Steady(range_share=(max(last) - min(last)) / mean, excursion_share=abs(slope) * (ROUNDS - 1) / mean)


BATCH = 5
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """How many batches to leave out at the beginning, and how many were allowed to be."""

    batches: int
    limit: int
    """Half of all batches."""

    @property
    def at_limit(self) -> bool:
        """Whether the warm-up fills all that it may: then there is no steady rest."""
        return self.batches >= self.limit


def mser5(values: Sequence[float]) -> Truncation | None:
    """The truncation of a series; None where it has no two batches. Values behind the last whole batch are left out."""
    batches = [sum(values[at : at + BATCH]) / BATCH for at in range(0, len(values) - BATCH + 1, BATCH)]
    limit = len(batches) // 2
    if limit < 1:
        return None
    return Truncation(batches=min(range(limit + 1), key=lambda leave: _marginal(batches[leave:])), limit=limit)


def _marginal(rest: Sequence[float]) -> float:
    """Sum of squares about the mean, over the square of the number; values that only rounding tells apart are the same."""
    mean = sum(rest) / len(rest)
    if max(rest) - min(rest) <= ROUNDING * abs(mean):
        return 0.0
    return sum((value - mean) ** 2 for value in rest) / len(rest) ** 2


@dataclass(frozen=True, kw_only=True)
class Steadiness:
    """What each test says; None where there are too few values for it."""

    rounds: Steady | None
    truncation: Truncation | None
    levels: tuple[float, ...]
    """The mean of each stretch that the change points part."""
    step_share: float | None
    """The largest difference of neighbouring levels, over the mean."""

    @property
    def asked(self) -> int:
        """How many tests could be asked."""
        return sum(answer is not None for answer in (self.rounds, self.truncation, self.step_share))


def steadiness(values: Sequence[float]) -> Steadiness:
    """The three tests of values of parts of equal length; what is behind the last whole round or batch is left out."""
    each, mean = len(values) // ROUNDS, sum(values) / max(1, len(values))
    batches = [sum(values[at : at + BATCH]) / BATCH for at in range(0, len(values) - BATCH + 1, BATCH)]
    stretches = segments(batches)
    enough = len(batches) > 1 and mean > 0
    return Steadiness(
        rounds=five_rounds([sum(values[at : at + each]) for at in range(0, each * ROUNDS, each)]) if each else None,
        truncation=mser5(values) if mean > 0 else None,
        levels=tuple(one.mean for one in stretches),
        step_share=largest_step(stretches, mean) if enough else None,
    )

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

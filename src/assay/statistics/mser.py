"""MSER-5: how much of the beginning of a series is warm-up (marginal standard error rule, batches of five).

Source: White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69(6), 1997: of all
places in the first half take the one where the sum of squares of what follows, over the square of its number, is least.
A place at the end of the first half says that no beginning can be cut off after which the rest looks alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.frozen import dataclass

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

"""Adjusted p-values for all contrasts that were looked at.

Reference: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian J. of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted by Holm's procedure, in the order given."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = highest
    return tuple(adjusted)

"""Which effects a design of two levels cannot tell from each other, read from its combinations alone.

A factor's column is -1 at its baseline and +1 elsewhere; that of a pair is the product. Columns that are equal or opposite are
aliases: what is estimated is the sum of their effects (or a difference, where they are opposite).

Reference: G. Box, J. S. Hunter, The 2^(k-p) fractional factorial designs, Technometrics 3 (1961), 311-351 and 449-458; for partly
mixed columns M. Hamada, C. F. J. Wu, Analysis of designed experiments with complex aliasing, J. Quality Technology 24 (1992),
130-137.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Term = tuple[int, ...]
"""The places of one factor, or of the two of a pair."""
Row = Sequence[int]
"""0 where a factor is at its baseline, 1 where it is not."""


def column(rows: Sequence[Row], term: Term) -> tuple[int, ...]:
    """The column of a factor or of a pair."""
    return tuple(_product([2 * row[place] - 1 for place in term]) for row in rows)


def groups(rows: Sequence[Row]) -> tuple[tuple[tuple[Term, int], ...], ...]:
    """Factors and pairs by their columns: (term, sign against the first of its group), factors first, in order."""
    factors = range(len(rows[0]))
    terms: list[Term] = [*((place,) for place in factors), *itertools.combinations(factors, 2)]
    found: dict[tuple[int, ...], list[tuple[Term, int]]] = {}
    for term in terms:
        own = column(rows, term)
        sign = own[0]
        key = tuple(sign * one for one in own)
        found.setdefault(key, []).append((term, sign))
    return tuple(tuple((term, sign * group[0][1]) for term, sign in group) for group in found.values())


def partly_mixed(rows: Sequence[Row]) -> float:
    """The largest share, below one, of a pair's effect that is in a factor's own; 0 where there is none."""
    pairs = [column(rows, pair) for pair in itertools.combinations(range(len(rows[0])), 2)]
    shares = (
        abs(sum(a * b for a, b in zip(column(rows, (place,)), pair, strict=True))) / len(rows)
        for place in range(len(rows[0]))
        for pair in pairs
    )
    return max((share for share in shares if share < 1), default=0.0)


def _product(values: Sequence[int]) -> int:
    made = 1
    for value in values:
        made *= value
    return made

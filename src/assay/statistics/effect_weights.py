"""The effects of factors as contrasts of combinations: a weight for each combination, summing to nothing.

A factor's effect is the mean of the logarithms at one of its levels less that at its baseline, over all combinations of the
design (in a one-at-a-time design: of that one combination less the baseline of all). A pair's is how much the effect of the one
changes with the other: (both - the second alone) - (the first alone - neither), each a mean. As ratios: how many times larger
one ratio is.

Reference: G. Box, W. Hunter, J. Hunter, Statistics for Experimenters, 2nd ed. (2005), chapters 5 and 6; the interaction there is
half of the one here, which is a ratio of ratios and so needs no convention to be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from assay.frozen import dataclass
from assay.statistics import effects

Step = tuple[int, int]
"""Place of a factor, and of one of its levels but the first."""
Steps = tuple[Step, ...]
Row = Sequence[int]
"""Places of levels: 0 is the baseline of the factor."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One factor's step from its baseline, or two steps together."""

    steps: Steps
    mixed_with: tuple[Steps, ...]
    """Effects that have the same column: what is estimated is theirs as well."""
    weights: tuple[float, ...]
    """By combination."""


def alone(rows: Sequence[Row]) -> tuple[Effect, ...]:
    """The effects of a one-at-a-time design: each combination against the baseline of all, which comes first."""
    found = []
    for number, row in enumerate(rows[1:], 1):
        step = next((place, level) for place, level in enumerate(row) if level)
        weights = tuple(float((other == number) - (other == 0)) for other in range(len(rows)))
        found.append(Effect(steps=(step,), mixed_with=(), weights=weights))
    return tuple(found)


def crossed(rows: Sequence[Row], *, pairs: bool) -> tuple[Effect, ...]:
    """The effects of a design in which all factors vary together: of factors, then of the pairs that are no factor's alias."""
    steps = [
        (place, level) for place in range(len(rows[0])) for level in range(1, 1 + max((row[place] for row in rows), default=0))
    ]
    mixed = mixtures(rows)
    own = [effect((step,), rows, mixed) for step in steps]
    return (*own, *(effect(pair, rows, mixed) for pair in free(steps, mixed))) if pairs else tuple(own)


def free(steps: Sequence[Step], mixed: Mapping[Steps, tuple[Steps, ...]]) -> Iterator[Steps]:
    """The pairs of different factors that are not said already: no alias of a factor, nor of a pair before them."""
    said: set[Steps] = set()
    for pair in itertools.combinations(steps, 2):
        others = mixed.get(pair, ())
        if pair[0][0] != pair[1][0] and pair not in said and all(len(other) > 1 for other in others):
            said.update(others)
            yield pair


def mixtures(rows: Sequence[Row]) -> Mapping[Steps, tuple[Steps, ...]]:
    """Effect -> the others that have its column; only designs of two levels leave combinations out."""
    if any(level > 1 for row in rows for level in row):
        return {}
    groups = [[tuple((place, 1) for place in term) for term, _ in group] for group in effects.groups(rows)]
    return {one: tuple(other for other in group if other != one) for group in groups for one in group}


def effect(steps: Steps, rows: Sequence[Row], mixed: Mapping[Steps, tuple[Steps, ...]]) -> Effect:
    """One effect with its weights: the means at the corners of its steps, with alternating signs."""
    weights = [0.0] * len(rows)
    for corner in itertools.product((0, 1), repeat=len(steps)):
        here = [
            number
            for number, row in enumerate(rows)
            if all(row[place] == (level if on else 0) for (place, level), on in zip(steps, corner, strict=True))
        ]
        sign = (-1) ** (len(steps) - sum(corner))
        for number in here:
            weights[number] += sign / len(here)
    return Effect(steps=steps, mixed_with=mixed.get(steps, ()), weights=tuple(weights))


def conditional(rows: Sequence[Row], pair: Steps) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The effect of the first step of a pair where the second factor is at its baseline, and where it is at its level."""
    first, (other, level) = pair
    ends = []
    for fixed in (0, level):
        here = [number for number, row in enumerate(rows) if row[other] == fixed]
        within = effect((first,), [rows[number] for number in here], {})
        weights = [0.0] * len(rows)
        for number, weight in zip(here, within.weights, strict=True):
            weights[number] = weight
        ends.append(tuple(weights))
    return ends[0], ends[1]

"""The effects of factors in a designed experiment: as weights of its combinations, and estimated from runs in blocks.

A factor's effect is the mean of the logarithms at one of its levels less that at its baseline, over all combinations of the
design (in a one-at-a-time design: of that one combination less the one that lacks this step alone). A pair's is how much the
effect of the one changes with the other: (both - the second alone) - (the first alone - neither), each a mean. As ratios: how
many times larger one ratio is. Reference: G. Box, W. Hunter, J. Hunter, Statistics for Experimenters, 2nd ed. (2005), chapters 5
and 6; the interaction there is half of the one here, which is a ratio of ratios and so needs no convention to be read.

They are estimated by the model value = block + combination, by least squares, so that a block with a run missing still counts.
What it leaves over is the error: how far a combination moves against the others from block to block. Each combination has its
own spread; the variance of a contrast is the sum of theirs, and its degrees of freedom are those of Welch and Satterthwaite, so
that one restless combination widens the intervals that it takes part in and no others. References: R. A. Fisher, The Design of
Experiments (1935), chapter IV; F. Satterthwaite, An approximate distribution of estimates of variance components, Biometrics
Bulletin 2 (1946), 110-114. Coverage is simulated in tests/statistics/test_effects.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from assay.frozen import dataclass
from assay.statistics.contrast import Contrast

TINY = 1e-9
Term = tuple[int, ...]
"""The places of one factor, or of the two of a pair."""
Row = Sequence[int]
"""Places of levels: 0 where a factor is at its baseline."""
Step = tuple[int, int]
"""Place of a factor, and of one of its levels but the first."""
Steps = tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One factor's step from its baseline, or two steps together."""

    steps: Steps
    mixed_with: tuple[Steps, ...]
    """Effects that have the same column: what is estimated is theirs as well."""
    weights: tuple[float, ...]
    """By combination."""


def alone(rows: Sequence[Row]) -> tuple[Effect, ...]:
    """The effects of a one-at-a-time design: each combination against the one that differs from it by one factor's baseline.

    That is the baseline of all, or for a knob of another target that target alone."""
    places = {tuple(row): number for number, row in enumerate(rows)}
    found = []
    for number, row in enumerate(rows):
        steps = ((place, level, places.get((*row[:place], 0, *row[place + 1 :]))) for place, level in enumerate(row) if level)
        for place, level, base in steps:
            if base is not None:
                weights = tuple(float((other == number) - (other == base)) for other in range(len(rows)))
                found.append(Effect(steps=((place, level),), mixed_with=(), weights=weights))
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
    """The pairs of different factors that are new: no alias of a factor, nor of a pair before them."""
    known: set[Steps] = set()
    for pair in itertools.combinations(steps, 2):
        aliases = mixed.get(pair, ())
        if pair[0][0] != pair[1][0] and pair not in known and all(len(alias) > 1 for alias in aliases):
            known.update(aliases)
            yield pair


def mixtures(rows: Sequence[Row]) -> Mapping[Steps, tuple[Steps, ...]]:
    """Effect -> the others that have its column; only designs of two levels leave combinations out."""
    if any(level > 1 for row in rows for level in row):
        return {}
    alike = [[tuple((place, 1) for place in term) for term, _ in group] for group in groups(rows)]
    return {one: tuple(other for other in group if other != one) for group in alike for one in group}


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


def column(rows: Sequence[Row], term: Term) -> tuple[int, ...]:
    """The column of a factor or of a pair in a design of two levels."""
    return tuple(math.prod([2 * row[place] - 1 for place in term]) for row in rows)


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


def contrasts(
    values: Sequence[float], blocks: Sequence[Hashable], places: Sequence[int], weights: Sequence[Sequence[float]]
) -> tuple[Contrast | None, ...]:
    """The contrasts of values (logarithms), each at the place of its combination; `weights` have a number for each combination.

    None where a contrast cannot be had: a combination in it was not measured, or no block links the two sides.
    """
    import numpy as np

    y = np.array(values)
    names = list(dict.fromkeys(blocks))
    several = 1 + max(places, default=-1)
    in_block = np.array([[float(block == name) for name in names] for block in blocks])
    combined = np.array([[float(place == other) for other in range(several)] for place in places])
    model = np.hstack([in_block, combined])
    inverse = np.linalg.pinv(model)
    left = y - model @ (inverse @ y)
    variance = _variances(left, combined, len(values) - int(np.linalg.matrix_rank(model)))
    found: list[Contrast | None] = []
    for one in weights:
        if any(abs(weight) > TINY for weight in one[several:]):
            found.append(None)
            continue
        wanted = np.array([0.0] * len(names) + [*one, *[0.0] * several][:several])
        shares = wanted @ inverse
        n = _stands_on(combined, in_block, one)
        can = bool(np.allclose(shares @ model, wanted, atol=1e-6))
        found.append(_contrast((float(shares @ y), n), shares, combined, variance) if can else None)
    return tuple(found)


def _variances(left: Any, combined: Any, degrees: int) -> tuple[Any, Any, int]:  # noqa: ANN401 - numpy is imported above only
    """The variance of each combination's values, the degrees of freedom of each, and of all together."""
    import numpy as np

    own = np.maximum(combined.sum(axis=0) - 1, 0)
    if degrees < 1:
        return np.zeros(len(own)), own, 0
    squares = combined.T @ left**2
    if (own < 1).any():
        return np.full(len(own), squares.sum() / degrees), own, degrees
    return squares / own * own.sum() / degrees, own, degrees


def _stands_on(combined: Any, in_block: Any, weights: Sequence[float]) -> int:  # noqa: ANN401
    """The runs of the side of a contrast that has fewer, or its blocks where they are fewer."""
    import numpy as np

    weighed = combined @ np.array([*weights, *[0.0] * combined.shape[1]][: combined.shape[1]])
    sides = [int((weighed > TINY).sum()), int((weighed < -TINY).sum())]
    return min(*sides, int((in_block[np.abs(weighed) > TINY].sum(axis=0) > 0).sum()))


def _contrast(found: tuple[float, int], shares: Any, combined: Any, variance: tuple[Any, Any, int]) -> Contrast:  # noqa: ANN401
    """One contrast with the error of the combinations that it weighs."""
    import numpy as np

    (difference, n), (each, own, degrees) = found, variance
    parts = (combined.T @ shares**2) * each
    total = float(parts.sum())
    free = float(degrees)
    if total > 0 and (own >= 1).all():
        free = min(free, total**2 / float((parts[own >= 1] ** 2 / own[own >= 1]).sum()))
    return Contrast(difference=difference, standard_error=math.sqrt(total), degrees=free, n=n, spread=float(np.sqrt(each.mean())))

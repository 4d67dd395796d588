"""Service demand: how much of a resource one operation of each class uses, by regression over trials with different mixes.

Utilisation law with classes: U = U_0 + sum over c of D_c X_c, where X_c is the rate of a class, D_c >= 0 its demand and U_0 >=
0 what is used with no operation at all. Fitted by non-negative least squares on relative errors, since noise of rates
multiplies; where a trial used next to nothing (a mix without writes of what is written), errors are shares of a hundredth of
the most. How far it is known comes from a bootstrap of trials within their mixes, blown up for the trial that each mix lacks
and from the normal to Student's t by the trials of the smallest mix: a plain bootstrap of few trials is too narrow. What no mix
could check, a curve instead of a line, is carried as an allowance.

References: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978);
Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, ch. 12; Lawson and Hanson, Solving Least Squares
Problems, 1974, ch. 23; Davison and Hinkley, Bootstrap Methods, 1997, 6.2.4 (resampled cases).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from assay.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DRAWS = 2000
CONFIDENCE = 0.90
LINEAR = 0.05
"""Mixes whose mean is further from the line than this share of it are no line; where nothing checks, it is the allowance."""
NO_RANK = 0.02
"""Directions of the mixes that are shorter than this share of the longest do not tell the classes apart."""
NOISE = 2.0
"""Nor do those that are shorter than so many times what the means of the mixes are off in that direction."""


FLOOR = 0.01
"""Errors of trials that used less than this share of the most are told as shares of that."""
LEAST = 2
"""Trials of each mix, so that its spread is known."""


class Unknown(StrEnum):
    """Why there are no demands."""

    NOTHING = "nothing was measured of it, or nothing was used"
    FEW = "fewer than 2 trials of a mix"
    ALIKE = "the mixes do not separate the operations"


@dataclass(frozen=True, kw_only=True)
class MixPoint:
    """One trial: which mix it was, the rate of each class (1/s) and what was used of the resource (units/s)."""

    mix: str
    rates: tuple[float, ...]
    used: float


@dataclass(frozen=True, kw_only=True)
class Demands:
    """The line, with what it could have been as well."""

    background: float
    """Units/s that are used with no operation."""
    each: tuple[float, ...]
    """Units of one operation of each class."""
    draws: Array
    """One row a draw: background, then each class."""
    has_background: bool
    """False where the mixes do not tell a background from the operations; it was taken as 0."""
    misfit: float | None
    """The farthest that the mean of a mix is from the line, as a share of it; None where there is no more than one mix a term."""
    scatter: float
    """The deviation of a trial from the mean of its mix, as a share of it."""
    degrees: int
    trials: int

    @property
    def allowance(self) -> float:
        """The share by which a mix that was not measured may be off the line."""
        return LINEAR if self.misfit is None else self.misfit

    @property
    def is_linear(self) -> bool | None:
        """Whether all mixes are on the line; None where nothing checks it."""
        return None if self.misfit is None else self.misfit <= LINEAR


def demands(points: Sequence[MixPoint], *, idles: bool = True, seed: int = 1, draws: int = DRAWS) -> Demands | Unknown:
    """The demands of all classes, or why they cannot be told; the same points give the same draws.

    Without `idles` nothing is used with no operation, and none is looked for.
    """
    import numpy as np

    mixes = list(dict.fromkeys(point.mix for point in points))
    if not points or max(point.used for point in points) <= 0:
        return Unknown.NOTHING
    rows = [[place for place, point in enumerate(points) if point.mix == mix] for mix in mixes]
    least = min(len(row) for row in rows)
    if least < LEAST:
        return Unknown.FEW
    classes = len(points[0].rates)
    has_background = idles and _separate(points, mixes, with_background=True)
    if not has_background and not _separate(points, mixes, with_background=False):
        return Unknown.ALIKE
    weights = _weights(points)
    terms, target = _terms(points, weights), np.array([point.used for point in points]) / weights
    fitted = _fit(terms, target, has_background)
    degrees = sum(len(row) - 1 for row in rows)
    random = np.random.default_rng(seed)
    wide = _widening(least - 1) * math.sqrt(least / (least - 1))
    found = np.empty((draws, classes + 1))
    for draw in range(draws):
        chosen = [row[place] for row in rows for place in random.integers(0, len(row), len(row))]
        found[draw] = _fit(terms[chosen], target[chosen], has_background)
    found = np.maximum(0.0, fitted + (found - fitted) * wide)
    off = _off(points, fitted)
    return Demands(
        background=float(fitted[0]),
        each=tuple(float(one) for one in fitted[1:]),
        draws=found,
        has_background=has_background,
        misfit=max(abs(float(off[row].mean())) for row in rows) if len(mixes) > classes + has_background else None,
        scatter=math.sqrt(sum(float(((off[row] - off[row].mean()) ** 2).sum()) for row in rows) / degrees),
        degrees=degrees,
        trials=len(points),
    )


def used_by(found: Demands, rates: Sequence[float], *, trials: int = 0, seed: int = 2) -> Array:
    """Draws of what a mix uses (units/s): its demands, the allowance, and the noise of the mean of so many trials, where told."""
    import numpy as np

    random = np.random.default_rng(seed)
    used = found.draws @ np.array([1.0, *rates])
    off = 1 + random.uniform(-found.allowance, found.allowance, len(used))
    noise: Array = np.ones(len(used))
    if trials:
        swing = random.standard_t(found.degrees, len(used))
        noise = np.maximum(0.0, 1 + swing * found.scatter / math.sqrt(trials))
    mixed: Array = used * off * noise
    return mixed


def carried(found: Demands, hours: Sequence[Sequence[float]], *, seed: int = 3) -> Array:
    """Draws of what a load uses (units/s) in any of its busy hours, each the rates of all classes; hours count alike."""
    import numpy as np

    random = np.random.default_rng(seed)
    table = np.array([[1.0, *rates] for rates in hours])
    used = (found.draws * table[random.integers(0, len(table), len(found.draws))]).sum(axis=1)
    loads: Array = used * (1 + random.uniform(-found.allowance, found.allowance, len(used)))
    return loads


def amounts(interval: tuple[float, float, float], draws: int, *, seed: int = 5) -> Array:
    """Draws of how much there is, by low, middle, high: logarithms are normal, as wide as the interval (none: all alike)."""
    import numpy as np
    from scipy.special import ndtri

    low, middle, high = (math.log(one) for one in interval)
    spread = (high - low) / 2 / float(ndtri((1 + CONFIDENCE) / 2))
    found: Array = np.exp(np.random.default_rng(seed).normal(middle, spread, draws))
    return found


def scaled(old: Demands, of_old: int, new: Demands, of_new: int) -> tuple[float, float, float]:
    """Low, estimate, high of the ratio of two demands, told by their places; infinite where the old one may be nothing."""
    import numpy as np

    count = min(len(old.draws), len(new.draws))
    before = old.draws[:count, of_old + 1]
    after = np.random.default_rng(4).permutation(new.draws[:count, of_new + 1])
    ratio = np.divide(after, before, out=np.full(count, np.inf), where=before > 0)
    low, _, high = quantiles(ratio)
    value = new.each[of_new] / old.each[of_old] if old.each[of_old] > 0 else math.inf
    return low, value, high


def highest_rate(found: Demands, capacity: float, shares: Sequence[float]) -> tuple[float, float, float] | None:
    """Low, estimate, high of the rate (1/s) at which a mix uses up so many units/s; None where it uses nothing."""
    import numpy as np

    each = float(np.dot(found.each, shares))
    of_one = found.draws[:, 1:] @ np.array(shares)
    if each <= 0 or of_one.min() <= 0:
        return None
    low, _, high = quantiles(np.maximum(0.0, capacity - found.draws[:, 0]) / of_one)
    return low, max(0.0, capacity - found.background) / each, high


def quantiles(draws: Array, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Low, median, high of draws."""
    import numpy as np

    low, middle, high = np.quantile(draws, [(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
    return float(low), float(middle), float(high)


def _weights(points: Sequence[MixPoint]) -> Array:
    """What the error of each trial is told as a share of."""
    import numpy as np

    used = np.array([point.used for point in points])
    weights: Array = np.maximum(used, FLOOR * used.max())
    return weights


def _terms(points: Sequence[MixPoint], weights: Array) -> Array:
    """One row a trial: 1 and the rates, each as a share of what was used."""
    import numpy as np

    terms: Array = np.array([[1.0, *point.rates] for point in points]) / weights[:, None]
    return terms


def _fit(terms: Array, target: Array, has_background: bool) -> Array:  # noqa: FBT001  a term of the sum that is there or not
    """Background and demands."""
    import numpy as np
    from scipy.optimize import nnls

    terms = terms if has_background else terms[:, 1:]
    scale = np.linalg.norm(terms, axis=0)
    scale[scale == 0] = 1.0
    found: Array = nnls(terms / scale, target)[0] / scale
    return found if has_background else np.concatenate([[0.0], found])


def _separate(points: Sequence[MixPoint], mixes: Sequence[str], *, with_background: bool) -> bool:
    """Whether the means of the mixes tell all terms apart: noise alone never does."""
    import numpy as np

    terms = _terms(points, _weights(points))
    terms = terms if with_background else terms[:, 1:]
    of_mix = [terms[[place for place, point in enumerate(points) if point.mix == mix]] for mix in mixes]
    means = np.array([rows.mean(axis=0) for rows in of_mix])
    lengths = np.linalg.norm(means, axis=0)
    if len(mixes) < means.shape[1] or not lengths.all():
        return False
    _, singular, directions = np.linalg.svd(means / lengths)
    least = directions[-1] / lengths
    off = math.sqrt(sum(float((rows @ least).var(ddof=1)) / len(rows) for rows in of_mix))
    return bool(singular[-1] >= max(NO_RANK * singular[0], NOISE * off))


def _off(points: Sequence[MixPoint], fitted: Array) -> Array:
    """How far each trial is from the line, as a share of what the line says, or of the floor."""
    import numpy as np

    used = np.array([point.used for point in points])
    line = np.array([[1.0, *point.rates] for point in points]) @ fitted
    shares: Array = (used - line) / np.maximum(line, FLOOR * used.max())
    return shares


def _widening(degrees: int) -> float:
    """Student's t for the normal quantile at the confidence that is told."""
    from scipy.special import ndtri, stdtrit

    at = (1 + CONFIDENCE) / 2
    return float(stdtrit(degrees, at) / ndtri(at))


def waiting_share(servers: int, utilisation: float) -> float:
    """The share of requests that wait, with utilisation per server (0..1); 1 from full load on. Raises ValueError."""
    if servers < 1 or utilisation < 0:
        raise ValueError("found no server or a utilisation below 0")
    if utilisation >= 1:
        return 1.0
    offered, blocked = servers * utilisation, 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - utilisation * (1 - blocked))


def slowdown(servers: int, utilisation: float) -> float:
    """Mean response time over service time: 1 with nobody else, infinite from full load on. Raises ValueError."""
    wait = waiting_share(servers, utilisation)
    return float("inf") if utilisation >= 1 else 1 + wait / (servers * (1 - utilisation))

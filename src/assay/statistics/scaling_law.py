"""Throughput over concurrency: linear, clipped, Amdahl's and Gunther's law fitted to trials, and where the last has its peak.

X(N) = lambda N / (1 + alpha (N - 1) + beta N (N - 1)), with alpha the share that is serial (contention) and beta the price of
agreement (coherency); beta = 0 is Amdahl's law, alpha = beta = 0 is linear. N / X is linear in its coefficients, so it is
fitted by non-negative least squares on relative errors, which for small noise are those of ln X. Clipped is X(N) = min(lambda
N, C), a straight line up to the level of a resource that is used up (a roofline), by least squares on ln X. The laws are
compared by AICc. Peak at N = sqrt((1 - alpha) / beta); its interval is that of a bootstrap of the residuals, blown up for the
fitted parameters.

References: Gunther, Guerrilla Capacity Planning, 2007, ch. 4 to 6; Burnham and Anderson, Model Selection, 2002 (AICc);
Davison and Hinkley, Bootstrap Methods, 1997, 6.2 (resampled residuals).

`crossings` are where a curve that was measured at some places passes a level. The curve and its interval are joined by straight
lines; the bounds are where the ends of the interval pass the level (the inverse of a confidence band, as Fieller's theorem is
that of a ratio). Outside of the places nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DRAWS = 1000
BAND_DRAWS = 300
LEAST_LEVELS = 4
"""Three parameters and a level to be wrong at."""
Point = tuple[float, float]
"""Concurrency, throughput of one trial; both above 0."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """One law as fitted."""

    name: str
    """linear, clipped, amdahl or usl."""
    one: float
    """lambda: the throughput of one alone, in the unit of the throughputs."""
    contention: float
    coherency: float
    aicc: float
    ceiling: float = math.inf
    """C: the throughput at which it is clipped."""

    def at(self, n: float) -> float:
        """The throughput at a concurrency."""
        return min(self.ceiling, self.one * n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1)))

    @property
    def parameters(self) -> int:
        """How many it has."""
        return PARAMETERS[self.name]

    @property
    def peak(self) -> float | None:
        """The concurrency with the highest throughput; None where it grows for ever."""
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherency) if self.coherency > 0 else None


PARAMETERS = {"linear": 1, "amdahl": 2, "usl": 3, "clipped": 2}


def laws(points: Sequence[Point]) -> tuple[Law, ...]:
    """The laws, the best by AICc first. Raises ValueError for fewer than four levels or figures that are not positive."""
    if len({n for n, _ in points}) < LEAST_LEVELS or min(min(point) for point in points) <= 0:
        raise ValueError("found too few levels, or figures not above 0")
    import numpy as np

    n, x = np.asarray(points, dtype=float).T
    return tuple(sorted((_law(name, n, x) for name in PARAMETERS), key=lambda law: law.aicc))


def _best(n: Array, x: Array) -> Law:
    return min((_law(name, n, x) for name in PARAMETERS), key=lambda law: law.aicc)


def _law(name: str, n: Array, x: Array) -> Law:
    """One law with its AICc; the deviation of the noise is a parameter, too."""
    import numpy as np

    bare = _fit(name, n, x)
    curve = bare.one * n / (1 + bare.contention * (n - 1) + bare.coherency * n * (n - 1))
    squares = float((np.log(x / np.minimum(curve, bare.ceiling)) ** 2).sum())
    count, parameters = len(n), bare.parameters + 1
    spare = max(count - parameters - 1, 1)
    aicc = count * math.log(max(squares, 1e-300) / count) + 2 * parameters * (1 + (parameters + 1) / spare)
    return replace(bare, aicc=aicc)


def _fit(name: str, n: Array, x: Array) -> Law:
    """One law fitted to concurrencies and throughputs; its AICc is left open."""
    import numpy as np
    from scipy.optimize import nnls

    if name == "clipped":
        return _clipped(n, x)
    terms = (x / n)[:, None] * np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)[:, : PARAMETERS[name]]
    base, *rest = (float(value) for value in nnls(terms, np.ones(len(terms)))[0])
    contention, coherency = (*(value / base for value in rest), 0.0, 0.0)[:2]
    return Law(name=name, one=1 / base, contention=contention, coherency=coherency, aicc=0.0)


def _clipped(n: Array, x: Array) -> Law:
    """The straight line and the level beyond it, with the bend between those two levels that leave the least squares."""
    import numpy as np

    each, y = np.log(x / n), np.log(x)
    found = []
    for last in np.unique(n)[:-1]:
        below = n <= last
        one, ceiling = each[below].mean(), y[~below].mean()
        squares = float(((y - np.minimum(one + np.log(n), ceiling)) ** 2).sum())
        found.append((squares, math.exp(one), math.exp(ceiling)))
    _, one, ceiling = min(found)
    return Law(name="clipped", one=one, contention=0.0, coherency=0.0, aicc=0.0, ceiling=ceiling)


def misfit(points: Sequence[Point], law: Law, level: float = 0.01) -> float:
    """The farthest that the mean at a concurrency is from the law, as a share of it; 0 where noise alone explains it (F test).

    Draper and Smith, Applied Regression Analysis, 1998, 2.1 (lack of fit and pure error), on ln X.
    """
    import numpy as np
    from scipy.special import fdtrc

    left: dict[float, list[float]] = {}
    for n, x in points:
        left.setdefault(n, []).append(math.log(x / law.at(n)))
    spare, pure = len(left) - law.parameters, len(points) - len(left)
    means = [float(np.mean(each)) for each in left.values()]
    if spare < 1 or pure < 1:
        return 0.0
    lack = sum(len(each) * mean**2 for each, mean in zip(left.values(), means, strict=True)) / spare
    noise = sum(float(np.var(each)) * len(each) for each in left.values()) / pure
    explained = lack <= 0 or (noise > 0 and float(fdtrc(spare, pure, lack / noise)) >= level)
    return 0.0 if explained else math.expm1(max(map(abs, means)))


def peak_interval(
    points: Sequence[Point], law: Law, confidence: float = 0.95, seed: int = 1, draws: int = DRAWS
) -> tuple[float, float]:
    """Bounds of the peak's concurrency; the upper one is infinite where no peak is as likely."""
    import numpy as np

    peaks = [math.inf if found.peak is None else found.peak for found in _refitted("usl", points, law, (seed, draws))]
    low, high = np.quantile(peaks, [(1 - confidence) / 2, (1 + confidence) / 2], method="higher")
    return float(low), float(high)


def band(
    points: Sequence[Point], law: Law, places: Sequence[float], confidence: float = 0.95, seed: int = 1, draws: int = BAND_DRAWS
) -> tuple[tuple[float, float], ...]:
    """Bounds of the throughput at each place, place by place: as far to either side of the law as the farther end of the draws.

    Each draw has the law that AICc chooses for it, which need not be the one that was chosen for the points.
    """
    import numpy as np
    from scipy.special import ndtri, stdtrit

    line = np.array([law.at(place) for place in places])
    curves = np.array([[found.at(place) for place in places] for found in _refitted(None, points, law, (seed, draws))])
    ends = np.quantile(np.log(curves / line), [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    at, degrees = (1 + confidence) / 2, max(1, len(points) - law.parameters)
    half = np.abs(ends).max(axis=0) * float(stdtrit(degrees, at) / ndtri(at))
    return tuple((float(a), float(b)) for a, b in zip(line * np.exp(-half), line * np.exp(half), strict=True))


def _refitted(name: str | None, points: Sequence[Point], law: Law, random: tuple[int, int]) -> Iterator[Law]:
    """A law of this name, else the best one, fitted to resampled residuals of a law; `random`: seed and how many draws."""
    import numpy as np

    residuals = np.array([math.log(x / law.at(n)) for n, x in points])
    residuals = (residuals - residuals.mean()) * math.sqrt(len(points) / max(1, len(points) - PARAMETERS[name or law.name]))
    n = np.array([n for n, _ in points])
    fitted = np.array([law.at(each) for each in n])
    chance = np.random.default_rng(random[0])
    for _ in range(random[1]):
        again = fitted * np.exp(chance.choice(residuals, size=len(residuals)))
        yield _fit(name, n, again) if name else _best(n, again)


@dataclass(frozen=True, kw_only=True)
class CurveValue:
    """The curve at one place, with its interval."""

    at: float
    low: float
    value: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """One passage; a bound is None where the interval does not pass within the places."""

    at: float
    low: float | None
    high: float | None
    rising: bool


def crossings(bands: Sequence[CurveValue], level: float = 0.0) -> tuple[Crossing, ...]:
    """Every passage of the curve through the level, from left to right."""
    ordered = sorted(bands, key=lambda band: band.at)
    places = [band.at for band in ordered]
    value, low, high = (_passages(places, [getattr(band, name) - level for band in ordered]) for name in ("value", "low", "high"))
    found = []
    for at, rising in value:
        edges = [_nearest([place for place, up in edge if up is rising], at) for edge in (low, high)]
        first, last = (edges[1], edges[0]) if rising else edges
        found.append(Crossing(at=at, low=_below(first, at), high=_above(last, at), rising=rising))
    return tuple(found)


def _passages(places: Sequence[float], values: Sequence[float]) -> list[tuple[float, bool]]:
    """Where the line passes 0, and whether it rises there."""
    found = []
    for (left, before), (right, after) in pairwise(zip(places, values, strict=True)):
        if (before < 0) != (after < 0):
            found.append((left + (right - left) * before / (before - after), after > before))
    return found


def _nearest(places: Sequence[float], at: float) -> float | None:
    return min(places, key=lambda place: abs(place - at), default=None)


def _below(place: float | None, at: float) -> float | None:
    return place if place is not None and place <= at else None


def _above(place: float | None, at: float) -> float | None:
    return place if place is not None and place >= at else None

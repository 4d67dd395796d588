"""Throughput over concurrency: linear, Amdahl's and Gunther's law fitted to trials, and where the last has its peak.

X(N) = lambda N / (1 + alpha (N - 1) + beta N (N - 1)), with alpha the share that is serial (contention) and beta the price of
agreement (coherency); beta = 0 is Amdahl's law, alpha = beta = 0 is linear. N / X is linear in its coefficients, so it is fitted
by non-negative least squares on relative errors, which for small noise are those of ln X. The laws are compared by AICc.
Peak at N = sqrt((1 - alpha) / beta); its interval is that of a bootstrap of the residuals, blown up for the fitted parameters.

References: Gunther, Guerrilla Capacity Planning, 2007, ch. 4 to 6; Burnham and Anderson, Model Selection, 2002 (AICc);
Davison and Hinkley, Bootstrap Methods, 1997, 6.2 (resampled residuals).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DRAWS = 1000
LEAST_LEVELS = 4
"""Three parameters and a level to be wrong at."""
Point = tuple[float, float]
"""Concurrency, throughput of one trial; both above 0."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """One law as fitted."""

    name: str
    """linear, amdahl or usl."""
    one: float
    """lambda: the throughput of one alone, in the unit of the throughputs."""
    contention: float
    coherency: float
    aicc: float

    def at(self, n: float) -> float:
        """The throughput at a concurrency."""
        return self.one * n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1))

    @property
    def parameters(self) -> int:
        """How many it has."""
        return NAMES.index(self.name) + 1

    @property
    def peak(self) -> float | None:
        """The concurrency with the highest throughput; None where it grows for ever."""
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherency) if self.coherency > 0 else None


NAMES = ("linear", "amdahl", "usl")


def laws(points: Sequence[Point]) -> tuple[Law, ...]:
    """The three laws, the best by AICc first. Raises ValueError for fewer than four levels or figures that are not positive."""
    if len({n for n, _ in points}) < LEAST_LEVELS or min(min(point) for point in points) <= 0:
        raise ValueError("found too few levels, or figures not above 0")
    found = (_law(name, points, _fitted(_terms(points)[:, : place + 1])) for place, name in enumerate(NAMES))
    return tuple(sorted(found, key=lambda law: law.aicc))


def _terms(points: Sequence[Point]) -> Array:
    import numpy as np

    n, x = np.asarray(points, dtype=float).T
    terms: Array = (x / n)[:, None] * np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    return terms


def _fitted(terms: Array) -> Array:
    import numpy as np
    from scipy.optimize import nnls

    found: Array = nnls(terms, np.ones(len(terms)))[0]
    return found


def _law(name: str, points: Sequence[Point], found: Array) -> Law:
    base, *rest = (float(value) for value in found)
    contention, coherency = (*(value / base for value in rest), 0.0, 0.0)[:2]
    bare = Law(name=name, one=1 / base, contention=contention, coherency=coherency, aicc=0.0)
    squares = sum(math.log(x / bare.at(n)) ** 2 for n, x in points)
    count, parameters = len(points), len(found) + 1
    spare = max(count - parameters - 1, 1)
    aicc = count * math.log(max(squares, 1e-300) / count) + 2 * parameters * (1 + (parameters + 1) / spare)
    return Law(name=name, one=1 / base, contention=contention, coherency=coherency, aicc=aicc)


def peak_interval(
    points: Sequence[Point], law: Law, confidence: float = 0.95, seed: int = 1, draws: int = DRAWS
) -> tuple[float, float]:
    """Bounds of the peak's concurrency; the upper one is infinite where no peak is as likely."""
    import numpy as np

    peaks = []
    for base, serial, agree in _refitted(points, law, (seed, draws)):
        peaks.append(math.sqrt(max(0.0, 1 - serial / base) * base / agree) if agree > 0 else math.inf)
    low, high = np.quantile(peaks, [(1 - confidence) / 2, (1 + confidence) / 2], method="higher")
    return float(low), float(high)


def band(
    points: Sequence[Point], law: Law, places: Sequence[float], confidence: float = 0.95, seed: int = 1, draws: int = DRAWS
) -> tuple[tuple[float, float], ...]:
    """Bounds of the law's throughput at each place, place by place."""
    import numpy as np

    n = np.array(places)
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)])
    curves = np.array([n / (found @ terms[: len(found)]) for found in _refitted(points, law, (seed, draws), law.parameters)])
    low, high = np.quantile(curves, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def _refitted(points: Sequence[Point], law: Law, random: tuple[int, int], parameters: int = 3) -> Iterator[Array]:
    """The coefficients of as many terms fitted to resampled residuals, draw by draw; `random`: seed and how many draws."""
    import numpy as np

    residuals = np.array([math.log(x / law.at(n)) for n, x in points])
    residuals = (residuals - residuals.mean()) * math.sqrt(len(points) / max(1, len(points) - parameters))
    n = np.array([n for n, _ in points])
    at = _terms([(each, law.at(each)) for each in n])[:, :parameters]
    chance = np.random.default_rng(random[0])
    for _ in range(random[1]):
        yield _fitted(at * np.exp(chance.choice(residuals, size=len(residuals)))[:, None])

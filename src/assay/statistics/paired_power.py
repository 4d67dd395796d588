"""What a comparison over blocks can detect, and what it can prove to matter, before it is run.

Sources: power of the t test by the noncentral t distribution: J. Cohen, Statistical Power Analysis for the Behavioral
Sciences (1988), 2.3 and appendix; ratios as differences of logarithms: D. Altman, M. Bland, Transforming data (1996).
The standard deviation of the difference of two logarithms, each with coefficient of variation CV, is sqrt(2) CV for small CV.
"""

from __future__ import annotations

import math
from enum import Enum

LEVEL = 0.05
POWER = 0.8
_HALVINGS = 60
_QUANTILES = 4000


class Design(Enum):
    """How the planned analysis takes the difference of two arms: what its degrees of freedom are."""

    PAIRED = "paired"
    """Both arms in every block: n - 1."""
    INDEPENDENT = "independent"
    """Arms in different sittings: 2 n - 2."""


def detectable(blocks: int, cv: float, design: Design = Design.PAIRED) -> float | None:
    """The smallest relative difference (0.07 = 7 %) that a two-sided 5 % t test on logs shows with 80 % power.

    `cv` is the coefficient of variation of one arm within a cell (share). None with fewer than two blocks.
    """
    effect = log_effect(blocks, cv, design)
    return None if effect is None else math.expm1(effect)


def provable(blocks: int, cv: float, matters: float, design: Design = Design.PAIRED) -> float | None:
    """The smallest true relative difference whose whole 95 % interval lies beyond `matters` (share) with 80 % power."""
    effect = log_effect(blocks, cv, design)
    return None if effect is None else math.expm1(math.log1p(matters) + effect)


def log_effect(
    blocks: int, cv: float, design: Design = Design.PAIRED, *, level: float = LEVEL, power: float = POWER
) -> float | None:
    """The detectable difference of natural logarithms; None with fewer than two blocks."""
    if blocks < 2:
        return None
    freedom = blocks - 1 if design is Design.PAIRED else 2 * blocks - 2
    return noncentrality(freedom, level=level, power=power) * math.sqrt(2) * cv / math.sqrt(blocks)


def noncentrality(freedom: int, *, level: float, power: float) -> float:
    """The noncentrality at which a two-sided t test with so many degrees of freedom reaches this power.

    The noncentral t distribution is averaged over quantiles of chi: scipy.special.nctdtr has no value for one degree of
    freedom and large shifts.
    """
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    critical = float(stdtrit(freedom, 1 - level / 2))
    quantiles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    threshold = critical * np.sqrt(chdtri(freedom, quantiles) / freedom)

    def reached(shift: float) -> float:
        return float(np.mean(ndtr(shift - threshold) + ndtr(-shift - threshold)))

    low, high = 0.0, 2 * critical + 10.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < power else (low, middle)
    return high

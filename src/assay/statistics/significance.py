"""What tests of significance can detect before they are run, and p-values of many that hold for all together.

Power of the t test by the noncentral t distribution: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988),
2.3 and appendix; ratios as differences of logarithms: D. Altman, M. Bland, Transforming data (1996). The standard deviation of
the difference of two logarithms, each with coefficient of variation CV, is sqrt(2) CV for small CV.

Many candidates against one baseline that were measured in the same complete blocks: C. W. Dunnett, A multiple comparison
procedure for comparing several treatments with a control, J. American Statistical Association 50 (1955), 1096-1121. The
variance is the residual mean square of arms and blocks (two-way, additive, on logarithms), so its degrees of freedom are (arms
- 1) (blocks - 1) and not those of samples without blocks, which scipy.stats.dunnett assumes. All arms must spread alike:
`alike` says whether the differences to the baseline do. Any others: S. Holm, A simple sequentially rejective multiple test
procedure, Scandinavian J. of Statistics 6 (1979), 65-70. Where a share of false discoveries is what must be held: Y. Benjamini,
D. Yekutieli, The control of the false discovery rate in multiple testing under dependency, Annals of Statistics 29 (2001),
1165-1188, whose factor, the sum of 1/i, holds whatever depends on what.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from statistics import fmean, variance

LEVEL = 0.05
MOST_NEEDED = 1000
"""Blocks beyond which nobody says how many it would take."""
POWER = 0.8
_HALVINGS = 60
_POWER_QUANTILES = 4000


class Design(Enum):
    """How the planned analysis takes the difference of two arms: what its degrees of freedom are."""

    PAIRED = "paired"
    """Both arms in every block: n - 1."""
    INDEPENDENT = "independent"
    """Arms in different sittings: 2 n - 2."""


def log_effect(
    blocks: int, cv: float, design: Design = Design.PAIRED, *, level: float = LEVEL, power: float = POWER
) -> float | None:
    """The smallest difference of natural logarithms that a two-sided t test shows; None with fewer than two blocks.

    `cv` is the coefficient of variation of one arm within a cell (share).
    """
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
    quantiles = (np.arange(_POWER_QUANTILES) + 0.5) / _POWER_QUANTILES
    threshold = critical * np.sqrt(chdtri(freedom, quantiles) / freedom)

    def reached(shift: float) -> float:
        return float(np.mean(ndtr(shift - threshold) + ndtr(-shift - threshold)))

    low, high = 0.0, 2 * critical + 10.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < power else (low, middle)
    return high


MOST_UNLIKE = 4.0
"""Largest ratio of two variances of differences that still counts as alike."""
LEAST_BLOCKS = 3
_QUANTILES = 200
_GRID = 61
_REACH = 8.0

Arm = Sequence[float]
"""Positive values, one a block, in the order of the blocks."""


def alike(baseline: Arm, candidates: Sequence[Arm]) -> bool:
    """Whether the differences to the baseline (of logarithms) spread alike, so that one variance stands for all."""
    if len(baseline) < LEAST_BLOCKS:
        return False
    spreads = [variance(differences(baseline, arm)) for arm in candidates]
    return min(spreads) > 0 and max(spreads) / min(spreads) <= MOST_UNLIKE


def dunnett(baseline: Arm, candidates: Sequence[Arm]) -> tuple[float, ...]:
    """For each candidate the probability of so large a ratio, either way, of any of them where there is none.

    Raises ValueError where the arms have not the same blocks, at least three, or where there is no spread.
    """
    arms = [[math.log(value) for value in arm] for arm in (baseline, *candidates)]
    blocks = len(arms[0])
    if blocks < LEAST_BLOCKS or any(len(arm) != blocks for arm in arms):
        raise ValueError(f"found arms of {', '.join(str(len(arm)) for arm in arms)} blocks; expected at least 3, the same in all")
    freedom = (len(arms) - 1) * (blocks - 1)
    square = residual_square(arms) / freedom
    if square <= 0:
        raise ValueError("found no spread at all; expected some")
    scale = math.sqrt(2 * square / blocks)
    return tuple(exceeded(abs(fmean(arm) - fmean(arms[0])) / scale, len(candidates), freedom) for arm in arms[1:])


def exceeded(statistic: float, candidates: int, freedom: float) -> float:
    """The probability of at least this of the largest of so many t statistics with one baseline and variance, either way.

    Statistics of one baseline correlate by 1/2: given the baseline they are independent, so it is one integral over it and
    one over the variance; held between the probability of one alone and that times their number (Bonferroni).
    """
    return _exceeded(statistic, candidates, freedom, sides=2)


def exceeded_above(statistic: float, candidates: int, freedom: float) -> float:
    """The same of the largest one upwards: how probable it is that one of so many candidates is so far above the baseline."""
    return _exceeded(statistic, candidates, freedom, sides=1)


def _exceeded(statistic: float, candidates: int, freedom: float, *, sides: int) -> float:
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtr

    alone = float(sides * stdtr(freedom, -statistic))
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    bounds = math.sqrt(2) * statistic * np.sqrt(chdtri(freedom, shares) / freedom)[:, None]
    at = np.linspace(-_REACH, _REACH, _GRID)
    weights = np.exp(-(at**2) / 2)
    within = (ndtr(at + bounds) - (ndtr(at - bounds) if sides == 2 else 0.0)) ** candidates
    inside = float(np.mean(within @ (weights / weights.sum())))
    return min(max(1 - inside, alone), candidates * alone, 1.0)


def differences(baseline: Arm, candidate: Arm) -> list[float]:
    """Of logarithms, candidate less baseline, block by block."""
    return [math.log(b / a) for a, b in zip(baseline, candidate, strict=True)]


def residual_square(arms: Sequence[Sequence[float]]) -> float:
    """The sum of squares that neither arms nor blocks explain."""
    of_arms, of_blocks = [fmean(arm) for arm in arms], [fmean(block) for block in zip(*arms, strict=True)]
    centre = fmean(of_arms)
    return sum(
        (value - of_arm - of_block + centre) ** 2
        for arm, of_arm in zip(arms, of_arms, strict=True)
        for value, of_block in zip(arm, of_blocks, strict=True)
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted by Holm's procedure, in the order given."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = highest
    return tuple(adjusted)


def benjamini_yekutieli(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted so that of those up to 5 % at most 5 % are false, on average; in the order given."""
    many, lowest = len(p_values), 1.0
    factor = many * false_discovery_factor(many)
    adjusted = [1.0] * many
    for rank, position in reversed(list(enumerate(sorted(range(many), key=p_values.__getitem__), 1))):
        lowest = min(lowest, factor / rank * p_values[position])
        adjusted[position] = lowest
    return tuple(adjusted)


def false_discovery_factor(many: int) -> float:
    """The sum of 1/i up to so many tests: by how much stricter than independent tests any others are."""
    return sum(1 / rank for rank in range(1, many + 1))

"""How often something happens: a share of trials with its exact interval.

Reference: C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial,
Biometrika 26 (1934), 404-413. The limits are quantiles of beta distributions; they hold the true share at least as often as
they say, also where all trials or none came out, and for few trials.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """So many of so many, and the interval of the share; low and high are None where nothing was tried."""

    happened: int
    of: int
    low: float | None
    high: float | None


def proportion(happened: int, of: int, confidence: float = 0.95) -> Proportion:
    """The share of `happened` in `of` independent trials with its two-sided interval.

    Raises ValueError where it is no count of trials, or the confidence no share.
    """
    if not 0 <= happened <= of:
        raise ValueError(f"found {happened} of {of}; expected 0 to {of}")
    if not 0 < confidence < 1:
        raise ValueError(f"found a confidence of {confidence}; expected one between 0 and 1")
    if of == 0:
        return Proportion(happened=0, of=0, low=None, high=None)
    from scipy.special import betaincinv

    tail, failed = (1 - confidence) / 2, of - happened
    return Proportion(
        happened=happened,
        of=of,
        low=float(betaincinv(happened, failed + 1, tail)) if happened else 0.0,
        high=float(betaincinv(happened + 1, failed, 1 - tail)) if failed else 1.0,
    )

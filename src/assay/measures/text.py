"""Figures in words for people."""

from __future__ import annotations

import math

from assay.records import Estimate
from assay.units import Unit, human, percent

PART = "; "
"""Between the parts of a label."""
WIDE = 10.0
"""High over low from which on an interval bears no more than two digits of each."""


def with_unit(value: float, unit: str) -> str:
    """`4.10 GB/s`, `7,410/s`, `3.20 ms`: three significant digits, decimal prefixes (MB is 10^6 bytes)."""
    return percent(value) if unit == Unit.SHARE else human(value, Unit(unit))


def in_bytes(count: float) -> str:
    """`268 MB`."""
    return with_unit(count, Unit.BYTES)


def difference(share: float | None) -> str:
    """Give a relative difference, `8 %` or `150x`; empty where none is known."""
    if share is None or not math.isfinite(share):
        return ""
    return percent(share) if share < 1 else f"{float(f'{1 + share:.2g}'):,g}x"


def digits(ratio: Estimate) -> tuple[str, str, str]:
    """Ratio, low and high with as many decimals as the interval bears: two, three where it is narrow.

    Where the ends are so far apart that one of them needs more decimals than the other has digits, two digits of each.
    """
    ends = [end for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    if ratio.low is not None and ratio.high is not None and ratio.high > WIDE * ratio.low > 0:
        value, low, high = (two_digits(end) for end in (ratio.value, ratio.low, ratio.high))
        return value, low, high
    places = decimals(min(ends), max(ends) - min(ends) if ratio.low is not None else 1.0)
    value, low, high = (decimal(end, places) for end in (ratio.value, ratio.low, ratio.high))
    return value, low, high


def two_digits(value: float) -> str:
    """`0.052`, `1.6`, `30`, `1,200`."""
    places = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{places}f}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def decimal(value: float | None, places: int) -> str:
    """The number with so many decimals, two at most from 2 on; empty where there is none."""
    return "" if value is None else f"{value:,.{min(places, 2) if value >= 2 else places}f}"


def decimals(smallest: float, width: float) -> int:
    """Digits behind the point: two significant ones of the smallest end at least."""
    if smallest >= 10:
        return 1 if smallest < 100 else 0
    if 0 < smallest < 0.1:
        return min(6, 1 - math.floor(math.log10(smallest)))
    return 3 if width < 0.03 else 2

"""Figures in words, with four digits where a limit is told and three where a result is."""

from __future__ import annotations

from fractions import Fraction

from assay import measures, units
from assay.published.digits import Interval
from assay.published.vocabulary import BASES, Kind
from assay.units import Unit

UNITS_OF = {"bytes/s": Unit.BYTES_PER_S, "bytes": Unit.BYTES, "1/s": Unit.PER_S, "count": Unit.COUNT, "": Unit.NONE}


def quantity(value: Fraction | float, kind: Kind) -> str:
    """`853 MB/s`, `7,410/s`, `0.63 s`, `13.3 %`."""
    base = BASES[kind]
    if base == "s":
        return seconds(float(value))
    if base == "share":
        return measures.percent(float(value))
    return units.human(float(value), UNITS_OF[base])


def seconds(value: float) -> str:
    """`0.63 s`, `283 s`, `35.1 min`, `4.00 ms`."""
    return (
        f"{value:.2g} s"
        if 0.1 <= value < 1
        else f"{value:.3g} s"
        if 1 <= value < 600
        else units.human(value * 1e9, Unit.NANOSECONDS)
    )


def capacity(bytes_per_s: float) -> str:
    """`206.6 MB/s`: four digits, as capacities are tabulated."""
    scale, name = (1e9, "GB/s") if bytes_per_s >= 1e9 else (1e6, "MB/s")
    return f"{bytes_per_s / scale:.4g} {name}"


def bits(bytes_per_s: float) -> str:
    """`941.5 Mbit/s`, of bytes a second."""
    scale, name = (1e9, "Gbit/s") if bytes_per_s >= 1.25e8 else (1e6, "Mbit/s")
    return f"{8 * bytes_per_s / scale:.4g} {name}"


def between(interval: Interval, kind: Kind) -> str:
    """`787 MB/s to 932 MB/s`."""
    low = quantity(interval.low, kind)
    if interval.high is None:
        return f"{low} or more"
    high = quantity(interval.high, kind)
    number, _, unit = low.partition(" ")
    return f"{number} to {high}" if unit and high.endswith(f" {unit}") else f"{low} to {high}"


def rounding(interval: Interval, kind: Kind, words: str = "") -> str:
    """` (787 to 932 MB/s by the printed digits)`, with its leading space; empty where the ends differ by less than 1 %."""
    if interval.high is not None and interval.high * 100 <= interval.low * 101:
        return ""
    return f" ({between(interval, kind)}{words})"


def times(ratio: Fraction | float) -> str:
    """`2.42 times`, `109 % of`: how much one thing is of another."""
    return f"{float(ratio):.3g} times" if ratio >= 2 else f"{measures.percent(float(ratio))} of"


def two_digits(share: Fraction | float) -> str:
    """`4.5 %`, `21 %`, `117 %`: the end of an interval."""
    percent = 100 * float(share)
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"

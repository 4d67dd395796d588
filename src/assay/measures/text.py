"""Figures in words for people: three significant digits and a unit."""

from __future__ import annotations

from assay.units import Unit

DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
TIMES = ((60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def with_unit(value: float, unit: str) -> str:
    """`4.10 GB/s`, `7,410/s`, `3.20 ms`, `2.0 %`: decimal prefixes (MB is 10^6 bytes), three significant digits."""
    if unit in (Unit.BYTES, Unit.BYTES_PER_S):
        number, prefix = scaled(value, DECIMAL)
        return f"{number} {prefix}B{'/s' if unit == Unit.BYTES_PER_S else ''}" if prefix else f"{number} {unit}"
    if unit == Unit.NANOSECONDS:
        number, name = scaled(value, TIMES)
        return f"{number} {name or 'ns'}"
    if unit == Unit.SHARE:
        return percent(value)
    return f"{grouped(value)}{'/s' if unit == Unit.PER_S else ''}"


def percent(share: float) -> str:
    """`2.0 %`, `98 %`, `0.04 %`: a share as a percentage, without digits that nobody needs."""
    number = 100 * share
    if abs(number) >= 99.95 or number == 0:
        return f"{number:.0f} %"
    return f"{number:.2g} %" if abs(number) < 1 else f"{number:.1f} %"


def scaled(value: float, steps: tuple[tuple[float, str], ...]) -> tuple[str, str]:
    """The number and the name of the largest step that it reaches once rounded to three digits."""
    rounded = float(f"{value:.3g}")
    for size, name in steps:
        if abs(rounded) >= size:
            return significant(value / size), name
    return significant(value), ""


def significant(value: float) -> str:
    """Three significant digits, whole numbers from 100 on."""
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100 or rounded == 0:
        return f"{rounded:.0f}"
    return f"{rounded:.1f}" if abs(rounded) >= 10 else f"{rounded:.3g}" if abs(rounded) < 1 else f"{rounded:.2f}"


def grouped(value: float) -> str:
    """A count with thousands separated; three significant digits below 100."""
    return f"{round(value):,}" if abs(value) >= 99.95 else significant(value)

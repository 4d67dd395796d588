"""Figures in words for people."""

from __future__ import annotations

from assay.units import Unit, human

PART = "; "
"""Between the parts of a label."""


def with_unit(value: float, unit: str) -> str:
    """`4.10 GB/s`, `7,410/s`, `3.20 ms`: three significant digits, decimal prefixes (MB is 10^6 bytes)."""
    return percent(value) if unit == Unit.SHARE else human(value, Unit(unit))


def in_bytes(count: float) -> str:
    """`268 MB`."""
    return with_unit(count, Unit.BYTES)


def percent(share: float) -> str:
    """`2 %`, `98.4 %`, `0.04 %`: a share as a percentage, without digits that nobody needs."""
    number = 100 * share
    if number == 0 or abs(number) >= 99.95:
        return f"{number:.0f} %"
    if abs(number) < 0.01:
        return "under 0.01 %"
    digits = f"{number:.2g}" if abs(number) < 1 else f"{number:.1f}".removesuffix(".0")
    return f"{digits} %"

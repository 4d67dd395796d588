"""Figures in words for people."""

from __future__ import annotations

from assay.units import Unit, human, percent

PART = "; "
"""Between the parts of a label."""


def with_unit(value: float, unit: str) -> str:
    """`4.10 GB/s`, `7,410/s`, `3.20 ms`: three significant digits, decimal prefixes (MB is 10^6 bytes)."""
    return percent(value) if unit == Unit.SHARE else human(value, Unit(unit))


def in_bytes(count: float) -> str:
    """`268 MB`."""
    return with_unit(count, Unit.BYTES)

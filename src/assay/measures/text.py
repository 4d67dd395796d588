"""Figures in words for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

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


def label_of(labels: Sequence[str]) -> str:
    """The label of several runs: the parts that all begin with, and the rest of the first, said to be of one run.

    That rest may hold that run's own figures, which are not those of the mean beside it.
    """
    parts = [label.split(PART) for label in labels]
    if len(set(labels)) < 2:
        return "".join(labels[:1])
    common = [here[0] for here in takewhile(lambda here: len(set(here)) == 1, zip(*parts, strict=False))]
    rest = parts[0][len(common) :]
    return PART.join([*common, f"in one run: {PART.join(rest)}"] if rest else common)

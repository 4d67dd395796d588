"""The bands of age and size in which files are counted.

An age band holds what is at least as old as its lower end and younger than its upper one; a size band what is larger than its
lower end and at most as large as its upper one. So every file is in exactly one cell. A month is 30 days and a year 365.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from assay import units
from assay.frozen import dataclass
from assay.units import Unit

DAY_NS = 86_400 * 10**9
KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class AgeBand:
    """Ages from `least_ns`, included, up to `below_ns`, excluded; the oldest band has no end."""

    label: str
    least_ns: int
    below_ns: int | None


@dataclass(frozen=True, kw_only=True)
class SizeBand:
    """Sizes above `above_bytes`, excluded, up to `most_bytes`, included; the first has no lower end, the last no upper one."""

    label: str
    above_bytes: int | None
    most_bytes: int | None


AGES: Mapping[str, int] = {
    "day": DAY_NS,
    "week": 7 * DAY_NS,
    "2 weeks": 14 * DAY_NS,
    "month": 30 * DAY_NS,
    "2 months": 60 * DAY_NS,
    "4 months": 120 * DAY_NS,
    "6 months": 180 * DAY_NS,
    "year": 365 * DAY_NS,
    "2 years": 730 * DAY_NS,
}
"""Where one age band ends and the next begins, youngest first."""

_SIZES = (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)


def _age_bands() -> tuple[AgeBand, ...]:
    names = (None, *AGES, None)
    return tuple(
        AgeBand(label=_between(low, high), least_ns=AGES[low] if low else 0, below_ns=AGES[high] if high else None)
        for low, high in itertools.pairwise(names)
    )


def _between(low: str | None, high: str | None) -> str:
    """`under 1 day`, `1 to 2 weeks`, `2 weeks to 1 month`, `2 years or more`."""
    if low is None or high is None:
        return f"{numbered(low)} or more" if low else f"under {numbered(high or '')}"
    start, end = numbered(low).split(), numbered(high).split()
    same = start[1].rstrip("s") == end[1].rstrip("s")
    return f"{start[0]} to {' '.join(end)}" if same else f"{' '.join(start)} to {' '.join(end)}"


def numbered(name: str) -> str:
    """`year` is `1 year`."""
    return name if name[0].isdigit() else f"1 {name}"


def _size_bands() -> tuple[SizeBand, ...]:
    ends = (None, *_SIZES, None)
    return tuple(SizeBand(label=_range(low, high), above_bytes=low, most_bytes=high) for low, high in itertools.pairwise(ends))


def _range(low: int | None, high: int | None) -> str:
    """`up to 1 KiB`, `1 to 4 KiB`, `256 KiB to 1 MiB`, `over 256 MiB`."""
    if low is None or high is None:
        return f"over {bytes_text(low)}" if low else f"up to {bytes_text(high or 0)}"
    start, end = bytes_text(low).split(), bytes_text(high).split()
    return f"{start[0]} to {' '.join(end)}" if start[1] == end[1] else f"{' '.join(start)} to {' '.join(end)}"


def bytes_text(count: int) -> str:
    """Return an exact number of bytes in its largest whole unit: `4 KiB`."""
    return units.format(count, Unit.BYTES)


AGE_BANDS: tuple[AgeBand, ...] = _age_bands()
"""Youngest first."""
SIZE_BANDS: tuple[SizeBand, ...] = _size_bands()
"""Smallest first."""


def age(text: str) -> int | units.Refusal:
    """The age in nanoseconds that is meant by the name of a band's end (`year`, `1 year`, `2 weeks`) or a time (`90 d`)."""
    named = {**AGES, **{numbered(name): age_ns for name, age_ns in AGES.items()}}
    if text.strip() in named:
        return named[text.strip()]
    result = units.attempt(text, Unit.NANOSECONDS)
    if isinstance(result, units.Refusal):
        return units.Refusal(found=repr(text), expected=f'an age such as "90 d" or "36 h", or one of: {", ".join(AGES)}')
    return int(result)


def age_text(age_ns: int) -> str:
    """Return an age as it is said in a sentence: `a year`, `2 weeks`, `90 days`, `36 h`."""
    for name, end_ns in AGES.items():
        if age_ns == end_ns:
            return name if name[0].isdigit() else f"a {name}"
    if age_ns and age_ns % DAY_NS == 0:
        return f"{age_ns // DAY_NS:,} days"
    return units.format(age_ns, Unit.NANOSECONDS)

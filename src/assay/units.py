"""Quantities in text, read and written: a closed list of units, exact integers ("4 KiB" is 4096, "1 Gbit/s" 125,000,000 bytes/s).

`MB` is 10^6 bytes and `MiB` 2^20; `bit` is never written `b`. What has two meanings in practice (`4k`, `KB`, `mb`, `Gbps`)
is refused with what to write instead, and so is what would not be a whole number of the base unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache

from assay.errors import UsageError
from assay.frozen import dataclass


class Unit(StrEnum):
    """What a knob or a figure is counted in; quantities are stored in these base units."""

    NONE = ""
    COUNT = "count"
    BYTES = "bytes"
    BYTES_PER_S = "bytes/s"
    PER_S = "1/s"
    NANOSECONDS = "ns"
    SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a text is no quantity of a unit."""

    found: str
    expected: str


MOST = 2**63 - 1
"""Quantities fit a signed 64-bit integer, as the engine, the notebook and SQL have them."""

MOST_SHARE = 10.0
"""A larger share is given as a factor: 138,439 % says less than 1,384 times."""
HUGE = 1e15
"""A number from here on is given with its exponent: nobody counts twenty digits."""

_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}

UNITS: Mapping[Unit, Mapping[str, Fraction]] = {
    Unit.NONE: {"": Fraction(1)},
    Unit.COUNT: {"": Fraction(1)},
    Unit.BYTES: {name: Fraction(size) for name, size in _BYTES.items()},
    Unit.BYTES_PER_S: {
        **{f"{name}/s": Fraction(size) for name, size in _BYTES.items()},
        **{f"{name}/s": Fraction(size, 8) for name, size in _BITS.items()},
    },
    Unit.PER_S: {
        "/s": Fraction(1),
        "IOPS": Fraction(1),
        "kIOPS": Fraction(1000),
        "tps": Fraction(1),
        "transactions/s": Fraction(1),
    },
    Unit.NANOSECONDS: {name: Fraction(size) for name, size in _NS.items()},
    Unit.SHARE: {"%": Fraction(1, 100)},
}
"""Every unit that is understood, with its size in base units."""

EXAMPLES: Mapping[Unit, str] = {
    Unit.NONE: "a number without a unit",
    Unit.COUNT: "a whole number without a unit",
    Unit.BYTES: 'bytes such as "4 KiB" or "1.5 GB"',
    Unit.BYTES_PER_S: 'a rate such as "100 MB/s", "64 KiB/s" or "1 Gbit/s"',
    Unit.PER_S: 'a rate such as "5000 /s" or "5 kIOPS"',
    Unit.NANOSECONDS: 'a time such as "250 us", "10 s" or "6 h"',
    Unit.SHARE: 'a share such as "5 %"',
}
"""What is expected, in words."""

_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(.*?)\s*", re.ASCII | re.DOTALL)
_AMBIGUOUS: Mapping[str, str] = {
    "k": "kB (1,000 bytes) or KiB (1,024 bytes)",
    "m": "MB (10^6 bytes), MiB (2^20 bytes), ms or min",
    "g": "GB (10^9 bytes) or GiB (2^30 bytes)",
    "t": "TB (10^12 bytes) or TiB (2^40 bytes)",
    "ki": "KiB",
    "mi": "MiB",
    "gi": "GiB",
    "ti": "TiB",
    "bps": "bit/s or B/s",
    "µs": "us",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "days": "d",
    "iops": "IOPS or /s",
    "tps": "tps or transactions/s",
    "ops/s": "/s",
    "percent": "%",
}
_BYTES_OR_BITS = re.compile(r"([kmgt])i?b(ps|/s)?", re.IGNORECASE)


def attempt(text: str, unit: Unit) -> int | float | Refusal:
    """Return the quantity in the base unit of `unit` (a float for shares, else an integer), or why it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return Refusal(found=repr(text), expected=f"{EXAMPLES[unit]} (digits, at most one decimal point, then the unit)")
    number, name = match.groups()
    size = UNITS[unit].get(name)
    if size is None:
        return Refusal(found=repr(text), expected=_what_to_write(name, unit))
    exact = Fraction(number) * size
    if unit is Unit.SHARE:
        return float(exact)
    if exact.denominator != 1:
        return Refusal(
            found=f"{text!r}, which is {float(exact):g} {_base(unit)}",
            expected=f"a whole number of {_base(unit)}: round it yourself",
        )
    if exact > MOST:
        return Refusal(found=repr(text), expected=f"at most {format(MOST, unit)}")
    return exact.numerator


def parse(text: str, unit: Unit) -> int | float:
    """Return the quantity in the base unit of `unit` (a float for shares, else an integer). Raises UsageError."""
    result = attempt(text, unit)
    if isinstance(result, Refusal):
        raise UsageError(f"found {result.found}; expected {result.expected}")
    return result


def format(value: float, unit: Unit) -> str:  # noqa: A001  `units.format` is the counterpart of `units.parse`
    """Return the shortest text that `parse` reads back as exactly this value; integers, or a share."""
    if unit is Unit.SHARE:
        return f"{(Decimal(repr(float(value))) * 100).normalize():f} %"
    if value != int(value) or value < 0:
        raise UsageError(f"found {value!r}; expected a whole number of {_base(unit)}, not below 0")
    whole = int(value)
    fitting = [
        (name, whole / size) for name, size in UNITS[unit].items() if (whole / size).denominator == 1 and name[-4:] != "IOPS"
    ]
    name, number = min(fitting, key=lambda pair: (pair[1], "bit" in pair[0])) if whole else fitting[0]
    return f"{number} {name}".strip()


class Prefixes(StrEnum):
    """How people want bytes and rates of bytes."""

    DECIMAL = "MB/s"
    BINARY = "MiB/s"
    """Sizes in KiB, MiB, GiB, too."""
    BITS = "Gbit/s"
    """Rates in bits, sizes in MB."""


class Shown:
    """What `human` prints in this process."""

    prefixes: Prefixes = Prefixes.DECIMAL


SHOWN = Shown()


def human(value: float, unit: Unit, figures: int = 3, *, bits: bool = False) -> str:
    """Format a figure for people: "1.24 GB/s", "13.2 ms", "20,000", "98.4 %", with so many significant digits.

    Zeros at the end are left out of more than three digits. With `bits` a rate of bytes is given in bits: "941.5 Mbit/s".
    The user may have other prefixes (`SHOWN`).
    """
    if not math.isfinite(value):
        return str(value)
    if unit is Unit.SHARE:
        return times(value) if abs(value) > MOST_SHARE else f"{digits(value * 100, figures)} %"
    trimmed = figures > 3
    if unit in (Unit.NONE, Unit.COUNT, Unit.PER_S):
        return digits(value, figures, trimmed=trimmed) + ("/s" if unit is Unit.PER_S else "")
    scales = _scales(unit, Prefixes.BITS if bits else SHOWN.prefixes)
    name, size = max((scale for scale in scales if scale[1] <= abs(value)), key=lambda scale: scale[1], default=scales[0])
    return f"{digits(value / size, figures, trimmed=trimmed)} {'µs' if name == 'us' else name}"


@cache
def _scales(unit: Unit, prefixes: Prefixes) -> tuple[tuple[str, float], ...]:
    """The units that a figure may be printed in, and their sizes."""

    def fits(name: str) -> bool:
        if unit is Unit.BYTES_PER_S and prefixes is Prefixes.BITS:
            return "bit" in name
        if unit in (Unit.BYTES, Unit.BYTES_PER_S) and prefixes is Prefixes.BINARY:
            return "bit" not in name and ("i" in name or name[0] == "B")
        return "i" not in name

    return tuple((name, float(size)) for name, size in UNITS[unit].items() if fits(name))


def digits(value: float, figures: int = 3, *, trimmed: bool = False, padded: bool = False) -> str:
    """Format a number with so many significant digits, all digits from 1,000 to 10^15, thousands separated.

    Whole numbers have no decimals unless `padded`; `trimmed` leaves zeros at the end out.
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) >= HUGE:
        return f"{value:.{figures - 1}e}"
    if abs(value) >= 1000 or (value == int(value) and not padded):
        return f"{value:,.0f}"
    places = max(0, figures - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 6)}f}"
    return text.rstrip("0").rstrip(".") if trimmed and places else text


def percent(share: float) -> str:
    """Format a share: `2 %`, `98.4 %`, `0.04 %`, without digits that nobody needs; `13.8 times` above 1,000 %."""
    if abs(share) > MOST_SHARE:
        return times(share)
    number = 100 * share
    if number == 0 or abs(number) >= 99.95:
        return f"{number:,.0f} %"
    if abs(number) < 0.01:
        return "under 0.01 %"
    text = f"{number:.2g}" if abs(number) < 1 else f"{number:.1f}".removesuffix(".0")
    return f"{text} %"


def times(ratio: float) -> str:
    """Format a ratio: `2.42 times`, `1,500 times`."""
    return f"{digits(ratio, trimmed=True)} times"


def counted(number: int, noun: str) -> str:
    """Format a count: `1 file`, `3,000 files`, `2 directories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _what_to_write(name: str, unit: Unit) -> str:
    if not name:
        return f"{EXAMPLES[unit]}: a unit behind the number"
    if name.startswith(","):
        return f"{EXAMPLES[unit]}: a decimal point, and no commas"
    known = " ".join(other for other in UNITS[unit] if other) or "none"
    meant = hint(name)
    return f"{EXAMPLES[unit]}{f'; for {name!r} write {meant}' if meant else ''} (units: {known})"


def hint(name: str) -> str | None:
    """Return what somebody may have meant who wrote this."""
    if any(name in table for table in UNITS.values()):
        return None
    if name.lower() in _AMBIGUOUS:
        return _AMBIGUOUS[name.lower()]
    letters = _BYTES_OR_BITS.fullmatch(name)
    if letters:
        prefix, rate = letters.group(1).upper(), "/s" if letters.group(2) else ""
        small = "k" if prefix == "K" else prefix
        bits = f" or {small}bit{rate}" if rate else ""
        return f"{small}B{rate} (powers of 1,000), {prefix}iB{rate} (powers of 1,024){bits}"
    per_second = re.sub(r"/sec(ond)?$", "", name) + "/s"
    if any(per_second in table for table in UNITS.values()):
        return per_second
    same = [known for table in UNITS.values() for known in table if known.lower() == name.lower() != ""]
    return same[0] if same else None


def _base(unit: Unit) -> str:
    return {Unit.PER_S: "operations per second", Unit.NONE: "units", Unit.COUNT: "units"}.get(unit, unit.value)

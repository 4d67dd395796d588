"""What links and disks can carry one way, from line rate, coding and framing; and the ratios of mistaken units."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from assay.frozen import dataclass
from assay.units import Refusal, Unit, attempt

WRITTEN = re.compile(r"^\s*(?:(?P<count>\d+)\s*[x×*]\s*)?(?P<name>[A-Za-z0-9./-]+?)(?:\s*[x×](?P<lanes>\d+))?\s*$")
"""`2GFC`, `2 x 2GFC`, `PCIe-3 x4`."""

UNIT_RATIOS: tuple[tuple[float, str], ...] = (
    (8.0, "bits taken for bytes"),
    (2.0, "both directions added up, or sectors of 512 bytes taken for KiB"),
    (1.25, "8b/10b coding left out"),
    (1.099511627776, "TiB taken for TB"),
    (1.073741824, "GiB taken for GB"),
    (1.048576, "MiB taken for MB"),
    (1.024, "KiB taken for kB"),
)
"""Ratios by which a rate is off when units are mistaken."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link, or several of one kind side by side."""

    name: str
    count: int
    line_bits_per_s: float
    payload_bytes_per_s: float
    """One way, at the best."""
    source: str


@functools.cache
def table() -> Mapping[str, Mapping[str, object]]:
    """The entries of links.toml by name."""
    return tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))


def names() -> tuple[str, ...]:
    """The links that are known, in the order of links.toml."""
    return tuple(table())


def find(text: str) -> Link | None:
    """The link of a text like `1GbE`, `2 x 2GFC` or `PCIe-3 x4` (case does not matter); None where it is not known."""
    written = WRITTEN.match(text)
    if written is None:
        return None
    name = next((known for known in table() if known.lower() == written["name"].lower()), None)
    if name is None:
        return None
    entry = table()[name]
    count = int(written["count"] or 1) * int(written["lanes"] or 1)
    if count == 0:
        return None
    baud = count * _number(entry["baud"])
    share = _ratio(entry["coding"]) * _ratio(entry["frame"])
    return Link(
        name=text.strip(),
        count=count,
        line_bits_per_s=baud,
        payload_bytes_per_s=baud / 8 * share,
        source=str(entry["source"]),
    )


def capacity(text: str) -> float | Refusal:
    """Bytes a second that a link (`2 x 2GFC`) or a rate (`100 MB/s`, `1 Gbit/s`) lets through one way, or why it is neither."""
    link = find(text)
    if link is not None:
        return link.payload_bytes_per_s
    rate = attempt(text, Unit.BYTES_PER_S)
    if isinstance(rate, Refusal):
        import difflib

        near = difflib.get_close_matches(text.strip().upper(), names(), n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return Refusal(found=rate.found, expected=f'a link such as "1GbE", "2 x 2GFC" or "PCIe-3 x4"{hint}, or {rate.expected}')
    if rate == 0:
        return Refusal(found=repr(text), expected="a rate above 0")
    return float(rate)


def unit_mistake(ratio: float, tolerance: float) -> str | None:
    """Which mistake of units makes a rate too large by this ratio, within a relative tolerance; None where none does."""
    off, words = min((abs(ratio / known - 1), words) for known, words in UNIT_RATIOS)
    return words if off <= tolerance else None


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _ratio(pair: object) -> float:
    assert isinstance(pair, list)
    return _number(pair[0]) / _number(pair[1])

"""What links and disks can carry one way, from line rate, coding and framing; and the ratios of mistaken units."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from assay import units
from assay._core import parse_toml
from assay.frozen import dataclass
from assay.units import Refusal, Unit, attempt

WRITTEN = re.compile(
    r"\s*(?:(?P<count>\d{1,4})\s*[x×*]\s*)?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9./ -]*?[A-Za-z0-9])?)"
    r"(?:\s*[x×](?P<lanes>\d{1,4}))?(?:[\s,]+MTU[\s=]*(?P<mtu>\d{3,5}))?\s*",
    re.IGNORECASE | re.ASCII,
)
"""`2GFC`, `2 x 2GFC`, `PCIe 3.0 x4`, `1 GbE MTU 9000`."""
ALIASES: Mapping[str, str] = {
    "10baset": "10mbe",
    "100baset": "100mbe",
    "100basetx": "100mbe",
    "fastethernet": "100mbe",
    "1000baset": "1gbe",
    "gbe": "1gbe",
    "gige": "1gbe",
    "gigabit": "1gbe",
    "gigabitethernet": "1gbe",
    "pci": "pci32/33",
    "pcix": "pcix64/133",
    "pcix133": "pcix64/133",
    "satai": "sata1",
    "sataii": "sata2",
    "sataiii": "sata3",
    **dict.fromkeys(("sata1.5g", "sata150"), "sata1"),
    **dict.fromkeys(("sata3g", "sata300"), "sata2"),
    **dict.fromkeys(("sata6g", "sata600"), "sata3"),
    "sas3g": "sas1",
    "sas6g": "sas2",
    "sas12g": "sas3",
}
"""Other names of links, spelled as `_spelled` does."""
SPELLINGS: tuple[tuple[str, str], ...] = (
    (r"(?<=\dg)(?:b|bit)(?:/s)?(?=$|fc$|fib)", ""),
    (r"(?:fibrechannel|fiberchannel)", "fc"),
    (r"^fc(\d+)g?$", r"\1gfc"),
    (r"^([\d.]+)g(?:ige|igabit|igabitethernet|bethernet|bitethernet|base-?[a-z]+\d*)$", r"\1gbe"),
    (r"^1000base[a-z]+$", "1gbe"),
    (r"^ultra(160|320)(?:scsi)?$", r"u\1"),
    (r"^pciexpress", "pcie"),
    (r"^((?:pcie|sata|sas)(?:gen)?)(\d)\.0$", r"\1\2"),
    (r"gen", ""),
)
"""What people write, without spaces and hyphens, and what it is spelled as: `4 Gbit FC`, `FC 4Gb`, `10 GigE`, `PCIe 2.0`."""
IN_FRAME, AROUND_FRAME = 52, 38
"""Bytes of a full Ethernet frame that IP, TCP and time stamps take; those of header, check sum, preamble and gap around it."""
BETWEEN_FRAMES = 20
"""Bytes of preamble and gap around each frame, which no interface counts (RFC 2863, RFC 2665)."""
LEAST_MTU, MOST_MTU = 576, 9216
"""The least of RFC 791; the most that switches commonly let through."""

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
    counted_bytes_per_s: float
    """One way, as the counters of its interfaces count it: frames with header and check sum, without preamble and gap."""
    source: str
    shared: bool = False
    """Whether both directions have this capacity together; else each has it."""
    steps: tuple[str, ...] = ()
    """How the payload follows from the line, in words."""
    has_frames: bool = False
    """Whether it is Ethernet, whose frames have an MTU, and whose rates are told in bits."""


@functools.cache
def table() -> Mapping[str, Mapping[str, object]]:
    """The entries of links.toml by name."""
    found, _, mistakes = parse_toml(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))
    assert not mistakes, mistakes
    return cast("Mapping[str, Mapping[str, object]]", found)


def names() -> tuple[str, ...]:
    """The links that are known, in the order of links.toml."""
    return tuple(table())


def find(text: str) -> Link | None:
    """The link of a text like `1GbE`, `2 x 2GFC`, `PCIe 2.0 x4` or `10GBASE-T MTU 9000`; None where it is not known.

    Case does not matter.
    """
    written = WRITTEN.fullmatch(text)
    name = _named(written["name"]) if written else None
    if written is None or name is None:
        return None
    entry, count = table()[name], int(written["count"] or 1) * int(written["lanes"] or 1)
    frame = _framed(entry, written["mtu"])
    if count == 0 or frame is None:
        return None
    baud = _number(entry["baud"])
    return Link(
        name=text.strip(),
        count=count,
        line_bits_per_s=count * baud,
        payload_bytes_per_s=count * baud / 8 * _ratio(entry["coding"]) * frame[0] / frame[1],
        counted_bytes_per_s=count * baud / 8 * _ratio(entry["coding"]) * _counted(entry, frame[1]),
        source=str(entry["source"]),
        shared=bool(entry.get("shared", False)),
        steps=tuple(_steps(count, baud, entry["coding"], frame)),
        has_frames=_is_ethernet(entry),
    )


def _named(written: str) -> str | None:
    """The name in the table; `PCIe 2.0`, `sata 3` and `10GBASE-T` are found too."""
    spelled = _spelled(written)
    return _by_spelling().get(ALIASES.get(spelled, spelled))


@functools.cache
def _by_spelling() -> Mapping[str, str]:
    return {_spelled(name): name for name in table()}


def _spelled(name: str) -> str:
    short = re.sub(r"[ -]", "", name.lower())
    for written, meant in SPELLINGS:
        short = re.sub(written, meant, short)
    return short


def _framed(entry: Mapping[str, object], mtu: str | None) -> tuple[float, float] | None:
    """Bytes of payload, bytes on the wire; None where this link has no such frames."""
    inside, wire = _pair(entry["frame"])
    if mtu is None:
        return inside, wire
    if not _is_ethernet(entry) or not LEAST_MTU <= int(mtu) <= MOST_MTU:
        return None
    return int(mtu) - IN_FRAME, int(mtu) + AROUND_FRAME


def _counted(entry: Mapping[str, object], wire: float) -> float:
    """The share of the bytes on the wire that interfaces count."""
    return (wire - BETWEEN_FRAMES) / wire if _is_ethernet(entry) else 1.0


def _is_ethernet(entry: Mapping[str, object]) -> bool:
    inside, wire = _pair(entry["frame"])
    return wire - inside == IN_FRAME + AROUND_FRAME


def _steps(count: int, baud: float, coding: object, frame: tuple[float, float]) -> Iterator[str]:
    """`2 x 2.125 GBd`, `8b/10b coding leaves 80 %`, `framing 2112/2172 leaves 97.2 %`."""
    yield (f"{count} x " if count > 1 else "") + (f"{baud / 1e9:g} GBd" if baud >= 1e9 else f"{baud / 1e6:g} MBd")
    if _ratio(coding) != 1:
        data, line = _pair(coding)
        yield f"{data:g}b/{line:g}b coding leaves {100 * data / line:.3g} %"
    if frame[0] != frame[1]:
        mtu = f" (MTU {frame[0] + IN_FRAME:g})" if frame[1] - frame[0] == IN_FRAME + AROUND_FRAME else ""
        yield f"framing leaves {frame[0]:g} of {frame[1]:g} bytes{mtu}"


def near(text: str, further: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of links, and of `further` things, that a text may mean, the likeliest first; none where it is like none."""
    import difflib

    spelled, known = _spelled(text.strip()), {_spelled(name): name for name in (*names(), *further)}
    inside = [name for short, name in known.items() if len(spelled) > 2 and spelled in short]
    return tuple(inside or (known[short] for short in difflib.get_close_matches(spelled, known, n=2)))


def capacity(text: str) -> float | Refusal:
    """Bytes a second that a link (`2 x 2GFC`) or a rate (`100 MB/s`, `1 Gbit/s`) lets through one way, or why it is neither."""
    link = find(text)
    if link is not None:
        return link.payload_bytes_per_s
    rate = attempt(text, Unit.BYTES_PER_S)
    if isinstance(rate, Refusal):
        unit = re.fullmatch(r"[\d.,\s]+(.*)", text.strip())
        meant = () if unit and units.hint(unit[1]) else near(text)
        hint = f" (did you mean {' or '.join(map(repr, meant))}?)" if meant else ""
        return Refusal(found=rate.found, expected=f'a link such as "1GbE", "2 x 2GFC" or "PCIe-3 x4"{hint}, or {rate.expected}')
    if rate == 0:
        return Refusal(found=repr(text), expected="a rate above 0")
    return float(rate)


def counted(text: str) -> float | Refusal:
    """As `capacity`, in bytes a second as the counters of an interface count them."""
    link = find(text)
    return link.counted_bytes_per_s if link is not None else capacity(text)


def unit_mistake(ratio: float, tolerance: float) -> str | None:
    """Which mistake of units makes a rate too large by this ratio, within a relative tolerance; None where none does."""
    off, words = min((abs(ratio / known - 1), words) for known, words in UNIT_RATIOS)
    return words if off <= tolerance else None


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _pair(value: object) -> tuple[float, float]:
    assert isinstance(value, list)
    return _number(value[0]), _number(value[1])


def _ratio(value: object) -> float:
    part, whole = _pair(value)
    return part / whole

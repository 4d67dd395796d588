"""A published claim as it was read: links, figures, comparisons, and what was not understood.

A `2 Gb port` has no name of a standard. By custom a port of 1, 2.5, 10, 25, 40 or 100 Gb is Ethernet, one of 2, 4, 8, 16 or
32 Gb is fibre channel; the claim keeps what was assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from assay import links
from assay.links import Link
from assay.published.vocabulary import BASES, UNIT_PATTERNS, Interval, PrintedNumber, QuantityKind, Sense, unit_size

COUNT_WORDS: Mapping[str, int] = {"one": 1, "two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "dual": 2, "quad": 4}
FIBRE_CHANNEL, ETHERNET = "GFC", "GbE"
SPEEDS: Mapping[str, str] = {
    **dict.fromkeys(("1", "2.5", "10", "25", "40", "100"), ETHERNET),
    **dict.fromkeys(("2", "4", "8", "16", "32"), FIBRE_CHANNEL),
}
"""Gigabits a second of a port -> what such a port usually is."""
JUMBO = "-jumbo"


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A link of a claim, side by side with others of its kind where there are several."""

    link: Link
    base: str
    """Its name in links.toml."""
    start: int
    end: int
    assumed: str | None = None
    """Why it was taken for this, where the text does not name it."""

    @property
    def name(self) -> str:
        """`2 x 2GFC`."""
        return self.base if self.link.count == 1 else f"{self.link.count} x {self.base}"

    @property
    def is_coded(self) -> bool:
        """Whether its line carries 10 bits for 8."""
        return links.table().get(self.base, {}).get("coding") == [8, 10]

    @property
    def is_duplex(self) -> bool:
        """Whether it carries as much the other way at the same time; buses and SATA do not."""
        return not self.link.shared

    @property
    def nominal_bytes_per_s(self) -> float:
        """One way by the bits of its name alone, neither coded nor framed: 250 MB/s of 2GFC; else by its line rate."""
        named = re.match(r"([0-9.]+)(G|M)(?:FC|bE)", self.base)
        if named is None:
            return self.link.line_bits_per_s / 8
        return self.link.count * float(named[1]) * {"G": 1e9, "M": 1e6}[named[2]] / 8


_GBIT = r" ?Gb(?:it)?(?:/s|ps)?"
_ALSO: Mapping[str, str] = {
    "100MbE": r"100BASE[- ]?TX?|Fast Ethernet",
    "1GbE": r"1000BASE[- ]?TX?",
    "10GbE": r"10GBASE[- ]?(?:T|SR|LR)",
    "USB-2.0": r"USB[- ]?2|Hi-?Speed USB",
    "USB-3.0": rf"USB[- ]?3\.[12] Gen ?1(?!\d)|USB[- ]?3(?!\.[12])|SuperSpeed USB|USB 5{_GBIT}|5{_GBIT} USB",
    "USB-3.1": rf"USB[- ]?3\.[12] Gen ?2(?![x\d])|USB 10{_GBIT}|10{_GBIT} USB",
    "USB-3.2": rf"USB[- ]?3\.2 Gen ?2x2|USB 20{_GBIT}|20{_GBIT} USB",
    "SATA-1": rf"SATA[- ]?I(?!I)|SATA 1\.5{_GBIT}|SATA-?150",
    "SATA-2": rf"SATA[- ]?II(?!I)|SATA 3(?:\.0)?{_GBIT}|SATA-?300",
    "SATA-3": rf"SATA[- ]?III|SATA 6(?:\.0)?{_GBIT}|SATA-?600|6{_GBIT} SATA",
    **{
        f"WiFi-{generation}": rf"(?:Wi-?Fi|WLAN)[- ]?{generation}E?|802\.11[- ]?{letters}"
        for generation, letters in ((4, "n"), (5, "ac"), (6, "ax"), (7, "be"))
    },
    **{
        f"PCIe-{generation}": rf"PCI(?:e|-E|[ -]Express)[- ]?(?:Gen[- ]?)?{generation}|Gen ?{generation}(?=(?:\.0)?\s?x\d)"
        for generation in range(1, 6)
    },
    **{
        f"Thunderbolt-{generation}": rf"TB ?{generation}(?= )|{speed}{_GBIT} Thunderbolt[- ]?{generation}"
        for generation, speed in ((3, 40), (4, 40), (5, 80))
    },
    **{f"LTO-{generation}": rf"LTO ?Ultrium[- ]?{generation}|Ultrium[- ]?{generation}" for generation in range(1, 11)},
    "UHS-I": r"UHS[- ]?(?:I|1)(?![I0-9])",
}
"""Other names under which links are sold: generations in Roman figures, by their signalling rate, by `Gen`."""


def _spelled(name: str) -> str:
    """Return the ways in which a name is written: `SATA-3`, `SATA 3`, `SATA III`, `1 GbE`."""
    dashed = re.escape(name).replace(r"\-", "[- ]?")
    if name.startswith("USB-3."):
        dashed += r"(?! ?Gen)"
    also = f"|{_ALSO[name]}" if name in _ALSO else ""
    return re.sub(r"^(\d+(?:\\\.\d+)?)(?=[A-Za-z])", r"\1 ?", dashed) + also


_COUNT = rf"(?:(?P<count>\d{{1,4}})\s*[x×*]\s*|(?P<word>{'|'.join(COUNT_WORDS)})(?:\s*[x×*])?\s+)?"
_NAMES = sorted(links.names(), key=len, reverse=True)
_NAMED = re.compile(
    rf"{_COUNT}(?:{'|'.join(f'(?P<n{place}>{_spelled(name)})' for place, name in enumerate(_NAMES))})"
    r"(?:\.0)?(?:\s?x(?P<lanes>\d{1,2}))?(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_KINDS: Mapping[str, str | None] = {
    **dict.fromkeys((r"fib(?:re|er)[ -]channel", "FC", "HBA"), FIBRE_CHANNEL),
    **dict.fromkeys(("Ethernet", "NIC", "LAN", "NAS", "network", "switch", "router"), ETHERNET),
    **dict.fromkeys(("ports?", "links?", "paths?"), None),
}
_BY_SPEED = re.compile(
    rf"{_COUNT}(?P<speed>\d{{1,3}}(?:\.5)?)\s*-?(?:Gbit/s|Gbit|Gb/s|Gb|Gbps|Gig|gigabit|G)\s+"
    rf"(?:{'|'.join(f'(?P<k{place}>{words})' for place, words in enumerate(_KINDS))})(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_MEASURED = "throughput|speeds?|bandwidth|performance|transfers?|traffic|cop(?:y|ies)|reads?|writes?|downloads?|uploads?"
"""What makes `300 Mbit/s network` a figure and no link."""
_DSL = re.compile(
    rf"(?:[AV]?DSL|FTT[HBC]|GPON)\s+(?:of\s+|at\s+|with\s+)?(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?)"
    rf"\s*(?:{UNIT_PATTERNS[QuantityKind.RATE].pattern})(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_BY_RATE = re.compile(
    rf"(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?)\s*(?:{UNIT_PATTERNS[QuantityKind.RATE].pattern})\s+"
    r"(?:line|circuit|WAN|uplink|downlink|links?|paths?|ports?|[AV]?DSL|cable|connection"
    r"|(?:fib(?:re|er)|broadband|internet|LAN|network|NIC|switch|adapters?|server|VPS)"
    rf"(?!\s+(?:{_MEASURED})(?![A-Za-z])))(?![A-Za-z0-9_])",
    re.ASCII,
)
_RATE_BEFORE = re.compile(rf"\d\s*(?P<rate>{UNIT_PATTERNS[QuantityKind.RATE].pattern})(?:\s+[A-Za-z]{{1,12}})?\s+$", re.ASCII)
_CROSSED = re.compile(
    r"(?:over|across|through|via)\s+(?:an?\s+|the\s+)?(?:(?:link|line|path|circuit|connection|uplink|port)\s+of\s+)?"
    rf"(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?)(?:\s*(?P<rate>{UNIT_PATTERNS[QuantityKind.RATE].pattern})(?![A-Za-z0-9_])|(?=\s*(?:$|[,;])))",
    re.ASCII,
)
"""What a rate goes over, given by its own rate alone, or by a number in the unit of the rate before."""
_OF_WIFI = re.compile(
    rf"(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?)\s*(?:{UNIT_PATTERNS[QuantityKind.RATE].pattern})\s+"
    r"(?:Wi-?Fi|WLAN|wireless)(?:\s+(?:link|connection))?(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_HOW_WIDE = r"(?:(?P<streams>[1-8])x[1-8](?::[1-8])?|(?P<width>20|40|80|160|320)[ -]?MHz)(?![A-Za-z0-9])"
_BEFORE_WIFI = re.compile(rf"{_HOW_WIDE}\s+(?=(?:[1-8]x[1-8]|\d+[ -]?MHz|Wi-?Fi|WLAN|802\.11))", re.IGNORECASE | re.ASCII)
_BEHIND_WIFI = re.compile(
    rf"\s*(?:[,(]\s*)?(?:(?:at|on|with|using|in|over)\s+)?(?:an?\s+)?{_HOW_WIDE}(?:\s+(?:wide|channels?|width|MIMO|streams?))*",
    re.IGNORECASE | re.ASCII,
)
SUBCARRIERS: Mapping[str, Mapping[int, int]] = {
    "WiFi-4": {20: 52, 40: 108},
    "WiFi-5": {20: 52, 40: 108, 80: 234, 160: 468},
    "WiFi-6": {20: 234, 40: 468, 80: 980, 160: 1960},
    "WiFi-7": {20: 234, 40: 468, 80: 980, 160: 1960, 320: 3920},
}
"""Of each width of a channel in MHz those that carry data; the last is the one of links.toml (IEEE 802.11n, ac, ax, be)."""
MOST_STREAMS: Mapping[str, int] = {"WiFi-4": 4, "WiFi-5": 8, "WiFi-6": 8, "WiFi-7": 8}
"""The spatial streams of the rate that links.toml has."""
_SATA = re.compile(
    r"(?:(?P<count>\d{1,2})\s*(?:[x×*]\s*)?|(?P<word>" + "|".join(COUNT_WORDS) + r")\s+)?"
    r"SATA(?![- ]?[I0-9])(?:\s+(?:SSDs?|HDDs?|drives?|disks?))?(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_GIGABIT = re.compile(
    rf"{_COUNT}(?:(?:gigabit|GbE)\s+(?:Ethernet|LAN|NAS|network|switch|router|NIC|ports?|links?|cable)|GigE|gigabit(?=\s*(?:$|[,;.)])))(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_FASTER = re.compile(r"(?:[0-9]|multi)[ -]?$", re.IGNORECASE)
"""Before `gigabit`: then it is not one gigabit."""


def wire_at(text: str, start: int) -> Wire | None:
    """Return the link whose words begin here; None where none does."""
    wireless = _by_width(text, start)
    if wireless is not None:
        return wireless
    named = _NAMED.match(text, start)
    if named is not None:
        return _wire(named, _base(named), None)
    gigabit = _GIGABIT.match(text, start)
    if gigabit is not None and not _FASTER.search(text[:start]):
        return _wire(gigabit, "1GbE", None)
    sata = _SATA.match(text, start)
    if sata is not None:
        return _wire(sata, "SATA-3", f"{sata[0]!r} counts as SATA-3, the fastest")
    by_speed = _BY_SPEED.match(text, start)
    custom = _assumed(by_speed) if by_speed is not None else None
    return custom or _of_wifi(text, start) or _by_rate(text, start) or _crossed(text, start)


def _base(named: re.Match[str]) -> str:
    """Return the name in links.toml of a link that is named."""
    return next(name for place, name in enumerate(_NAMES) if named[f"n{place}"])


def _of_wifi(text: str, start: int) -> Wire | None:
    """`866 Mbit/s WiFi`: the rate that both ends agreed on, of which the best frames leave as much as of any WiFi."""
    match, known = _OF_WIFI.match(text, start), links.find("WiFi-6")
    rate = Fraction(match["number"]) * unit_size(QuantityKind.RATE, match) if match is not None else Fraction(0)
    if match is None or known is None or not rate:
        return None
    return Wire(link=_scaled(known, match[0], float(rate * 8)), base=match[0], start=start, end=match.end())


def _by_width(text: str, start: int) -> Wire | None:
    """`2x2 WiFi 5`, `WiFi 5 2x2 at 80 MHz`: so many of the spatial streams of the standard, and so much of its channel."""
    said, at = list[re.Match[str]](), start
    while (before := _BEFORE_WIFI.match(text, at)) is not None:
        said.append(before)
        at = before.end()
    named = _NAMED.match(text, at)
    whole = _wire(named, _base(named), None) if named is not None else None
    if whole is None or whole.base not in MOST_STREAMS:
        return None
    end = whole.end
    while (behind := _BEHIND_WIFI.match(text, end)) is not None:
        said.append(behind)
        end = behind.end()
    share = 1.0
    for one in {one.lastgroup or "": one for one in said}.values():
        share *= _share_of(whole.base, one)
    if not said:
        return None
    name = f"{text[start:end].rstrip()}"
    link = _scaled(whole.link, name, whole.link.line_bits_per_s * min(1.0, share))
    return replace(whole, link=link, base=name, start=start, end=end)


def _share_of(base: str, said: re.Match[str]) -> float:
    """Return the share of the standard's rate that so many streams have, or a channel of such a width."""
    if said["streams"]:
        return int(said["streams"]) / MOST_STREAMS[base]
    carriers = SUBCARRIERS[base]
    return carriers.get(int(said["width"]), max(carriers.values())) / max(carriers.values())


def _scaled(link: Link, name: str, line_bits_per_s: float) -> Link:
    """Return a link of the same kind with another line rate."""
    times = line_bits_per_s / link.line_bits_per_s
    payload, counted = link.payload_bytes_per_s * times, link.counted_bytes_per_s * times
    return replace(link, name=name, line_bits_per_s=line_bits_per_s, payload_bytes_per_s=payload, counted_bytes_per_s=counted)


def _by_rate(text: str, start: int) -> Wire | None:
    """`2.5 Gbit/s line`: no standard is named, so nothing is known of coding and framing, and all of it may be payload."""
    match = _BY_RATE.match(text, start) or _DSL.match(text, start)
    rate = Fraction(match["number"]) * unit_size(QuantityKind.RATE, match) if match is not None else Fraction(0)
    if match is None or not rate:
        return None
    why = f"{match[0]!r} names no coding and no framing; its full rate counts as payload"
    return Wire(link=_of_rate(match[0], rate), base=match[0], start=start, end=match.end(), assumed=why)


def _of_rate(name: str, rate: Fraction) -> Link:
    """Make a link of which nothing but its rate is known."""
    return Link(
        name=name,
        count=1,
        line_bits_per_s=float(rate * 8),
        payload_bytes_per_s=float(rate),
        counted_bytes_per_s=float(rate),
        source="the claim itself",
    )


def _crossed(text: str, start: int) -> Wire | None:
    """`450 MB/s over 413 MB/s`, `450 MB/s over 413`: a link of which nothing but its rate is known."""
    match = _CROSSED.match(text, start)
    before = _RATE_BEFORE.search(text[:start]) if match is not None else None
    if match is None or before is None or wire_at(text, match.start("number")) is not None:
        return None
    unit = match if match["rate"] else before
    rate = Fraction(match["number"]) * unit_size(QuantityKind.RATE, unit)
    if not rate:
        return None
    name = f"{match['number']} {unit['rate']} link"
    why = f"{match[0]!r} counts as a link with {match['number']} {unit['rate']} payload; write the name of the link if it has one"
    return Wire(link=_of_rate(name, rate), base=name, start=start, end=match.end(), assumed=why)


def _assumed(match: re.Match[str]) -> Wire | None:
    """Return a port by its speed: which one that is, by custom."""
    kind = next(kind for place, kind in enumerate(_KINDS.values()) if match[f"k{place}"])
    base = f"{match['speed']}{kind or SPEEDS.get(match['speed'])}"
    if base not in links.names():
        return None
    words = "fibre channel" if base.endswith(FIBRE_CHANNEL) else "Ethernet"
    why = f"{match[0]!r} is {base} ({words}); if not, write the name of the link" if kind is None else None
    return _wire(match, base, why)


def _wire(match: re.Match[str], base: str, assumed: str | None) -> Wire | None:
    count = COUNT_WORDS[match["word"].lower()] if match["word"] else int(match["count"] or 1)
    lanes = int(match.groupdict().get("lanes") or 1)
    link = links.find(f"{count * lanes} x {base}")
    if link is None:
        return None
    return Wire(link=link, base=base, start=match.start(), end=match.end(), assumed=assumed)


def is_tape(wire: Wire) -> bool:
    """Return whether it is a tape drive, whose rate depends on how far it can compress."""
    return wire.base.startswith("LTO-")


def with_jumbo(wire: Wire) -> Link | None:
    """Return the same link in frames of 9000 bytes; None where it has none."""
    if wire.base.endswith(JUMBO):
        return wire.link
    return links.find(f"{wire.link.count} x {wire.base}{JUMBO}")


@dataclass(frozen=True, kw_only=True)
class PrintedFigure:
    """One printed quantity in the base unit of its kind, and what it can have been."""

    kind: QuantityKind
    text: str
    """As it is printed."""
    start: int
    end: int
    value: Fraction
    """Of a range the lower one; of a limit the limit."""
    interval: Interval
    unit: Fraction
    """Size of its printed unit in base units."""
    roles: frozenset[Sense] = frozenset()
    """What the words beside it say of it: read, write, random, ..."""
    clause: int = 0
    ends: tuple[PrintedNumber, PrintedNumber] | None = None
    """Of a range its two ends, in base units."""
    limit: Sense | None = None
    """UNDER or ABOVE where the text says so."""
    rank: Fraction | None = None
    """Of a percentile the share of the requests that took no longer."""

    @property
    def base(self) -> str:
        """`bytes/s`, `s`, ...; empty for a bare number."""
        return BASES[self.kind]

    @property
    def description(self) -> str:
        """`1-2 GB/s (read)`, for people."""
        roles = [role.value for role in LABEL_ROLES if role in self.roles]
        return f"{self.text} ({', '.join(roles)})" if roles else self.text


LABEL_ROLES = (Sense.RANDOM, Sense.SEQUENTIAL, Sense.READ, Sense.WRITE, Sense.STEADY, Sense.INSIDE, Sense.OUTSIDE)
"""Roles of words that are told with a figure."""


@dataclass(frozen=True, kw_only=True)
class ClaimComparison:
    """Two figures held against each other; the second is the base, except in a change (`from A to B`)."""

    first: PrintedFigure
    second: PrintedFigure
    is_change: bool = False


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """A piece of the claim that was not understood, with the column (from 1) where it begins, and why."""

    text: str
    column: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim that was read."""

    text: str
    figures: tuple[PrintedFigure, ...]
    wires: tuple[Wire, ...]
    comparisons: tuple[ClaimComparison, ...]
    roles: frozenset[Sense]
    """What all its words do."""
    quoted: tuple[Leftover, ...]
    assumed: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = field(default=())
    """Where in the text the understood parts stand."""

    def of(self, *kinds: QuantityKind) -> tuple[PrintedFigure, ...]:
        """Return the figures of these kinds, in the order of the text."""
        return tuple(figure for figure in self.figures if figure.kind in kinds)

    def only(self, kind: QuantityKind) -> PrintedFigure | None:
        """Return the figure of this kind, where there is exactly one."""
        found = self.of(kind)
        return found[0] if len(found) == 1 else None

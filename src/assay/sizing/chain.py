"""A chain of parts, as its file says it: what each part's speed is, its layout, price and upgrades, and the load.

`2 x 2GFC` is found in links.toml, `6 x SATA 7200` in media.toml; `95 MB/s` is taken as it is.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from assay import links
from assay.records.price import Price
from assay.units import Refusal, Unit, attempt, hint

WRITTEN = re.compile(r"\s*(?:(?P<count>\d{1,4})\s*[x×*]\s*)?(?P<name>\S.*?)\s*", re.DOTALL)
EXAMPLE = 'a link ("2 x 2GFC", "1 GbE MTU 1500", "PCIe 2.0 x4"), disks ("6 x SATA 7200") or a rate of one direction ("95 MB/s")'


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What one unit of a part carries, and how many there are."""

    text: str
    count: int
    bytes_per_s: float
    """Of one unit, one way, at the best."""
    shared: bool
    """Whether both directions have this together."""
    is_disk: bool
    read_ops_per_s: float | None
    """Random operations of one unit; None where operations are no limit of this part."""
    write_ops_per_s: float | None
    steps: tuple[str, ...]
    """How the figures come about, in words."""
    source: str


@functools.cache
def media() -> Mapping[str, Mapping[str, object]]:
    """Return the entries of media.toml by name."""
    return tomllib.loads(Path(__file__).with_name("media.toml").read_text(encoding="utf-8"))


def speed_of(text: str) -> Speed | Refusal:
    """Return what a text says, or why it says nothing."""
    link = links.find(text)
    if link is not None:
        return _of_link(text, link)
    written = WRITTEN.fullmatch(text)
    if written is None:
        return Refusal(found=repr(text), expected=EXAMPLE)
    if int(written["count"] or 1) == 0:
        return Refusal(found=repr(text), expected=f"1 or more of them: {EXAMPLE}")
    name, count = written["name"], int(written["count"] or 1)
    medium = next((known for known in media() if _plain(known) == _plain(name)), None)
    if medium is not None:
        return _of_disk(text, count, medium)
    return _of_rate(text, count, name)


def _of_link(text: str, link: links.Link) -> Speed:
    """Of a link count means wires side by side, each of which can fail; lanes of one slot fail together."""
    written = WRITTEN.fullmatch(text)
    count = int(written["count"] or 1) if written else 1
    return Speed(
        text=text.strip(),
        count=count,
        bytes_per_s=link.payload_bytes_per_s / count,
        shared=link.shared,
        is_disk=False,
        read_ops_per_s=None,
        write_ops_per_s=None,
        steps=(*link.steps, *((f"{link.payload_bytes_per_s * 8 / 1e6:.4g} Mbit/s",) if link.has_frames else ())),
        source=link.source,
    )


def _of_disk(text: str, count: int, medium: str) -> Speed:
    entry = media()[medium]
    rate, reads, writes, steps = _number(entry["bytes_per_s"]), entry.get("read_ops_per_s"), entry.get("write_ops_per_s"), []
    if "rpm" in entry:
        rpm, seek = _number(entry["rpm"]), _number(entry["seek_ms"])
        reads = writes = random_ops_per_s(rpm, seek)
        steps.append(f"half a turn at {rpm:,.0f}/min plus {seek:g} ms seek: {reads:.0f} random operations/s")
    return Speed(
        text=text.strip(),
        count=count,
        bytes_per_s=rate,
        shared=True,
        is_disk=True,
        read_ops_per_s=_number(reads),
        write_ops_per_s=_number(writes),
        steps=(f"{f'{count} x ' if count > 1 else ''}{rate / 1e6:g} MB/s sequential", *steps),
        source=str(entry["source"]),
    )


def random_ops_per_s(rpm: float, seek_ms: float) -> float:
    """Random operations/s of one turning disk: 1 / (half a turn + average seek)."""
    return 1 / (0.5 * 60 / rpm + seek_ms / 1e3)


def _of_rate(text: str, count: int, name: str) -> Speed | Refusal:
    rate = attempt(name, Unit.BYTES_PER_S)
    if isinstance(rate, Refusal) or rate == 0:
        return Refusal(found=repr(text), expected=f"{EXAMPLE}{_proposal(name)}")
    return Speed(
        text=text.strip(),
        count=count,
        bytes_per_s=float(rate),
        shared=False,
        is_disk=False,
        read_ops_per_s=None,
        write_ops_per_s=None,
        steps=("as in the file, for each direction",),
        source="the file itself",
    )


def _proposal(name: str) -> str:
    """Return what somebody may have meant who wrote this, with what to write instead."""
    framed = re.fullmatch(r"(.*?)[\s,]+MTU.*", name, re.IGNORECASE)
    link = links.find(framed[1]) if framed else None
    if link is not None:
        least = f"an MTU from {links.LEAST_MTU} to {links.MOST_MTU}"
        return f"; {least}" if link.has_frames else f"; {link.name} without an MTU, which only Ethernet has"
    unit = re.fullmatch(r"[\d.,\s]+(.*)", name)
    meant = hint(unit[1]) if unit else None
    if meant is not None and unit is not None:
        return f"; for {unit[1]!r} write {meant}"
    near = links.near(name, media())
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _plain(name: str) -> tuple[str, ...]:
    """Return the words of a medium in any order: `15k SAS`, `SAS 15000 rpm` and `sas-15k` are one."""
    text = re.sub(r"\b(?:disks?|drives?|hdds?)\b|rpm\b", "", name.lower().replace("7.2k", "7200").replace("5.4k", "5400"))
    return tuple(sorted(re.findall(r"[a-z]+|\d+k?", re.sub(r"(?<=\d)000\b", "k", text))))


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


class Layout(StrEnum):
    """How disks share the data."""

    NONE = "none"
    RAID0 = "raid0"
    RAID10 = "raid10"
    RAID5 = "raid5"
    RAID6 = "raid6"


@dataclass(frozen=True, kw_only=True)
class MeasuredLimit:
    """What somebody measured of the whole part; None where nobody did."""

    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    ops_per_s: float | None = None
    source: str = "the file"


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Another speed that a part could have."""

    speed: Speed
    layout: Layout
    standby: int
    price: Price | None


@dataclass(frozen=True, kw_only=True)
class ChainPart:
    """One part of the chain."""

    name: str
    speed: Speed
    layout: Layout = Layout.NONE
    standby: int = 0
    """Units that carry only when another one fails."""
    measured: MeasuredLimit = MeasuredLimit()
    price: Price | None = None
    upgrades: tuple[Upgrade, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CommitLimit:
    """What flushing leaves to a database with a single writer, which flushes for each commit before the next one begins."""

    commits_per_s: float
    """What is asked for."""
    flushes_each: float
    flush_ns: float
    """One flush."""
    is_measured: bool
    """Whether the time of a flush is that of the measured server, not of the file."""

    @property
    def most_per_s(self) -> float:
        """The most commits a second."""
        return 1e9 / (self.flushes_each * self.flush_ns) if self.flush_ns else float("inf")

    @property
    def used(self) -> float:
        """The share of the writer's time that flushes take; above 1 it does not carry the load."""
        return self.commits_per_s / self.most_per_s


@dataclass(frozen=True, kw_only=True)
class ChainLoad:
    """What is asked of the chain, a second."""

    read_bytes_per_s: float = 0.0
    """In sequence."""
    write_bytes_per_s: float = 0.0
    read_ops_per_s: float = 0.0
    """At random."""
    write_ops_per_s: float = 0.0
    operation_bytes: float = 0.0
    """Size of a random operation."""
    ldap_ops_per_s: float | None = None
    """The directory operations that the random ones come from, where they come from some."""
    random_read_bytes_per_s: float | None = None
    """Bytes of the random operations where they were measured; None where `operation_bytes` gives them."""
    random_write_bytes_per_s: float | None = None
    commits: CommitLimit | None = None
    notes: tuple[str, ...] = ()
    """What a reader must know of where it comes from."""

    @property
    def reading(self) -> float:
        """Bytes/s read in sequence and at random."""
        random = self.random_read_bytes_per_s
        return self.read_bytes_per_s + (self.read_ops_per_s * self.operation_bytes if random is None else random)

    @property
    def writing(self) -> float:
        """Bytes/s written in sequence and at random."""
        random = self.random_write_bytes_per_s
        return self.write_bytes_per_s + (self.write_ops_per_s * self.operation_bytes if random is None else random)

    @property
    def has_sizes(self) -> bool:
        """Whether the size of its random operations is known."""
        return bool(self.operation_bytes) or self.random_read_bytes_per_s is not None


@dataclass(frozen=True, kw_only=True)
class PartChain:
    """What `assay size` is asked."""

    title: str
    question: str
    load: ChainLoad
    parts: tuple[ChainPart, ...]

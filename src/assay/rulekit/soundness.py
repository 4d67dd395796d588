"""What SOUND needs, for each part of a claim: the evidence and the rules that must have passed.

docs/concepts.md shows the same table; a test compares the two. A row holds for a claim when its part has its value
and the measure's operation does its kind of work. Every row of a claim must be satisfied, the `as-is` rows always.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from assay.frozen import dataclass
from assay.records import Claim, Direction, Durability, Load, Path, Regime, Tier


class Work(StrEnum):
    """Which operations a row is about."""

    ANY = "any"
    READ = "read"
    WRITE = "write"
    METADATA = "metadata"
    REQUEST = "request"
    """What goes over a network or is a request: what storage did for it is another's doing."""


@dataclass(frozen=True, kw_only=True)
class SoundnessRow:
    """One row of the table."""

    part: str
    value: str
    work: Work
    evidence: tuple[str, ...]
    """Evidence keys, of which `least` must be there."""
    least: int
    rules: tuple[str, ...]
    """Ids of rules that must pass (or be n/a)."""
    words: str


UNJUDGED = "unverified: no rule holds requests against the cache of a client"
OF_STORAGE = "lookups in a directory server: its storage reads, none of them answered from its memory"
OF_MEMORY = "lookups in a directory server: none of them needed its storage"
ROWS: tuple[SoundnessRow, ...] = (
    SoundnessRow(
        part="tier",
        value=Tier.AS_IS,
        work=Work.ANY,
        evidence=(),
        least=0,
        rules=("E01", "E05", "G04", "G05", "G11", "L07"),
        words="a finished run whose rungs agree, no failed operation, no empty answer, sent data that arrived,"
        " latencies that obey Little's law",
    ),
    SoundnessRow(
        part="tier",
        value=Tier.DEVICE,
        work=Work.READ,
        evidence=("L2.read", "L9.read", "page_cache.cached_bytes"),
        least=2,
        rules=("T01", "T03", "T05", "T06", "L04"),
        words="two that agree with the requested bytes: storage reads of the process, bytes of the lowest visible device,"
        " pages added to the page cache. No cache between stacked devices, no holes, no limit exceeded",
    ),
    SoundnessRow(
        part="tier",
        value=Tier.DEVICE,
        work=Work.WRITE,
        evidence=("L9.write", "page_cache.dirty_bytes", "L2.write"),
        least=2,
        rules=("D01", "T03", "T06", "L04"),
        words="the bytes written at the lowest visible device, no dirty data at the end or the drain charged, no limit exceeded",
    ),
    SoundnessRow(
        part="tier",
        value=Tier.DEVICE,
        work=Work.METADATA,
        evidence=("L9.read", "memory.inode_cache_objects"),
        least=2,
        rules=("T12",),
        words="an inode loaded for each object touched, and reads at the lowest visible device",
    ),
    SoundnessRow(
        part="tier",
        value=Tier.CLIENT_CACHE,
        work=Work.READ,
        evidence=("L2.read", "page_cache.cached_bytes"),
        least=1,
        rules=("T01",),
        words="no storage reads",
    ),
    SoundnessRow(
        part="tier",
        value=Tier.SERVER_CACHE,
        work=Work.READ,
        evidence=("L2.read", "L6.read"),
        least=2,
        rules=("T01", "T02"),
        words="no bytes from the client's cache, all bytes from the server's cache",
    ),
    *(
        SoundnessRow(part="tier", value=tier, work=Work.REQUEST, evidence=("L6.read",), least=1, rules=("T02",), words=words)
        for tier, words in ((Tier.DEVICE, OF_STORAGE), (Tier.CLIENT_CACHE, UNJUDGED), (Tier.SERVER_CACHE, OF_MEMORY))
    ),
    SoundnessRow(
        part="durability",
        value=Durability.STABLE_MEDIA,
        work=Work.WRITE,
        evidence=("L9.flush", "page_cache.dirty_bytes", "tape.block_number"),
        least=1,
        rules=("D01", "D02", "D11"),
        words="a flush at the lowest visible device, and no dirty data at the end or the drain charged; on a tape a mark",
    ),
    SoundnessRow(
        part="durability",
        value=Durability.STABLE_MEDIA,
        work=Work.METADATA,
        evidence=("L9.flush",),
        least=1,
        rules=("D01", "D02"),
        words="a flush at the lowest visible device, and the drain charged",
    ),
    SoundnessRow(
        part="durability",
        value=Durability.STABLE_MEDIA,
        work=Work.REQUEST,
        evidence=("server.dirty_bytes", "L9.flush"),
        least=1,
        rules=("D04",),
        words="changes in a directory server: none of them dirty or without a flush at the last answer",
    ),
    SoundnessRow(
        part="regime",
        value=Regime.COLD,
        work=Work.READ,
        evidence=("page_cache.cached_bytes", "L2.read"),
        least=1,
        rules=("T01",),
        words="no page of the data in memory before the clock, or every byte read from storage",
    ),
    SoundnessRow(
        part="regime",
        value=Regime.COLD,
        work=Work.METADATA,
        evidence=("memory.inode_cache_objects",),
        least=1,
        rules=("T12",),
        words="an inode loaded for each object touched",
    ),
    SoundnessRow(
        part="regime",
        value=Regime.WARM,
        work=Work.READ,
        evidence=("page_cache.cached_bytes", "L2.read"),
        least=1,
        rules=("T01",),
        words="every page of the data in memory before the clock, or no storage reads",
    ),
    *(
        SoundnessRow(
            part="regime",
            value=regime,
            work=Work.REQUEST,
            evidence=("server.cached_bytes", "L6.read"),
            least=1,
            rules=("T14",),
            words=words,
        )
        for regime, words in (
            (Regime.COLD, "lookups in a directory server: its files and its entry cache were not in memory before the clock"),
            (Regime.WARM, "lookups in a directory server: no storage reads, and hits in its entry cache"),
        )
    ),
    SoundnessRow(
        part="regime",
        value=Regime.STEADY,
        work=Work.ANY,
        evidence=(),
        least=0,
        rules=("W01", "W02"),
        words="long enough, and steady over the window by two of three tests",
    ),
    SoundnessRow(
        part="load",
        value=Load.CLOSED,
        work=Work.ANY,
        evidence=(),
        least=0,
        rules=("L07", "W04"),
        words="clients that ran together, each waiting for its answer",
    ),
    SoundnessRow(
        part="load",
        value=Load.OPEN,
        work=Work.ANY,
        evidence=(),
        least=0,
        rules=("G01", "G02"),
        words="latencies from the due time of each operation, and the attained rate",
    ),
    SoundnessRow(
        part="path",
        value=Path.LOOPBACK,
        work=Work.ANY,
        evidence=(),
        least=0,
        rules=("L05",),
        words="the route to the server stays on this machine",
    ),
    SoundnessRow(
        part="path",
        value=Path.WIRE,
        work=Work.ANY,
        evidence=("L3.read",),
        least=1,
        rules=("L05",),
        words="the route to the server, and the bytes, leave through an interface with a device",
    ),
    SoundnessRow(
        part="path",
        value=Path.EMULATED,
        work=Work.ANY,
        evidence=("line.delivered_bytes",),
        least=1,
        rules=("L05", "L13"),
        words="the bytes passed the lab's own line, which kept rate and delay",
    ),
)

COMPARED = ("C01", "C06", "S02", "S04", "W04c")
"""Ids of the rules that must pass (or be n/a) for a comparison to be SOUND; an unverified one of the rest is only listed."""


def work_of(direction: Direction | None) -> Work:
    """The kind of work of an operation; flushes and discards count as writes, an external tool's unknown direction as any."""
    if direction is None:
        return Work.ANY
    if not direction.of_storage:
        return Work.REQUEST
    return {Direction.READ: Work.READ, Direction.METADATA: Work.METADATA}.get(direction, Work.WRITE)


def rows_for(claim: Claim, direction: Direction | None) -> Iterator[SoundnessRow]:
    """The rows that a claim on an operation must satisfy."""
    work = work_of(direction)
    for row in ROWS:
        claimed = getattr(claim, row.part)
        always = (row.part, row.value) == ("tier", Tier.AS_IS)
        if (always or claimed == row.value) and row.work in (Work.ANY, work):
            yield row


def required_rules(claim: Claim, direction: Direction | None) -> tuple[str, ...]:
    """Ids of the rules that a claim needs, each once, in the order of the table."""
    return tuple(dict.fromkeys(rule for row in rows_for(claim, direction) for rule in row.rules))


def markdown() -> str:
    """The table for docs/concepts.md."""
    lines = ["| part of the claim | work | evidence | rules | in words |", "|---|---|---|---|---|"]
    for row in ROWS:
        keys = ", ".join(f"`{key}`" for key in row.evidence)
        evidence = f"{row.least} of {keys}" if row.least < len(row.evidence) else keys or "-"
        lines.append(f"| {row.part} = {row.value} | {row.work} | {evidence} | {', '.join(row.rules)} | {row.words} |")
    return "\n".join(lines)

"""The words of published claims: units, and what other words do to the figures beside them. Closed lists.

Experiments take `assay.units` only. Claims by others are written more freely, so what is clear there is taken here too: `Gb/s`,
`MB/sec`, `TB a week`, `hours`. What has two meanings (`4k`, `KB`, `Mbps`) is refused here as there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from assay.units import UNITS, Unit


class QuantityKind(StrEnum):
    """What a figure is of; its base unit is that of `BASES`."""

    RATE = "rate"
    EVENTS = "operations"
    AMOUNT = "amount"
    DATA = "data set"
    CAPACITY = "capacity"
    MEMORY = "memory"
    SIZE = "request size"
    TIME = "time"
    LATENCY = "latency"
    COUNT = "count"
    IN_FLIGHT = "in flight"
    SHARE = "share"
    NUMBER = "number"


BASES: Mapping[QuantityKind, str] = {
    QuantityKind.RATE: "bytes/s",
    QuantityKind.EVENTS: "1/s",
    QuantityKind.AMOUNT: "bytes",
    QuantityKind.DATA: "bytes",
    QuantityKind.CAPACITY: "bytes",
    QuantityKind.MEMORY: "bytes",
    QuantityKind.SIZE: "bytes",
    QuantityKind.TIME: "s",
    QuantityKind.LATENCY: "s",
    QuantityKind.COUNT: "count",
    QuantityKind.IN_FLIGHT: "count",
    QuantityKind.SHARE: "share",
    QuantityKind.NUMBER: "",
}


class Role(StrEnum):
    """What a word does."""

    BREAK = "ends a clause"
    PLAIN = "carries no arithmetic"
    AGAINST = "compares"
    FROM = "begins a change"
    TO = "ends a range or a change"
    UNDER = "upper limit"
    ABOVE = "lower limit"
    OVER = "lower limit, or the way"
    ABOUT = "roughly"
    TIMES = "multiplies"
    READ = "read"
    WRITE = "write"
    RANDOM = "random"
    SEQUENTIAL = "sequential"
    INSIDE = "inside"
    OUTSIDE = "outside"
    DATA = "size of the data, however much of it was moved"
    DEVICE = "size of what holds the data"
    MEMORY = "memory"
    CACHED = "from memory by its own words"
    DIRECT = "past the client's cache"
    STEADY = "sustained"
    JUMBO = "frames of 9000 bytes"
    BOTH_WAYS = "both directions"
    BLOCK = "size of one request"
    LATENCY = "time of one request"
    IN_FLIGHT = "requests at a time"


BYTES: Mapping[str, Fraction] = {
    **UNITS[Unit.BYTES],
    "PB": Fraction(10**15),
    "EB": Fraction(10**18),
    "PiB": Fraction(2**50),
    "EiB": Fraction(2**60),
    "byte": Fraction(1),
    "bytes": Fraction(1),
    "MByte": Fraction(10**6),
    "MBytes": Fraction(10**6),
    "GByte": Fraction(10**9),
    "GBytes": Fraction(10**9),
}
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BITS: Mapping[str, Fraction] = {
    f"{prefix}{name}": Fraction(size, 8) for prefix, size in _PREFIXES.items() for name in ("bit", "bits")
}
RATE_BITS: Mapping[str, Fraction] = {f"{prefix}b": Fraction(size, 8) for prefix, size in _PREFIXES.items() if prefix}
"""`Gb` is clear only where a time follows: memory is sold by the `Gb` that are bytes."""
SECONDS: Mapping[str, Fraction] = {
    name: Fraction(size) * scale
    for names, size, scale in (
        ("ns", 1, Fraction(1, 10**9)),
        ("us µs μs", 1, Fraction(1, 10**6)),
        ("ms", 1, Fraction(1, 1000)),
        ("s sec secs second seconds", 1, Fraction(1)),
        ("min mins minute minutes", 60, Fraction(1)),
        ("h hr hrs hour hours", 3600, Fraction(1)),
        ("d day days", 86400, Fraction(1)),
        ("week weeks", 7 * 86400, Fraction(1)),
        ("month months", 30 * 86400, Fraction(1)),
        ("year years", 365 * 86400, Fraction(1)),
    )
    for name in names.split()
}
"""A month is 30 days and a year 365."""
IOPS: Mapping[str, Fraction] = {"IOPS": Fraction(1), "iops": Fraction(1), "IOps": Fraction(1), "kIOPS": Fraction(1000)}
NOUNS: Mapping[str, Role | None] = {
    **dict.fromkeys(("read", "reads"), Role.READ),
    **dict.fromkeys(("write", "writes", "create", "creates"), Role.WRITE),
    **dict.fromkeys(("op", "ops", "operation", "operations", "request", "requests", "I/O", "I/Os", "IOs"), None),
    **dict.fromkeys(("transaction", "transactions", "file", "files", "object", "objects"), None),
}
"""What operations are called where they are counted, with what they do where that is said."""

_WORDS: Mapping[Role, str] = {
    Role.BREAK: ", | ; | . | : | ( | )",
    Role.PLAIN: "a | an | the | of | in | on | with | at | by | is | was | are | were | for | and | it | this | that"
    " | through | via | = | / | using | does | do | did | gives | gave | reaches | reached | took | takes | lasts"
    " | lasted | run | runs | ran | test | benchmark | size | rate | speed | throughput | bandwidth | transfer"
    " | transferred | I/O | link | links | path | paths | port | ports | one way | one direction | machine",
    Role.AGAINST: "against | vs. | vs | versus | compared with | compared to | instead of | -> | →",
    Role.FROM: "from",
    Role.TO: "to | - | – | — | ..",
    Role.UNDER: "under | below | up to | at most | less than | fewer than | not more than | no more than | < | <= | ≤",
    Role.ABOVE: "above | at least | more than | not less than | > | >= | ≥",
    Role.OVER: "over",
    Role.ABOUT: "~ | ≈ | about | around | approximately | roughly | circa | ca. | some | nearly | almost",
    Role.TIMES: "x | × | * | times",
    Role.READ: "read | reads | reading | reread | rereads",
    Role.WRITE: "write | writes | writing | written | rewrite | rewrites | overwrite | overwrites",
    Role.RANDOM: "random | randomly",
    Role.SEQUENTIAL: "sequential | sequentially | streaming | stream",
    Role.INSIDE: "inside",
    Role.OUTSIDE: "outside",
    Role.DATA: "data | data set | dataset | working set | file | files | database",
    Role.DEVICE: "disk | disks | volume | LUN | partition | file system | filesystem | array",
    Role.MEMORY: "RAM | memory | main memory | DRAM | cache | page cache | buffer cache | array cache | controller cache"
    " | disk cache | server memory | server RAM | server cache | client memory | client RAM | client cache",
    Role.CACHED: "cached | from cache | from memory | from RAM | in cache | in memory | warm",
    Role.DIRECT: "direct | O_DIRECT | direct I/O | unbuffered",
    Role.STEADY: "sustained | steady | steady state | continuous | continuously",
    Role.JUMBO: "jumbo | jumbo frames | MTU 9000",
    Role.BOTH_WAYS: "both directions | both ways | bidirectional | full duplex",
    Role.BLOCK: "record | records | record size | block | blocks | block size | requests | request size",
    Role.LATENCY: "latency | response time | each | per operation | per request",
    Role.IN_FLIGHT: "clients | client | threads | thread | workers | readers | writers | processes | jobs"
    " | streams | queue depth | depth",
}
WORDS: Mapping[str, Role] = {word.strip().lower(): role for role, listed in _WORDS.items() for word in listed.split(" | ")}


def pattern(names: Mapping[str, object], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Any of the names, the longest that fits; a name of letters ends where its letters end."""
    by_length = sorted(names, key=len, reverse=True)
    return re.compile("|".join(_bounded(name) for name in by_length), flags)


def _bounded(name: str) -> str:
    spaced = r"\s+".join(re.escape(part) for part in name.split(" "))
    return rf"{spaced}(?![A-Za-z0-9_])" if name[-1].isalnum() else spaced


WORD = pattern(WORDS, re.IGNORECASE)
_PERIOD = f"(?P<period>{pattern(SECONDS).pattern})"
_PER = r"\s*(?:/\s*|(?:per|an?|each|every)\s+)"
_SLASH = r"\s*/\s*"


def _any(*tables: Mapping[str, object]) -> str:
    merged: dict[str, object] = {}
    for table in tables:
        merged |= table
    return "|".join(re.escape(name) for name in sorted(merged, key=len, reverse=True))


UNIT_PATTERNS: Mapping[QuantityKind, re.Pattern[str]] = {
    QuantityKind.RATE: re.compile(rf"(?P<unit>{_any(BYTES, BITS, RATE_BITS)}){_PER}{_PERIOD}"),
    QuantityKind.EVENTS: re.compile(rf"(?:(?P<noun>{_any(NOUNS)}){_PER}|{_SLASH}){_PERIOD}|(?P<iops>{pattern(IOPS).pattern})"),
    QuantityKind.AMOUNT: re.compile(f"(?P<unit>{pattern({**BYTES, **BITS}).pattern})"),
    QuantityKind.TIME: re.compile(_PERIOD),
    QuantityKind.SHARE: re.compile(r"%|per\s?cent(?![A-Za-z0-9_])"),
    QuantityKind.COUNT: re.compile(f"(?P<noun>{pattern(NOUNS).pattern})"),
}
"""How the units of each kind are written, tried in this order behind a number."""


def unit_size(kind: QuantityKind, match: re.Match[str]) -> Fraction:
    """Return the size of a matched unit in base units."""
    parts = match.groupdict()
    size = Fraction(1)
    if parts.get("unit"):
        size *= {**RATE_BITS, **BITS, **BYTES}[parts["unit"]]
    if parts.get("iops"):
        size *= IOPS[parts["iops"]]
    if parts.get("period"):
        seconds = SECONDS[parts["period"]]
        size = seconds if kind is QuantityKind.TIME else size / seconds
    return Fraction(1, 100) if kind is QuantityKind.SHARE else size

"""The vocabulary of published claims: numbers, units, and the effect of other words on the figures beside them. Closed lists.

Experiments take `assay.units` only. Claims by others are written more freely, so what is clear there is taken here too: `Gb/s`,
`MB/sec`, `TB a week`, `hours`, and `Mbps` as the megabits that networks are sold by, which the answer tells as an assumption.
What has two meanings (`KB`) is refused here as there; of `4k` see `BLOCKS`.

A printed number is known to half a unit of its last digit: `0.6` was printed for anything from 0.55 to 0.65. Figures are never
negative, so the ends of a product are the products of the ends, and those of a ratio lie crosswise (interval arithmetic:
R. E. Moore, Interval Analysis, 1966). All exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
    PERCENTILE = "latency percentile"
    WINDOW = "window"
    COUNT = "count"
    PARTS = "parts"
    IN_FLIGHT = "in flight"
    SHARE = "share"
    TURNS = "rotation"
    FAILED = "failed"
    LOST = "lost"
    OPERATION_LIMIT = "limit of operations"
    RATE_LIMIT = "limit of the rate"
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
    QuantityKind.PERCENTILE: "s",
    QuantityKind.WINDOW: "bytes",
    QuantityKind.COUNT: "count",
    QuantityKind.PARTS: "count",
    QuantityKind.IN_FLIGHT: "count",
    QuantityKind.SHARE: "share",
    QuantityKind.TURNS: "1/s",
    QuantityKind.NUMBER: "",
    QuantityKind.FAILED: "count",
    QuantityKind.LOST: "share",
    QuantityKind.OPERATION_LIMIT: "1/s",
    QuantityKind.RATE_LIMIT: "bytes/s",
}


class Sense(StrEnum):
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
    ROUND_TRIP = "time to the other end and back"
    PERCENTILE = "time that so many requests do not exceed"
    WINDOW = "bytes that a connection may have on their way"
    IN_FLIGHT = "requests at a time"
    DEPTH = "requests that one client keeps in flight"
    FAILED = "operations that failed"
    LOSS = "what did not arrive"
    SENT = "sent"
    RECEIVED = "received"
    LIMIT = "limit that somebody set"
    REORDERED = "requests were sorted or merged"
    EACH = "of one of several that work at the same time"
    EACH_PART = "of one of several disks or machines"
    PART = "disks or machines that work at the same time"
    TOTAL = "of all that work at the same time"
    COMPRESSED = "made smaller on its way"
    NATIVE = "not made smaller"
    ROTATING = "a disk with a head that moves"


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
    "TByte": Fraction(10**12),
    "TBytes": Fraction(10**12),
    "PByte": Fraction(10**15),
    "PBytes": Fraction(10**15),
    "Pbytes": Fraction(10**15),
}
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BITS: Mapping[str, Fraction] = {
    f"{prefix}{name}": Fraction(size, 8) for prefix, size in _PREFIXES.items() for name in ("bit", "bits")
}
RATE_BITS: Mapping[str, Fraction] = {f"{prefix}b": Fraction(size, 8) for prefix, size in _PREFIXES.items() if prefix}
"""`Gb` is clear only where a time follows: memory is sold by the `Gb` that are bytes."""
PER_SECOND: Mapping[str, Fraction] = {
    f"{prefix}{name}": size * scale
    for prefix, size in _PREFIXES.items()
    for name, scale in (("bps", Fraction(1, 8)), ("Bps", Fraction(1)))
}
"""Bits and bytes a second in one word: `Mbps`, `MBps`."""
SECONDS: Mapping[str, Fraction] = {
    name: Fraction(size) * scale
    for names, size, scale in (
        ("ns nsec", 1, Fraction(1, 10**9)),
        ("us µs μs usec", 1, Fraction(1, 10**6)),
        ("ms msec", 1, Fraction(1, 1000)),
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
IOPS: Mapping[str, Fraction] = {
    f"{prefix}{gap}{name}": Fraction(size)
    for prefix, size in {"": 1, "k": 10**3, "K": 10**3, "M": 10**6}.items()
    for gap in ("", " ")
    for name in ("IOPS", "iops", "IOps")
    if prefix or not gap
}
"""Operations are counted in powers of 1,000 alone, so `K` and `M` are clear before them."""
THOUSANDS: Mapping[str, int] = {"k": 10**3, "K": 10**3, "M": 10**6}
"""Before what is counted in powers of 1,000 alone: `50k requests per second`."""
NOUNS: Mapping[str, Sense | None] = {
    **dict.fromkeys(("read", "reads"), Sense.READ),
    **dict.fromkeys(("write", "writes", "create", "creates"), Sense.WRITE),
    **dict.fromkeys(("op", "ops", "operation", "operations", "request", "requests", "I/O", "I/Os", "IOs"), None),
    **dict.fromkeys(("transaction", "transactions", "commit", "commits", "file", "files", "object", "objects"), None),
    **dict.fromkeys(("entry", "entries", "search", "searches", "query", "queries", "message", "messages"), None),
    **dict.fromkeys(("packet", "packets", "datagram", "datagrams", "key", "keys", "row", "rows", "document", "documents"), None),
    **dict.fromkeys(("bind", "binds", "lookup", "lookups", "insert", "inserts", "update", "updates", "call", "calls"), None),
}
"""What operations are called where they are counted, with what they do where that is said."""

RANKS: Mapping[str, Fraction] = {
    "min": Fraction(0),
    "minimum": Fraction(0),
    "median": Fraction(1, 2),
    **{
        name: Fraction(percent) / 100
        for percent in ("1", "5", "10", "25", "50", "75", "90", "95", "98", "99", "99.5", "99.9", "99.95", "99.99", "99.999")
        for name in (f"p{percent}", f"{percent}th percentile", f"{percent}th")
    },
    "p999": Fraction("0.999"),
    "p9999": Fraction("0.9999"),
    "max": Fraction(1),
    "maximum": Fraction(1),
}
"""Names of percentiles -> the share of the requests that took no longer."""
_WORDS: Mapping[Sense, str] = {
    Sense.BREAK: ", | ; | . | : | ( | )",
    Sense.PLAIN: "a | an | the | of | in | on | with | at | by | is | was | are | were | for | and | it | this | that"
    " | through | via | = | / | using | does | do | did | gives | gave | reaches | reached | took | takes | lasts"
    " | lasted | run | runs | ran | test | benchmark | size | rate | speed | throughput | bandwidth | transfer"
    " | tape | tape drive | transferred | frames | I/O | UDP | TCP | completed | copied"
    " | link | links | path | paths | port | ports | one way | one direction | machine",
    Sense.AGAINST: "against | vs. | vs | versus | compared with | compared to | instead of | -> | →",
    Sense.FROM: "from",
    Sense.TO: "to | - | – | — | ..",
    Sense.UNDER: "under | below | up to | at most | less than | fewer than | not more than | no more than | < | <= | ≤",
    Sense.ABOVE: "above | at least | more than | not less than | > | >= | ≥",
    Sense.OVER: "over",
    Sense.ABOUT: "~ | ≈ | about | around | approximately | roughly | circa | ca. | some | nearly | almost",
    Sense.TIMES: "x | × | * | times",
    Sense.READ: "read | reads | reading | reread | rereads",
    Sense.WRITE: "write | writes | writing | written | rewrite | rewrites | overwrite | overwrites",
    Sense.RANDOM: "random | randomly",
    Sense.SEQUENTIAL: "sequential | sequentially | streaming | stream",
    Sense.INSIDE: "inside",
    Sense.OUTSIDE: "outside",
    Sense.DATA: "data | data set | dataset | working set | file | files | database",
    Sense.DEVICE: "disk | disks | volume | LUN | partition | file system | filesystem | array",
    Sense.MEMORY: "RAM | memory | main memory | DRAM | cache | page cache | buffer cache | array cache | controller cache"
    " | disk cache | server memory | server RAM | server cache | client memory | client RAM | client cache",
    Sense.CACHED: "cached | from cache | from memory | from RAM | in cache | in memory | warm",
    Sense.DIRECT: "direct | O_DIRECT | direct I/O | unbuffered",
    Sense.STEADY: "sustained | steady | steady state | continuous | continuously",
    Sense.JUMBO: "jumbo | jumbo frames | MTU 9000",
    Sense.BOTH_WAYS: "both directions | both ways | bidirectional | full duplex",
    Sense.BLOCK: "record | records | record size | block | blocks | block size | requests | request size",
    Sense.LATENCY: "latency | response time | fsync | fsync takes | each | per operation | per request | mean | average | avg"
    " | mean latency | average latency | avg latency | "
    + " | ".join(
        f"per {one}"
        for one in (
            "search",
            "op",
            "query",
            "read",
            "write",
            "I/O",
            "IO",
            "transaction",
            "commit",
            "file",
            "object",
            "lookup",
            "bind",
        )
    ),
    Sense.ROUND_TRIP: "RTT | round trip | round trip time | ping",
    Sense.PERCENTILE: " | ".join(f"{name}{latency}" for name in RANKS for latency in ("", " latency")),
    Sense.WINDOW: "window | window size | TCP window | receive window | send window | congestion window | rwnd | cwnd"
    " | socket buffer",
    Sense.IN_FLIGHT: "clients | client | threads | thread | workers | worker | readers | reader | writers | writer | processes"
    " | jobs | streams | numjobs | parallel clients | concurrent clients | connections | connection",
    Sense.EACH: " | ".join(("apiece", *(f"per {one}" for one in ("thread", "job", "client", "stream", "connection", "worker")))),
    Sense.EACH_PART: " | ".join(f"per {one}" for one in ("drive", "disk", "SSD", "HDD", "node", "server", "host", "VM", "port")),
    Sense.PART: "drives | SSDs | HDDs | nodes | servers | hosts | VMs",
    Sense.TOTAL: "total | in total | altogether | aggregate | aggregated | combined | together | in sum",
    Sense.COMPRESSED: "compressed | compression | compressible | with compression",
    Sense.NATIVE: "native | natively | uncompressed | incompressible | without compression",
    Sense.DEPTH: "queue depth | depth | iodepth | QD",
    Sense.FAILED: "errors | error | failures | failed | failing | timeouts | timed out | rejected | refused",
    Sense.LOSS: "lost | dropped | loss | packet loss | not received",
    Sense.SENT: "sent | transmitted",
    Sense.RECEIVED: "received | arrived | delivered",
    Sense.LIMIT: "limit | limited to | limited | capped at | cap | quota | provisioned | throttled to"
    " | disk of up to | disk of at most",
    Sense.ROTATING: "HDD | hard drive | hard disk | spinning disk | SMR | SMR drive | SMR disk | SMR HDD | CMR drive | CMR disk",
    Sense.REORDERED: "reordered | sorted | merged | reordering | NCQ | elevator",
}
WORDS: Mapping[str, Sense] = {word.strip().lower(): role for role, listed in _WORDS.items() for word in listed.split(" | ")}


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


BLOCKS: Mapping[str, Fraction] = {"k": Fraction(2**10), "K": Fraction(2**10)}
"""`4k` as tools of storage write a block size (fio, dd): right behind a power of two, where no count of operations follows."""
_POWER_OF_TWO = "|".join(rf"(?<=(?<![0-9.]){2**power})" for power in range(11))
_BLOCK_FOLLOWS = (
    r"(?=\s*(?:$|[,;:)0-9=]|(?:rand|seq|block|record|request|read|write|window|(?:bs|at|is|gives|makes|with|over)\b)))"
)
_NO_RATE = rf"(?!\s+(?:[a-z]+\s+)?(?:{_any(NOUNS)}){_PER}(?:{pattern(SECONDS).pattern}))"
"""`256k reads per second` is a count."""
_BLOCK = rf"(?P<block>(?:{_POWER_OF_TWO}){pattern(BLOCKS).pattern}){_NO_RATE}{_BLOCK_FOLLOWS}"

ADJECTIVES: Mapping[str, Sense] = {
    "random": Sense.RANDOM,
    "sequential": Sense.SEQUENTIAL,
    "sustained": Sense.STEADY,
    "read": Sense.READ,
    "write": Sense.WRITE,
}
"""What stands between a number and its operations: `20,000 random read IOPS`."""
_HOW = rf"(?P<how>(?:(?:{'|'.join(ADJECTIVES)})\s+){{1,3}})?"
_OF = _HOW.replace("<how>", "<of>")

UNIT_PATTERNS: Mapping[QuantityKind, re.Pattern[str]] = {
    QuantityKind.RATE: re.compile(
        rf"(?P<unit>{_any(BYTES, BITS, RATE_BITS)}){_PER}{_PERIOD}|(?P<bps>{_any(PER_SECOND)})(?![A-Za-z0-9_])"
    ),
    QuantityKind.EVENTS: re.compile(
        rf"(?:(?:(?P<thousands>[kKM])\s+)?{_HOW}(?P<noun>{_any(NOUNS)}){_PER}|{_SLASH}){_PERIOD}|{_OF}(?P<iops>{pattern(IOPS).pattern})(?!=)"
    ),
    QuantityKind.AMOUNT: re.compile(f"(?P<unit>{pattern({**BYTES, **BITS}).pattern})|{_BLOCK}"),
    QuantityKind.TIME: re.compile(_PERIOD),
    QuantityKind.SHARE: re.compile(r"%|per\s?cent(?![A-Za-z0-9_])"),
    QuantityKind.COUNT: re.compile(f"(?P<noun>{pattern(NOUNS).pattern})"),
    QuantityKind.TURNS: re.compile(r"(?:rpm|RPM)(?![A-Za-z0-9_])"),
}
"""How the units of each kind are written, tried in this order behind a number."""


def unit_size(kind: QuantityKind, match: re.Match[str]) -> Fraction:
    """Return the size of a matched unit in base units."""
    parts = match.groupdict()
    size = Fraction(1)
    if parts.get("unit"):
        size *= {**RATE_BITS, **BITS, **BYTES}[parts["unit"]]
    if parts.get("bps"):
        size *= PER_SECOND[parts["bps"]]
    if parts.get("block"):
        size *= BLOCKS[parts["block"]]
    if parts.get("iops"):
        size *= IOPS[parts["iops"]]
    if parts.get("thousands"):
        size *= THOUSANDS[parts["thousands"]]
    if parts.get("period"):
        seconds = SECONDS[parts["period"]]
        size = seconds if kind is QuantityKind.TIME else size / seconds
    return {QuantityKind.SHARE: Fraction(1, 100), QuantityKind.TURNS: Fraction(1, 60)}.get(kind, size)


MOST_DIGITS = 30
"""Nobody prints more; longer runs of digits are no number of a benchmark."""
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2}(?![0-9A-Za-z]))?)"
"""Digits with a decimal point, thousands separated by commas or not at all, or with a power of ten: `1e3`."""
NUMBER_AT = re.compile(NUMBER, re.ASCII)
CLOCK = re.compile(r"(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-5][0-9](?:\.[0-9]+)?)", re.ASCII)
"""`30:56.62` is minutes and seconds, `1:30:56` has hours before them."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """From `low` to `high`, neither negative; None is no upper end."""

    low: Fraction
    high: Fraction | None

    def times(self, other: Interval) -> Interval:
        """Return every product of a value of this and one of the other."""
        high = None if self.high is None or other.high is None else self.high * other.high
        return Interval(low=self.low * other.low, high=high)

    def over(self, other: Interval) -> Interval:
        """Return every ratio of a value of this to a positive one of the other."""
        low = self.low / other.high if other.high else Fraction(0)
        high = self.high / other.low if self.high is not None and other.low else None
        return Interval(low=low, high=high)

    def scaled(self, factor: Fraction) -> Interval:
        """Return the same in another unit."""
        return Interval(low=self.low * factor, high=None if self.high is None else self.high * factor)

    def meets(self, other: Interval, tolerance: Fraction) -> bool:
        """Return whether the two have a value in common when each may be off by this relative tolerance."""
        return not (self.below(other, tolerance) or other.below(self, tolerance))

    def below(self, other: Interval, tolerance: Fraction) -> bool:
        """Return whether all of this lies below all of the other, by more than the tolerance."""
        return self.high is not None and self.high * (1 + tolerance) < other.low

    def holds(self, value: Fraction) -> bool:
        """Return whether the value is one of this."""
        return self.low <= value and (self.high is None or value <= self.high)


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """A number as it stands in a text, and what it can have been."""

    value: Fraction
    interval: Interval

    def scaled(self, factor: Fraction) -> PrintedNumber:
        """Return the same in another unit."""
        return PrintedNumber(value=self.value * factor, interval=self.interval.scaled(factor))


def number(text: str) -> PrintedNumber | None:
    """Return the number that these digits print; None where they print none, or more than anybody reads."""
    if not re.fullmatch(NUMBER, text, re.ASCII) or len(text) > MOST_DIGITS:
        return None
    digits, _, power = text.replace(",", "").lower().partition("e")
    scale = Fraction(10) ** int(power or 0)
    return around(Fraction(digits) * scale, scale / 10 ** len(digits.partition(".")[2]))


def clock(text: str) -> PrintedNumber | None:
    """Return seconds of a time like `30:56.62` or `1:30:56`; None where the text is none."""
    match = CLOCK.fullmatch(text)
    if match is None or len(text) > MOST_DIGITS:
        return None
    hours, minutes, seconds = match.groups()
    value = int(hours or 0) * 3600 + int(minutes) * 60 + Fraction(seconds)
    return around(value, Fraction(1, 10 ** len(seconds.partition(".")[2])))


def around(value: Fraction, unit: Fraction) -> PrintedNumber:
    """Return a value and what was rounded to it in steps of this unit."""
    return PrintedNumber(value=value, interval=Interval(low=max(Fraction(0), value - unit / 2), high=value + unit / 2))


def roughly(text: str, printed: PrintedNumber) -> PrintedNumber:
    """Return the same where the text says `about`: zeros at the end of an integer then stand for nothing."""
    digits = text.replace(",", "")
    zeros = len(digits) - len(digits.rstrip("0")) if "." not in digits and digits.strip("0") else 0
    step = printed.interval.high - printed.interval.low if printed.interval.high is not None else Fraction(0)
    return around(printed.value, step * 10**zeros)

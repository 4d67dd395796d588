"""dd's summary line: how much was copied, how long it took and the rate, in any locale.

GNU: `kB`, `MB`, `GB` of the rate are powers of 1,000 (coreutils 9.1, src/dd.c, print_xfer_stats: human_SI without
human_base_1024). busybox prints the same line with powers of 1,024 (coreutils/dd.c and libbb/human_readable.c of 1.37).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import SECOND, Printed, calls, exact, halves, lines, option, printed, values

EXPECTED = "dd's lines of records and of bytes copied (not with status=none or status=noxfer)"
RECORDS = re.compile(r"\s*\d+\+\d+\s.*")
GNU = re.compile(r"(\d+)\s.{1,150}?, ([\d.,e+-]{1,40}) s, ([\d.,]{1,40}) ([kMGTPEZYRQ]?)B/s")
BUSYBOX = re.compile(r"(\d+) bytes \([\d.]+[KMGTPEZY]?B\) copied, ([\d.]+) seconds, ([\d.]+)([KMGTPEZY]?)B/s")
FORMS = ((GNU, 1000), (BUSYBOX, 1024))
PREFIXES = " kMGTPEZYRQ"
NO_SOURCE = ("/dev/zero", "/dev/urandom", "/dev/random")
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether dd was called and printed its records."""
    return calls(argv, "dd") and any(RECORDS.fullmatch(line) for line in lines(output))


def operations(argv: Sequence[str]) -> tuple[str, ...]:
    """What the call is about: dd itself does not say whether it measures its source or where it writes."""
    source, goal = option(argv, "if"), option(argv, "of")
    if goal is None or goal in NOWHERE:
        return ("read",)
    return ("write",) if source is None or source in NO_SOURCE else ()


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    """Lines of progress are passed over: each two lines of records are followed by one result, those of several may be mixed.

    Records without a result, and something else where it is due, are of a call whose rate nobody knows.
    """
    records, after = 0, False
    for line in lines(text):
        records += bool(RECORDS.fullmatch(line))
        match, base = next(((found, base) for pattern, base in FORMS if (found := pattern.fullmatch(line))), (None, 0))
        after = not match and (after or bool(line.strip()))
        if match and records:
            records -= min(records, 2)
            yield from _figures(match, base)
    if records and after:
        raise ValueError("line of bytes copied below the records")


def _figures(match: re.Match[str], base: int) -> Iterator[tuple[str, Printed]]:
    copied, seconds = exact(int(match[1])), printed(match[2], SECOND)
    rate = printed(match[3], base ** PREFIXES.index(match[4].replace("K", "k") or " "))
    for side in ("read", "write"):
        yield f"{side}.bytes", copied
        yield f"{side}.elapsed_ns", seconds
        yield f"{side}.bytes_per_s", rate


PARSER = Parser(
    name="dd",
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
    operations=operations,
)

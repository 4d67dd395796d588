"""fs_mark's table: files made per second, over all its iterations.

`Files/sec` counts whole files created, written, synchronised as `-S` says, and closed (fs_mark 3.3, fs_mark.c); `Count` is the
sum so far, `Size` bytes of one file. Time between system calls (App Overhead) and of deleting is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import Printed, calls, exact, halves, lines, printed, together, values

EXPECTED = "fs_mark's table with the columns FSUse%, Count, Size and Files/sec"
HEADER = re.compile(r"FSUse%\s+Count\s+Size\s+Files/sec\s+App Overhead.*")
ROW = re.compile(r"\s*\d{1,3}\s+(\d{1,15})\s+(\d{1,15})\s+([\d.]{1,20})\s+\d+(?:\s+\d+)*\s*")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether this is fs_mark's."""
    return calls(argv, "fs_mark") and any(HEADER.fullmatch(line) for line in lines(output))


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    rows = lines(text)
    begin = next((index for index, row in enumerate(rows) if HEADER.fullmatch(row)), len(rows))
    found = [match for row in rows[begin:] if (match := ROW.fullmatch(row))]
    if not found:
        return
    counts = [int(match[1]) for match in found]
    new = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
    if min(new) <= 0:
        raise ValueError(f"count {counts} that does not grow")
    yield "create.ops_per_s", together((files, printed(match[3])) for files, match in zip(new, found, strict=True))
    yield "create.count", exact(counts[-1])
    yield "create.bytes", exact(sum(files * int(match[2]) for files, match in zip(new, found, strict=True)))


PARSER = Parser(
    name="fs_mark",
    programs=("fs_mark",),
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
)

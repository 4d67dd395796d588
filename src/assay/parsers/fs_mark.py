"""fs_mark: files created per second from its table, over all iterations.

`Files/sec` counts files created, written, synchronised according to `-S`, and closed (fs_mark 3.3, fs_mark.c); `Count` is the
running total, `Size` the bytes of one file. Time between system calls (App Overhead) and of deletion is excluded. The figure
covers all iterations (`-L`): with a damaged or missing line there is no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "fs_mark's table with the columns FSUse%, Count, Size and Files/sec, one line per iteration"
CALL = re.compile(r"#\s+\S*fs_mark\s.*")
HEADER = re.compile(r"FSUse%\s+Count\s+Size\s+Files/sec\s+App Overhead.*")
ROW = re.compile(r"\s*\d{1,3}\s+(\d{1,15})\s+(\d{1,15})\s+([\d.]{1,20})\s+\d+(?:\s+\d+)*\s*")
CELLS = re.compile(r"\s{3}.*|\W*(?:\d+\W+){2}.*")
"""A line below the header that must be a row: indented as far, or starting with two numbers."""
LOOPS = re.compile(r"\s-\w{0,3}L\s*(\d{1,9})\s")
UNTIL_FULL = re.compile(r"\s-\w{0,3}F\w{0,3}\s")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    rows = printed.lines(text)
    begin = printed.last_run(rows, CALL)
    found = list(_iterations(rows, printed.last_run(rows, HEADER), begin))
    if not found:
        return
    counts = [int(match[1]) for match in found]
    new = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
    if min(new) <= 0:
        raise ValueError(f"count {counts}, which does not grow")
    yield (
        "create.ops_per_s",
        printed.combined_rate((files, printed.number(match[3])) for files, match in zip(new, found, strict=True)),
    )
    yield "create.count", printed.exact(counts[-1])
    yield "create.bytes", printed.exact(sum(files * int(match[2]) for files, match in zip(new, found, strict=True)))


def _iterations(rows: Sequence[str], header: int, begin: int) -> Iterator[re.Match[str]]:
    """Yield the rows below the last header; `begin` is the command line of the last run. Raises ValueError."""
    if header < begin or not (rows and HEADER.fullmatch(rows[header])):
        return
    seen = 0
    for index, row in enumerate(rows[header + 1 :], header + 1):
        if match := ROW.fullmatch(row):
            seen += 1
            yield match
        elif row.strip() and CELLS.fullmatch(row):
            raise printed.damaged_line(rows, index)
    call = f"{rows[begin]} "
    loops = LOOPS.search(call)
    if CALL.fullmatch(rows[begin]) and not UNTIL_FULL.search(call) and 0 < seen != (expected := int(loops[1]) if loops else 1):
        raise ValueError(f"number of iterations, {seen} of {expected}")


PARSER = Parser(
    name="fs_mark",
    programs=("fs_mark",),
    recognises=printed.prints(("fs_mark",), HEADER),
    **printed.reads(_figures, EXPECTED, begins=CALL),
    tier=printed.of_device,
)

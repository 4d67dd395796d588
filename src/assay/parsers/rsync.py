"""rsync: bytes and rate from its line `sent ... bytes/sec` (-v, --stats), or from the last line of --info=progress2.

`bytes/sec` divides all bytes by whole seconds plus half a second (rsync 3.5, main.c, output_summary), so it is coarse for short
copies: its resolution is that of this clock. `kB/s`, `MB/s` of the progress are powers of 1,024 (progress.c, rprint_progress).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "rsync's line 'sent N bytes  received N bytes  N bytes/sec' or the end of --info=progress2, without -h"
GROUPED = r"(\d{1,3}(?:[.,]?\d{3}){0,7})"
SENT = re.compile(rf"sent {GROUPED} bytes\s+received {GROUPED} bytes\s+{GROUPED}[.,](\d\d) bytes/sec")
TRANSFERRED = re.compile(rf"Total transferred file size: {GROUPED} bytes")
PROGRESS = re.compile(
    rf"\s+{GROUPED}\s+\d{{1,3}}%\s+(\d{{1,12}}[.,]\d\d)([kMGT])B/s\s+\d+:\d\d:\d\d \(xfr#\d+, (?:to|ir)-chk=0/\d+\)\s*"
)
ANY_PROGRESS = re.compile(PROGRESS.pattern.replace("chk=0/", r"chk=\d+/"))
SUMMARY = re.compile(r"total size is .{1,200}")
FAILED = re.compile(r"rsync error: .{1,300}")
"""What rsync says last of a copy of which a part is missing; it counts what went over all the same."""
NAMES = "sending incremental file list"


def runs(text: str) -> list[str]:
    """Return the text of each run: its summary ends it, with an error that may follow."""
    found, is_over = [""], False
    for row in text.splitlines(keepends=True):
        bare = row.strip()
        if is_over and bare and not FAILED.fullmatch(bare):
            found, is_over = [*found, ""], False
        is_over = is_over or SUMMARY.fullmatch(bare) is not None
        found[-1] += row
    return found


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the bytes of files if printed, else all bytes transferred; nothing if no file was copied."""
    rows = printed.lines(runs(text)[-1])
    if any("(xfr#" in row and not ANY_PROGRESS.fullmatch(row) for row in rows):
        raise ValueError("progress line")
    if any(row.startswith("Total transferred file size:") and not TRANSFERRED.fullmatch(row) for row in rows):
        raise ValueError("total file size")  # the bytes transferred are another amount
    progress, sent, files = (
        next((match for row in reversed(rows) if (match := pattern.fullmatch(row))), None)
        for pattern in (PROGRESS, SENT, TRANSFERRED)
    )
    crossed = _whole(sent[1]) + _whole(sent[2]) if sent else 0
    amount = _whole(files[1]) if files else _whole(progress[1]) if progress and NAMES not in rows else crossed
    if amount == 0:
        return
    yield from printed.both_sides(bytes=printed.exact(amount))
    if progress and NAMES not in rows:
        yield from printed.both_sides(bytes_per_s=printed.number(progress[2], printed.power(progress[3])))
    elif sent:
        yield from printed.both_sides(bytes_per_s=_of_clock(_whole(sent[3]) + int(sent[4]) / 100, crossed))


def _of_clock(rate: float, crossed: int) -> printed.ParsedNumber:
    """Return a rate whose time is known to +/-1 s."""
    return printed.ParsedNumber(value=rate, half=rate * rate / crossed)


def _whole(text: str) -> int:
    return int(text.replace(",", "").replace(".", ""))


PARSER = Parser(
    name="rsync",
    recognises=printed.prints(("rsync",), SENT, PROGRESS),
    **printed.reads(_figures, EXPECTED, runs=runs, broken=FAILED),
    operations=printed.copy_operations,
)

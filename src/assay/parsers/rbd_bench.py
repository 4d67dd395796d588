"""rbd bench of Ceph: operations and bytes per second of an image, from its line `elapsed:`.

The direction is said by the head, before Ceph 12 by the name `bench-write`; a mix has a line for each direction. Bytes per
second are whole numbers, since Ceph 15 with KiB, MiB and GiB (src/tools/rbd/action/Bench.cc). Its seconds are cut off: no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the line `elapsed: N  ops: N  ops/sec: N  bytes/sec: N` of rbd bench, with its head `bench  type ...`"
HEAD = re.compile(r"bench(?:-(write)|\s+type (read|write|rw|readwrite|read-write))\s+(?:.{0,40}\s)?io_size \d{1,18} .{1,200}")
DONE = re.compile(
    r"(?:elapsed: +\d{1,9}\s+)?(?:(read|write)_)?ops: +(\d{1,18})\s+(?:\1_)?ops/sec: +([\d.e+]{1,30})"
    r"\s+(?:\1_)?bytes/sec: +([\d.e+]{1,30})(?: ([KMGTPE]?)i?B/s)?\s*"
)


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, HEAD) :]
    if (head := printed.first_match(rows, HEAD)) is None:
        return
    side = head[1] or head[2]
    for done in (match for row in rows if (match := DONE.fullmatch(row))):
        operation = done[1] or (side if side in ("read", "write") else "mixed")
        yield f"{operation}.count", printed.exact(int(done[2]))
        yield f"{operation}.ops_per_s", printed.number(done[3])
        yield f"{operation}.bytes_per_s", printed.number(done[4], printed.power(done[5] or ""))


PARSER = Parser(
    name="rbd_bench",
    programs=("rbd",),
    recognises=printed.prints(("rbd",), HEAD, DONE),
    **printed.reads(_figures, EXPECTED, begins=HEAD, broken=re.compile(r"(?:rbd: )?bench failed: .{1,200}")),
    tier=printed.of_device,
)

"""dbench: the rate of all its reads and writes together, and count and latencies of single operations.

`MB/sec` is 10^6 bytes/s (dbench.c, 1.0e-6). Latencies are milliseconds. Names are those of its load file: `ReadX` is `read`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the report of dbench with its line Throughput"
BEGUN = re.compile(r"dbench version .{1,100}")
RATE = re.compile(
    r"[.+*]{0,9999} ?Throughput ([\d.]{1,20}(?:e[+-]\d\d)?) MB/sec"
    r"(?: \(sync \w{1,10}\))*(?: +\(NB=.{1,80}MBits?/sec\))?(?:\s+.{0,100}procs.{0,100}|(?<=MBit/sec\)).{0,60})"
)
"""1 and 2 have the dots of their progress before it, then the rate that NetBench would tell, and up to 1.2 no clients."""
HEADING = re.compile(r"\s*Operation\s+Count\s+AvgLat\s+MaxLat\s*")
OPERATIONS = {
    "NTCreateX": "open",
    "ReadX": "read",
    "WriteX": "write",
    "Flush": "fsync",
    "Unlink": "unlink",
    "Rename": "rename",
    "Mkdir": "mkdir",
}
LATENCIES = {"AvgLat": "latency_mean_ns", "MaxLat": "latency_max_ns"}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    ends = [at for at, row in enumerate(whole) if RATE.fullmatch(row)]
    if not ends or printed.last_run(whole, BEGUN) > ends[-1]:
        return
    rows = whole[ends[-2] + 1 if len(ends) > 1 else 0 :]
    rate = RATE.fullmatch(whole[ends[-1]])
    assert rate is not None
    yield "mixed.bytes_per_s", printed.number(rate[1], 1e6)
    for row, is_whole in printed.table([row for row in rows if not row.strip().startswith("---")], HEADING):
        name = OPERATIONS.get(row["Operation"])
        if name is not None and is_whole:
            yield f"{name}.count", printed.exact(int(row["Count"]))
            yield from ((f"{name}.{figure}", number) for figure, number in printed.latencies(LATENCIES, row, 1e6))


PARSER = Parser(
    name="dbench",
    programs=("dbench",),
    recognises=printed.prints(("dbench",), BEGUN, RATE),
    **printed.reads(_figures, EXPECTED, ends=RATE),
)

"""CrystalDiskMark 3 to 8: the rate of each test, its operations per second and its mean latency, from the saved text.

`MB/s` is 10^6 bytes/s, as its head says. A test is named by its order, size, queue and threads: `SEQ 1MiB (Q= 8, T= 1)` under
`[Read]` is `sequential_1mib_q8t1_read`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the saved text of CrystalDiskMark (lines such as `SEQ 1MiB (Q= 8, T= 1): 543.188 MB/s [518.0 IOPS] <15407.04 us>`)"
MB = 1e6
BEGUN = re.compile(r"\W*CrystalDiskMark \d.{1,100}")
SECTION = re.compile(r"\s*\[(Read|Write|Mix)\].{0,60}")
RESULT = r"\s*:\s+([\d.]{1,20}) MB/s(?: \[\s*([\d.]{1,20}) IOPS\])?(?: <\s*([\d.]{1,20}) us>)?\s*"
ROW = re.compile(rf"\s*(SEQ|RND|Sequential|Random)\s+(\d{{1,4}}[KM]iB) \(Q=\s*(\d{{1,3}}), ?T=\s*(\d{{1,3}})\){RESULT}")
ROW_6 = re.compile(
    r"\s*(Sequential|Random) (Read|Write)(?: (\d{1,4}[KM]i?B))?"
    rf"(?: \((?:Q=\s*(\d{{1,3}}),\s?)?T=\s*(\d{{1,3}})\)| \(QD=\s*(\d{{1,3}})\))?{RESULT}"
)
"""Versions 3 to 6 name the side in the line."""
ORDERS = {"SEQ": "sequential", "Sequential": "sequential", "RND": "random", "Random": "random"}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the text."""
    rows = printed.lines(text)
    side = ""
    for row in rows[printed.last_run(rows, BEGUN) :]:
        if section := SECTION.fullmatch(row):
            side = "mixed" if section[1] == "Mix" else section[1].lower()
        elif row.strip().startswith("["):
            side = ""
        elif side and (match := ROW.fullmatch(row)):
            order, size, queue, threads, *result = match.groups()
            yield from _test((ORDERS[order], size.lower(), f"q{queue}t{threads}", side), result)
        elif match := ROW_6.fullmatch(row):
            order, way, size, queue, threads, depth, *result = match.groups()
            depths = f"q{depth}" if depth else f"{f'q{queue}' if queue else ''}{f't{threads}' if threads else ''}"
            yield from _test((ORDERS[order], (size or "").lower(), depths, way.lower()), result)


def _test(parts: tuple[str, ...], result: list[str]) -> Iterator[printed.Figure]:
    """Yield the figures of one test."""
    name, (rate, operations, latency) = "_".join(part for part in parts if part), result
    yield f"{name}.bytes_per_s", printed.number(rate, MB)
    if operations:
        yield f"{name}.ops_per_s", printed.number(operations)
    if latency and float(latency):
        yield f"{name}.latency_mean_ns", printed.number(latency, 1e3)


PARSER = Parser(
    name="crystaldiskmark",
    programs=("crystaldiskmark",),
    recognises=printed.prints(("crystaldiskmark",), BEGUN, ROW),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    tier=printed.of_device,
)

"""fio's terse output (--minimal) of versions 3, 4 and 5: bytes, rates, operations and latencies of each group of jobs.

Fields are separated by semicolons; sizes and bandwidths count in 1,024 bytes, latencies in µs (HOWTO, "Terse output"). A group
with several lines is refused: they may be jobs at the same time, or runs. So is a job with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "lines of fio --minimal, such as `3;fio-3.33;job;0;0;...` (terse version 3, 4 or 5)"
ROW = re.compile(r"[345];fio-[\w.-]{1,40};[^;]{0,400};\d{1,6};\d{1,6};.{100,}")
SIDES = {"3": ("read", "write"), "4": ("read", "write", "trim"), "5": ("read", "write", "trim")}
FIELDS = {"3": 41, "4": 41, "5": 47}
"""Fields of one side; version 5 adds the samples of bandwidth and of operations."""
FIRST, BYTES, RATE, OPERATIONS, TIME, CENTILES, LATENCY = 5, 0, 1, 2, 3, slice(12, 32), 32
CENTILE = re.compile(r"([\d.]{1,12})%=(\d{1,18})")


def _figures(text: str) -> Iterator[printed.Figure]:
    jobs: dict[str, list[str]] = {}
    for row in (row.strip() for row in printed.lines(text)):
        if ROW.fullmatch(row):
            fields = row.split(";")
            if fields[3] in jobs:
                raise ValueError(f"second line of group {fields[3]}, of a job beside it or of another run (--group_reporting)")
            if fields[4] != "0":
                raise ValueError(f"operations of job {fields[2][:40]!r}, which ended with error {fields[4]}")
            jobs[fields[3]] = fields
        elif ";fio-" in row:
            raise ValueError(f"line {row[:80]!r}")
    for side in ("read", "write", "trim"):
        found = {group: part for group, job in jobs.items() if (part := _side(job, side))}
        names = printed.fio_groups(side, {group: printed.Manner() for group in found})
        for group, mine in found.items():
            yield from ((f"{names[group]}.{figure}", number) for figure, number in _group(mine))


def _side(job: Sequence[str], side: str) -> list[str] | None:
    """Return the fields of one side of a job; None where it did nothing."""
    version = job[0]
    if side not in SIDES[version]:
        return None
    start = FIRST + FIELDS[version] * SIDES[version].index(side)
    fields = list(job[start : start + FIELDS[version]])
    if len(fields) < FIELDS[version]:
        raise ValueError(f"{len(job)} fields of a job")
    return fields if int(fields[BYTES]) else None


def _group(fields: Sequence[str]) -> Iterator[tuple[str, printed.ParsedNumber]]:
    """Yield the figures of one side of a group."""
    yield "bytes_per_s", printed.truncated(fields[RATE], printed.KIB)
    yield "ops_per_s", printed.truncated(fields[OPERATIONS])
    yield "bytes", printed.truncated(fields[BYTES], printed.KIB)
    yield "elapsed_ns", printed.number(fields[TIME], 1e6)
    yield "latency_mean_ns", printed.number(fields[LATENCY + 2], 1e3)
    yield "latency_max_ns", printed.number(fields[LATENCY + 1], 1e3)
    for match in (match for field in fields[CENTILES] if (match := CENTILE.fullmatch(field))):
        if (name := printed.FIO_PERCENTILES.get(float(match[1]))) and int(match[2]):
            yield f"latency_{name}_ns", printed.number(match[2], 1e3)


PARSER = Parser(
    name="fio_terse",
    programs=("fio",),
    recognises=printed.prints(("fio",), ROW),
    **printed.reads(_figures, EXPECTED),
    tier=printed.of_device,
    direct="--direct=1",
)

"""fio's terse output (--minimal) of versions 3, 4 and 5: bytes, rates, operations and latencies of each group of jobs.

Fields are separated by semicolons; sizes and bandwidths count in 1,024 bytes, latencies in µs (HOWTO, "Terse output"). Of several
jobs of a group amounts and rates are sums, and there are no latencies. A job with an error has no figure: the line does not say what it missed.
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
    groups: dict[str, list[list[str]]] = {}
    for row in (row.strip() for row in printed.lines(text)):
        if not ROW.fullmatch(row):
            if ";fio-" in row:
                raise ValueError(f"line {row[:80]!r}")
        else:
            fields = row.split(";")
            groups.setdefault(fields[3], []).append(fields)
    for side in ("read", "write", "trim"):
        found = {group: parts for group, jobs in groups.items() if (parts := [part for job in jobs if (part := _side(job, side))])}
        names = printed.fio_groups(side, {group: printed.Manner() for group in found})
        for group, parts in found.items():
            failed = [job for job in groups[group] if job[4] != "0"]
            yield from ((f"{names[group]}.{figure}", number) for figure, number in _group(parts, is_failed=bool(failed)))


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


def _group(parts: Sequence[Sequence[str]], *, is_failed: bool) -> Iterator[tuple[str, printed.ParsedNumber]]:
    """Yield the figures of one side of a group."""
    yield "bytes_per_s", printed.total(printed.truncated(part[RATE], printed.KIB) for part in parts)
    yield "ops_per_s", printed.total(printed.truncated(part[OPERATIONS]) for part in parts)
    yield "bytes", printed.total(printed.truncated(part[BYTES], printed.KIB) for part in parts)
    yield "elapsed_ns", max((printed.number(part[TIME], 1e6) for part in parts), key=lambda time: time.value)
    if is_failed:
        raise ValueError("operations of a job that ended with an error")
    if len(parts) == 1:
        _, maximum, mean, _ = parts[0][LATENCY : LATENCY + 4]
        yield "latency_mean_ns", printed.number(mean, 1e3)
        yield "latency_max_ns", printed.number(maximum, 1e3)
        for match in (match for field in parts[0][CENTILES] if (match := CENTILE.fullmatch(field))):
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

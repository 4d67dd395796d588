"""fio's JSON output (json, json+ and mixed with text) since 2.1: rates, operations and latencies of reads, writes and trims.

One job's rates are fio's own (`bw_bytes`, `iops`; the field `bw` is in KiB/s). For several jobs, bytes and operations are added
and divided by the longest run time, as fio does for a group; each group of one direction is an operation of its own.
Percentiles are of completion latency (of total latency with lat_percentiles=1); several jobs have percentiles only with json+,
which has the bins to merge. fio 2 has KiB, KiB/s and microseconds (stat.c of 2.21 and 3.0), and up to 2.1.4 no number of
operations; before 3.18 latencies have no `N`.
A server's clients are summed by fio in `All clients`. Source: fio 3.33, stat.c, client.c and HOWTO.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from assay.catalogue import Parser, printed
from assay.errors import EvidenceError
from assay.evidence import asked_time

Row = Mapping[str, Any]
EXPECTED = "a complete last report of fio (--output-format=json)"
SIDES = ("read", "write", "trim", "mixed")
"""Directions of a job; `mixed` is all of them (unified_rw_reporting)."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of directions with I/O.

    `errors` counts failed operations, and all operations of a job that ended with an error: it did not do its work.
    """
    report = _report(text)
    each = [job for job in report.get("jobs", report.get("client_stats")) if isinstance(job, dict)]
    sums = [job for job in each if job.get("jobname") == "All clients"]
    failed = sum(_failed(job) for job in each if job not in sums)
    for side in SIDES:
        for name, rows, manner in _groups(report, sums or each, side):
            found = (*_amounts(rows), ("errors", printed.exact(failed)), *_rates(rows), *_latencies(rows))
            yield from ((f"{name}.{key}", figure) for key, figure in found if manner.has(key))
            yield from ((f"{name}.{key}", figure) for key, figure in _asked(manner))


def _asked(manner: printed.Manner) -> Iterator[printed.Figure]:
    """Yield what the options of a group say of its figures: that no I/O was done, and the time that was asked for."""
    if manner.is_idle:
        yield "idle", printed.exact(1)
    if time := asked_time.seconds(manner.runtime):
        yield "asked_ns", printed.exact(1e9 * time)


def _report(text: str) -> Row:
    """Return the last report (earlier ones are of --status-interval or of other calls); text around it is ignored.

    Raises EvidenceError if a truncated report follows.
    """
    decoder, end = json.JSONDecoder(), 0
    report: Row | None = None
    for match in re.finditer(r"^\{", text, re.MULTILINE):
        if match.start() >= end:
            with contextlib.suppress(ValueError, RecursionError):
                found, end = decoder.raw_decode(text, match.start())
                is_report = "fio version" in found and any(isinstance(found.get(name), list) for name in ("jobs", "client_stats"))
                report = found if is_report else report
    if report is None or '"fio version"' in text[end:]:
        raise EvidenceError(
            f"found {len(text)} characters without a complete last report of fio; expected the output of --output-format=json"
        )
    return report


def _groups(report: Row, jobs: Sequence[Row], side: str) -> Iterator[tuple[str, list[Row], printed.Manner]]:
    """Yield operation, jobs and options of each group with I/O in this direction, in the order of the report."""
    busy: dict[int, list[Row]] = {}
    manners: dict[int, printed.Manner] = {}
    for job in jobs:
        if side in job and _whole(job[side].get("total_ios", job[side]["io_bytes"])) > 0:
            group = _whole(job["groupid"])
            busy.setdefault(group, []).append(_in_bytes_and_ns(job[side]))
            options = {**report.get("global options", {}), **job.get("job options", {})}
            pattern = options.get("rw", options.get("readwrite", ""))
            engine, runtime = (str(options.get(name, "")) for name in ("ioengine", "runtime"))
            manners.setdefault(group, printed.Manner(pattern=str(pattern), engine=engine, runtime=runtime))
    names = printed.fio_groups(side, manners)
    yield from ((names[group], rows, manners[group]) for group, rows in busy.items())


def _failed(job: Row) -> int:
    """Return the failed operations of a job: all, at least one, where it ended with an error."""
    done = sum(_whole(job[side].get("total_ios", 0)) for side in SIDES if side in job)
    return (max(1, done) if _whole(job.get("error", 0)) else 0) + _whole(job.get("total_err", 0))


def _in_bytes_and_ns(row: Row) -> Row:
    """Return a direction of a job as fio 3 prints it: fio 2 has no `io_kbytes`, and KiB, KiB/s and microseconds."""
    whole = dict(row)
    if "io_kbytes" not in row and "bw_bytes" not in row:
        whole |= {"io_bytes": _whole(row["io_bytes"]) * printed.KIB, "bw_bytes": _number(row["bw"]) * printed.KIB}
        for kind in ("lat", "clat"):
            whole[f"{kind}_ns"] = _times(row.get(kind, {}))
    for kind in ("lat_ns", "clat_ns"):
        if "mean" in whole.get(kind, {}) and "total_ios" in row:
            whole[kind] = {"N": row["total_ios"], **whole[kind]}
    return whole


def _times(latency: Row) -> Row:
    """Return a latency in ns of one in microseconds."""
    found: dict[str, Any] = {name: _number(latency[name]) * 1e3 for name in ("mean", "max") if name in latency}
    return found | {"percentile": {name: _number(value) * 1e3 for name, value in latency.get("percentile", {}).items()}}


def _amounts(rows: Sequence[Row]) -> Iterator[printed.Figure]:
    if all("total_ios" in row for row in rows):
        yield "count", printed.exact(sum(_whole(row["total_ios"]) for row in rows))
    yield "bytes", printed.exact(sum(_whole(row["io_bytes"]) for row in rows))


def _rates(rows: Sequence[Row]) -> Iterator[printed.Figure]:
    """Yield the rates and their time, which are whole bytes/s and milliseconds; nothing for 0 ms."""
    longest_ms = max(_number(row["runtime"]) for row in rows)
    if longest_ms <= 0:
        return
    done = dict(_amounts(rows))
    each = {"bytes_per_s": ("bw_bytes", "bytes", 0.5), "ops_per_s": ("iops", "count", 0.0)}
    for name, (own, amount, half) in each.items():
        if len(rows) == 1:
            yield name, printed.ParsedNumber(value=_number(rows[0][own]), half=half)
        elif amount in done:
            yield name, printed.ParsedNumber(value=done[amount].value * 1000 / longest_ms, half=half)
    yield "elapsed_ns", printed.ParsedNumber(value=longest_ms * 1e6, half=5e5)


def _latencies(rows: Sequence[Row]) -> Iterator[printed.Figure]:
    each = [row["lat_ns"] for row in rows if "mean" in row.get("lat_ns", {})]
    whole = [latency for latency in each if "N" in latency] or [{"N": 1, **latency} for latency in each if len(rows) == 1]
    number = sum(_whole(latency["N"]) for latency in whole)
    if number == 0:
        return
    yield "latency_mean_ns", printed.exact(sum(_number(one["mean"]) * _whole(one["N"]) for one in whole) / number)
    yield "latency_max_ns", printed.exact(max(_number(one["max"]) for one in whole))
    of_kinds = (_percentiles([row.get(kind, {}) for row in rows]) for kind in ("lat_ns", "clat_ns"))
    for percent, value in next(filter(None, of_kinds), {}).items():
        if percent in printed.FIO_PERCENTILES:
            yield f"latency_{printed.FIO_PERCENTILES[percent]}_ns", printed.exact(value)


def _percentiles(latencies: Sequence[Row]) -> Mapping[float, float]:
    """Return the percentiles of one job, or of all from their bins (nearest rank, as fio)."""
    if len(latencies) == 1:
        return {float(text): _number(value) for text, value in latencies[0].get("percentile", {}).items()}
    if not all("bins" in latency for latency in latencies):
        return {}
    bins: Counter[int] = Counter()
    for latency in latencies:
        bins.update({int(value): _whole(count) for value, count in latency["bins"].items()})
    values, ends = sorted(bins), list(accumulate(bins[value] for value in sorted(bins)))
    ranks = {percent: bisect_left(ends, math.ceil(ends[-1] * percent / 100)) for percent in printed.FIO_PERCENTILES}
    return {percent: float(values[rank]) for percent, rank in ranks.items()}


def _number(value: object) -> float:
    """Return a finite, non-negative number that is not a boolean."""
    number = printed.json_number(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{value!r} as a number")
    return number


def _whole(value: object) -> int:
    return int(_number(value))


PARSER = Parser(
    name="fio_json",
    recognises=printed.prints(("fio",), '"fio version"'),
    **printed.reads(_figures, EXPECTED, begins=re.compile(r"\{")),
    result_file=printed.file_option("fio", "--output"),
    tier=printed.of_device,
    direct="--direct=1",
    flush="--end_fsync=1",
)

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import Parser, printed
from assay.errors import EvidenceError
from assay.evidence import asked_time

Row = Mapping[str, Any]
SIDES = ("read", "write", "trim", "mixed")
"""Directions of a job; `mixed` is all of them (unified_rw_reporting)."""


def parse(text: str) -> Mapping[str, float]:
    """Return {`read.bytes_per_s`: 7.1e7, …} in bytes, ns and 1/s, of directions with I/O.

    `errors` counts failed operations, and all operations of a job that ended with an error: it did not do its work. Raises
    EvidenceError without a complete report.
    """
    return printed.first_read(text, _parsed)


def _parsed(text: str) -> Mapping[str, float]:
    report = _report(text)
    try:
        each = [job for job in report.get("jobs", report.get("client_stats")) if isinstance(job, dict)]
        sums = [job for job in each if job.get("jobname") == "All clients"]
        failed = sum(_failed(job) for job in each if job not in sums)
        groups = [group for side in SIDES for group in _groups(report, sums or each, side)]
        found = {
            f"{name}.{key}": figure for name, rows, manner in groups for key, figure in _figures(rows, failed) if manner.has(key)
        }
        found |= {f"{name}.idle": 1.0 for name, _, manner in groups if manner.is_idle}
        asked = ((name, asked_time.seconds(manner.runtime)) for name, _, manner in groups)
        found |= {f"{name}.asked_ns": 1e9 * time for name, time in asked if time}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise EvidenceError(f"found a fio report with an invalid or missing {error}; expected a report of fio") from error
    if not found:
        raise EvidenceError("found no figure; expected the result of a run that has ended")
    return found


def _report(text: str) -> Row:
    """Return the last report (earlier ones are of --status-interval or of other calls); text around it is ignored.

    Raises EvidenceError if a truncated report follows.
    """
    kept, decoder, end = text, json.JSONDecoder(), 0
    report: Row | None = None
    for match in re.finditer(r"^\{", kept, re.MULTILINE):
        if match.start() >= end:
            with contextlib.suppress(ValueError, RecursionError):
                found, end = decoder.raw_decode(kept, match.start())
                is_report = "fio version" in found and any(isinstance(found.get(name), list) for name in ("jobs", "client_stats"))
                report = found if is_report else report
    if report is None or '"fio version"' in kept[end:]:
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
    return (max(1, done) if _whole(job["error"]) else 0) + _whole(job.get("total_err", 0))


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


def _figures(rows: Sequence[Row], failed: int) -> Iterator[tuple[str, float]]:
    if all("total_ios" in row for row in rows):
        yield "count", float(sum(_whole(row["total_ios"]) for row in rows))
    yield "bytes", float(sum(_whole(row["io_bytes"]) for row in rows))
    yield "errors", float(failed)
    yield from (*_rates(rows), *_latencies(rows))


def _rates(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    """Yield the rates; nothing if the run time in whole milliseconds is 0."""
    longest_ms = max(_number(row["runtime"]) for row in rows)
    if longest_ms <= 0:
        return
    if len(rows) == 1:
        yield "bytes_per_s", _number(rows[0]["bw_bytes"])
        yield "ops_per_s", _number(rows[0]["iops"])
    else:
        yield "bytes_per_s", sum(_whole(row["io_bytes"]) for row in rows) * 1000 / longest_ms
        if all("total_ios" in row for row in rows):
            yield "ops_per_s", sum(_whole(row["total_ios"]) for row in rows) * 1000 / longest_ms
    yield "elapsed_ns", longest_ms * 1e6


def _latencies(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    each = [row["lat_ns"] for row in rows if "mean" in row.get("lat_ns", {})]
    whole = [latency for latency in each if "N" in latency] or [{"N": 1, **latency} for latency in each if len(rows) == 1]
    number = sum(_whole(latency["N"]) for latency in whole)
    if number == 0:
        return
    yield "latency_mean_ns", sum(_number(latency["mean"]) * _whole(latency["N"]) for latency in whole) / number
    yield "latency_max_ns", max(_number(latency["max"]) for latency in whole)
    for kind in ("lat_ns", "clat_ns"):
        found = tuple(_percentiles([row.get(kind, {}) for row in rows]))
        if found:
            yield from found
            return


def _percentiles(latencies: Sequence[Row]) -> Iterator[tuple[str, float]]:
    if len(latencies) == 1:
        percentiles = latencies[0].get("percentile", {})
        for text, figure in percentiles.items():
            if float(text) in printed.FIO_PERCENTILES:
                yield f"latency_{printed.FIO_PERCENTILES[float(text)]}_ns", _number(figure)
        return
    if not all("bins" in latency for latency in latencies):
        return
    bins: Counter[int] = Counter()
    for latency in latencies:
        bins.update({int(value): _whole(count) for value, count in latency["bins"].items()})
    for percent, name in printed.FIO_PERCENTILES.items():
        yield f"latency_{name}_ns", _at(bins, percent)


def _at(bins: Mapping[int, int], percent: float) -> float:
    """Return the percentile of the bins (nearest rank, as fio)."""
    wanted, seen = math.ceil(sum(bins.values()) * percent / 100), 0
    for value in sorted(bins):
        seen += bins[value]
        if seen >= wanted:
            return float(value)
    raise ValueError("bins without counts")


def _number(value: object) -> float:
    """Return a finite, non-negative number that is not a boolean."""
    number = printed.json_number(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{value!r} as a number")
    return number


def _whole(value: object) -> int:
    return int(_number(value))


def resolution(text: str) -> Mapping[str, float]:
    """Return the resolution: whole milliseconds and whole bytes/s; all else has more digits than needed."""
    halves = {"elapsed_ns": 5e5, "bytes_per_s": 0.5}
    return {key: halves[name] for key in parse(text) if (name := key.rpartition(".")[2]) in halves}


PARSER = Parser(
    name="fio_json",
    recognises=printed.prints(("fio",), '"fio version"'),
    parse=parse,
    runs=printed.runs_in,
    resolution=resolution,
    result_file=printed.file_option("fio", "--output"),
    tier=printed.of_device,
    direct="--direct=1",
    flush="--end_fsync=1",
)

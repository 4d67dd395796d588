"""redis-benchmark: requests per second of each test and their latencies, from its report, from `-q` or from `--csv`.

Latencies are milliseconds with three decimals (Redis 7.0, src/redis-benchmark.c). The rate is that of all clients together, by a
clock of whole milliseconds: `inf` where that did not move. Up to 6.0
the report has no latencies but a table of shares, and --csv has no head. A test that fills the list for another one
has figures only where the test of its name did not run. Requests that the server refused are errors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.catalogue import Parser, printed

EXPECTED = "the report of redis-benchmark, its lines with -q, or its rows with --csv"
HEAD = re.compile(r"====== (.{1,80}?) ======\s*")
COMPLETED = re.compile(r"\s*(\d{1,18}) requests completed in ([\d.]{1,20}) seconds\s*")
RATE = r"([\d.]{1,20}|inf)"
SUMMARY = re.compile(rf"\s*throughput summary: {RATE} requests per second")
RATE_6_0 = re.compile(rf"{RATE} requests per second\s*")
CSV_6_0 = re.compile(rf'"([^"]{{1,80}})","{RATE}"')
PREPARATION = re.compile(r"\(needed to benchmark .{1,40}\)")
PREPARED = " prepared"
"""What marks the name of such a test."""
LATENCIES = re.compile(r"\s*avg\s+min\s+p50\s+p95\s+p99\s+max\s*")
VALUES = re.compile(r"\s*([\d.]{1,20})" + r"\s+([\d.]{1,20})" * 5 + r"\s*")
QUIET = re.compile(rf"\s{{0,4}}(\S.{{0,80}}?): {RATE} requests per second(?:, p50=([\d.]{{1,20}}) msec)?\s*")
CLOCK_NS = 1_000_000
INFINITE = "inf"
USUAL_COUNT = 100_000
"""Without -n (Redis 7.0, src/redis-benchmark.c: config.requests)."""
COLUMNS = '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"'
ELEMENTS = re.compile(r"\(first (\d{1,9}) elements\)")
TEST = re.compile(
    r"""(?:.{0,9000}\s)?====== (.{1,80}?) ======\s*|"([^"]{1,80})","[\d.inf]{1,20}"|"""
    r"""\s{0,4}(?!throughput summary)(\S.{0,80}?): [\d.inf]{1,20} requests per second.{0,60}"""
)
"""A line with the name of a test."""
NAMES = ("latency_mean_ns", "", "latency_p50_ns", "latency_p95_ns", "latency_p99_ns", "latency_max_ns")
"""The figures of avg, min, p50, p95, p99 and max."""


BROKEN = re.compile(r"(?:Error from server|All clients disconnected|Error writing to the server|Unexpected error reply).{0,300}")
REFUSED = re.compile(r"ERROR: (?:NOAUTH|WRONGPASS|LOADING|MISCONF|CLUSTERDOWN)\b.{0,300}")
"""Up to 6.2 it says so at first, goes on, and counts the refusals as requests."""


def runs(text: str) -> list[str]:
    """Return the texts of the runs: by the head of the rows, else each begins with a test that the one before has already."""
    return printed.runs_in(text, re.compile(re.escape(COLUMNS))) or printed.runs_by_key(text, TEST)


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of each test, of its last run where it ran more than once."""
    rows, found, name = printed.lines(text), dict[str, dict[str, printed.ParsedNumber]](), None
    for index, row in enumerate(rows):
        if head := HEAD.fullmatch(row):
            name = _name(head[1])
            found[name or ""] = {}
        elif name is not None and (figures := _of_report(rows[index:])):
            found[name] |= figures
        else:
            found |= _of_line(row, has_columns=COLUMNS in rows[:index])
    found.pop("", None)
    for prepared in [test for test in found if test.endswith(PREPARED)]:
        found.setdefault(prepared.removesuffix(PREPARED), found.pop(prepared))
    refused = printed.first_match(rows, REFUSED) is not None
    for test, figures in found.items():
        yield from ((f"{test}.{figure}", value) for figure, value in figures.items())
        if refused:
            yield from ((f"{test}.{figure}", figures.get("count", printed.exact(1))) for figure in ("errors", "attempts"))


def _of_report(rows: Sequence[str]) -> dict[str, printed.ParsedNumber]:
    """Return the figures that a line of a test's report begins."""
    if completed := COMPLETED.fullmatch(rows[0]):
        return {"count": printed.exact(int(completed[1])), "elapsed_ns": printed.number(completed[2], printed.SECOND)}
    if summary := SUMMARY.fullmatch(rows[0]):
        return _of(summary[1], _latencies(rows))
    rate = RATE_6_0.fullmatch(rows[0])
    return _rate(rate[1]) if rate else {}


def _of_line(row: str, *, has_columns: bool) -> dict[str, dict[str, printed.ParsedNumber]]:
    """Return the figures of a test that has a line of its own: with --csv, or with -q."""
    if short := CSV_6_0.fullmatch(row):
        return {_name(short[1]) or "": _of(short[2], ("0",) * len(NAMES))}
    if quiet := QUIET.fullmatch(row):
        return {_name(quiet[1]) or "": _of(quiet[2], ("0", "0", quiet[3] or "0", "0", "0", "0"))}
    if has_columns and row.startswith('"') and len(cells := next(csv.reader([row]))) == len(NAMES) + 2:
        return {_name(cells[0]) or "": _of(cells[1], cells[2:])}
    return {}


def _latencies(rows: Sequence[str]) -> Sequence[str]:
    """The line of values below the head of the latencies; zeros without."""
    at = next((at for at, row in enumerate(rows[:4]) if LATENCIES.fullmatch(row)), None)
    values = None if at is None or at + 1 >= len(rows) else VALUES.fullmatch(rows[at + 1])
    return values.groups() if values else ("0",) * len(NAMES)


def _of(rate: str, latencies: Sequence[str]) -> dict[str, printed.ParsedNumber]:
    known = {
        figure: printed.number(value, 1e6) for figure, value in zip(NAMES, latencies, strict=True) if figure and float(value) > 0
    }
    return {**_rate(rate), **known}


def _rate(text: str) -> dict[str, printed.ParsedNumber]:
    """The rate; a time of 0 where the clock had not moved."""
    return {"elapsed_ns": printed.exact(0)} if text == INFINITE else {"ops_per_s": printed.number(text)}


def _count(argv: Sequence[str]) -> float | None:
    """The requests of each test: -n N."""
    given = [after for word, after in pairwise(argv) if word == "-n"]
    return float(given[-1]) if given and given[-1].isdigit() else None if given else USUAL_COUNT


def _name(test: str) -> str | None:
    """`request_lrange_100` of `LRANGE_100 (first 100 elements)`; None where these two numbers differ: the text is damaged."""
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"\(.*\)", "", test).lower()).strip("_")
    if not plain:
        raise ValueError(f"{test!r} as a test")
    elements = ELEMENTS.search(test)
    if elements and not plain.endswith(f"_{elements[1]}"):
        return None
    return f"request_{plain}{PREPARED if PREPARATION.search(test) else ''}"


PARSER = Parser(
    name="redis_benchmark",
    recognises=printed.prints(("redis-benchmark", "valkey-benchmark"), COLUMNS, COMPLETED, SUMMARY, RATE_6_0, CSV_6_0, QUIET),
    **printed.reads(_figures, EXPECTED, runs=runs, broken=BROKEN),
    programs=("redis-benchmark", "valkey-benchmark"),
    count=_count,
    clock_ns=CLOCK_NS,
)

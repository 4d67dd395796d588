"""warp of MinIO: objects and bytes per second of each operation, its latencies and failures.

`MiB/s` is 2^20 bytes/s, and so is the `MB/s` of those before 0.3.
An operation is `request_get`, `request_put` and so on. Before 1.0 a block begins with `Operation:`,
since then with `Report:`; of two blocks of one operation the later counts. The rate of a mix has no word before it
up to 0.3, then `Throughput:` (cli/analyze.go, pkg/aggregate/live.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.catalogue import Parser, printed

EXPECTED = "the analysis of warp (Report: GET or Operation: GET, with its line Average)"
BLOCK = re.compile(r"(?:Report|Operation): ([A-Z][A-Za-z]{2,20})\b.{0,200}")
ENDS = re.compile(r"(?:Throughput,? (?:split|by)|Cluster Total).{0,200}")
AVERAGE = re.compile(r"\s*\* (?:Average: |Throughput: )?(?:([\d.]{1,20}) ([KMGT]?)i?B/s, )?([\d.]{1,20}) (?:obj|op)s?/s.{0,100}")
LATENCY = re.compile(
    r"\s*\* (?:Reqs: )?Avg: ([^\s/]{1,20}), 50%: ([^\s/]{1,20}), 90%: ([^\s/]{1,20}), 99%: ([^\s/]{1,20}), "
    r"Fastest: [^\s/]{1,20}, Slowest: ([^\s/]{1,20}?),?(?: .{0,60})?"
)
"""Of objects of many sizes there are rates in the place of times."""
PARTS = re.compile(r"\s*(?:Request size |Requests by host|Throughput by host).{0,200}")
"""What begins the requests of a size or of a host."""
REQUESTS = re.compile(r"\s*\* Reqs: (\d{1,18}), Errs: ?(\d{1,18}), .{1,200}")
ERRORS = re.compile(r"\s*(?:\* )?(?:Total )?Errors: ?(\d{1,18})\b.{0,200}")
DURATION = re.compile(r"(?:([\d.]{1,12})m(?!s))?(?:([\d.]{1,12})(ns|us|µs|ms|s))?")
NAMES = ("mean", "p50", "p90", "p99", "max")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    rows = printed.lines(runs(text)[-1])
    begins = [at for at, row in enumerate(rows) if BLOCK.fullmatch(row)]
    blocks: dict[str, Sequence[str]] = {}
    for start, end in pairwise([*begins, len(rows)]):
        name = BLOCK.fullmatch(rows[start])
        if name and (printed.first_match(rows[start + 1 : end], AVERAGE) or name[1].lower() not in blocks):
            blocks[name[1].lower()] = rows[start + 1 : end]
    for operation, block in blocks.items():
        yield from ((f"request_{operation}.{figure}", number) for figure, number in _block(block))


def _block(rows: Sequence[str]) -> Iterator[tuple[str, printed.ParsedNumber]]:
    """Yield the figures of an operation, from the lines before its throughput is split."""
    whole = rows[: next((at for at, row in enumerate(rows) if ENDS.fullmatch(row)), len(rows))]
    average, requests, errors = (printed.first_match(whole, form) for form in (AVERAGE, REQUESTS, ERRORS))
    latency = printed.first_match(whole[: next((at for at, row in enumerate(whole) if PARTS.fullmatch(row)), None)], LATENCY)
    if average is None:
        return
    yield "ops_per_s", printed.number(average[3])
    if average[1]:
        yield "bytes_per_s", printed.number(average[1], printed.power(average[2]))
    if latency is not None:
        yield from ((f"latency_{name}_ns", _time(told)) for name, told in zip(NAMES, latency.groups(), strict=True))
    if requests is not None:
        yield "count", printed.exact(int(requests[1]))
        yield "errors", printed.exact(int(requests[2]))
        yield "attempts", printed.exact(int(requests[1]))
    elif errors is not None:
        yield "errors", printed.exact(int(errors[1]))


def _time(text: str) -> printed.ParsedNumber:
    """Return a duration as Go prints it: `2.9ms`, `1.575s`, `1m2s`."""
    match = DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{text!r} as a duration")
    parts = [printed.number(match[1], printed.TIMES["m"])] if match[1] else []
    return printed.total([*parts, printed.number(match[2], printed.TIMES[match[3]])] if match[2] else parts)


def runs(text: str) -> Sequence[str]:
    """Return the texts of the runs in an output."""
    return printed.runs_by_key(text, BLOCK)


PARSER = Parser(
    name="warp",
    programs=("warp",),
    recognises=printed.prints(("warp",), BLOCK),
    **printed.reads(_figures, EXPECTED, runs=runs),
)

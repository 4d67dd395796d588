"""pgbench: transactions per second and their latency, of the whole run.

`tps` is without the time of the first connections, or with that of reconnections (`-C`). Latencies have microseconds; that of a
run with `-R` includes the time behind the schedule (PostgreSQL 15, src/bin/pgbench/pgbench.c, printResults). Before 10 a colon
stands in place of `=`, before 9.6 there was no latency without `-l`. A run of which a client was aborted has no figure (before 12
only that client's line says so). Figures of single scripts and statements are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the summary of pgbench (transaction type, number of transactions, latency average, tps)"
BEGUN = re.compile(r"transaction type: .{1,200}")
ABORTED = re.compile(r"(?:pgbench: error: )?(?:client \d{1,9} aborted|run was aborted; ).{0,300}", re.IGNORECASE)
COUNT = re.compile(r"number of transactions actually processed: (\d{1,18})(?:/\d{1,18})?")
FAILED = re.compile(r"number of failed transactions: (\d{1,18}) \(.{1,40}\)")
LATENCY = re.compile(r"latency average(?: =|:) ([\d.]{1,20}) ms")
RATE = re.compile(r"tps = ([\d.]{1,30}) \((?:without initial connection time|excluding .{1,60}|including reconnection times)\)")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = [row.rstrip() for row in whole[printed.last_run(whole, BEGUN) :]]
    rate, count, failed, latency = (printed.first_match(rows, form) for form in (RATE, COUNT, FAILED, LATENCY))
    if rate is None or count is None:
        return
    yield "transaction.ops_per_s", printed.number(rate[1])
    yield "transaction.count", printed.exact(int(count[1]))
    if failed is not None:
        yield "transaction.errors", printed.exact(int(failed[1]))
        yield "transaction.attempts", printed.exact(int(count[1]) + int(failed[1]))
    if latency is not None and float(latency[1]) > 0:
        yield "transaction.latency_mean_ns", printed.number(latency[1], 1e6)


def runs(text: str) -> Sequence[str]:
    """Return the texts of the runs; one where a client was aborted, since nobody can say of which run."""
    return (text,) if printed.first_match(printed.lines(text), ABORTED) else printed.runs_in(text, BEGUN)


PARSER = Parser(
    name="pgbench",
    recognises=printed.prints(("pgbench",), BEGUN, RATE, ABORTED),
    **printed.reads(_figures, EXPECTED, runs=runs, broken=ABORTED),
)

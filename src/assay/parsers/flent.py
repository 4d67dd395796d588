"""flent: the rate of its streams and the latency of its pings, from the summary that it prints or from its data file.

The rate of several streams is the row `sum`, of one stream its own row; `avg` is the mean over the time of the test (flent 2.3,
flent/formatters.py). `Mbits/s` count in powers of 1,000. The data file keeps that mean for each series (MEAN_VALUE); without it
the mean is that of the measured values, or of those in steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = "flent's summary (avg, median, # data pts), or its data file (metadata, results, x_values)"
BEGUN = re.compile(r"Summary of [\w.+-]{1,80} (?:test )?run .{1,200}")
HEADING = re.compile(r"\s*avg\s+median\s+(?:99th %\s+)?# data pts\s*")
ROW = re.compile(r" ?(\S.{0,100}?) +: +([\d.]{1,20})(?: +(?:[\d.]{1,20}|N/A)){1,2} ([A-Za-z/]{0,12}) +\d{1,9}\s*")
NO_DATA = re.compile(r" ?\S.{0,100} : No data\.")
UNIT = re.compile(r"([KMG]?)bits/s")
STREAMS = {"TCP upload": "send", "TCP download": "receive"}
PINGS = ("Ping (ms) ICMP", "Ping (ms) avg")
Means = dict[str, tuple[printed.ParsedNumber, str]]
"""The mean of each series, and its unit."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last summary in the output, or of the data file."""
    rows = printed.lines(text)
    at = printed.last_run(rows, HEADING)
    found = _data_file(printed.json_report(text)) if '"x_values"' in text else {}
    for index, row in enumerate(rows[at + 1 :], at + 1):
        if match := ROW.fullmatch(row):
            found[match[1]] = printed.number(match[2]), match[3]
        elif " : " in row and not NO_DATA.fullmatch(row):
            raise printed.damaged_line(rows, index)
    for stream, side in STREAMS.items():
        single = [name for name in found if name.startswith(stream) and UNIT.fullmatch(found[name][1])]
        name = f"{stream} sum" if f"{stream} sum" in found else single[0] if len(single) == 1 else None
        if name and (unit := UNIT.fullmatch(found[name][1])):
            yield f"{side}.bytes_per_s", found[name][0].times(printed.power(unit[1], 1000) / 8)
    if ping := next((found[name][0] for name in PINGS if name in found), None):
        yield "ping.latency_mean_ns", ping.times(1e6)


def _data_file(report: Mapping[str, Any]) -> Means:
    """Return the means of a data file."""
    if failed := report["metadata"].get("FAILED_RUNNERS"):
        raise ValueError(f"run without failures (FAILED_RUNNERS {failed})")
    about, raw = report["metadata"].get("SERIES_META", {}), report.get("raw_values", {})
    found: Means = {}
    for name, values in report["results"].items():
        each = [one.get("val") for one in raw.get(name, ())] or values
        known = [printed.json_number(value) for value in each if value is not None]
        mean = about.get(name, {}).get("MEAN_VALUE")
        if known:
            value = fmean(known) if mean is None else printed.json_number(mean)
            found[name] = printed.exact(value), about.get(name, {}).get("UNITS", "Mbits/s" if name.startswith("TCP") else "ms")
    return found


PARSER = Parser(
    name="flent",
    programs=("flent", "netperf-wrapper"),
    recognises=printed.prints(("flent", "netperf-wrapper"), BEGUN, HEADING, '"x_values"'),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
)

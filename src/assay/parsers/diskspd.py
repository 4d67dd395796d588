"""diskspd: bytes, operations and latencies of reads and of writes, from its text or its XML (-Rxml).

The line `total:` of `Read IO` and `Write IO` counts all threads; `MiB/s` is 2^20 bytes/s, latencies are milliseconds and need
`-L` (diskspd 2.x, ResultParser.cpp). The rates are over `actual test time`. Of several timespans the last counts. The XML has the
bytes and operations of each thread and target, and percentiles of all of them (XmlResultParser.cpp); the mean latencies are
weighted by the operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the text of diskspd (actual test time, Read IO, Write IO), or its XML"
XML = "<Results>"
BEGUN = re.compile(r"\s*(?:Results for timespan \d{1,4}:|<Results>)\s*")
TIME = re.compile(r"\s*actual test time:\s+([\d.]{1,20})s\s*")
SECTION = re.compile(r"\s*(Total|Read|Write) IO\s*")
HEAD = re.compile(r"\s*thread \|\s+bytes\s+\|.{1,200}")
SUM = re.compile(r"\s*total:\s+(\d{1,20}) \|\s+(\d{1,20}) \|\s+([\d.]{1,20}) \|\s+([\d.]{1,20})((?: \|\s+[\d.]{1,20}){0,4})\s*")
PERCENTILES = re.compile(r"\s*%-ile \|\s+Read \(ms\) \| Write \(ms\) \| Total \(ms\)\s*")
PERCENTILE = re.compile(r"\s*(50th|90th|95th|99th|3-nines|max) \|\s+([\d.]{1,20}|N/A) \|\s+([\d.]{1,20}|N/A) \|\s+[\d.]{1,20}\s*")
NAMES = {"50th": "p50", "90th": "p90", "95th": "p95", "99th": "p99", "3-nines": "p999", "max": "max"}
XML_PERCENTILES = {50: "p50", 90: "p90", 95: "p95", 99: "p99", 99.9: "p999", 100: "max"}


def _figures(text: str) -> Iterator[printed.Figure]:
    if XML in text:
        yield from _xml(text)
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    time = printed.first_match(rows, TIME)
    if time is None:
        return
    busy = set()
    for side, latency, match in _sums(rows):
        count = int(match[2])
        if count == 0:
            continue
        busy.add(side)
        yield f"{side}.bytes", printed.exact(int(match[1]))
        yield f"{side}.count", printed.exact(count)
        yield f"{side}.bytes_per_s", printed.number(match[3], printed.MIB)
        yield f"{side}.ops_per_s", printed.number(match[4])
        yield f"{side}.elapsed_ns", printed.number(time[1], printed.SECOND)
        if latency:
            yield f"{side}.latency_mean_ns", printed.number(match[5].split("|")[1], 1e6)
    yield from ((f"{side}.{name}", number) for side, name, number in _percentiles(rows) if side in busy)


def _xml(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last timespan of the XML. Raises ValueError for what is no XML."""
    from xml.etree import ElementTree as ET  # few texts are XML, and `assay stat` starts without it

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("declaration of entities in the XML")
    try:
        root = ET.fromstring(text[text.index(XML) : text.rindex("</Results>") + len("</Results>")])  # noqa: S314  no entities
    except ET.ParseError as error:
        raise ValueError(f"XML ({error})") from error
    span = root.findall("TimeSpan")[-1]
    time = printed.number(span.findtext("TestTimeSeconds", ""), printed.SECOND)
    buckets = {float(one.findtext("Percentile", "nan")): one for one in span.iterfind("Latency/Bucket")}
    targets = [{part.tag: part.text or "" for part in target} for target in span.iter("Target")]
    for side in ("Read", "Write"):
        name, count = side.lower(), sum(int(one[f"{side}Count"]) for one in targets)
        if not count or not time.value:
            continue
        moved = sum(int(one[f"{side}Bytes"]) for one in targets)
        slack = time.half / time.value
        yield f"{name}.bytes", printed.exact(moved)
        yield f"{name}.count", printed.exact(count)
        yield f"{name}.elapsed_ns", time
        for figure, amount in (("bytes_per_s", moved), ("ops_per_s", count)):
            rate = amount * printed.SECOND / time.value
            yield f"{name}.{figure}", printed.ParsedNumber(value=rate, half=rate * slack)
        latency = f"Average{side}LatencyMilliseconds"
        if all(latency in one for one in targets):
            weighted = [printed.number(one[latency], 1e6).times(int(one[f"{side}Count"]) / count) for one in targets]
            yield f"{name}.latency_mean_ns", printed.total(weighted)
        for percentile, figure in XML_PERCENTILES.items():
            if percentile in buckets and (told := buckets[percentile].findtext(f"{side}Milliseconds")):
                yield f"{name}.latency_{figure}_ns", printed.number(told, 1e6)


def _sums(rows: Sequence[str]) -> Iterator[tuple[str, bool, re.Match[str]]]:
    """Yield side, whether there are latencies, and the sum of each section."""
    section, latency = "", False
    for row in rows:
        if match := SECTION.fullmatch(row):
            section = match[1]
        elif HEAD.fullmatch(row):
            latency = "AvgLat" in row
        elif section in ("Read", "Write") and (match := SUM.fullmatch(row)):
            yield section.lower(), latency, match


def _percentiles(rows: Sequence[str]) -> Iterator[tuple[str, str, printed.ParsedNumber]]:
    at = next((at for at, row in enumerate(rows) if PERCENTILES.fullmatch(row)), len(rows))
    for match in (found for row in rows[at:] if (found := PERCENTILE.fullmatch(row))):
        for side, value in (("read", match[2]), ("write", match[3])):
            if value != "N/A":
                yield side, f"latency_{NAMES[match[1]]}_ns", printed.number(value, 1e6)


PARSER = Parser(
    name="diskspd",
    recognises=printed.prints(("diskspd", "diskspd.exe"), BEGUN, XML),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    tier=printed.of_device,
    direct="-Sh",
    programs=("diskspd", "diskspd.exe"),
)

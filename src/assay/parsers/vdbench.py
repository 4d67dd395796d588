"""vdbench: rates and response times by operation, from the line `avg_FIRST-LAST` of each run definition.

`MB/sec` is 2^20 bytes/s as the head of disk runs says (`1024**2`), response times are milliseconds. Columns are found by their
two heads. A line of a disk run has reads and writes together; the share `read pct` divides the operations, and what up to
5.04.06 is printed of both together (`resp max`) is a figure of a run of one kind only. A run of file systems (fwd) has a pair of
columns for each operation. Of several run definitions each operation has the figures of the last one; formatting is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "vdbench's table of a disk run or a file system run, with its line avg for each run definition"
HEAD = re.compile(r"(?:.{1,40}\s)?interval\s+(i/o\s+MB/sec\s+bytes\s+read\s+resp\s.{1,150})")
UNITS = re.compile(r"\s*(rate\s+(?:1024\*\*2|1000\*\*2)\s+i/o\s+pct\s+time\s.{1,150})")
FILES = re.compile(r".{1,40}\.Interval\. (.{20,400})")
BEGUN = re.compile(r"\S{1,20} Starting RD=(\S{1,80});? .{1,300}")
FLAT = re.compile(r"\s*tod\s+(?:timestamp\s+)?Run\s+Interval\s.{1,2000}")
FLAT_NAMES = {
    "rate": "i/o rate",
    "MB/sec": "MB/sec 1024**2",
    "read%": "read pct",
    "resp": "resp time",
    "read_resp": "read resp",
    "write_resp": "write resp",
    "resp_max": "resp max",
    "read_max": "read max",
    "write_max": "write max",
}
"""The columns of flatfile.html, which says what they are at its beginning."""
FAILED = re.compile(r".{0,80}\bop: (?:read|write)\s.{1,200}\berrno: .{1,200}")
TAG = re.compile(r"<[^<>]{1,200}>")
"""summary.html has the same lines, in tags."""
FORMAT = re.compile(r"(?:SD_|FSD_)?format.{0,80}", re.IGNORECASE)
AVERAGE = re.compile(r"(?:\S{1,20})?\s+avg_\d{1,9}-\d{1,9}((?:\s+(?:[\d.]{1,20}|NaN)){9,60})\s*")
GROUP_BEGINS = frozenset({"rate", "total", "pct", "read", "size"})
"""The lower heads with which the columns of the next upper head begin."""
NO_OPERATIONS = frozenset({"reqstdops", "cpu%", "mb/sec", "xfer"})
SIZES = {"MB/sec 1024**2": printed.MIB, "MB/sec 1000**2": 1e6}
NAMES = {"delete": "unlink", "getattr": "stat"}
Figures = Mapping[str, printed.ParsedNumber]


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = [TAG.sub("", row) if row[:1] == "<" else row for row in printed.lines(text)]
    found: dict[str, Figures] = dict(_of_flatfile(rows))
    headed: Sequence[str] = ()
    for name, part in _definitions(rows):
        headed = part if any(HEAD.fullmatch(row) or FILES.fullmatch(row) for row in part) else headed
        averages = [match[1].split() for row in part if (match := AVERAGE.fullmatch(row))]
        if FORMAT.fullmatch(name):
            continue
        if not averages:
            raise ValueError(f"avg of run definition {name}")
        found |= dict(_operations(headed, averages[-1]))  # a page has a head now and then, not for each definition
    yield from ((f"{operation}.{name}", figure) for operation, figures in found.items() for name, figure in figures.items())


def _of_flatfile(rows: Sequence[str]) -> Iterator[tuple[str, Figures]]:
    """Yield the figures of each operation in the averages of flatfile.html."""
    head = printed.first_match(rows, FLAT)
    names = head[0].split() if head is not None else []
    for cells in (dict(zip(names, row.split(), strict=False)) for row in rows if names):
        if cells.get("Interval", "").startswith("avg_") and not FORMAT.fullmatch(cells["Run"]):
            yield from _of_disk({FLAT_NAMES[name]: cell for name, cell in cells.items() if name in FLAT_NAMES and cell != "n/a"})


def _definitions(rows: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name and the lines of each run definition."""
    begins = [(at, match[1].rstrip(";")) for at, row in enumerate(rows) if (match := BEGUN.fullmatch(row))]
    ends = [at for at, _ in begins[1:]] + [len(rows)]
    yield from ((name, rows[at:end]) for (at, name), end in zip(begins, ends, strict=False))


def _operations(rows: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, Figures]]:
    """Yield the figures of each operation of a run definition from the cells of its averages."""
    head, units = (printed.first_match(rows, form) for form in (HEAD, UNITS))
    at = next((at for at, row in enumerate(rows) if FILES.fullmatch(row)), None)
    if head is not None and units is not None:
        names = [" ".join(pair) for pair in zip(head[1].split(), units[1].split(), strict=True)]
        yield from _of_disk(dict(zip(names, cells, strict=True)))
    elif at is not None:
        yield from _of_files(dict(zip(_columns(rows[at], rows[at + 1]), cells, strict=True)))


def _of_disk(cells: Mapping[str, str]) -> Iterator[tuple[str, Figures]]:
    share = float(cells["read pct"]) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"{cells['read pct']!r} as a share of reads")
    megabytes, size = next((cells[name], size) for name, size in SIZES.items() if name in cells)
    for side, part in (("read", share), ("write", 1 - share)):
        if not part or not float(cells["i/o rate"]):
            continue
        figures = {"ops_per_s": _part(cells["i/o rate"], part), "bytes_per_s": _part(megabytes, part).times(size)}
        for figure, of_side, of_both in (
            ("latency_mean_ns", f"{side} resp", "resp time"),
            ("latency_max_ns", f"{side} max", "resp max"),
        ):
            if cell := cells.get(of_side) or (cells.get(of_both) if part == 1 else None):
                figures[figure] = printed.number(cell, 1e6)
        yield side, figures


def _columns(upper: str, lower: str) -> list[str]:
    """Return `read.rate`, `read.resp`, ... of the two heads of a file system run."""
    groups = iter(word.strip(".").lower() for word in upper.partition(".Interval. ")[2].split())
    names, group = [], ""
    for word in lower.split():
        group = next(groups, "") if word in GROUP_BEGINS and not (word == "total" and group == "cpu%") else group
        names.append(f"{group}.{word}")
    return names


def _of_files(cells: Mapping[str, str]) -> Iterator[tuple[str, Figures]]:
    for name, rate in cells.items():
        operation, _, head = name.partition(".")
        if head != "rate" or operation in NO_OPERATIONS or not float(rate):
            continue
        figures = {"ops_per_s": printed.number(rate), "latency_mean_ns": printed.number(cells[f"{operation}.resp"], 1e6)}
        if (megabytes := cells.get(f"mb/sec.{operation}")) is not None:
            figures["bytes_per_s"] = printed.number(megabytes, printed.MIB)
        yield NAMES.get(operation, operation), figures


def _part(text: str, part: float) -> printed.ParsedNumber:
    """Return the part of a number; of a mix the share is rounded to 0.01 %, too."""
    whole = printed.number(text)
    rounded = 0.0 if part == 1 else whole.value * 0.5e-4
    return printed.ParsedNumber(value=whole.value * part, half=whole.half * part + rounded)


PARSER = Parser(
    name="vdbench",
    recognises=printed.prints(("vdbench",), HEAD, UNITS, FILES, BEGUN, FLAT),
    **printed.reads(_figures, EXPECTED, broken=FAILED),
    tier=printed.of_device,
)

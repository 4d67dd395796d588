"""IOR: rates of writes and reads from its summary, as text, JSON or CSV.

`MiB` is 2^20 bytes (IOR 4.1, src/iordef.h, MEBIBYTE). For several repetitions the figure is IOR's mean of the rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import (
    MIB,
    SECOND,
    ParsedNumber,
    exact,
    file_option,
    json_number,
    json_report,
    last_run,
    lines,
    of_device,
    printed,
    prints,
    reads,
)

EXPECTED = "IOR's 'Summary of all tests', or its JSON or CSV, of one test"
BEGUN = re.compile(r"IOR-\S{1,40}: MPI Coordinated Test of Parallel I/O\s*")
COLUMNS = re.compile(r"Operation\s+Max\(MiB\)\s+Min\(MiB\)\s+Mean\(MiB\)\s.*")
NUMBER = r"\d{1,15}\.\d{1,9}"
ROW = re.compile(rf"(write|read)((?:\s+{NUMBER}){{9}})\s+\S+\s+\S+\s+\d+\s+\d+\s+\d+\s+(\d+)\s.*")
SIZE = re.compile(rf"\s({NUMBER})\s+[A-Z0-9-]{{1,12}}\s+\d+\s*")
CSV = "access,bw(MiB/s),IOPS,"


def _figures(text: str) -> Iterator[tuple[str, ParsedNumber]]:
    """Yield the figures of the last run in the output."""
    if '"summary"' in text:
        yield from _json(text)
        return
    whole = lines(text)
    rows = whole[last_run(whole, BEGUN) :]
    begin = next((index for index, row in enumerate(rows) if COLUMNS.fullmatch(row)), len(rows))
    seen: set[str] = set()
    for row in rows[begin:]:
        if match := ROW.fullmatch(row):
            _once(seen, match[1])
            yield from _of_row(match)
    if CSV in text:
        yield from _csv(rows)


def _of_row(match: re.Match[str]) -> Iterator[tuple[str, ParsedNumber]]:
    """Yield the figures of a row: max, min, mean and deviation of MiB/s, the same of operations/s, then the mean time."""
    operation, columns = match[1], match[2].split()
    yield f"{operation}.bytes_per_s", printed(columns[2], MIB)
    yield f"{operation}.ops_per_s", printed(columns[6])
    size = SIZE.search(match[0])
    if int(match[3]) == 1 and size:
        yield f"{operation}.elapsed_ns", printed(columns[8], SECOND)
        yield f"{operation}.bytes", printed(size[1], MIB)


def _json(text: str) -> Iterator[tuple[str, ParsedNumber]]:
    report = json_report(text)
    seen: set[str] = set()
    for row in report["summary"]:
        operation = row["operation"]
        if operation not in ("read", "write"):
            continue
        _once(seen, operation)
        half = 0.5e-4
        yield f"{operation}.bytes_per_s", ParsedNumber(value=json_number(row["bwMeanMIB"]), half=half).times(MIB)
        yield f"{operation}.ops_per_s", ParsedNumber(value=json_number(row["OPsMean"]), half=half)
        if row["repetitions"] == 1:
            yield f"{operation}.elapsed_ns", ParsedNumber(value=json_number(row["MeanTime"]), half=half).times(SECOND)
            yield (
                f"{operation}.bytes",
                exact(json_number(row["blockSize"]) * json_number(row["segmentCount"]) * json_number(row["numTasks"])),
            )


def _csv(rows: Sequence[str]) -> Iterator[tuple[str, ParsedNumber]]:
    names = next((row.split(",") for row in rows if row.startswith(CSV)), [])
    seen: set[str] = set()
    for row in rows:
        fields = row.split(",")
        cells = dict(zip(names, fields, strict=False))
        if cells.get("access") in ("read", "write") and len(fields) == len(names):
            _once(seen, cells["access"])
            yield f"{cells['access']}.bytes_per_s", printed(cells["bw(MiB/s)"], MIB)
            yield f"{cells['access']}.ops_per_s", printed(cells["IOPS"])
            yield f"{cells['access']}.elapsed_ns", printed(cells["total(s)"], SECOND)


def _once(seen: set[str], operation: str) -> None:
    """Raise ValueError for a second test in one output: it has other parameters."""
    if operation in seen:
        raise ValueError(f"second test that does {operation}")
    seen.add(operation)


PARSER = Parser(
    name="ior",
    programs=("ior", "IOR"),
    recognises=prints(("ior", "IOR"), "IOR-", '"bwMiB"', CSV),
    **reads(_figures, EXPECTED),
    result_file=file_option("ior", "summaryFile"),
    tier=of_device,
    direct="--posix.odirect",
    flush="-e",
)

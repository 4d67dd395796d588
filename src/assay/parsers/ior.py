"""IOR: rates of writes and reads from its summary, as text, JSON or CSV.

`MiB` is 2^20 bytes (IOR 4.1, src/iordef.h, MEBIBYTE). For several repetitions the figure is IOR's mean of the rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "IOR's 'Summary of all tests', or its JSON or CSV, of one test"
BEGUN = re.compile(r"IOR-\S{1,40}: MPI Coordinated Test of Parallel I/O\s*")
COLUMNS = re.compile(r"Operation\s+Max\(MiB\)\s+Min\(MiB\)\s+Mean\(MiB\)\s.*")
NUMBER = r"\d{1,15}\.\d{1,9}"
ROW = re.compile(rf"(write|read)((?:\s+{NUMBER}){{9}})\s+\S+\s+\S+\s+\d+\s+\d+\s+\d+\s+(\d+)\s.*")
SIZE = re.compile(rf"\s({NUMBER})\s+[A-Z0-9-]{{1,12}}\s+\d+\s*")
CSV = "access,bw(MiB/s),IOPS,"


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    if '"summary"' in text:
        yield from _json(text)
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    begin = next((index for index, row in enumerate(rows) if COLUMNS.fullmatch(row)), len(rows))
    seen: set[str] = set()
    for row in rows[begin:]:
        if match := ROW.fullmatch(row):
            _once(seen, match[1])
            yield from _of_row(match)
    if CSV in text:
        yield from _csv(rows)


def _of_row(match: re.Match[str]) -> Iterator[printed.Figure]:
    """Yield the figures of a row: max, min, mean and deviation of MiB/s, the same of operations/s, then the mean time."""
    operation, columns = match[1], match[2].split()
    yield f"{operation}.bytes_per_s", printed.number(columns[2], printed.MIB)
    yield f"{operation}.ops_per_s", printed.number(columns[6])
    size = SIZE.search(match[0])
    if int(match[3]) == 1 and size:
        yield f"{operation}.elapsed_ns", printed.number(columns[8], printed.SECOND)
        yield f"{operation}.bytes", printed.number(size[1], printed.MIB)


def _json(text: str) -> Iterator[printed.Figure]:
    report = printed.json_report(text)
    seen: set[str] = set()
    for row in report["summary"]:
        operation = row["operation"]
        if operation not in ("read", "write"):
            continue
        _once(seen, operation)
        half = 0.5e-4
        yield (
            f"{operation}.bytes_per_s",
            printed.ParsedNumber(value=printed.json_number(row["bwMeanMIB"]), half=half).times(printed.MIB),
        )
        yield f"{operation}.ops_per_s", printed.ParsedNumber(value=printed.json_number(row["OPsMean"]), half=half)
        if row["repetitions"] == 1:
            yield (
                f"{operation}.elapsed_ns",
                printed.ParsedNumber(value=printed.json_number(row["MeanTime"]), half=half).times(printed.SECOND),
            )
            yield (
                f"{operation}.bytes",
                printed.exact(
                    printed.json_number(row["blockSize"])
                    * printed.json_number(row["segmentCount"])
                    * printed.json_number(row["numTasks"])
                ),
            )


def _csv(rows: Sequence[str]) -> Iterator[printed.Figure]:
    names = next((row.split(",") for row in rows if row.startswith(CSV)), [])
    seen: set[str] = set()
    for row in rows:
        fields = row.split(",")
        cells = dict(zip(names, fields, strict=False))
        if cells.get("access") in ("read", "write") and len(fields) == len(names):
            _once(seen, cells["access"])
            yield f"{cells['access']}.bytes_per_s", printed.number(cells["bw(MiB/s)"], printed.MIB)
            yield f"{cells['access']}.ops_per_s", printed.number(cells["IOPS"])
            yield f"{cells['access']}.elapsed_ns", printed.number(cells["total(s)"], printed.SECOND)


def _once(seen: set[str], operation: str) -> None:
    """Raise ValueError for a second test in one output: it has other parameters."""
    if operation in seen:
        raise ValueError(f"second test that does {operation}")
    seen.add(operation)


PARSER = Parser(
    name="ior",
    programs=("ior", "IOR"),
    recognises=printed.prints(("ior", "IOR"), "IOR-", '"bwMiB"', CSV),
    **printed.reads(_figures, EXPECTED),
    result_file=printed.file_option("ior", "summaryFile"),
    tier=printed.of_device,
    direct="--posix.odirect",
    flush="-e",
)

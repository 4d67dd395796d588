"""IOR: rates of writes and reads from its summary or its rows of results, as text, JSON or CSV.

Columns are found by their heading, which versions from 2.10 to 4.1 print in many ways (src/ior-output.c, before src/ior.c). `MiB`
is 2^20 bytes (src/iordef.h, MEBIBYTE). For several repetitions the figure is IOR's mean of the rates, without time and bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "IOR's 'Summary of all tests' or its rows of results, or its JSON or CSV, of one test"
BEGUN = re.compile(r"IOR-\S{1,40}: MPI Coordinated Test of Parallel I/O\s*")
SUMMARY = re.compile(r"(?:Summary of all tests:\s*)?Operation\s+Max ?\(MiB\)\s+Min ?\(MiB\)\s+Mean ?\(MiB\)\s.*")
RESULTS = re.compile(r"access\s+bw\(MiB/s\)\s.*")
AMOUNTS = {"aggs(MiB)": printed.MIB, "aggsize": 1}
"""Columns with the bytes of all tasks, and their unit."""
OPERATIONS = ("write", "read")
CSV = "access,bw(MiB/s),IOPS,"


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    if '"summary"' in text:
        yield from _json(text)
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    if CSV in text:
        yield from _csv(rows)
        return
    seen: set[str] = set()
    for cells, is_whole in printed.table(rows, SUMMARY):
        operation = cells["Operation"]
        if operation in OPERATIONS and "Mean(s)" in cells:
            _once(seen, operation)
            yield from _of_summary(operation, cells, is_whole=is_whole)
    if not seen:
        repetitions = int(printed.named(rows).get("repetitions", "1"))
        yield from _of_results([cells for cells, is_whole in printed.table(rows, RESULTS) if is_whole], repetitions)


def _of_summary(operation: str, cells: Mapping[str, str], *, is_whole: bool) -> Iterator[printed.Figure]:
    """Yield the figures of a row; what follows the mean time in a row without a cell for each column has no name."""
    yield f"{operation}.bytes_per_s", printed.number(cells["Mean(MiB)"], printed.MIB)
    if "Mean(OPs)" in cells:
        yield f"{operation}.ops_per_s", printed.number(cells["Mean(OPs)"])
    if not is_whole or int(cells["reps"]) != 1:
        return
    yield f"{operation}.elapsed_ns", printed.number(cells["Mean(s)"], printed.SECOND)
    for name, unit in AMOUNTS.items():
        if name in cells:
            yield f"{operation}.bytes", printed.number(cells[name], unit)


def _of_results(rows: Sequence[Mapping[str, str]], repetitions: int) -> Iterator[printed.Figure]:
    """Yield the figures of the rows of a run without a summary: the mean of the repetitions."""
    for operation in OPERATIONS:
        mine = [row for row in rows if row["access"] == operation]
        if len({row["iter"] for row in mine}) < len(mine):
            raise ValueError(f"second test that does {operation}")
        if 0 < len(mine) < repetitions:
            raise ValueError(f"end ({len(mine)} of {repetitions} repetitions)")
        for column, figure, unit in (("bw(MiB/s)", "bytes_per_s", printed.MIB), ("IOPS", "ops_per_s", 1)):
            found = [printed.number(row[column], unit) for row in mine if column in row]
            if found:
                mean = printed.total(found)
                yield f"{operation}.{figure}", printed.ParsedNumber(value=mean.value / len(found), half=mean.half / len(found))
        if len(mine) == 1:
            yield f"{operation}.elapsed_ns", printed.number(mine[0]["total(s)"], printed.SECOND)


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
    recognises=printed.prints(("ior", "IOR"), "IOR-", '"bwMiB"', CSV, SUMMARY, RESULTS),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    result_file=printed.file_option("ior", "summaryFile"),
    tier=printed.of_device,
    direct="--posix.odirect",
    flush="-e",
)

"""iozone's table, matrix, throughput lines and Excel report: the rate of each of its operations.

Rates are in kB/s where 1 kB is 1,024 bytes, cut off and not rounded (iozone 3.508, iozone.c: bytes over seconds, as a whole
number, shifted by 10 bits). `-O` prints operations per second, `-N` microseconds per operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import KIB, Printed, calls, exact, halves, lines, printed, together, total, values

EXPECTED = "iozone's table of kB and reclen, its lines 'Children see throughput', or its Excel reports"
HEADER = re.compile(r"\s+[kK]B\s+reclen\s.*")
ROW = re.compile(r"\s+\d+\s+\d+(\s+\d+)+\s*")
COLUMNS = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read", "record_rewrite", "stride_read"),
    *("stdio_write", "stdio_rewrite", "stdio_read", "stdio_reread"),
)
"""Names of the operations in the order of the columns, as Assay's own workload bulk_io has them."""
CHILDREN = re.compile(r"\s*Children see throughput for\s+\d+ ([a-z -]{1,40}?)\s+=\s+([\d.]+) [kK]B/sec\s*")
GROUPS = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward_read",
    "stride readers": "stride_read",
    "random readers": "random_read",
    "random writers": "random_write",
    "mixed workload": "mixed",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "stdio_write",
    "freaders": "stdio_read",
}
REPORT = re.compile(r'"([A-Z][A-Za-z -]{1,30}) report"\s*')
REPORTS = dict(
    zip(
        (
            *("Writer", "Re-writer", "Reader", "Re-Reader", "Random read", "Random write", "Backward read"),
            *("Record rewrite", "Stride read", "Fwrite", "Re-Fwrite", "Fread", "Re-Fread"),
        ),
        COLUMNS,
        strict=True,
    )
)
EXCEL_ROW = re.compile(r'"(\d+)"((?:\s+\d+)+)\s*')
UNITS = {"Output is in kBytes/sec": "rate", "operations per second": "ops", "microseconds per operation": "time"}
Cell = tuple[str, int, int, Printed]
"""Operation, kB of the file, kB of the record, what is printed."""


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether this is iozone's."""
    return calls(argv, "iozone") and "Iozone: Performance Test of File I/O" in output


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    rows = lines(text)
    cells = tuple(_table(rows)) or tuple(_excel(rows))
    what = next((name for words, name in UNITS.items() if any(words in row for row in rows)), "rate")
    for operation in dict.fromkeys(cell[0] for cell in cells):
        yield from _of_cells(operation, [cell for cell in cells if cell[0] == operation], what)
    for row in rows:
        seen = CHILDREN.fullmatch(row)
        if seen and seen[1] in GROUPS:
            yield f"{GROUPS[seen[1]]}.bytes_per_s", printed(seen[2], KIB)


def _table(rows: Sequence[str]) -> Iterator[Cell]:
    """The cells below the header; a column that was not measured is left blank, so the place says which it is."""
    ends: list[int] = []
    for row in rows:
        if HEADER.fullmatch(row):
            ends = [match.end() for match in re.finditer(r"\S+", row)][2:]
        elif ends and ROW.fullmatch(row):
            size, record, *figures = re.finditer(r"\d+", row)
            for place, figure in enumerate(figures):
                nearest = min(range(len(ends)), key=lambda index: abs(ends[index] - figure.end()))
                column = place if len(figures) == len(COLUMNS) else nearest
                yield COLUMNS[column], int(size[0]), int(record[0]), _cut(figure[0])


def _excel(rows: Sequence[str]) -> Iterator[Cell]:
    """The cells of the reports of -R, where the table itself was not kept."""
    operation, records = "", [0]
    for row in rows:
        report, line = REPORT.fullmatch(row), EXCEL_ROW.fullmatch(row)
        if report:
            operation = REPORTS.get(report[1], "")
        elif operation and re.fullmatch(r'\s+("\d+"\s*)+', row):
            records = [int(text) for text in re.findall(r"\d+", row)]
        elif operation and line:
            for record, figure in zip(records, line[2].split(), strict=False):
                yield operation, int(line[1]), record, _cut(figure)


def _cut(text: str) -> Printed:
    """A whole number that was cut off: the truth is less than one more."""
    return Printed(value=printed(text).value, half=1.0)


def _of_cells(operation: str, cells: Sequence[Cell], what: str) -> Iterator[tuple[str, Printed]]:
    """One figure of an operation: one cell as it stands, of a matrix all bytes (or operations) over all times."""
    count = exact(sum(size // record for _, size, record, _ in cells))
    if what == "time":
        weights: Mapping[int, float] = {index: size // record / count.value for index, (_, size, record, _) in enumerate(cells)}
        mean = total(cell[3].times(1e3 * weights[index]) for index, cell in enumerate(cells))
        yield from [(f"{operation}.latency_mean_ns", mean)] if mean.value else []
    elif what == "ops":
        yield f"{operation}.ops_per_s", together((size // record, figure) for _, size, record, figure in cells)
    else:
        yield f"{operation}.bytes_per_s", together((size * KIB, figure.times(KIB)) for _, size, _, figure in cells)
        yield f"{operation}.bytes", exact(sum(size for _, size, _, _ in cells) * KIB)
    yield f"{operation}.count", count


PARSER = Parser(
    name="iozone",
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
)

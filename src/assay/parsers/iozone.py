"""iozone: the rate of each operation from its table, matrix, throughput lines or Excel report.

Rates are in kB/s of 1,024 bytes, truncated and not rounded (iozone 3.508, iozone.c: bytes over seconds, as a whole number,
shifted by 10 bits). `-O` prints operations per second, `-N` microseconds per operation. A figure covers all cells of a column:
with a damaged cell or an incomplete table there is no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "iozone's complete table of kB and reclen, its lines 'Children see throughput', or its Excel reports"
BEGUN = re.compile(r"\s*Iozone: Performance Test of File I/O\s*")
ENDED = "iozone test complete."
HEADER = re.compile(r"\s*[kK]B\s+reclen\s.*")
COLUMN_HEADS = re.compile(r"\s*[kK]B\s+reclen\s+write\s.*")
ROW = re.compile(r"\s*\d+\s+\d+(\s+\d+)+\s*")
CELLS = re.compile(r"\s{8}.*|\W*(?:\d+\W+){2}.*")
"""A line below the header that must be a row: indented as far, or starting with two numbers."""
FARTHEST = 4
"""Characters between the ends of a figure and of its heading: at most 1 in 3.508."""
COLUMNS = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read", "record_rewrite", "stride_read"),
    *("stdio_write", "stdio_rewrite", "stdio_read", "stdio_reread"),
)
"""Operations in the order of the columns, with the names of the workload bulk_io."""
CHILDREN = re.compile(r"\s*Children see throughput for\s+\d+ ([a-z -]{1,40}?)\s+=\s+([\d.]+) ([kK]B|ops)/sec\s*")
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
EXCEL_HEADER = re.compile(r'\s+("\d+"\s*)+')
EXCEL_ROW = re.compile(r'"(\d+)"((?:\s+\d+)+)\s*')
UNITS = {"kbytes/sec": "rate", "operations per second.": "ops", "microseconds per operation.": "time"}
UNIT = re.compile(r".{0,40}\bOutput is in (.{1,40}?)\s*")
Cell = tuple[str, int, int, printed.ParsedNumber]
"""Operation, kB of the file, kB of the record, printed figure."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    rows = printed.lines(text)
    begin = printed.last_run(rows, BEGUN)
    cells = tuple(_table(rows, begin)) or tuple(_excel(rows, begin))
    matrices: dict[str, dict[tuple[int, int], printed.ParsedNumber]] = {}
    for operation, size, record, figure in cells:
        matrices.setdefault(operation, {})[size, record] = figure
    if len({tuple(matrix) for matrix in matrices.values()}) > 1 or sum(map(len, matrices.values())) < len(cells):
        raise ValueError("cell (the columns have different rows)")
    for operation, matrix in matrices.items():
        yield from _of_matrix(operation, matrix, _unit(rows[begin:]))
    for row in rows[begin:]:
        seen = CHILDREN.fullmatch(row)
        if seen and seen[1] in GROUPS:
            name, size = ("ops_per_s", 1) if seen[3] == "ops" else ("bytes_per_s", printed.KIB)
            yield f"{GROUPS[seen[1]]}.{name}", printed.number(seen[2], size)


def _unit(rows: Sequence[str]) -> str:
    """Return the unit of the cells. Raises ValueError if it is missing or unknown."""
    units = [match[1] for row in rows if (match := UNIT.fullmatch(row))]
    if len(units) != 1 or units[0].lower() not in UNITS:
        raise ValueError(f"unit ({', '.join(units) or 'none'})")
    return UNITS[units[0].lower()]


def _table(rows: Sequence[str], begin: int) -> Iterator[Cell]:
    """Yield the cells between the header and the end; output of other programs is skipped, damaged rows are refused."""
    ends: list[int] = []
    for index, row in enumerate(rows[begin:], begin):
        if HEADER.fullmatch(row):
            ends = [match.end() for match in re.finditer(r"\S+", row)][2:]
        elif ends and row.strip() == ENDED:
            return
        elif ends and row.strip() and (ROW.fullmatch(row) or CELLS.fullmatch(row)):
            try:
                yield from _row(row, ends)
            except ValueError:
                raise printed.damaged_line(rows, index) from None
    if ends:
        raise ValueError(f"end of the table ({ENDED!r})")


def _row(row: str, ends: Sequence[int]) -> Iterator[Cell]:
    """Yield one row; unmeasured columns are blank, so the position identifies the column. Raises ValueError."""
    if not ROW.fullmatch(row):
        raise ValueError
    size, record, *figures = re.finditer(r"\d+", row)
    if not 0 < int(record[0]) <= int(size[0]):
        raise ValueError
    for place, figure in enumerate(figures):
        off, nearest = min((abs(end - figure.end()), index) for index, end in enumerate(ends))
        if off > FARTHEST and len(figures) != len(COLUMNS):
            raise ValueError
        column = place if len(figures) == len(COLUMNS) else nearest
        yield COLUMNS[column], int(size[0]), int(record[0]), printed.truncated(figure[0])


def _excel(rows: Sequence[str], begin: int) -> Iterator[Cell]:
    """Yield the cells of the reports of -R, for output without the table."""
    operation, records = "", list[int]()
    for index, row in enumerate(rows[begin:], begin):
        line = EXCEL_ROW.fullmatch(row)
        if report := REPORT.fullmatch(row):
            operation, records = REPORTS.get(report[1], ""), []
        elif operation and EXCEL_HEADER.fullmatch(row):
            records = [int(text) for text in re.findall(r"\d+", row)]
        elif operation and line and len(line[2].split()) <= len(records):
            for record, figure in zip(records, line[2].split(), strict=False):
                yield operation, int(line[1]), record, printed.truncated(figure)
        elif operation and '"' in row:
            raise printed.damaged_line(rows, index)


def _of_matrix(operation: str, matrix: Mapping[tuple[int, int], printed.ParsedNumber], what: str) -> Iterator[printed.Figure]:
    """Yield one figure of an operation: a single cell, or all bytes (operations) of a matrix over all times."""
    cells = matrix.items()
    count = printed.exact(sum(size // record for size, record in matrix))
    if what == "time":
        mean = printed.total(figure.times(1e3 * (size // record) / count.value) for (size, record), figure in cells)
        yield from [(f"{operation}.latency_mean_ns", mean)] if mean.value else []
    elif what == "ops":
        yield f"{operation}.ops_per_s", printed.combined_rate((size // record, figure) for (size, record), figure in cells)
    else:
        yield (
            f"{operation}.bytes_per_s",
            printed.combined_rate((size * printed.KIB, figure.times(printed.KIB)) for (size, _), figure in cells),
        )
        yield f"{operation}.bytes", printed.exact(sum(size for size, _ in matrix) * printed.KIB)
    yield f"{operation}.count", count


PARSER = Parser(
    name="iozone",
    recognises=printed.prints(("iozone",), "Iozone: Performance Test of File I/O", COLUMN_HEADS, CHILDREN),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    tier=printed.of_device,
    direct="-I",
    flush="-e",
)

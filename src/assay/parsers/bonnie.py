"""bonnie++: rates, files per second and largest latencies from its CSV line; without one, the rates of its screen output.

`K` is 1,024 bytes, `m` and `g` its powers (bonnie++.8 of 2.00a, "Data volumes"); the CSV has KiB/s without a letter. `+++++`
means less than 500 ms (same page), which bonnie++ itself calls too short: no figure. The screen output shows the number of files
instead of files per second (2.00a: 2,048; its CSV has 3,029), so file rates come from the CSV only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the CSV line (formats 1.03 and 1.93 to 1.98) or the screen output of bonnie++, with a figure that is not +++++"
CSV = re.compile(r"1\.9[3-8],(?:[^,]{0,200},){45,51}[^,]{0,40}")
CSV_1_03 = re.compile(r"[^,\s]{0,80},\d{1,12}[KMGT]?(?::[\d.]{1,9}[kKMGT]?)?(?:,(?:[\d.]{0,20}|\+{1,9})){25}")
TEST = re.compile(f"(?:{CSV.pattern})|(?:{CSV_1_03.pattern})")
SCREEN = re.compile(r"\s*(?:Version\s+)?\d\.\d\d.{0,20}-Sequential (?:Output|Create)-.{1,80}")
IO = ("write_char", "write", "read_modify_write", "read_char", "read", "seek")
FILES = ("create", "stat", "unlink", "create_random", "stat_random", "unlink_random")
UNITS = {"K/sec": printed.KIB, "M/sec": printed.MIB, "/sec": 1}
"""The unit of a number without a letter, by the head of its column: up to 1.98 the head has the prefix, later each cell."""
SCREEN_IO = re.compile(r".{0,20}\s(\d+[KMGT]?) (.{9}) (.{9}) (.{9}) (.{9}) (.{9}) (.{9})\s*")
WHOLE_IO = re.compile(r".{0,40}?\s\d+[KMGT]?(?::\S{1,9})?((?:\s+(?:[\d.]+[kmgt]?|\++)\s+(?:\d+|\++)){6})\s*")
"""A line with all twelve cells, which a wide number shifts; with blank cells the place tells the column."""
STARTED = re.compile(r"[^,]{0,20}(?:,[^,]{0,200}){30}.*")
"""A CSV line, complete or not, recognised by its commas."""
LATENCY = {"us": 1e3, "ms": 1e6, "s": 1e9}


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    found = [row.split(",") for row in rows if TEST.fullmatch(row)]
    if not found:
        if any(STARTED.match(row) for row in rows):
            raise ValueError("field of the CSV line")  # the screen output is rounded
        yield from _screen(rows)
    for fields in found:
        yield from _csv(fields)


def _csv(fields: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of one test: each rate precedes a CPU percentage; format 1.98 has two more fields, about seeks.

    Format 1.03 has no settings but the size, and no latencies.
    """
    first, files = {50: (9, 26), 48: (7, 24), 27: (2, 15)}[len(fields)]
    for index, operation in enumerate(IO):
        yield from _rate(operation, fields[first + 2 * index], printed.KIB)
    for index, operation in enumerate(FILES):
        yield from _rate(operation, fields[files + 2 * index], printed.KIB)
    for operation, latency in zip((*IO, *FILES), fields[files + 12 :], strict=False):
        unit = latency.lstrip("0123456789")
        if unit in LATENCY and _measured(fields, operation, first):
            yield f"{operation}.latency_max_ns", printed.number(latency.removesuffix(unit), LATENCY[unit])


def _measured(fields: Sequence[str], operation: str, first: int) -> bool:
    """Return True if the phase was long enough to have a rate, and so a latency."""
    index = IO.index(operation) * 2 if operation in IO else 17 + 2 * FILES.index(operation)
    return fields[first + index].strip("+") != ""


def _screen(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the rates of the line below the headings; a cell is a rate and a percentage, or blank."""
    inside, units, machines = False, [1.0] * len(IO), 0
    for row in rows:
        if "-Sequential Output-" in row or "-Sequential Create-" in row:
            inside, machines = "Output" in row, 0
        elif "/sec %CP" in row:
            units = [UNITS[word] for word in row.split() if word in UNITS]
        is_head = "/sec %CP" in row or row.startswith("Latency")
        match = WHOLE_IO.fullmatch(row) or SCREEN_IO.fullmatch(row.ljust(79)) if inside and not is_head else None
        machines += match is not None
        if machines > 1:
            raise ValueError(f"table with the line of one machine ({row.strip()[:40]!r} is another)")
        if match:
            cells = match[1].split()[::2] if match.re is WHOLE_IO else [(cell.split() or [""])[0] for cell in match.groups()[-6:]]
            for operation, cell, unit in zip(IO, cells, units, strict=True):
                yield from _rate(operation, cell, unit)


def _rate(operation: str, cell: str, unit: float) -> Iterator[printed.Figure]:
    """Yield a rate; nothing for a blank or `+++++`. `unit` is the unit of a number without a letter."""
    if cell.strip("+") == "":
        return
    number = cell.rstrip("kmgtKMGT")
    if operation in ("seek", *FILES):
        yield f"{operation}.ops_per_s", printed.number(cell)
    else:
        yield (
            f"{operation}.bytes_per_s",
            printed.number(number, printed.power(cell[len(number) :]) if cell[len(number) :] else unit),
        )


PARSER = Parser(
    name="bonnie",
    programs=("bonnie++",),
    recognises=printed.prints(("bonnie++",), TEST, SCREEN),
    **printed.reads(_figures, EXPECTED, ends=TEST),
    tier=printed.of_device,
    direct="-D",
)

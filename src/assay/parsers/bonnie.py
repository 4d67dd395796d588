"""bonnie++'s line of CSV: rates, files per second and largest latencies; where there is none, the rates of its screen.

`K` is 1,024 bytes, `m` and `g` its powers (bonnie++.8 of 2.00a, "Data volumes"); the CSV has KiB/s without a letter. `+++++`
stands for less than 500 ms (the same page): too short for bonnie++ itself, so there is no figure. The screen says of files how
many there were, not how many a second (seen in 2.00a: 2,048 where the CSV has 3,029), so they are only read out of the CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import KIB, Printed, calls, halves, lines, printed, values

EXPECTED = "bonnie++'s line of CSV (formats 1.97 and 1.98) or its screen, with a figure that is not +++++"
CSV = re.compile(r"1\.9[78],(?:[^,]{0,200},){45,51}[^,]{0,40}")
IO = ("write_char", "write", "read_modify_write", "read_char", "read", "seek")
FILES = ("create", "stat", "unlink", "create_random", "stat_random", "unlink_random")
SCREEN_IO = re.compile(r".{0,20}\s(\d+[KMGT]?) (.{9}) (.{9}) (.{9}) (.{9}) (.{9}) (.{9})\s*")
STARTED = re.compile(r"[^,]{0,20}(?:,[^,]{0,200}){30}.*")
"""What can only be a line of CSV, whole or not: its commas."""
LATENCY = {"us": 1e3, "ms": 1e6, "s": 1e9}
SUFFIXES = {"": 1, "k": KIB, "m": KIB**2, "g": KIB**3, "t": KIB**4}


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether this is bonnie++'s."""
    return calls(argv, "bonnie++") and any(CSV.fullmatch(row) or row.startswith("Version ") for row in lines(output))


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    rows = lines(text)
    found = [row.split(",") for row in rows if CSV.fullmatch(row)]
    if not found:
        if any(STARTED.match(row) for row in rows):
            raise ValueError("a CSV line that is damaged")  # what the screen shows is rounded
        yield from _screen(rows)
    for fields in found:
        yield from _csv(fields)


def _csv(fields: Sequence[str]) -> Iterator[tuple[str, Printed]]:
    """One test: rates stand before the percentages of CPU; format 1.98 has two fields more, about seeks."""
    first = {50: 9, 48: 7}[len(fields)]
    for index, operation in enumerate(IO):
        yield from _rate(operation, fields[first + 2 * index], KIB)
    for index, operation in enumerate(FILES):
        yield from _rate(operation, fields[first + 17 + 2 * index], KIB)
    for operation, latency in zip((*IO, *FILES), fields[first + 29 :], strict=True):
        unit = latency.lstrip("0123456789")
        if unit in LATENCY and _measured(fields, operation, first):
            yield f"{operation}.latency_max_ns", printed(latency.removesuffix(unit), LATENCY[unit])


def _measured(fields: Sequence[str], operation: str, first: int) -> bool:
    """Latencies of a phase whose rate was too short to tell are left out with it."""
    index = IO.index(operation) * 2 if operation in IO else 17 + 2 * FILES.index(operation)
    return fields[first + index].strip("+") != ""


def _screen(rows: Sequence[str]) -> Iterator[tuple[str, Printed]]:
    """The line below the headings; a cell is a rate and a percentage, blank where nothing was measured."""
    inside = False
    for row in rows:
        if row.startswith("Version "):
            inside = "Output" in row
        match = SCREEN_IO.fullmatch(row.ljust(79)) if inside and "/sec %CP" not in row else None
        if match:
            for operation, cell in zip(IO, match.groups()[-6:], strict=True):
                yield from _rate(operation, (cell.split() or [""])[0], 1)


def _rate(operation: str, cell: str, unit: int) -> Iterator[tuple[str, Printed]]:
    """Nothing for a blank and for `+++++`; `unit` is what a number without a letter counts."""
    if cell.strip("+") == "":
        return
    number = cell.rstrip("kmgtKMGT")
    if operation in ("seek", *FILES):
        yield f"{operation}.ops_per_s", printed(cell)
    else:
        yield f"{operation}.bytes_per_s", printed(number, unit * SUFFIXES[cell[len(number) :].lower()])


PARSER = Parser(
    name="bonnie",
    programs=("bonnie++",),
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
)

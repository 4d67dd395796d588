"""scp and sftp: bytes and rate from the final progress line of each file, which they print on a terminal only.

`KB/s`, `MB/s` and the sizes are powers of 1,024 (OpenSSH 9.2, progressmeter.c: format_rate, format_size). Several files
count as copied in sequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import KIB, Printed, calls, combined_rate, copy_operations, halves, lines, printed, total, values

EXPECTED = "scp's progress line of a complete file (100%), which it prints on a terminal only"
DONE = re.compile(r".{0,512}\s100%\s+(\d{1,9})([KMGTP]?)B?\s+([\d.]{1,12})([KMGTP]?)B/s\s+(?:\d+:)?\d\d:\d\d\s*")
PREFIXES = " KMGTP"
ANY = re.compile(r"\s*(\S.{0,511}?)\s+\S{0,3}%\s.*B/s.*")
"""A progress line of a file, complete or not."""


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for the output of scp or sftp, which print the same."""
    return calls(argv, "scp", "sftp") and any(DONE.fullmatch(line) for line in lines(output))


def _figures(text: str) -> Iterator[tuple[str, Printed]]:
    files = []
    begun: dict[str, str] = {}
    for line in lines(text):
        if "%" in line and (progress := ANY.fullmatch(line)):
            begun[progress[1]] = line
        if match := DONE.fullmatch(line):
            if progress:
                del begun[progress[1]]
            size = printed(match[1], KIB ** PREFIXES.index(match[2] or " "))
            files.append((size, printed(match[3], KIB ** PREFIXES.index(match[4] or " "))))
    if begun:
        raise ValueError(f"end of a file, {next(iter(begun.values())).strip()[:80]!r}")
    if not files:
        return
    rate = combined_rate((size.value, speed) for size, speed in files)
    for side in ("read", "write"):
        yield f"{side}.bytes", total(size for size, _ in files)
        yield f"{side}.bytes_per_s", rate


PARSER = Parser(
    name="scp_sftp",
    programs=("scp", "sftp"),
    recognises=recognises,
    parse=values(_figures, EXPECTED),
    resolution=halves(_figures, EXPECTED),
    operations=copy_operations,
)

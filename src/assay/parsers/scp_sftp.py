"""scp and sftp: bytes and rate from the final progress line of each file, which they print on a terminal only.

`KB/s`, `MB/s` and the sizes are powers of 1,024 (OpenSSH 9.2, progressmeter.c: format_rate, format_size). Several files
count as copied in sequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "scp's progress line of a complete file (100%), which it prints on a terminal only"
DONE = re.compile(r".{0,512}\s100%\s+(\d{1,9})([KMGTP]?)B?\s+([\d.]{1,12})([KMGTP]?)B/s\s+(?:\d+:)?\d\d:\d\d\s*")
ANY = re.compile(r"\s*(\S.{0,511}?)\s+\S{0,3}%\s.*B/s.*")
"""A progress line of a file, complete or not."""


def _figures(text: str) -> Iterator[printed.Figure]:
    files = []
    begun: dict[str, str] = {}
    for line in printed.lines(text):
        if "%" in line and (progress := ANY.fullmatch(line)):
            begun[progress[1]] = line
        if match := DONE.fullmatch(line):
            if progress:
                del begun[progress[1]]
            size = printed.number(match[1], printed.power(match[2]))
            files.append((size, printed.number(match[3], printed.power(match[4]))))
    if begun:
        raise ValueError(f"end of a file, {next(iter(begun.values())).strip()[:80]!r}")
    if not files:
        return
    rate = printed.combined_rate((size.value, speed) for size, speed in files)
    yield from printed.both_sides(bytes=printed.total(size for size, _ in files), bytes_per_s=rate)


PARSER = Parser(
    name="scp_sftp",
    programs=("scp", "sftp"),
    recognises=printed.prints(("scp", "sftp"), DONE),
    **printed.reads(_figures, EXPECTED),
    operations=printed.copy_operations,
)

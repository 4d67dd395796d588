"""scp and sftp: bytes and rate from the final progress line of each file, which they print on a terminal only.

`KB/s`, `MB/s` and the sizes are powers of 1,024 (OpenSSH 9.2, progressmeter.c: format_rate, format_size). Several files
count as copied in sequence. Before OpenSSH 7.3 its clock counts whole seconds and takes less than one for one; no line tells
the version, so a time of about one second gives no rate, and that of k seconds a rate known to a share of 1/k.
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
    yield from printed.both_sides(bytes=printed.total(size for size, _ in files))
    timed = [(size.value, rate_known(size, speed)) for size, speed in files if size.value]
    if timed and all(rate.half < rate.value for _, rate in timed):
        yield from printed.both_sides(bytes_per_s=printed.combined_rate(timed))


def rate_known(size: printed.ParsedNumber, rate: printed.ParsedNumber) -> printed.ParsedNumber:
    """Return the rate with what a clock of whole seconds leaves open, if its time may be a number of these."""
    seconds = max(1, round(size.value / rate.value))
    if abs(size.value - seconds * rate.value) > size.half + seconds * rate.half:
        return rate
    return printed.ParsedNumber(value=rate.value, half=max(rate.half, rate.value / seconds))


PARSER = Parser(
    name="scp_sftp",
    programs=("scp", "sftp"),
    recognises=printed.prints(("scp", "sftp"), DONE),
    **printed.reads(_figures, EXPECTED),
    operations=printed.copy_operations,
)

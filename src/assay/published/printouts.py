"""Lines that tools print: a label and its figure in one piece, as `Failed requests: 3` of ab or `bw=102400KB/s` of fio 2.

Each row gives the kind of the figure and the size of its unit. These tools write powers of 1,024 as KB, MB and GB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from assay.published.vocabulary import SECONDS, PrintedNumber, QuantityKind, around, number

_NUMBER = r"(?P<n>[0-9]+(?:\.[0-9]+)?)"
_BINARY: Mapping[str, Fraction] = {
    f"{prefix}{middle}{name}": Fraction(1024**power)
    for power, prefix in enumerate(("", "K", "M", "G", "T"))
    for middle in ("", "i")
    for name in ("B", "bytes")
}
_BYTES = rf"(?P<bytes>{'|'.join(sorted(_BINARY, key=len, reverse=True))})"
_TIMES: Mapping[str, Fraction] = {"nsec": SECONDS["nsec"], "usec": SECONDS["usec"], "msec": SECONDS["msec"], "sec": Fraction(1)}
_PREFIX: Mapping[str, int] = {"": 1, "k": 1000, "K": 1000, "M": 10**6}

ROWS: tuple[tuple[QuantityKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"{pattern}(?![A-Za-z0-9])", re.ASCII | re.IGNORECASE * (not pattern.startswith("io="))))
    for kind, pattern in (
        (QuantityKind.AMOUNT, rf"io={_NUMBER}{_BYTES}"),
        (QuantityKind.RATE, rf"(?:aggr)?bw?=\s*{_NUMBER}{_BYTES}/s"),
        (QuantityKind.EVENTS, rf"iops=\s*{_NUMBER}(?P<prefix>[kM]?)"),
        (QuantityKind.TIME, rf"runt=\s*{_NUMBER}(?P<time>msec|sec)"),
        (QuantityKind.LATENCY, rf"(?<![a-z])lat \((?P<time>[num]?sec)\)\s*:[^:;]*?avg=\s*{_NUMBER}"),
        (QuantityKind.AMOUNT, rf"{_NUMBER}\s+(?P<bytes>[KMG]Bytes)(?=\s+[0-9.]+\s+[KMG]?bits/sec)"),
        (QuantityKind.RATE, rf"{_NUMBER}\s+(?P<bits>[KMG]?)bits/sec"),
        (QuantityKind.TIME, rf"0\.00-\s*{_NUMBER}\s+(?P<time>sec)"),
        (QuantityKind.EVENTS, rf"requests/sec:\s*{_NUMBER}"),
        (QuantityKind.RATE, rf"transfer/sec:\s*{_NUMBER}{_BYTES}"),
        (QuantityKind.FAILED, rf"non-2xx(?: or 3xx)? responses:\s*{_NUMBER}"),
        (QuantityKind.EVENTS, rf"requests per second:\s*{_NUMBER}(?:\s*\[#/sec\])?(?:\s*\(mean\))?"),
        (QuantityKind.COUNT, rf"complete requests:\s*{_NUMBER}"),
        (QuantityKind.FAILED, rf"failed requests:\s*{_NUMBER}"),
        (QuantityKind.TIME, rf"time taken for tests:\s*{_NUMBER}\s*seconds"),
        (QuantityKind.LATENCY, rf"time per request:\s*{_NUMBER}\s*\[(?P<time>ms)\]\s*\(mean\)"),
        (QuantityKind.IN_FLIGHT, rf"concurrency level:\s*{_NUMBER}"),
        (QuantityKind.RATE, rf"transfer rate:\s*{_NUMBER}\s*\[(?P<bytes>Kbytes)/sec\](?: received)?"),
    )
)
_ACROSS = re.compile(
    r"time per request:\s*[0-9.]+\s*\[ms\]\s*\(mean, across all concurrent requests\)|\[ *[0-9]+\] +(?=[0-9])"
    r"|[A-Z]{3,}(?: \([^)]*\))?:(?= [0-9.]+ requests per second)",
    re.IGNORECASE | re.ASCII,
)
"""Pieces without a figure of their own: the mean of ab over all clients, the number of a connection, the name of a test."""
_SOCKETS = re.compile(r"socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", re.IGNORECASE | re.ASCII)
_READ_BY_WRK = re.compile(rf"{_NUMBER}{_BYTES} read", re.ASCII)
_DATAGRAMS = re.compile(r"(?:[0-9.]+ ms +)?(?P<lost>[0-9]{1,12})/ ?(?P<of>[0-9]{1,12}) \([0-9.e+-]+ ?%\)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Printout:
    """A figure with its label, where it ends, and the size of its unit; no kind where the piece carries no figure."""

    end: int
    kind: QuantityKind | None
    number: PrintedNumber
    unit: Fraction = Fraction(1)


NONE = around(Fraction(0), Fraction(0))


def printout_at(text: str, start: int) -> Printout | None:
    """Return what a tool printed here; None where no row of the table begins here."""
    if start and (text[start - 1].isalnum() or text[start - 1] in "_/"):
        return None
    if skipped := _ACROSS.match(text, start):
        return Printout(end=skipped.end(), kind=None, number=NONE)
    if sockets := _SOCKETS.match(text, start):
        failed = Fraction(sum(map(int, sockets.groups())))
        return Printout(end=sockets.end(), kind=QuantityKind.FAILED, number=around(failed, Fraction(0)))
    if (lost := _DATAGRAMS.match(text, start)) and int(lost["of"]):
        share = Fraction(int(lost["lost"]), int(lost["of"]))
        return Printout(end=lost.end(), kind=QuantityKind.LOST, number=around(share, Fraction(0)))
    of_wrk = ((QuantityKind.AMOUNT, _READ_BY_WRK),) if " requests in " in text[:start] else ()
    for kind, pattern in (*of_wrk, *ROWS):
        match = pattern.match(text, start)
        printed = number(match["n"]) if match else None
        if match and printed:
            unit = unit_of(match.groupdict())
            return Printout(end=match.end(), kind=kind, number=printed.scaled(unit), unit=unit)
    return None


def unit_of(parts: Mapping[str, str | None]) -> Fraction:
    """Return the size of the unit of a row."""
    if name := parts.get("bytes"):
        return next(size for spelled, size in _BINARY.items() if spelled.lower() == name.lower())
    if name := parts.get("time"):
        return {**_TIMES, **SECONDS}[name.lower()]
    if (bits := parts.get("bits")) is not None:
        return Fraction({"": 1, "K": 10**3, "M": 10**6, "G": 10**9}[bits.upper()], 8)
    return Fraction(_PREFIX.get(parts.get("prefix") or "", 1))

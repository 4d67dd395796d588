"""What `assay dsio` shows: tables for people, rows of CSV as they come, JSON at the end."""

from __future__ import annotations

import csv
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from assay.errors import AssayError
from assay.machine.dsio_server import KINDS, TracedServer
from assay.machine.dsio_trace import COUNTED, DirectoryIo, IoCounts
from assay.plain import to_plain
from assay.terminal.output import STANDARD_OUTPUT, Row, deliver, say, table
from assay.terminal.progress import SECOND_NS
from assay.units import Unit, digits, human

WORKERS = ("btrfs", "zfs", "bcachefs")
"""File systems that submit the requests of a read or a write from threads of their own."""
KERNEL = ("kworker", "jbd2", "xfsaild", "xfs-", "kswapd", "loop", "dmcrypt", "md", "dm-", "ksoftirqd", "btrfs", "txg_sync", "z_")
"""How the names of the kernel's threads begin that write back, keep journals, or serve stacked devices."""


@dataclass(frozen=True, kw_only=True)
class DsioShow:
    """What is shown."""

    codes: bool
    reads: bool
    writes: bool


@dataclass(frozen=True, kw_only=True)
class DsioInterval:
    """What was counted between two looks, which are so long after the first one."""

    from_ns: int
    to_ns: int
    counts: DirectoryIo


@dataclass(frozen=True, kw_only=True)
class DsioWatch:
    """A watch that is over."""

    server: TracedServer
    started: datetime
    intervals: tuple[DsioInterval, ...]
    why: str
    """Why it is over."""

    @property
    def whole(self) -> DsioInterval:
        """All intervals together."""
        return functools.reduce(joined, self.intervals)


def joined(one: DsioInterval, two: DsioInterval) -> DsioInterval:
    """Return two intervals as one."""
    counts = DirectoryIo(
        operations=sums(one.counts.operations, two.counts.operations),
        outside=one.counts.outside.plus(two.counts.outside),
        others=sums(one.counts.others, two.counts.others),
        unseen=two.counts.unseen,
        lost=one.counts.lost + two.counts.lost,
    )
    return DsioInterval(from_ns=one.from_ns, to_ns=two.to_ns, counts=counts)


def sums(one: Mapping[str, IoCounts], two: Mapping[str, IoCounts]) -> dict[str, IoCounts]:
    """Return the sum of each name."""
    return {name: one.get(name, IoCounts()).plus(two.get(name, IoCounts())) for name in dict.fromkeys((*one, *two))}


def beginning(server: TracedServer) -> str:
    """Return what is watched, before it is."""
    where = f" on {', '.join(server.devices)}" if server.devices else ""
    return f"{server.software} (PID {server.pid}){where}. Ctrl-C ends the watch."


class DsioPrinter:
    """Writes where the call wants it: CSV goes on while the watch does."""

    def __init__(self, show: DsioShow, csv_to: TextIO | None, json_to: str | None) -> None:
        self._show = show
        self._csv_to = csv_to
        self._json_to = json_to
        self._is_text = json_to != STANDARD_OUTPUT and csv_to is not sys.stdout
        self._rows = csv.writer(csv_to, lineterminator="\n") if csv_to is not None else None
        if self._rows is not None:
            self._rows.writerow(csv_head(show))

    def interval(self, interval: DsioInterval) -> None:
        """Show one interval of several."""
        self._write(interval)
        if self._is_text:
            say(f"{human(interval.to_ns, Unit.NANOSECONDS)}\n{tables(interval.counts, self._show)}\n")

    def end(self, watched: DsioWatch) -> None:
        """Show the whole."""
        if len(watched.intervals) == 1:
            self._write(watched.whole)
        if self._is_text or self._json_to is not None:
            deliver(
                self._json_to,
                "dsio",
                lambda: document(watched, self._show),
                (lambda: text(watched, self._show)) if self._is_text else None,
            )

    def _write(self, interval: DsioInterval) -> None:
        if self._rows is not None and self._csv_to is not None:
            self._rows.writerows(csv_rows(interval, self._show))
            self._csv_to.flush()


@contextmanager
def printer(show: DsioShow, csv_to: str | None, json_to: str | None) -> Iterator[DsioPrinter]:
    """Give the printer; the file of CSV is closed at the end. Raises AssayError for an unwritable file."""
    if csv_to in (None, STANDARD_OUTPUT):
        yield DsioPrinter(show, sys.stdout if csv_to else None, json_to)
        return
    try:
        file = Path(str(csv_to)).open("w", encoding="utf-8", newline="")  # noqa: SIM115 - closed below
    except OSError as error:
        raise AssayError(f"{csv_to}: not written ({error.strerror}). Name a writable file.") from error
    with file:
        yield DsioPrinter(show, file, json_to)


def text(watched: DsioWatch, show: DsioShow) -> str:
    """Return the answer, the tables and what to know."""
    return "\n\n".join(filter(None, (answer(watched), tables(watched.whole.counts, show), "\n".join(remarks(watched)))))


def answer(watched: DsioWatch) -> str:
    """Return who did how many operations in which time."""
    whole = watched.whole
    counts = [f"{one.count:,} {kind}" for kind, one in ordered(whole.counts) if one.count]
    seconds = human(whole.to_ns - whole.from_ns, Unit.NANOSECONDS)
    return (
        f"{watched.server.software} (PID {watched.server.pid}), {seconds}: {', '.join(counts) or 'no operation'} ({watched.why})."
    )


def ordered(counts: DirectoryIo) -> Iterator[tuple[str, IoCounts]]:
    """Yield the kinds in the order of the protocol."""
    yield from ((kind, counts.operations[kind]) for kind in KINDS if kind in counts.operations)


def tables(counts: DirectoryIo, show: DsioShow) -> str:
    """Return the mean of each operation, and the sums of what belongs to none."""
    each = [Row(cells=(kind, f"{one.count:,}", mean_time(one), *each_cells(one, show))) for kind, one in ordered(counts)]
    first = table(("operation", "count", "time", *heads(show)), each, range(1, 3 + len(heads(show)))) if each else "No operation."
    names = heads(DsioShow(codes=False, reads=show.reads, writes=show.writes))
    rest = [Row(cells=(name, *io_cells(one, show, 1))) for name, one in nobody(counts)]
    return f"Each operation (means)\n{first}\n\nNo operation (sums)\n{table(('thread', *names), rest, range(1, 1 + len(names)))}"


def heads(show: DsioShow) -> tuple[str, ...]:
    """Return the heads of the columns."""
    reads = ("reads", "device reads") if show.reads else ()
    writes = ("writes", "flushes", "device writes", "device flushes") if show.writes else ()
    return (*reads, *writes, "page faults", *(("entries", "result codes") if show.codes else ()))


def each_cells(one: IoCounts, show: DsioShow) -> Iterator[str]:
    """Yield the means of an operation; `8.65 (31.5 kB)`: so many calls with so many bytes together."""
    if not one.count:
        yield from ("-",) * len(heads(show))
        return
    yield from io_cells(one, show, one.count)
    if show.codes:
        yield number(one.entries / one.count)
        yield ", ".join(f"{code}: {times:,}" for code, times in sorted(one.codes.items(), key=lambda item: int(item[0]))) or "-"


def io_cells(one: IoCounts, show: DsioShow, parts: int) -> Iterator[str]:
    """Yield the counts over so many parts."""
    if show.reads:
        yield with_bytes(one.reads / parts, one.read_bytes / parts)
        yield with_bytes(one.device_reads / parts, one.device_read_bytes / parts)
    if show.writes:
        yield with_bytes(one.writes / parts, one.write_bytes / parts)
        yield (
            f"{number(one.flushes / parts)} ({human(one.flush_ns / one.flushes, Unit.NANOSECONDS)} each)" if one.flushes else "0"
        )
        yield with_bytes(one.device_writes / parts, one.device_write_bytes / parts)
        yield number(one.device_flushes / parts)
    yield number(one.page_faults / parts)


def with_bytes(count: float, amount_bytes: float) -> str:
    """`8.65 (31.5 kB)`, or `0`."""
    return f"{number(count)} ({human(amount_bytes, Unit.BYTES)})" if count else "0"


def number(value: float) -> str:
    """A count, or a mean of counts."""
    return f"{value:,.0f}" if value == int(value) else digits(value, trimmed=True)


def mean_time(one: IoCounts) -> str:
    """The mean time of an operation."""
    return human(one.time_ns / one.count, Unit.NANOSECONDS) if one.count else "-"


def nobody(counts: DirectoryIo) -> Iterator[tuple[str, IoCounts]]:
    """Yield who did what belongs to no operation."""
    kernel = [one for name, one in counts.others.items() if name.startswith(KERNEL)]
    others = [one for name, one in counts.others.items() if not name.startswith(KERNEL)]
    yield "server, outside operations", counts.outside
    yield "kernel (journal, write-back)", functools.reduce(IoCounts.plus, kernel, IoCounts())
    yield "other processes", functools.reduce(IoCounts.plus, others, IoCounts())


def remarks(watched: DsioWatch) -> Iterator[str]:
    """Yield what a reader must know besides."""
    server, counts = watched.server, watched.whole.counts
    if counts.lost:
        yield f"bpftrace lost {counts.lost:,} events: every count is a lower bound."
    reasons: dict[str, list[str]] = {}
    for kind, reason in server.missing.items():
        reasons.setdefault(reason, []).append(kind)
    yield from (f"Not seen ({', '.join(kinds)}): {reason}." for reason, kinds in reasons.items())
    if not server.devices:
        yield f"The server's files are on no block device ({', '.join(server.filesystems) or 'none is open for writing'})."
    workers = [name for name in server.filesystems if name in WORKERS]
    if workers:
        yield f"{', '.join(workers)} reads and writes by threads of its own: requests to devices then belong to no operation."


def document(watched: DsioWatch, show: DsioShow) -> dict[str, object]:
    """Return everything, for programs."""
    server, whole = watched.server, watched.whole
    return {
        "answer": answer(watched),
        "server": {
            "pid": server.pid,
            "software": server.software,
            "executable": server.executable,
            "devices": list(server.devices),
            "filesystems": list(server.filesystems),
        },
        "started_utc": watched.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "elapsed_ns": whole.to_ns - whole.from_ns,
        "ended": watched.why,
        **counts_of(whole.counts, show),
        "missing": dict(server.missing),
        "remarks": [*remarks(watched)],
        "intervals": [
            {"from_ns": one.from_ns, "to_ns": one.to_ns, **counts_of(one.counts, show)}
            for one in (watched.intervals if len(watched.intervals) > 1 else ())
        ],
    }


def counts_of(counts: DirectoryIo, show: DsioShow) -> dict[str, object]:
    """Return the counts, for programs; codes and entries only where they were asked for."""
    return {
        "operations": {kind: plain(one, show) for kind, one in ordered(counts)},
        "outside": plain(counts.outside, show),
        "others": {name: plain(one, show) for name, one in counts.others.items()},
        "lost_events": counts.lost,
    }


def plain(one: IoCounts, show: DsioShow) -> dict[str, object]:
    """Return counts of one row."""
    values: dict[str, object] = to_plain(one)
    return values if show.codes else {key: value for key, value in values.items() if key not in ("entries", "codes")}


def csv_head(show: DsioShow) -> tuple[str, ...]:
    """Return the names of the columns."""
    return ("t_s", "operation", *columns(show), *(("codes",) if show.codes else ()))


def columns(show: DsioShow) -> tuple[str, ...]:
    """Return the counts that are written."""
    return tuple(name for name in COUNTED if name != "entries" or show.codes)


def csv_rows(interval: DsioInterval, show: DsioShow) -> Iterator[tuple[object, ...]]:
    """Yield a row for each kind of operation, for the server outside of them, and for each other thread on its devices."""
    counts = interval.counts
    named: Iterable[tuple[str, IoCounts]] = (
        *ordered(counts),
        ("outside", counts.outside),
        *((f"other:{name}", one) for name, one in counts.others.items()),
    )
    for name, one in named:
        codes = " ".join(f"{code}={times}" for code, times in sorted(one.codes.items(), key=lambda item: int(item[0])))
        values = (getattr(one, column) for column in columns(show))
        yield (round(interval.to_ns / SECOND_NS, 3), name, *values, *((codes,) if show.codes else ()))

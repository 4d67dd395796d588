"""Queries and reports take long: each runs in a process of its own, at the lowest priority, one at a time, and not for ever.

So a query or a report neither holds up the pages nor keeps memory. The process is a child of ours, so that a running experiment
counts it as the lab's own.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from assay.errors import AssayError, BusyError, RefusedError, UsageError
from assay.notebook import layout
from assay.notebook.sql import QueryLimits, query
from assay.serve.chart import Chart, chart, plain

T = TypeVar("T")
LOWEST_PRIORITY = 19
PR_SET_PDEATHSIG = 1
MOST_WAITING = 8
"""So many questions may wait for the process; another one is refused."""
QUERY_S = 10.0
FILL_S = 60.0
"""Before a query DuckDB takes the rows from the files: most of the time of a large notebook."""
QUERY_BYTES = 256 << 20
MOST_ROWS = 1000
"""So many rows are shown."""


@dataclass(frozen=True, kw_only=True)
class QueryPage:
    """The answer to a query, as its page shows it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[bool, ...]
    """Whether a column holds numbers alone."""
    is_cut: bool
    """Whether there are more rows than are shown."""
    element: str
    """The chart as SVG; empty where there is nothing to draw."""


class WorkQueue:
    """Runs functions of this package, one after the other, each in a process of its own."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def run(self, call: Callable[..., T], words: tuple[object, ...], limit_s: float) -> T:
        """Return what the function gives. Raises AssayError: its own, or that it took too long, or that too many wait."""
        if self._waiting >= MOST_WAITING:
            raise BusyError(f"found {MOST_WAITING} questions waiting; expected fewer. Ask again later.")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(apart, call, words, limit_s)
        finally:
            self._waiting -= 1


def apart(call: Callable[..., T], words: tuple[object, ...], limit_s: float) -> T:
    """Call the function in a new process and wait for it. Raises AssayError."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(theirs, call, words), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(limit_s):
            raise RefusedError(f"not answered within {limit_s:g} s. Ask for less, or use `assay sql` in a terminal.")
        found: object = ours.recv()
    except EOFError:
        raise RefusedError("its process ended without an answer, for lack of memory perhaps. Ask for less.") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if isinstance(found, AssayError):
        raise found
    value: T = found  # type: ignore[assignment] # what `answer` sends is what `call` gives
    return value


def answer(to: Connection, call: Callable[..., object], words: tuple[object, ...]) -> None:
    """In the new process: call the function, and send what it gives or raises."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of the terminal; our parent ends us
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(LOWEST_PRIORITY)
    try:
        to.send(call(*words))
    except UsageError as error:
        to.send(UsageError(str(error)))
    except AssayError as error:
        to.send(RefusedError(str(error)))
    except Exception as error:  # whatever a damaged notebook raises: the page says it
        to.send(RefusedError(f"{type(error).__name__}: {error}"))


def ask(lab: str, text: str, choice: Chart) -> QueryPage:
    """QueryPage a query over a notebook. Raises UsageError."""
    limits = QueryLimits(seconds=QUERY_S, memory_bytes=QUERY_BYTES, rows=MOST_ROWS + 1)
    found = query(Path(lab), text, limits)
    rows = found.rows[:MOST_ROWS]
    drawn = chart(found.columns, rows, choice)
    return QueryPage(
        columns=found.columns,
        rows=tuple(tuple(plain(value) for value in row) for row in rows),
        numbers=tuple(all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(found.columns))),
        is_cut=len(found.rows) > MOST_ROWS,
        element=drawn.element if drawn else "",
    )


def report(folder: str) -> bytes:
    """Make the page of a report by the rules of this version; nothing is written. Raises AssayError."""
    from assay.laboratory import pages
    from assay.laboratory.results import current
    from assay.notebook import read
    from assay.report import page

    place = Path(folder)
    if link := next(layout.leading_out(place, place.parent.resolve()), None):
        raise RefusedError(f"found {link}, a link out of the notebook; expected files in it. Remove it, or copy what it names.")
    results, load = current(place), read.remembered(place)
    return page.render(results, load, pages.pictures(place, results, load)).encode()

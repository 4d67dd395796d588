"""Where the time of a phase went, in a line for the load and one for its server."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.evidence import time_ladder
from assay.evidence.time_ladder import READY, RUNNING, TimeLadder, TimePart
from assay.records import Observations, Phase

LEAST_SHARE, MOST_PARTS = 0.02, 4
"""Of the parts of the time those that are shown."""
LEAST_ERROR = 0.005
OWN_NAMES = {"assay-engine": "the load generator"}
WORDS = {
    RUNNING: "computing in {}",
    READY: "{} ready but without a CPU",
    "read_file": "{} reading a file",
    "write_file": "{} writing a file",
    "write_throttled": "{} held back until dirty pages are written",
    "flush": "{} in a flush",
    "metadata": "{} opening, listing or changing files",
    "async_io": "{} waiting for asynchronous I/O",
    "page_fault": "{} waiting for a page of memory",
    "read_device": "{} reading a device",
    "write_device": "{} writing a device",
    "read_socket": "{} waiting for an answer of a socket",
    "write_socket": "{} sending into a full socket",
    "connect": "{} connecting",
    "sleep": "{} asleep",
    "lock": "{} waiting for a lock",
    "events": "{} waiting for events",
    "read_pipe": "{} waiting for data of a pipe",
    "write_pipe": "{} waiting for room in a pipe",
    "terminal": "{} waiting for the terminal",
    "child": "{} waiting for a child",
    "stopped": "{} stopped",
    "other": "{} in another system call",
}
"""State -> what it is called, of a process."""
LIMITS = {
    RUNNING: "the CPU time of {}",
    READY: "CPUs that other programs had",
    "read_file": "reads of files by {}",
    "write_file": "writes of files by {}",
    "write_throttled": "dirty pages that storage had to write first",
    "flush": "the flushes of {}",
    "metadata": "{}, which opens, lists or changes files",
    "async_io": "the asynchronous I/O of {}",
    "page_fault": "pages of memory that {} waits for",
    "read_device": "reads of a device by {}",
    "write_device": "writes of a device by {}",
    "sleep": "{}, which sleeps",
    "lock": "locks in {}",
    "terminal": "the terminal",
}
"""State that has most of the time -> what the limit was."""
PEER = frozenset({"read_socket", "write_socket", "connect", "events"})
"""States in which a client waits for the other end of its connections."""
MOST = 0.5
"""So much of the time one thing must have to be called the limit."""


def lines(phase: Phase, seen: Observations) -> Iterator[tuple[str, str]]:
    """Yield `spent` with what threads of the load did, how busy devices were and the limit; `server` with what its threads did.

    Nothing where too few looks were taken.
    """
    seen = seen.on_all()
    load, server = (time_ladder.of_phase(phase, seen, group) for group in (time_ladder.LOAD, time_ladder.SERVER))
    if load is not None:
        busy = [f"{device} busy {measures.percent(share)}" for device, share in time_ladder.busy(phase, seen)]
        most = limit(load, server)
        yield "spent", "; ".join((shares(load), *busy, *([f"limit: {most}"] if most else ())))
    if server is not None:
        yield "server", shares(server)


def shares(found: TimeLadder) -> str:
    """Return the largest parts of a time."""
    parts = [part for part in found.parts if part.share >= LEAST_SHARE] or found.parts[:1]
    return ", ".join(told(part) for part in parts[:MOST_PARTS])


def limit(load: TimeLadder, server: TimeLadder | None) -> str | None:
    """What had most of the time, in words; of a client that waits for its server that of the server; None for no single one."""
    state, share, process = _largest(load)
    if share <= MOST:
        able = sum(part.share for part in load.parts if part.state in (RUNNING, READY))
        return "CPUs, which other programs had for a part of the time" if able > MOST else None
    if state not in PEER:
        return LIMITS[state].format(named(process)) if state in LIMITS else None
    if server is None:
        return f"the other end of the connections of {named(process)}, or the path to it"
    theirs, share, process = _largest(server)
    if theirs in LIMITS and share > MOST:
        return LIMITS[theirs].format(f"the server ({process})")
    return "the path to the server, or that few requests are in flight: the server waits, too"


def _largest(found: TimeLadder) -> tuple[str, float, str]:
    """The state with most of the time, its share over all processes, and the process that was in it most."""
    sums: dict[str, float] = {}
    for part in found.parts:
        sums[part.state] = sums.get(part.state, 0.0) + part.share
    state = max(sums, key=lambda name: sums[name])
    return state, sums[state], next(part.process for part in found.parts if part.state == state)


def named(process: str) -> str:
    """What a process is called in words."""
    return OWN_NAMES.get(process, process)


def told(part: TimePart) -> str:
    """`91 % ±3 computing in dd`."""
    return f"{_percent(part.share)}{_within(part)} {WORDS.get(part.state, '{} ' + part.state).format(named(part.process))}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _within(part: TimePart) -> str:
    return f" ±{100 * part.error:.0f}" if part.error >= LEAST_ERROR else ""

"""Where the time of a phase went, in a line for the load and one for its server."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.evidence import time_ladder, time_limit
from assay.evidence.time_ladder import READY, RUNNING, TimeLadder
from assay.records import Cause, Observations, Phase, TimeDifference, TimeLimit, TimePart, TimeSpent
from assay.units import Unit

LEAST_SHARE, MOST_PARTS = 0.02, 4
"""Of the parts of the time those that are shown."""
LEAST_ERROR = 0.005
NO_LIMIT = "none (nothing had more than half of the time)"
MANY = 1.5
"""From so many threads on several are at work."""
OWN_NAME = "the load generator"
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
    "other_thread": "{} waiting for another of its threads",
    "idle": "{} with nothing to do",
    "events": "{} waiting for events",
    "read_pipe": "{} waiting for data of a pipe",
    "write_pipe": "{} waiting for room in a pipe",
    "terminal": "{} waiting for the terminal",
    "child": "{} waiting for a child",
    "stopped": "{} stopped",
    "other": "{} in another system call",
}
"""State -> what it is called, of a process."""
DOING = {
    RUNNING: "computes",
    "flush": "is in a flush",
    "sleep": "sleeps",
    "read_file": "reads a file",
    "write_file": "writes a file",
    "read_socket": "waits for an answer",
}
"""State -> what a thread does that is in it, while others wait for it."""
SPENT = {
    RUNNING: "computing",
    READY: "ready without a CPU",
    "read_file": "in reads of files",
    "write_file": "in writes of files",
    "write_throttled": "held back until dirty pages are written",
    "flush": "in flushes",
    "metadata": "opening, listing or changing files",
    "async_io": "waiting for asynchronous I/O",
    "page_fault": "waiting for pages of memory",
    "read_socket": "waiting for answers",
    "write_socket": "sending into full sockets",
    "sleep": "asleep",
    "lock": "waiting for a lock",
    "events": "waiting for events",
}
"""State -> how time is spent that is in it."""
LIMITS = {
    Cause.CPU: "the CPU time of {who}",
    Cause.NO_CPU: "CPUs: {who} was ready without one for {among} of the time",
    Cause.QUOTA: "the CPU quota of control group {name}, which stopped {who} for {among} of the time",
    Cause.STARTS: "starts of programs: one after the other, each soon at its end",
    Cause.LOCK: "a lock in {who}: {count} threads wait for it while {working}",
    Cause.TURNS: "threads of {who} take turns (a lock, or work for few of them): {count} wait while {working}",
    Cause.SLEEP: "{who}, which sleeps",
    Cause.FLUSH: "the flushes of {who}",
    Cause.DEVICE: "the device {name}, with {count} requests in flight",
    Cause.ONE_REQUEST: "one request in flight at a time: {who} waits for each of them on {name}",
    Cause.THROTTLE: "a throttle rule on {name}, used up by {who}",
    Cause.FILES: "reads and writes of files by {who}, and no device here was busy with them{behind}",
    Cause.METADATA: "{who}, which opens, lists or changes files",
    Cause.PAGES: "pages of memory that {who} waits for (mapped files, swap space)",
    Cause.DIRTY: "dirty pages that storage had to write first",
    Cause.CONNECT: "connections that {who} waits for: the other end does not accept them",
    Cause.NAMES: "answers of a name server that {who} waits for",
    Cause.LATE_ACKNOWLEDGEMENT: "acknowledgements: small writes of {who} wait for them (round trip {ns}; Nagle and delayed ACK)",
    Cause.WINDOW: "the receive window of the other end, which was full (round trip {ns})",
    Cause.READER: "the other end, which does not read what {who} sends",
    Cause.PATH_RATE: "the rate of {path}",
    Cause.CONGESTION: "the path: congestion control lets no more be on the way (round trip {ns})",
    Cause.PATH_DELAY: "the delay of the path (round trip {ns}): {who} waits for each answer",
    Cause.PEER: "the other end of the connections of {who}{path}",
    Cause.POOL: "a pool of connections or a lock in {who}: {count} of {among_count} threads have a request in flight",
    Cause.FEW_REQUESTS: "few requests in flight ({count}): both {who} and the server wait for the other end",
    Cause.PIPE: "the other end of a pipe of {who}, outside of the command",
    Cause.TERMINAL: "the terminal",
    Cause.STOPPED: "a signal that stopped {who}",
    Cause.NOTHING: "nothing: {who} waits for what does not come",
}
"""What the limit is, in words."""
ALL_OF_IT = 1 + 1e-6
"""A part is all of a difference up to so many times of it: both are sums of floats."""
NEAR_NS = 1_000_000
"""A path with a shorter round trip is not what is waited for."""


def lines(phase: Phase, seen: Observations) -> Iterator[tuple[str, str]]:
    """Yield `spent` with what threads of the load did, how busy devices were and the limit; `server` with what its threads did.

    Why it is unknown where nobody could look, or too seldom; nothing of short phases, and where nobody was to look.
    """
    seen = seen.on_all()
    load, server = (time_ladder.of_phase(phase, seen, group) for group in (time_ladder.LOAD, time_ladder.SERVER))
    if load is not None:
        busy = [f"{device} busy {measures.percent(share)}" for device, share in time_ladder.busy(phase, seen)]
        most = time_limit.of_phase(phase, seen)
        yield "spent", "; ".join((shares(load), *busy, f"limit: {limit(most) if most else NO_LIMIT}"))
    elif (why := time_ladder.why_unknown(phase, seen)) is not None:
        yield "spent", f"unknown: {why}"
    if server is not None:
        yield "server", shares(server)
    elif (why := time_ladder.why_unknown(phase, seen, time_ladder.SERVER)) is not None:
        yield "server", f"unknown: {why}"


def shares(found: TimeLadder) -> str:
    """Return the largest parts of a time."""
    parts = [part for part in found.parts if part.share >= LEAST_SHARE] or found.parts[:1]
    return ", ".join(told(part) for part in parts[:MOST_PARTS])


def limit(found: TimeLimit) -> str:
    """Say what the limit was, and for how much of the time."""
    server = "the other end of the load" if found.process.startswith(time_ladder.OWN_PROGRAM) else f"the server ({found.process})"
    who = server if found.at_server else named(found.process)
    doing = f"{found.among:.2g} {'threads work' if (found.among or 0) >= MANY else 'works'}" if found.among is not None else ""
    known = DOING.get(found.name)
    words = LIMITS[found.cause].format(
        who=who,
        name=found.name or "/",
        count=f"{found.count:.2g}" if found.count is not None else "",
        among=measures.percent(found.among or 0.0),
        among_count=f"{found.among:.2g}" if found.among is not None else "",
        working=f"another one {known}" if known and (found.among or 0) < MANY else doing,
        ns=measures.with_unit(found.ns or 0.0, Unit.NANOSECONDS),
        behind=_behind(found) if found.name else "",
        path=_rate(found, who) if found.cause is Cause.PATH_RATE else _path(found.ns),
    )
    rest = f"; in the rest of the time {limit(found.rest)}" if found.rest is not None else ""
    return f"{'' if found.is_certain or not found.error else 'likely '}{words}{rest}"


def of_runs(one: TimeSpent) -> str:
    """Say what the limit of several runs was: `the flushes of dd (97 % ±2 of the time, in 4 of 5 runs)`."""
    if not one.runs:
        return f"unknown: {one.missing}"
    rests = f"; the server is unknown: {one.server_missing}" if one.server_missing else ""
    if one.limit is None:
        return NO_LIMIT + _alike(one) + rests
    error = f" ±{100 * one.limit.error:.0f}" if one.limit.error >= LEAST_ERROR else ""
    among = "" if one.limit.cause in (Cause.LOCK, Cause.TURNS) else f"{_percent(one.limit.share)}{error} of the time"
    inside = ", ".join(filter(None, (among, _alike(one).strip(" ()"))))
    return limit(one.limit) + (f" ({inside})" if inside else "") + rests


def _alike(one: TimeSpent) -> str:
    """` (in 3 of 4 runs)`; empty where all runs say the same."""
    return f" (in {one.alike} of {one.of} runs)" if one.alike < one.of else ""


def what(part: TimePart) -> str:
    """`computing in dd`."""
    return WORDS.get(part.state, "{} " + part.state).format(named(part.process))


def amount(part: TimePart) -> str:
    """`91 % ±3`."""
    return f"{_percent(part.share)}{_within(part)}"


def _behind(found: TimeLimit) -> str:
    """The server in user space that was asked in that time."""
    return f"; the FUSE server of {found.name} made {found.count or 0.0:,.0f} read calls a second in that time"


def _rate(found: TimeLimit, who: str) -> str:
    """`the path wan (12.4 MB/s, 99 % of it)`, `the path: data of curl wait in a queue (round trip 41 ms)`."""
    if found.rate is None:
        round_trip = measures.with_unit(found.ns or 0.0, Unit.NANOSECONDS)
        return f"the path: data of {who} wait in a queue (round trip {round_trip})"
    used = measures.percent(min(1.0, found.among or 0.0))
    return f"{found.name} ({measures.with_unit(found.rate, Unit.BYTES_PER_S)}, {used} of it)"


def _path(least_ns: float | None) -> str:
    """Whether the path can be it, by the least round trip."""
    if least_ns is None:
        return ", or the path to it"
    words = measures.with_unit(least_ns, Unit.NANOSECONDS)
    return f" (not the path: round trip {words})" if least_ns < NEAR_NS else f", or the path to it (round trip {words})"


def difference(candidate: str, one: TimeDifference | None) -> str | None:
    """`why: of the 3.3 s that each write of xfs takes less, 3.1 s are spent in flushes (95 % interval ...)`; None: unknown."""
    if one is None:
        return None
    more = one.difference_ns > 0
    amount, *edges = (abs(ns) for ns in (one.difference_ns, one.low_ns, one.high_ns))
    span = " to ".join(measures.with_unit(ns, Unit.NANOSECONDS) for ns in sorted(edges))
    what = SPENT.get(one.state, one.state.replace("_", " "))
    whole = measures.with_unit(abs(one.whole_ns), Unit.NANOSECONDS)
    known, side = measures.with_unit(amount, Unit.NANOSECONDS), "more" if more else "less"
    if more == (one.whole_ns > 0) and amount <= ALL_OF_IT * abs(one.whole_ns):
        whose = f"of the {whole} that each {one.each} of {candidate} takes {side}"
        return f"why: {whose}, {known} are spent {what} (95 % interval {span})"
    whose = f"each {one.each} of {candidate} spends {known} {side} {what}"
    return f"why: {whose} (95 % interval {span}); all its time differs by {whole}"


def named(process: str) -> str:
    """What a process is called in words."""
    return OWN_NAME if process.startswith(time_ladder.OWN_PROGRAM) else process


def told(part: TimePart) -> str:
    """`91 % ±3 computing in dd`."""
    return f"{amount(part)} {what(part)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _within(part: TimePart) -> str:
    return f" ±{100 * part.error:.0f}" if part.error >= LEAST_ERROR else ""

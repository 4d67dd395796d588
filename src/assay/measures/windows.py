"""In which time a figure is counted: the window in which all clients run, or the whole phase."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from assay.frozen import dataclass
from assay.records import Client, Late, Observations, OperationTotal, Phase, Series, Unfinished


@dataclass(frozen=True, kw_only=True)
class Window:
    """A stretch of time and what was completed inside it."""

    from_ns: int
    to_ns: int
    count: float
    bytes: float
    reason: str | None = None
    """Why it is not what was asked for, in words; None where it is."""

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return (self.to_ns - self.from_ns) / 1e9


def totals(phase: Phase, operation: str) -> tuple[tuple[Client, OperationTotal], ...]:
    """The clients that completed at least one of these operations, each with its total.

    An external command is one operation of its client, whatever it reports of what went on inside it, but where it is known what
    each of several calls did.
    """
    inside = any(name.startswith(f"{operation}.") for name in phase.values)
    return tuple(
        (client, total)
        for client in phase.clients
        for total in client.operations
        if total.count and (total.operation == operation or (inside and total.operation not in phase.operations))
    )


LATE_NS = 1_000_000_000
LATE_SHARE = 0.05
LATE_TIMES = 10
"""An operation that ends so long after the end of the time, in ns, of that time and of a mean latency, is none of that time."""


def late(phase: Phase, client: Client, total: OperationTotal) -> Late | None:
    """What ended long after the end of the client's time, and unlike the rest: it was stuck, and is not done within the time."""
    found = total.late
    if found is None or client.ends_ns is None or found.count >= total.count:
        return None
    over_ns, rest = total.last_ns - client.ends_ns, total.count - found.count
    usual_ns = max(0.0, total.busy_ns - found.count * (total.last_ns - found.from_ns)) / rest
    least_ns = max(LATE_NS, LATE_SHARE * (client.ends_ns - phase.start_ns), LATE_TIMES * usual_ns)
    return found if over_ns >= least_ns else None


def in_time(phase: Phase, operation: str) -> tuple[tuple[Client, OperationTotal], ...]:
    """As `totals`, without what ended long after the end of the time: the time ends when it was to end."""
    every = ((client, total, late(phase, client, total)) for client, total in totals(phase, operation))
    return tuple(
        (client, total)
        if over is None or client.ends_ns is None
        else (client, replace(total, count=total.count - over.count, bytes=total.bytes - over.bytes, last_ns=client.ends_ns))
        for client, total, over in every
    )


def outermost(phase: Phase, client: Client) -> tuple[OperationTotal, ...]:
    """The operations of a client of which none is inside another, so that their times may be added.

    Of two the one that accounts for more: a file that was not read to its end has records and no time of its own.
    """
    busy = {total.operation: total.busy_ns for total in client.operations}
    left_out = {min(pair, key=lambda name: busy.get(name, 0)) for pair in phase.within.items()}
    return tuple(total for total in client.operations if total.count and total.operation not in left_out)


def overlap_share(spans: Sequence[tuple[int, int]]) -> float:
    """(min end - max start) / (max end - min start), at least 0: the share of the time in which all ran (W04)."""
    if not spans:
        return 0.0
    together = min(last for _, last in spans) - max(first for first, _ in spans)
    whole = max(last for _, last in spans) - min(first for first, _ in spans)
    return max(0.0, together / whole) if whole > 0 else 1.0


def whole_window(phase: Phase, operation: str) -> Window | None:
    """From the first start to the last completion over all clients, with all that was done; None where nothing was.

    Of an open loop that kept to a schedule it is the schedule's time at least: n operations have n - 1 gaps between them.
    """
    done, schedule = in_time(phase, operation), scheduled(phase)
    if not done:
        return nothing_done(phase, operation)
    return Window(
        from_ns=min(total.first_ns for _, total in done) if schedule is None else schedule[0],
        to_ns=max(*(client.until(total.last_ns) for client, total in done), schedule[1] if schedule else 0),
        count=sum(total.count for _, total in done),
        bytes=sum(total.bytes for _, total in done),
    )


def nothing_done(phase: Phase, operation: str) -> Window | None:
    """The time in which operations were under way of which none came to its end; None where none was begun."""
    waits = [client for client, _ in given_up(phase, operation)]
    if not waits:
        return None
    first, last = min(client.first_ns for client in waits), max(client.until_ns for client in waits)
    return Window(from_ns=first, to_ns=last, count=0, bytes=0) if last > first else None


def given_up(phase: Phase, operation: str) -> tuple[tuple[Client, Unfinished], ...]:
    """The clients of which this operation was under way when their time was over, and what they gave up then."""
    every = ((client, total) for client in phase.clients for total in client.operations if total.operation == operation)
    return tuple((client, total.unfinished) for client, total in every if total.unfinished is not None)


def stuck(phase: Phase, operation: str) -> tuple[tuple[Client, OperationTotal, Late], ...]:
    """The clients of which this operation ended long after the end of their time, with what ended then."""
    every = ((client, total, late(phase, client, total)) for client, total in totals(phase, operation))
    return tuple((client, total, over) for client, total, over in every if over is not None)


def scheduled(phase: Phase) -> tuple[int, int] | None:
    """From T to the end of the schedule of an open loop that ran to it; None for any other phase.

    All clients are at work in it, also between two operations: they wait until the next one is due.
    """
    ran = phase.due_ns is not None and all(client.stopped_by == "time" for client in phase.clients)
    return (phase.start_ns, phase.due_ns) if ran and phase.due_ns is not None else None


def common_window(phase: Phase, observations: Observations, operation: str) -> Window | None:
    """The time in which every client was busy with this operation, and what was completed inside it.

    Of a phase that ran until it was steady it is the part in its steady rounds. Counts at its edges are interpolated between
    checkpoints. Where the clients never ran together, the whole window stands in for it and `reason` says so; None where
    nothing was done.
    """
    done, steady = in_time(phase, operation), steady_edges(phase, operation)
    whole = whole_window(phase, operation)
    if not done:
        return whole
    ends = [client.until(total.last_ns) for client, total in done]
    first, last = steady or (max(total.first_ns for _, total in done), min(ends))
    if whole is None or (steady is None and (len(done) == 1 or scheduled(phase) is not None)):
        return whole
    if last <= first:
        reason = f"the {len(done)} clients never all worked at once: counted from the first start to the last end"
        return Window(from_ns=whole.from_ns, to_ns=whole.to_ns, count=whole.count, bytes=whole.bytes, reason=reason)
    edges = (first, last)
    return Window(
        from_ns=first,
        to_ns=last,
        count=sum(inside(phase, observations, client, (total, total.count, "count"), edges) for client, total in done),
        bytes=sum(inside(phase, observations, client, (total, total.bytes, "bytes"), edges) for client, total in done),
    )


def steady_edges(phase: Phase, operation: str) -> tuple[int, int] | None:
    """The steady rounds of a phase that ran until it was steady, as far as every client did this operation in them.

    None where the phase had no such end, was never steady, or this operation was done outside (a flush at the end).
    """
    state, done = phase.steady, totals(phase, operation)
    if state is None or state.from_ns is None or state.to_ns is None or not done:
        return None
    first = max(state.from_ns, *(total.first_ns for _, total in done))
    last = min(state.to_ns, *(client.until(total.last_ns) for client, total in done))
    return (first, last) if first < last else None


def counted(phase: Phase, observations: Observations, operation: str) -> tuple[float, float]:
    """Operations and the sum of their latencies in ns: of the steady rounds where there are any, else of the whole phase.

    Those that were given up count with the time that they had waited.
    """
    done, edges = totals(phase, operation), steady_edges(phase, operation)
    if edges is None:
        left = [one for _, one in given_up(phase, operation)]
        count = sum(total.count for _, total in done) + sum(one.count for one in left)
        return float(count), float(sum(total.busy_ns for _, total in done) + sum(one.waited_ns for one in left))
    return (
        sum(inside(phase, observations, client, (total, total.count, "count"), edges) for client, total in done),
        sum(inside(phase, observations, client, (total, total.busy_ns, "busy_ns"), edges) for client, total in done),
    )


def in_parts(
    phase: Phase, observations: Observations, what: tuple[str, str], edges: tuple[int, int], parts: int
) -> tuple[float, ...]:
    """(operation, `count`, `bytes` or `busy_ns`) of all clients in equal parts of a stretch of time."""
    operation, metric = what
    times = [edges[0] + (edges[1] - edges[0]) * part // parts for part in range(parts + 1)]
    sums = [0.0] * (parts + 1)
    for client, total in totals(phase, operation):
        points = progress(total, getattr(total, metric), course(phase, observations, client, f"{total.operation}.{metric}"))
        sums = [done + at(points, when) for done, when in zip(sums, times, strict=True)]
    return tuple(after - before for before, after in pairwise(sums))


SLOW_PARTS, SLOW_SHARE = 20, 0.5
"""One of several is slow in a twentieth of the time in which it did less than half of the mean of all."""


def slow_since(phase: Phase, observations: Observations, operation: str) -> list[tuple[Client, int]]:
    """Each client that did less than half of the mean of all to the end of their common window, with the time since when."""
    window, done = common_window(phase, observations, operation), in_time(phase, operation)
    seen = [course(phase, observations, client, f"{total.operation}.count") for client, total in done]
    if window is None or None in seen:
        return []
    points = {
        f"{client.host}:{client.index}": progress(total, total.count, one)
        for (client, total), one in zip(done, seen, strict=True)
    }
    since = behind_since(points, (window.from_ns, window.to_ns))
    return [(client, since[name]) for client, _ in done if (name := f"{client.host}:{client.index}") in since]


def behind_since(each: Mapping[str, Sequence[tuple[int, float]]], edges: tuple[int, int]) -> dict[str, int]:
    """Those of several counters that rose by less than half of the mean to the end of a time, each with the time since when."""
    times = [edges[0] + (edges[1] - edges[0]) * part // SLOW_PARTS for part in range(SLOW_PARTS + 1)]
    rises = {
        name: [after - before for before, after in pairwise(at(points, one) for one in times)] for name, points in each.items()
    }
    means = [sum(parts) / len(rises) for parts in zip(*rises.values(), strict=True)]
    found = {}
    for name, rose in rises.items():
        fast = [part for part, (rise, mean) in enumerate(zip(rose, means, strict=True)) if rise >= SLOW_SHARE * mean]
        if (first := max(fast, default=-1) + 1) < SLOW_PARTS:
            found[name] = times[first]
    return found


def points_inside(phase: Phase, observations: Observations, operation: str, edges: tuple[int, int]) -> int:
    """At how many times within a stretch it is known of every client how far it was: what is between is interpolated."""
    known = [
        sum(edges[0] <= at_ns <= edges[1] for at_ns in series.at_ns)
        if (series := course(phase, observations, client, f"{total.operation}.count"))
        else 0
        for client, total in totals(phase, operation)
    ]
    return min(known, default=0)


def course(phase: Phase, observations: Observations, client: Client, metric: str) -> Series | None:
    """What a client had done of something over time."""
    return next(observations.over_time(phase.name, "application", metric, f"client:{client.index}"), None)


def inside(
    phase: Phase, observations: Observations, client: Client, what: tuple[OperationTotal, int, str], edges: tuple[int, int]
) -> float:
    """How much of one client's count (or bytes) falls between two times."""
    total, amount, metric = what
    points = progress(total, amount, course(phase, observations, client, f"{total.operation}.{metric}"))
    return at(points, edges[1]) - at(points, edges[0])


def progress(total: OperationTotal, amount: int, series: Series | None) -> list[tuple[int, float]]:
    """(time, done until then) of one client: from 0 at its first start, over its checkpoints, to all at its last end."""
    points = [(total.first_ns, 0.0)]
    for at_ns, done in zip(series.at_ns, series.value, strict=True) if series else ():
        if points[-1][0] < at_ns < total.last_ns and points[-1][1] <= done <= amount:
            points.append((at_ns, done))
    return [*points, (total.last_ns, float(amount))]


def at(points: Sequence[tuple[int, float]], when: int) -> float:
    """What was done at a time, by linear interpolation between the points; constant outside them."""
    index = bisect_left(points, when, key=lambda point: point[0])
    if index == 0:
        return points[0][1]
    if index == len(points):
        return points[-1][1]
    (t0, v0), (t1, v1) = points[index - 1], points[index]
    return v0 + (v1 - v0) * (when - t0) / (t1 - t0) if t1 > t0 else v1

"""What the limit of a phase was, by what its threads, connections, devices and control groups did. Pure, and without words.

A limit is what had most of the time. Where the load waits for its server, it is what the server did; where both wait, it is what
their connections waited for. Nothing is guessed from a name or an argument: where no evidence tells, there is no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.evidence import device_idle, fuse, ladder, served, time_ladder
from assay.evidence.time_ladder import ABLE, LOAD, READY, RUNNING, SERVER, TimeLadder
from assay.records import Cause, Direction, Observations, Phase, Series, TimeLimit
from assay.records.time_spent import MOST

FRESH = 0.5
"""So many of the looks find a new process where programs end as soon as they are started."""
LEAST_LEFT = 0.1
"""Of less time with a CPU nothing is told."""
STOPPED = 0.1
"""So much of the time a quota stopped what could have run."""
WAITERS, TURNS = 0.4, 0.75
"""A lock is the limit from so large a part of the threads that wait for it, of all that have work, and from so many on."""
USED = 0.7
"""So much of a throttle's rate, in the time of the waits, is as good as all of it: a program also starts and ends."""
FULL = 0.9
"""So much of the rate of a path, in the time of the waits, is all of it (L04)."""
IDLE_DEVICE = 0.3
"""Of the time of waits for storage a device that had requests for less is not what they waited for."""
FEWEST_CALLS = 10
"""So few calls of a server in user space are no work for a load that waits for most of the time."""
SEVERAL = 1.5
"""So many requests in flight are more than one after the other."""
FAR, NEAR, QUEUED = 1_000_000, 2.0, 1.25
"""A round trip of so many ns is one over a path. Of single requests the mean is at most `NEAR` times the least; of a stream that
fills a queue on the way it is at least `QUEUED` times the least."""
LIMITS = {
    "limit_read_bytes_per_s": "read_bytes",
    "limit_write_bytes_per_s": "write_bytes",
    "limit_read_ops_per_s": "read_operations",
    "limit_write_ops_per_s": "write_operations",
}
"""Throttle rules -> what of a device they limit."""
FILES = ("read_file", "write_file", "read_device", "write_device", "async_io")
STORAGE = (*FILES, "page_fault", "write_throttled", "metadata", "flush")
PEER = ("read_socket", "write_socket", "connect", "events")
WORK = (*ABLE, *STORAGE, "sleep", "write_socket", "connect", "read_socket")
"""States of a thread that does something, or waits for something outside of its program."""


SINGLE = {
    "sleep": Cause.SLEEP,
    "flush": Cause.FLUSH,
    "metadata": Cause.METADATA,
    "page_fault": Cause.PAGES,
    "write_throttled": Cause.DIRTY,
    "connect": Cause.CONNECT,
    "read_pipe": Cause.PIPE,
    "write_pipe": Cause.PIPE,
    "terminal": Cause.TERMINAL,
    "stopped": Cause.STOPPED,
}
"""State that has most of the time -> what that is."""
UNCHANGED = (Cause.CPU, Cause.NO_CPU, Cause.QUOTA, Cause.LOCK, Cause.TURNS)
"""Limits of a server that no more requests would change."""
SERVING = (*ABLE, *STORAGE, "sleep")
"""States of a server's thread that works on a request."""


def of_phase(phase: Phase, seen: Observations) -> TimeLimit | None:
    """What the limit was while the clock ran; None where nothing had most of the time, or nobody looked often enough."""
    load, server = (time_ladder.of_phase(phase, seen, group) for group in (LOAD, SERVER))
    if load is None:
        return None
    found = _named(load, server, phase, seen)
    if found is None or found.cause is not Cause.NO_CPU or found.at_server:
        return found
    rest = _with_cpus(load)
    return replace(found, rest=None if rest is None else _named(rest, server, phase, seen))


def _with_cpus(load: TimeLadder) -> TimeLadder | None:
    """The time in which there was a CPU; None where there hardly was one."""
    left = 1 - load.share(READY)
    if left < LEAST_LEFT:
        return None
    parts = (one for one in load.parts if one.state != READY)
    return replace(load, of=left, parts=tuple(replace(one, share=one.share / left, error=one.error / left) for one in parts))


def _named(load: TimeLadder, server: TimeLadder | None, phase: Phase, seen: Observations) -> TimeLimit | None:
    """What had most of the time of the load, and of its server where the load waits for it."""
    own, theirs = _own(load, phase, seen), _own(server, phase, seen, load) if server is not None else None
    if own is not None and theirs is not None and load.share(READY) > MOST / 2 and theirs.cause in (Cause.CPU, Cause.NO_CPU):
        return theirs  # it has the CPUs for which the load waits
    if own is not None and own.cause is Cause.FILES:
        return _of_mount(own, theirs, load, phase, seen)
    if own is not None or load.share(*PEER) <= MOST:
        return own or _between_threads(load)
    if theirs is not None and theirs.cause in UNCHANGED:
        return theirs
    full = _pool(load) or _full(load, PEER, phase, seen)
    return full or _held(load) or (_held(server) if server else None) or theirs or _of_wait(load, server)


def _of_mount(own: TimeLimit, theirs: TimeLimit | None, load: TimeLadder, phase: Phase, seen: Observations) -> TimeLimit:
    """Files that no device here serves: their server's own limit, or the path to it; idle threads of a server sleep."""
    if theirs is not None and theirs.cause in UNCHANGED:
        return theirs
    if theirs is None or theirs.cause in (Cause.FILES, Cause.SLEEP):
        theirs = own
    return _full(load, FILES, phase, seen) or theirs


def _own(found: TimeLadder, phase: Phase, seen: Observations, asked: TimeLadder | None = None) -> TimeLimit | None:
    """What a group itself did for most of the time; `asked` is the load of a server. None where it waits for others."""
    at_server, waits = asked is not None, _lock(found, asked)
    if waits is not None:
        return waits
    if (able := found.share(*ABLE)) > MOST:
        return _of_cpu(found, able, phase, seen, at_server=at_server)
    if found.share("flush") <= MOST < found.share(*FILES):
        return _of_files(found, phase, seen, at_server=at_server)
    for state, cause in SINGLE.items():
        if (share := found.share(state)) > MOST:
            process = found.process(state)
            return TimeLimit(cause=cause, share=share, error=found.error(state), process=process, at_server=at_server)
    return None


def _lock(found: TimeLadder, asked: TimeLadder | None) -> TimeLimit | None:
    """A lock for which at least two threads of five that have work wait; of other waits for a thread only those in turn.

    Idle threads of a pool wait for one, too: a server's threads count where as many more requests are in flight as it works on.
    """
    at_work = WORK if asked is None else SERVING
    working = found.threads(*at_work)
    for state, cause in (("lock", Cause.LOCK), ("other_thread", Cause.TURNS)):
        waiting = found.threads(state)
        share = waiting / (waiting + working) if waiting else 0.0
        is_asked = asked is None or asked.threads(*PEER) >= working + TURNS
        if share < WAITERS or waiting < TURNS or (cause is Cause.TURNS and (not is_asked or found.share(*PEER) > MOST)):
            continue
        busiest = max((one for one in found.parts if one.state in at_work), key=lambda one: one.threads, default=None)
        return TimeLimit(
            cause=cause,
            share=share,
            error=0.0,
            process=found.process(state),
            at_server=asked is not None,
            name=busiest.state if busiest else "",
            count=waiting,
            among=working,
        )
    return None


def _of_cpu(found: TimeLadder, able: float, phase: Phase, seen: Observations, *, at_server: bool) -> TimeLimit:
    """CPUs: that of the program, a quota's, those that others had, or starts of programs."""
    group, stopped = _quota(phase, seen, SERVER if at_server else LOAD)
    stopped /= max(1.0, found.threads(*ABLE))
    ran, ready = found.share(RUNNING), found.share(READY)
    process, error = found.process(*ABLE), found.error(*ABLE)
    if stopped >= STOPPED:
        return TimeLimit(
            cause=Cause.QUOTA, share=able, error=error, process=process, at_server=at_server, name=group, among=stopped
        )
    if found.fresh >= FRESH:
        return TimeLimit(cause=Cause.STARTS, share=able, error=error, process=process, at_server=at_server)
    cause = Cause.CPU if ran >= ready else Cause.NO_CPU
    return TimeLimit(cause=cause, share=able, error=error, process=process, at_server=at_server, among=ready)


def _quota(phase: Phase, seen: Observations, side: str) -> tuple[str, float]:
    """The control group that was stopped longest for its CPU quota, and its share of the time, of all CPUs together.

    Those on hosts where threads of that side were looked at: a server's quota says nothing of a load on another host.
    """
    span_ns = max(1, phase.lasted_ns)
    there = {one.host for one in seen.over_time(phase.name, time_ladder.LAYER, time_ladder.LOOKS, side)}
    every = [one for one in seen.over_time(phase.name, "cgroup", "throttled_ns") if one.host in there]
    found = {one.subject.removeprefix("cgroup:"): ladder.known_rise(one, phase.start_ns, phase.end_ns) / span_ns for one in every}
    return max(found.items(), key=lambda item: item[1], default=("", 0.0))


def _of_files(found: TimeLadder, phase: Phase, seen: Observations, *, at_server: bool) -> TimeLimit:
    """Reads and writes that wait: for a throttle, for a device, for one request after the other, or for what no device shows."""
    share, error, process = found.share(*FILES), found.error(*FILES), found.process(*FILES)
    throttle = next(_throttles(phase, seen, share * found.of), None)
    if throttle is not None:
        return TimeLimit(cause=Cause.THROTTLE, share=share, error=error, process=process, at_server=at_server, name=throttle)
    name, busy, in_flight = max(devices(phase, seen), key=lambda one: one[1], default=("", 0.0, 0.0))
    cause = Cause.DEVICE if in_flight >= SEVERAL else Cause.ONE_REQUEST
    if busy < IDLE_DEVICE * share * found.of:
        cause = Cause.FILES
        name, in_flight = max(_in_user_space(phase, seen), key=lambda one: one[1], default=("", 0.0))
    return TimeLimit(
        cause=cause,
        share=share,
        error=error,
        process=process,
        at_server=at_server,
        name=name,
        count=in_flight if name else None,
        among=busy,
    )


def _throttles(phase: Phase, seen: Observations, share: float) -> Iterator[str]:
    """Yield the devices that a throttle rule of a control group let have no more, in such a share of the time."""
    for rule, metric in LIMITS.items():
        for one in seen.over_time(phase.name, "cgroup", rule):
            limit = min(one.value, default=0.0)
            there = seen.over_time(phase.name, "block", metric, one.subject)
            moved = next((series for series in there if series.host == one.host), None)
            per_ns = ladder.rate(moved, phase.start_ns, phase.end_ns) if moved is not None else None
            if limit > 0 and per_ns is not None and per_ns * 1e9 >= USED * limit * share:
                yield one.subject.partition(":")[2]


def devices(phase: Phase, seen: Observations) -> Iterator[tuple[str, float, float]]:
    """Yield the devices that file systems are on, with the share of the time in which each had a request, and how many it had."""
    steps = (ladder.highest_device(phase, seen, way) for way in (Direction.READ, Direction.WRITE))
    span_ns = max(1, phase.lasted_ns)
    for subject in {name for step in steps if step is not None for name in step.subjects}:
        risen = {name: _ticks(phase, seen, name, subject) / span_ns for name in (device_idle.BUSY, *device_idle.PENDING)}
        busy = risen.pop(device_idle.BUSY)
        yield subject.partition(":")[2], min(1.0, busy), sum(risen.values()) / busy if busy else 0.0


def _in_user_space(phase: Phase, seen: Observations) -> Iterator[tuple[str, float]]:
    """Yield the mounts in user space whose servers were asked (FUSE), with the read calls of each server in a second."""
    for one in seen.over_time(phase.name, fuse.LAYER, fuse.CALLS):
        calls = ladder.known_rise(one, phase.start_ns, phase.end_ns)
        if calls >= FEWEST_CALLS:
            yield one.subject.removeprefix(fuse.ABOUT), calls * 1e9 / max(1, phase.lasted_ns)


def _ticks(phase: Phase, seen: Observations, metric: str, subject: str) -> float:
    series: Series | None = next(seen.over_time(phase.name, "block", metric, subject), None)
    risen = None if series is None else ladder.rise(series, phase.start_ns, phase.end_ns)
    return (risen or 0.0) * device_idle.TICK_NS


def _pool(load: TimeLadder) -> TimeLimit | None:
    """More threads that take turns than those that wait for an answer: a pool of connections, or a lock around them."""
    waiting, asking = load.threads("other_thread", "lock"), load.threads(*PEER)
    if waiting < TURNS or waiting <= asking:
        return None
    return TimeLimit(
        cause=Cause.POOL,
        share=load.share(*PEER),
        error=load.error(*PEER),
        process=load.process("other_thread", "lock"),
        count=asking,
        among=asking + waiting,
    )


def _full(load: TimeLadder, states: Sequence[str], phase: Phase, seen: Observations) -> TimeLimit | None:
    """The fullest part of the way to the server, where its rate is known and was used up while the load waited."""
    link, share = served.fullest_link(phase, seen, None), load.share(*states)
    if link is None or link.share < FULL * share * load.of:
        return None
    return TimeLimit(
        cause=Cause.PATH_RATE,
        share=share,
        error=load.error(*states),
        process=load.process(*states),
        name=link.name,
        among=link.share,
        rate=link.rate,
    )


def _held(found: TimeLadder) -> TimeLimit | None:
    """What the connections of a group were held up by, where the group waits for the other end."""
    seen, share = found.connections, found.share(*PEER)
    if seen is None or share <= MOST:
        return None

    def limit(cause: Cause, part: float, ns: float | None = None) -> TimeLimit:
        process = found.process(*PEER)
        at_server = found.group == SERVER
        return TimeLimit(
            cause=cause, share=share, error=found.error(*PEER), process=process, at_server=at_server, among=part, ns=ns
        )

    if found.share("connect") > MOST:
        return limit(Cause.CONNECT, 1.0)
    if seen.names > MOST:
        return limit(Cause.NAMES, seen.names)
    rtt, least = seen.rtt_ns or 0.0, seen.min_rtt_ns or 0.0
    for cause, part in ((Cause.LATE_ACKNOWLEDGEMENT, seen.small), (Cause.READER, seen.closed), (Cause.WINDOW, seen.full)):
        if part > MOST:
            return limit(cause, part, rtt)
    if (more := seen.queued + seen.crowded) > MOST and rtt >= FAR:
        return limit(Cause.PATH_RATE if rtt > QUEUED * least else Cause.CONGESTION, more, rtt)
    if seen.on_the_way > MOST and FAR <= rtt <= NEAR * least:
        return limit(Cause.PATH_DELAY, seen.on_the_way, rtt)
    return None


def _of_wait(load: TimeLadder, server: TimeLadder | None) -> TimeLimit:
    """A wait that neither end's threads nor connections explain: for the other end, for few requests, or for nothing."""
    share, error, process, seen = load.share(*PEER), load.error(*PEER), load.process(*PEER), load.connections
    if load.share("connect") > MOST:
        return TimeLimit(cause=Cause.CONNECT, share=share, error=error, process=process)
    if seen is not None and seen.none > MOST and load.share("events") > MOST:
        return TimeLimit(cause=Cause.NOTHING, share=share, error=error, process=process)
    if server is None:
        least = seen.min_rtt_ns if seen is not None else None
        return TimeLimit(cause=Cause.PEER, share=share, error=error, process=process, ns=least)
    return TimeLimit(cause=Cause.FEW_REQUESTS, share=share, error=error, process=process, count=load.threads(*PEER))


def _between_threads(load: TimeLadder) -> TimeLimit | None:
    """Threads that all wait for one another: nothing that the program waits for is outside of it."""
    states = ("other_thread", "lock", "idle", "child", "other")
    share = load.share(*states)
    if share <= MOST:
        return None
    return TimeLimit(cause=Cause.NOTHING, share=share, error=load.error(*states), process=load.process(*states))

"""The ladder of bytes as figures: what the application asked, what passed each rung, what was in memory at an edge.

Every function takes the phase and what was observed of one host, or of several that were asked for together
(`Observations.on`); all bytes are of one direction of the whole phase, since no counter below the application knows
operations apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from assay.frozen import dataclass
from assay.records import ABSOLUTE, Direction, Limit, Observations, Phase, Reading, Rung, Series, Span


@dataclass(frozen=True, kw_only=True)
class LadderStep:
    """What passed one rung in one direction: bytes and operations with the part that is not ours taken off."""

    bytes: float
    operations: float
    raw_bytes: float
    """As counted, with what others moved: only ever too much, so too little of it is certain."""
    raw_operations: float
    other_processes_bytes: float
    """What others would have moved in that time at the rate of the idle baseline before it."""
    other_processes_operations: float
    uncertainty_bytes: float
    """Of the counter itself."""
    source: str
    subjects: tuple[str, ...]

    @property
    def device(self) -> str:
        """The names of the devices, without the kind of subject."""
        return ", ".join(subject.partition(":")[2] for subject in self.subjects)


AtEdge = Callable[[Phase, Iterable[Series]], float | None]
"""The sum of gauges at an edge of a phase."""
AMOUNTS = (
    *("bytes", "operations", "raw_bytes", "raw_operations"),
    *("other_processes_bytes", "other_processes_operations", "uncertainty_bytes"),
)
"""The fields of a step that add up."""


def reported_bytes(phase: Phase, direction: Direction) -> float | None:
    """What the clients themselves say they moved in a direction; None where they do not say it."""
    own = sum(t.bytes for c in phase.clients for t in c.operations if phase.directions.get(t.operation) == direction)
    reported = [
        figure
        for name, figure in phase.values.items()
        if name.endswith(".bytes") and phase.directions.get(name.rpartition(".")[0]) == direction
    ]
    return float(own or sum(reported)) or None


def requested_bytes(phase: Phase, observations: Observations, direction: Direction) -> float | None:
    """L0: what all clients say they moved; an external tool's own bytes, else what its system calls moved (L1).

    Of its writes no more than became dirty: the rest of the calls went to pipes, sockets and terminals, or over dirty data.

    None where neither is known: a command that uses io_uring, libaio or mmap and does not report its bytes.
    """
    if own := reported_bytes(phase, direction):
        return own
    calls = passed(phase, observations, Rung.SYSCALL, direction)
    if not calls or not calls.bytes or not phase.values:
        return None
    shared = sum(one.value[-1] for one in gauges(phase, observations, "growth", "shared_bytes"))
    amount = calls.bytes - shared if calls.bytes > shared else calls.bytes  # copy_file_range(2) counts what it shares
    dirtied = passed(phase, observations, Rung.CLIENT_CACHE, direction) if direction is Direction.WRITE else None
    return min(amount, dirtied.bytes) if dirtied and dirtied.bytes else amount


def written_bytes(phase: Phase, observations: Observations, least_bytes: float) -> float:
    """Bytes that were surely written in the clock: dirtied, and no more than the load wrote, by its own account or its calls.

    What the kernel charges as dirtied (L2) is no more than a hint: one page of a large folio dirties all of it. An engine of
    ours knows what it wrote; of an external tool calls that moved less than `least_bytes` are taken for uncounted ones (io_uring,
    mmap).
    """
    dirtied = passed(phase, observations, Rung.CLIENT_CACHE, Direction.WRITE)
    calls = passed(phase, observations, Rung.SYSCALL, Direction.WRITE)
    if dirtied is None:
        return 0.0
    sure = dirtied.bytes - dirtied.uncertainty_bytes
    own = None if phase.values else requested_bytes(phase, observations, Direction.WRITE)
    if own is not None:
        return min(sure, own)
    return min(sure, calls.bytes) if calls is not None and calls.bytes >= least_bytes else sure


def done_operations(phase: Phase, direction: Direction) -> int:
    """How many operations of this direction all clients completed."""
    return sum(t.count for c in phase.clients for t in c.operations if phase.directions.get(t.operation) == direction)


def passed(
    phase: Phase, observations: Observations, rung: Rung, direction: Direction, span: Span = Span.CLOCK
) -> LadderStep | None:
    """What passed a rung; None where it has no reading.

    Sources that count the same thing are alternatives, never added: the engine's own account goes first, it misses
    nothing after the last sample. On devices the rate of the idle baselines before it and before the next phase is taken off.
    """
    every = [r for r in observations.rung(phase.name, rung, direction, span) if r.bytes is not None or r.operations is not None]
    if not every:
        return None
    best = {host: min((r.source for r in every if r.host == host), key=_rank) for host in dict.fromkeys(r.host for r in every)}
    readings = [r for r in every if r.source == best[r.host]]
    shared = rung in (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
    others = [_of_other_processes(r, idle_baselines(phase, observations, r)) if shared else (0.0, 0.0) for r in readings]
    raw_bytes, raw_operations = sum(r.bytes or 0 for r in readings), sum(r.operations or 0 for r in readings)
    return LadderStep(
        bytes=sum(max(0.0, (r.bytes or 0) - f) for r, (f, _) in zip(readings, others, strict=True)),
        operations=sum(max(0.0, (r.operations or 0) - f) for r, (_, f) in zip(readings, others, strict=True)),
        raw_bytes=raw_bytes,
        raw_operations=raw_operations,
        other_processes_bytes=sum(f for f, _ in others),
        other_processes_operations=sum(f for _, f in others),
        uncertainty_bytes=sum(r.uncertainty_bytes for r in readings),
        source=", ".join(dict.fromkeys(best.values())),
        subjects=tuple(sorted({r.subject for r in readings})),
    )


def _rank(source: str) -> tuple[bool, str]:
    return not source.startswith("engine"), source


def _of_other_processes(reading: Reading, quiet: Sequence[Reading]) -> tuple[float, float]:
    """Bytes and operations of others in the time of a reading, at the rate of the idle baselines."""
    watched_ns = sum(window.to_ns - window.from_ns for window in quiet)
    if watched_ns <= 0:
        return 0.0, 0.0
    times = (reading.to_ns - reading.from_ns) / watched_ns
    return sum(window.bytes or 0 for window in quiet) * times, sum(window.operations or 0 for window in quiet) * times


def idle_baselines(phase: Phase, observations: Observations, reading: Reading) -> tuple[Reading, ...]:
    """The same counter in the idle baseline before the phase and in the first one after it, which is that of the next phase."""
    same = (reading.host, reading.rung, reading.direction, reading.subject, reading.source)
    before = (r for r in observations.readings if r.span is Span.BEFORE)
    windows = [r for r in before if (r.host, r.rung, r.direction, r.subject, r.source) == same]
    later = (r for r in windows if r.phase != phase.name and r.from_ns >= phase.end_ns)
    after = min(later, key=lambda r: r.from_ns, default=None)
    return (*(r for r in windows if r.phase == phase.name), *(() if after is None else (after,)))


def has_baseline(phase: Phase, observations: Observations, rung: Rung, direction: Direction) -> bool:
    """Whether a rung was watched in the idle baseline: without it nobody knows what others do there."""
    return any(True for _ in observations.rung(phase.name, rung, direction, Span.BEFORE))


def both(first: LadderStep | None, second: LadderStep | None) -> LadderStep | None:
    """Two spans of one rung together."""
    if first is None or second is None:
        return first or second
    return replace(first, **{name: getattr(first, name) + getattr(second, name) for name in AMOUNTS})


def highest_device(phase: Phase, observations: Observations, direction: Direction, span: Span = Span.CLOCK) -> LadderStep | None:
    """The device that the file system is on: L8 where there is a stack, else L9."""
    return passed(phase, observations, Rung.UPPER_DEVICE, direction, span) or lowest_device(phase, observations, direction, span)


def limited(phase: Phase, observations: Observations, limit: Limit) -> LadderStep | None:
    """What a device with a limit was given in the limit's direction while the clock ran, by its own counters."""
    own = tuple(one for one in observations.readings if one.subject == f"device:{limit.device}")
    return highest_device(phase, replace(observations, readings=own), limit.direction)


def lowest_device(phase: Phase, observations: Observations, direction: Direction, span: Span = Span.CLOCK) -> LadderStep | None:
    """L9: the lowest device that can be seen."""
    return passed(phase, observations, Rung.LOWEST_DEVICE, direction, span)


def written_with_drain(phase: Phase, observations: Observations) -> LadderStep | None:
    """What the lowest device wrote while the clock ran and in the drain; None where nobody counted it."""
    clock = lowest_device(phase, observations, Direction.WRITE)
    return clock and both(clock, lowest_device(phase, observations, Direction.WRITE, Span.DRAIN))


def reached(phase: Phase, observations: Observations, *spans: Span) -> LadderStep | None:
    """What the lowest device took for the load in these spans: `bytes` at least, `raw_bytes` at most; None where nobody counted.

    Others write to it too. Where there is one device above it, which is often nobody else's, what passed that one bounds both.
    """
    lowest, upper = (_over(phase, observations, rung, spans) for rung in (Rung.LOWEST_DEVICE, Rung.UPPER_DEVICE))
    if lowest is None or upper is None or len(upper.subjects) > 1:
        return lowest
    return replace(lowest, bytes=min(upper.bytes, lowest.raw_bytes), raw_bytes=min(upper.raw_bytes, lowest.raw_bytes))


def _over(phase: Phase, observations: Observations, rung: Rung, spans: Iterable[Span]) -> LadderStep | None:
    """What was written to a rung in several spans; None where the first of them was not counted."""
    step, *others = (passed(phase, observations, rung, Direction.WRITE, span) for span in spans)
    for other in others:
        step = step and both(step, other)
    return step


def has_holes(phase: Phase, observations: Observations) -> bool:
    """Whether the files have space that no device is asked for."""
    each = (gauges(phase, observations, "extents", kind, "path") for kind in ("hole_bytes", "unwritten_bytes"))
    return any(at_arming(phase, series) for series in each)


def encoded_bytes(phase: Phase, observations: Observations) -> float:
    """Bytes of the data files that the file system stores encoded (compressed), at the last look."""
    series = gauges(phase, observations, "extents", "encoded_bytes", "path")
    return sum(item.value[-1] for item in series if item.value)


# ---------------------------------------------------------------------------------------------- gauges at an edge


def latest_sample(series: Series, when_ns: int) -> float | None:
    """A gauge's last sample at or before a time, its first one where all are later."""
    found = [value for at, value in zip(series.at_ns, series.value, strict=True) if at <= when_ns]
    return found[-1] if found else (series.value[0] if series.value else None)


def value_after(series: Series, when_ns: int) -> float | None:
    """A gauge's first sample at or after a time, its last one where all are earlier."""
    found = [value for at, value in zip(series.at_ns, series.value, strict=True) if at >= when_ns]
    return found[0] if found else (series.value[-1] if series.value else None)


def samples(series: Series, phase: Phase) -> list[tuple[int, float]]:
    """The samples (ns, value) under the clock of a phase, with the last one before it and the first one after it."""
    first, last = _enclosing(series, phase.start_ns, phase.end_ns)
    return [(at, value) for at, value in zip(series.at_ns, series.value, strict=True) if first <= at <= last]


def inside(series: Series, phase: Phase) -> list[tuple[int, float]]:
    """The samples (ns, value) under the clock of a phase alone, those at its two edges left out."""
    return [(at, value) for at, value in zip(series.at_ns, series.value, strict=True) if phase.start_ns < at < phase.end_ns]


UNSEEN_SHARE, UNSEEN_NS = 0.05, 20_000_000
"""A sample may lie so far inside of a time, at each end: more than 5 % of it counts, and clocks of two hosts differ."""


def rise(series: Series, from_ns: int, to_ns: int) -> float | None:
    """By how much a cumulative series or a gauge rose between the samples that enclose two times; None where an end lacks one.

    One sample tells of no rise, and neither do those that end long before the time does.
    """
    if not covers(series, from_ns, to_ns):
        return None
    return known_rise(series, from_ns, to_ns)


def covers(series: Series, from_ns: int, to_ns: int) -> bool:
    """Whether there is a sample at both ends of a time."""
    if len(series.at_ns) < 2:
        return False
    first, last = _enclosing(series, from_ns, to_ns)
    slack = max(UNSEEN_NS, UNSEEN_SHARE * (to_ns - from_ns))
    return first < last and first - from_ns <= slack and to_ns - last <= slack


def known_rise(series: Series, from_ns: int, to_ns: int) -> float:
    """By how much it rose at least, by the samples that there are: of what may begin or end in between, such as a process."""
    before, after = latest_sample(series, from_ns), value_after(series, to_ns)
    return 0.0 if before is None or after is None else after - before


def rises(every: Iterable[Series], from_ns: int, to_ns: int) -> float | None:
    """The sum of several rises; None where there is none, or one of them was not seen."""
    each = [rise(one, from_ns, to_ns) for one in every]
    known = [one for one in each if one is not None]
    return sum(known) if known and len(known) == len(each) else None


def rate(series: Series, from_ns: int, to_ns: int) -> float | None:
    """The mean rise per ns between the samples that enclose two times; None without time between them.

    `rise` covers more than the two times: divided by the time between them it is more than any real rate.
    """
    first, last = _enclosing(series, from_ns, to_ns)
    return known_rise(series, from_ns, to_ns) / (last - first) if last > first else None


def least_share(series: Series, from_ns: int, to_ns: int) -> float | None:
    """The least share of a time that a counter of ns rose: it may have risen all the time outside; None without time."""
    if to_ns <= from_ns:
        return None
    first, last = _enclosing(series, from_ns, to_ns)
    outside = max(0, from_ns - first) + max(0, last - to_ns)
    return max(0.0, known_rise(series, from_ns, to_ns) - outside) / (to_ns - from_ns)


def _enclosing(series: Series, from_ns: int, to_ns: int) -> tuple[int, int]:
    """The times of the samples between which `rise` counts."""
    first = max((at for at in series.at_ns if at <= from_ns), default=min(series.at_ns, default=from_ns))
    return first, min((at for at in series.at_ns if at >= to_ns), default=max(series.at_ns, default=to_ns))


def of_host(phase: Phase, observations: Observations, layer: str, metric: str) -> Series | None:
    """What was counted of the whole host over time; None where nobody looked."""
    return next(observations.over_time(phase.name, layer, metric, ABSOLUTE), None)


def host_rise(phase: Phase, observations: Observations, layer: str, metric: str) -> float | None:
    """By how much a counter of the whole host rose under the clock; None where nobody looked at both ends."""
    series = of_host(phase, observations, layer, metric)
    return None if series is None else rise(series, phase.start_ns, phase.end_ns)


def gauges(phase: Phase, observations: Observations, layer: str, metric: str, kind: str = "") -> Iterator[Series]:
    """The series of one metric whose subject is of a kind (`path`, `backing`, `slab`); all where none is named."""
    for series in observations.over_time(phase.name, layer, metric):
        if not kind or series.subject.startswith(f"{kind}:"):
            yield series


def stands_for(phase: Phase, observations: Observations, host: str | None = None) -> float:
    """How many data files each one stands for that was looked at: of very many the observer page_cache looks at a sample."""
    sample = re.match(r"(\d+) of (\d+)", observations.fact(f"page_cache.sample.{phase.name}", host=host) or "")
    return int(sample[2]) / int(sample[1]) if sample else 1.0


def data_files(phase: Phase, observations: Observations, metric: str, when: AtEdge) -> float | None:
    """A gauge of all data files at an edge (`at_arming`, `at_stop`), of each host those too that its sample stands for."""
    every = [*gauges(phase, observations, "page_cache", metric, "path")]
    sums = {host: when(phase, [one for one in every if one.host == host]) for host in dict.fromkeys(one.host for one in every)}
    return total(None if found is None else found * stands_for(phase, observations, host) for host, found in sums.items())


HELD = "held_bytes"
"""Pages of files that a command wrote, when it had ended: in the layer `page_cache`, of a look of its own."""
READY = "cpu_wait_ns"
"""How long the tasks of a command were ready without a CPU, all together: in the layer `process`, where every one told."""
OF_NO_FILE = "device_read_bytes"
"""What a command read from devices of characters such as /dev/zero: in the layer `process`, where its calls were known."""
UNWRITTEN = ("dirty_bytes", "writeback_bytes")


def left_dirty(phase: Phase, observations: Observations) -> float | None:
    """Bytes of data and image files dirty or under writeback at the stop, minus those at arming; None where not known.

    A file that did not exist at arming had nothing dirty then. Where data files were sampled, each stands for some.
    """
    before, after = (
        total(data_files(phase, observations, metric, when) for metric in UNWRITTEN) for when in (at_arming, at_stop)
    )
    images = [one for metric in UNWRITTEN for one in gauges(phase, observations, "page_cache", metric, "backing")]
    below, left = at_arming(phase, images), at_stop(phase, images)
    return total((None if after is None else after - (before or 0.0), None if left is None else left - (below or 0.0)))


def flushed_in_clock(phase: Phase, observations: Observations) -> bool:
    """Whether a device below completed a flush while the clock ran."""
    every = (passed(phase, observations, rung, Direction.FLUSH) for rung in (Rung.LOWEST_DEVICE, Rung.UPPER_DEVICE))
    return any(one is not None and one.raw_operations >= 1 for one in every)


def at_arming(phase: Phase, series: Iterable[Series]) -> float | None:
    """The sum of gauges just before the clock started; None without a sample by then, such as of a file that is not made yet."""
    return total(latest_sample(item, phase.start_ns) for item in series if item.at_ns and item.at_ns[0] <= phase.start_ns)


def at_stop(phase: Phase, series: Iterable[Series]) -> float | None:
    """The sum of gauges just after the last operation; None where there is no sample."""
    return total(value_after(item, phase.end_ns) for item in series)


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def device_fact(observations: Observations, device: str, name: str) -> str | None:
    """A fact of a block device (`queue.write_cache`, `loop.dio`); the environment numbers the devices of the stack."""
    for fact in observations.facts:
        if fact.key.startswith("device.") and fact.key.endswith(".name") and fact.value == device:
            return observations.fact(fact.key.removesuffix("name") + name)
    return None


FREE = "filesystem.free_share"
"""The fact: which share an ordinary user could still take before the trial, from statvfs(3)."""


def used_share(observations: Observations) -> float | None:
    """The share of the file system that was taken before the trial (0..1); None where it is not known."""
    free = observations.fact(FREE)
    try:
        return None if free is None else 1 - float(free)
    except ValueError:
        return None

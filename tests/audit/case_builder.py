"""Synthetic runs with realistic numbers: 256 MiB in records of 1 MiB on loop0 over vda, or on vda alone."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from assay import measures
from assay.audit import limits
from assay.catalogue import TrialCase
from assay.records import (
    CacheState,
    Claim,
    Client,
    Direction,
    EndpointKind,
    EngineCost,
    Experiment,
    Fact,
    FactClass,
    Histogram,
    HostClock,
    Limit,
    Measure,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Reading,
    Role,
    Run,
    Rung,
    Series,
    Span,
    StopRule,
    TargetSpec,
    Trial,
    When,
    WorkloadSpec,
    missing_on,
)

MIB = 1 << 20
SECOND = 10**9
DIRECTIONS = {
    "read": Direction.READ,
    "random_read": Direction.READ,
    "write": Direction.WRITE,
    "random_write": Direction.WRITE,
    "record_rewrite": Direction.WRITE,
    "flush": Direction.FLUSH,
    "send": Direction.SEND,
    "create": Direction.METADATA,
    "unlink": Direction.METADATA,
    "stat": Direction.METADATA,
    "list": Direction.METADATA,
    "open": Direction.METADATA,
    "rename": Direction.METADATA,
    "readdir": Direction.METADATA,
    "readdir_plus": Direction.METADATA,
    "walk": Direction.METADATA,
    "file": Direction.METADATA,
}


def kind_of(operation: str) -> str:
    """The workload that does such an operation."""
    trees = ("walk", "file")
    if DIRECTIONS.get(operation) is not Direction.METADATA:
        return "bulk_io"
    return "backup_read" if operation in trees else "metadata"


BEHIND = ("read_bytes", "calls", "networked")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the observers are to have seen; None = nobody looked."""

    storage_bytes: int | None = None
    """read_bytes (L2)."""
    call_bytes: int | None = None
    """rchar or wchar (L1)."""
    upper_bytes: int | None = None
    lower_bytes: int | None = None
    drain_bytes: int | None = None
    """Written by the devices while the drain ran."""
    before_bytes: int = 0
    """Moved by others at the lowest device in a quiet second before."""
    flushes: int | None = None
    before_flushes: int = 0
    drain_flushes: int = 0
    dirty_bytes: int | None = None
    backing_dirty_bytes: int | None = None
    hole_bytes: int | None = None
    unwritten_bytes: int = 0
    encoded_bytes: int = 0
    image_hole_bytes: int | None = None
    cached_bytes: tuple[int, int] | None = None
    backing_cached_bytes: tuple[int, int] | None = None
    inodes: tuple[int, int] | None = None
    available_bytes: int | None = None
    behind: tuple[int, int, int] | None = None
    """What the process behind a FUSE mount made storage read, its calls, and whether it has a connection."""
    received_bytes: int | None = None
    """By the interfaces of the host."""
    dio: str | None = None
    write_cache: str = "write back"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A synthetic run: what the load did, and what was seen of it."""

    operation: str = "read"
    count: int = 256
    record_bytes: int = MIB
    seconds: float = 1.0
    starts: tuple[float, ...] = (0.0,)
    ends: tuple[float, ...] | None = None
    """Each client's end in s; all work for `seconds` where None."""
    workers: int = 1
    errors: int = 0
    busy_share: float = 1.0
    sampled_share: float = 1.0
    """Independent latency over the one that follows from the rate."""
    timed: int | None = None
    latencies_ns: tuple[int, ...] = ()
    """Every client's latencies, one operation each; all alike where there are none."""
    drain_s: float | None = None
    flush_in_clock: bool = False
    figure: str = "bytes_per_s"
    claim: Claim = field(default_factory=Claim)
    knobs: dict = field(default_factory=dict)
    devices: tuple[str, ...] = ("vda",)
    filesystem: str | None = None
    limits: tuple[Limit, ...] = ()
    seen: Seen = Seen()
    outcome: Outcome = Outcome.FINISHED
    error: str | None = None
    values: dict = field(default_factory=dict)
    resident_share: float | None = None
    file_bytes: int = 256 * MIB
    missing: dict = field(default_factory=dict)
    experiment_limits: dict = field(default_factory=dict)
    stop: StopRule = StopRule.WORK


def measure_of(made: Made) -> Measure:
    return Measure(workload="w", operation=made.operation, figure=made.figure, claim=made.claim)


def experiment_of(made: Made) -> Experiment:
    return Experiment(
        title="t",
        question="q",
        targets=(TargetSpec(name="d", kind="directory"),),
        workloads=(WorkloadSpec(name="w", kind=kind_of(made.operation), knobs=made.knobs),),
        factors=(),
        measures=(measure_of(made),),
        limits=made.experiment_limits,
    )


def clients_of(made: Made) -> tuple[Client, ...]:
    ends = made.ends or tuple(start + made.seconds for start in made.starts)
    return tuple(client_of(made, index, (start, end)) for index, (start, end) in enumerate(zip(made.starts, ends, strict=True)))


def client_of(made: Made, index: int, span: tuple[float, float]) -> Client:
    first, last = (round(at * SECOND) for at in span)
    busy = round((last - first) * made.workers * made.busy_share)
    sampled = max(1, made.count // 64)
    total = OperationTotal(
        operation="command" if made.values else made.operation,
        count=1 if made.values else made.count,
        bytes=0 if made.values else made.count * made.record_bytes,
        errors=made.errors,
        busy_ns=busy,
        first_ns=first,
        last_ns=last,
        sampled_count=sampled,
        sampled_ns=round(busy / max(1, made.count) * sampled * made.sampled_share),
    )
    return Client(
        index=index,
        host="local",
        pid=100 + index,
        role=Role.LOAD,
        workers=made.workers,
        armed_ns=-SECOND // 10,
        started_ns=first,
        first_ns=first,
        last_ns=last,
        stopped_by="work",
        operations=(total,),
        cost=EngineCost(cpu_user_ns=0, cpu_system_ns=busy // 10),
    )


def run_of(made: Made) -> Run:
    clients = clients_of(made)
    phase = Phase(
        name="p",
        workload="w",
        measured=True,
        operations=(made.operation,),
        directions={made.operation: DIRECTIONS[made.operation]},
        cache_asked=CacheState.UNCHANGED,
        hosts=(
            PhaseHost(
                host="local",
                cached_share_before=made.resident_share,
                drain_ns=None if made.drain_s is None else round(made.drain_s * SECOND),
            ),
        ),
        start_ns=0,
        end_ns=max(client.last_ns for client in clients),
        stop=made.stop,
        flush_in_clock=made.flush_in_clock,
        clients=clients,
        values=made.values,
    )
    trial = Trial(id=1, experiment="e", levels={}, replicate=1, block=1, sitting=0, position=0, seed=1)
    place = Place(
        target="d",
        host="local",
        kind=EndpointKind.DIRECTORY,
        address="/t",
        devices=made.devices,
        limits=made.limits,
        filesystem=made.filesystem,
    )
    return Run(
        trial=trial,
        attempt=1,
        outcome=made.outcome,
        started_utc="2026-01-05T10:00:00+00:00",
        ended_utc="2026-01-05T10:00:10+00:00",
        hosts=(HostClock(host="local", offset_ns=0, error_ns=0, t0_mono_ns=0),),
        places=(place,),
        phases=(phase,),
        error=made.error,
    )


def reading(
    rung: Rung, subject: str, direction: Direction, moved: tuple[int | None, int], span=Span.CLOCK, seconds=1.0
) -> Reading:
    return Reading(
        phase="p",
        rung=rung,
        source="process_io:/proc/PID/io" if rung is Rung.CLIENT_CACHE else "block:/proc/diskstats",
        host="local",
        subject=subject,
        direction=direction,
        bytes=moved[0],
        operations=moved[1],
        from_ns=0,
        to_ns=round(seconds * SECOND),
        span=span,
    )


def readings_of(made: Made) -> list[Reading]:
    direction, seen, flush = DIRECTIONS[made.operation], made.seen, Direction.FLUSH
    lowest = (Rung.LOWEST_DEVICE, f"device:{made.devices[-1]}")
    upper = [(Rung.UPPER_DEVICE, f"device:{made.devices[0]}")] if len(made.devices) > 1 else []
    rows = [
        (Rung.CLIENT_CACHE, "pid:100", direction, (seen.storage_bytes, 0), Span.CLOCK),
        (Rung.SYSCALL, "pid:100", direction, (seen.call_bytes, 0), Span.CLOCK),
        (*lowest, direction, (seen.lower_bytes, 0), Span.CLOCK),
        (*lowest, direction, (seen.before_bytes or None, 0), Span.BEFORE),
        (*lowest, flush, (None, None if seen.flushes is None else seen.before_flushes), Span.BEFORE),
        *((*rung, direction, (seen.upper_bytes, 0), Span.CLOCK) for rung in upper),
        *((*rung, direction, (seen.drain_bytes, 0), Span.DRAIN) for rung in (lowest, *upper)),
        *((*rung, flush, (None, seen.flushes), Span.CLOCK) for rung in (lowest, *upper)),
        *((*rung, flush, (None, seen.drain_flushes), Span.DRAIN) for rung in (lowest, *upper) if seen.flushes is not None),
    ]
    return [
        reading(rung, subject, way, moved, span, made.seconds if span is Span.CLOCK else 1.0)
        for rung, subject, way, moved, span in rows
        if moved[1 if way is flush else 0] is not None
    ]


def gauge(layer: str, subject: str, metric: str, values: tuple[float, ...], seconds: float) -> Series:
    times = [0, round(seconds * SECOND), round((seconds + 1) * SECOND)][: len(values)]
    return Series(
        phase="p",
        source=layer,
        layer=layer,
        host="local",
        subject=subject,
        metric=metric,
        unit="bytes",
        at_ns=array("q", times),
        value=array("d", values),
    )


def progress(metric: str, done: Sequence[float], every_s: float, client: int = 0) -> Series:
    """What a client had done in all (`read.count`, `read.bytes`) by the end of each of so many equal parts of the time."""
    return Series(
        phase="p",
        source="engine",
        layer="application",
        host="local",
        subject=f"client:{client}",
        metric=metric,
        unit=metric.rpartition(".")[2],
        at_ns=array("q", (round((part + 1) * every_s * SECOND) for part in range(len(done)))),
        value=array("d", accumulate(done)),
    )


def series_of(made: Made) -> list[Series]:
    seen, seconds = made.seen, max(c.last_ns for c in clients_of(made)) / SECOND
    extents = seen.hole_bytes is not None
    rows = [
        ("page_cache", "path:/f", "dirty_bytes", seen.dirty_bytes is not None and (0, seen.dirty_bytes, 0)),
        ("page_cache", "backing:/i", "dirty_bytes", seen.backing_dirty_bytes is not None and (0, seen.backing_dirty_bytes, 0)),
        ("page_cache", "path:/f", "cached_bytes", seen.cached_bytes),
        ("page_cache", "path:/f", "file_bytes", seen.cached_bytes and (made.file_bytes, made.file_bytes)),
        ("page_cache", "backing:/i", "cached_bytes", seen.backing_cached_bytes),
        ("extents", "backing:/i", "hole_bytes", seen.image_hole_bytes is not None and (seen.image_hole_bytes,)),
        ("extents", "backing:/i", "unwritten_bytes", seen.image_hole_bytes is not None and (0,)),
        ("extents", "backing:/i", "file_bytes", seen.image_hole_bytes is not None and (made.file_bytes,)),
        ("extents", "path:/f", "hole_bytes", extents and (seen.hole_bytes,)),
        ("extents", "path:/f", "unwritten_bytes", extents and (seen.unwritten_bytes,)),
        ("extents", "path:/f", "encoded_bytes", extents and (seen.encoded_bytes,)),
        ("extents", "path:/f", "file_bytes", extents and (made.file_bytes,)),
        ("memory", "slab:ext4_inode_cache", "inode_cache_objects", seen.inodes),
        *(("fuse", "mount:/t", name, (0, value)) for name, value in zip(BEHIND, seen.behind or (), strict=False)),
        ("network", "", "loopback_bytes", seen.received_bytes is not None and (0, seen.received_bytes)),
        ("memory", "", "available_bytes", seen.available_bytes is not None and (seen.available_bytes,)),
    ]
    return [gauge(layer, subject, metric, values, seconds) for layer, subject, metric, values in rows if values]


def observations_of(made: Made) -> Observations:
    timed = made.count if made.timed is None else made.timed
    upper = round(made.seconds * SECOND / max(1, made.count))
    facts = []
    for index, device in enumerate(made.devices):
        facts.append((f"device.{index}.name", device))
        facts.append((f"device.{index}.queue.write_cache", made.seen.write_cache))
        if made.seen.dio is not None and device.startswith("loop"):
            facts.append((f"device.{index}.loop.dio", made.seen.dio))
    return Observations(
        readings=tuple(readings_of(made)),
        series=tuple(series_of(made)),
        histograms=()
        if made.values
        else tuple(
            Histogram(
                phase="p",
                host="local",
                subject=f"client:{index}",
                operation=made.operation,
                upper_ns=array("q", made.latencies_ns or [upper]),
                count=array("q", [1] * len(made.latencies_ns) or [timed]),
            )
            for index in range(len(made.starts))
        ),
        facts=tuple(
            Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE) for key, value in facts
        ),
        missing=missing_on("local", "p", made.missing),
    )


def case_of(made: Made, rule: str, siblings: dict[str, float] | None = None) -> TrialCase:
    """The case as the judge would put it before a rule."""
    run, observations, measure = run_of(made), observations_of(made), measure_of(made)
    phase = measures.phase_of(run, measure)
    assert phase is not None
    figure = measures.value(run, observations, measure)
    return TrialCase(
        subject="run:0001/1:x",
        experiment=experiment_of(made),
        run=run,
        phase=phase,
        measure=measure,
        claim=made.claim,
        value=figure.value if figure else None,
        observations=observations,
        thresholds=limits.thresholds(rule),
        siblings=siblings or {},
    )


def but(made: Made, **changes) -> Made:
    """The same run with other fields; names of Seen go there."""
    inner = {name: value for name, value in changes.items() if name in Seen.__dataclass_fields__}
    outer = {name: value for name, value in changes.items() if name not in inner}
    return replace(made, seen=replace(made.seen, **inner), **outer)

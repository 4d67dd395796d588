"""What a watched external command amounts to: an experiment of one workload, a run with one phase, its evidence. Pure.

Where the tool tells its figures, these are judged. Where it tells nothing, they are the bytes that were seen over the elapsed
time: what its system calls moved, or what it made storage move where its calls are not counted (mmap, io_uring).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.catalogue import printed
from assay.evidence import ladder
from assay.evidence.reports import reported_readings
from assay.evidence.rungs import DEVICES
from assay.evidence.snapshots import Origin, gauge
from assay.evidence.words import names_another
from assay.frozen import dataclass
from assay.records import (
    ABSOLUTE,
    CacheState,
    Claim,
    Client,
    Direction,
    EngineCost,
    Experiment,
    Factor,
    FileGrowth,
    HostClock,
    Measure,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Role,
    Run,
    Rung,
    Series,
    StopRule,
    TargetSpec,
    TreeAccount,
    Trial,
    Value,
    Watched,
    WorkloadSpec,
    missing_on,
)
from assay.watch import answers, reports
from assay.watch.claims import WORKLOAD, claimed, direction_of, measures, operations
from assay.watch.invocations import CallReport, in_turn
from assay.watch.reports import PHASE, Reported, are_counted, observed

HOST = "local"
NOTHING_USED = EngineCost(cpu_user_ns=0, cpu_system_ns=0)
"""The CPU time is known of the command as a whole: its first client has it."""


def clients(watched: Watched, parts: Sequence[CallReport]) -> Iterator[Client]:
    """Yield each of several calls that ran at the same time with what it says it moved; else the command as the one client."""
    account = watched.account
    whole = OperationTotal(
        operation="command", count=1, bytes=0, errors=0, busy_ns=watched.elapsed_ns, first_ns=0, last_ns=watched.elapsed_ns
    )
    done = [tuple(part.totals()) for part in parts] or [(whole,)]
    for index, work in enumerate(done):
        yield Client(
            index=index,
            host=HOST,
            pid=0,
            role=Role.LOAD,
            workers=1,
            armed_ns=0,
            started_ns=0,
            first_ns=min(total.first_ns for total in work),
            last_ns=max(total.last_ns for total in work),
            stopped_by="exit",
            operations=work,
            cost=None if account is None else cost(account) if index == 0 else NOTHING_USED,
        )


def cost(account: TreeAccount) -> EngineCost:
    """Return the CPU time, the context switches and the page faults of the command."""
    return EngineCost(
        cpu_user_ns=account.cpu_user_ns,
        cpu_system_ns=account.cpu_system_ns,
        voluntary_switches=account.voluntary_switches,
        involuntary_switches=account.involuntary_switches,
        minor_faults=account.minor_faults,
        major_faults=account.major_faults,
    )


OBSERVED = "observed"
"""Where the figures come from when the tool tells none; a value of the knob `parse`."""
UNCOUNTED = "uncounted"
"""A value of the knob `calls`: what the calls moved does not tell what was asked of files."""
PAGES, PROCESS, FILES = (
    Origin(host=HOST, phase=PHASE, source="tree", layer=layer) for layer in ("page_cache", "process", "growth")
)
SAMPLE = "page_cache.sample."
"""The fact that a sample of the files was looked at: here every written file is known, so none stands for others."""


@dataclass(frozen=True, kw_only=True)
class External:
    """An external command in the records that every other workload is judged by."""

    experiment: Experiment
    run: Run
    observations: Observations
    reported: Reported | None
    values: Mapping[str, float]
    judged: frozenset[str] = frozenset()
    """The operations that a claim is about; the others are described."""
    on_network: bool = False
    """Whether its data can have passed an interface of this machine."""
    by_default: str | None = None
    """The tool whose figures are taken for that claim, where the caller names none."""


def external(
    watched: Watched,
    reported: Reported | None,
    claim: Claim | None = None,
    extents: Sequence[Series] = (),
    *,
    fed: bool = False,
) -> External:
    """Return the records of one execution; without a claim, of the caller or presumed of the tool, nothing is judged.

    `extents` is what files that came to be known by then are made of; `fed` a command with a pipe as standard input.
    """
    values = dict(reported.values) if reported else observed(watched, fed=fed)
    answered = None if reported else answers.answers(watched)
    values |= answers.small(values, watched, answered)
    directions = {name: direction_of(name) for name in operations(values)}
    default = None if claim is not None else reports.presumed(watched.argv)
    tier = (reported.tier if reported else None) or (default[1] if default else None)
    judged = claimed(directions, claim) if claim is not None or tier is not None else frozenset()
    wanted = measures(values, {name: (way, name in judged) for name, way in directions.items()}, (tier, claim))
    experiment = experiment_of(watched, reported, wanted, counted=are_counted(watched, fed=fed))
    parts = reported.parts if reported and reported.are_observed and not in_turn(reported.parts) else ()
    beside = {**printed.open_digits(reported.resolution), **reported.timed} if reported else {}
    beside |= answered.figures(reports.RECEIVE) if answered and reports.RECEIVE in directions else {}
    for name, way in directions.items():
        beside |= answers.sampled(watched, name) if way is Direction.REQUEST else {}
    phase = phase_of(watched, (values | beside, directions), parts)
    run = Run(
        trial=Trial(id=1, experiment="", levels={}, replicate=1, block=1, sitting=0, position=1, seed=1),
        attempt=1,
        outcome=outcome(watched, reported),
        started_utc=watched.started_utc,
        ended_utc=watched.ended_utc,
        hosts=(HostClock(host=HOST, offset_ns=0, error_ns=0, t0_mono_ns=watched.t0_mono_ns),),
        places=used_places(watched),
        phases=(phase,),
        error=ended(watched) or None,
    )
    return External(
        experiment=experiment,
        run=run,
        observations=evidence(watched, phase, extents),
        reported=reported,
        values=values,
        judged=judged,
        on_network=may_cross_network(watched, phase),
        by_default=default[0] if default else reported.tool.partition("_")[0] if reported and tier and claim is None else None,
    )


def experiment_of(watched: Watched, reported: Reported | None, wanted: tuple[Measure, ...], *, counted: bool) -> Experiment:
    """Return the command as an experiment: one target, one workload, no factor that varies."""
    knobs: dict[str, Value] = {"argv": watched.argv, "parse": reported.tool if reported else OBSERVED}
    if reports.asks_direct(watched.argv):
        knobs["asks_direct"] = True
    if not counted:
        knobs["calls"] = UNCOUNTED
    return Experiment(
        title=" ".join(watched.argv),
        question="Is the number what it claims to be?",
        targets=(TargetSpec(name="here", kind="directory"),),
        workloads=(WorkloadSpec(name=WORKLOAD, kind="command", knobs=knobs),),
        factors=(Factor(path="target", levels=("here",)),),
        measures=wanted,
    )


# --------------------------------------------------------------------------------------------- what happened


def outcome(watched: Watched, reported: Reported | None) -> Outcome:
    """A tool's figure stands for work that was done, so its failure is the figure's; bytes that were seen moved all the same."""
    return Outcome.FAILED if reported and ended(watched) else Outcome.FINISHED


def ended(watched: Watched) -> str:
    """Return how the command ended, where not well."""
    if watched.signal is not None:
        return f"the command ended by signal {watched.signal}"
    return f"the command ended with status {watched.status}" if watched.status else ""


def phase_of(
    watched: Watched, figures: tuple[Mapping[str, float], Mapping[str, Direction]], parts: Sequence[CallReport] = ()
) -> Phase:
    """Return the one phase, from exec to the end of the last process, with the drain of what it left dirty."""
    values, directions = figures
    return Phase(
        name=PHASE,
        workload=WORKLOAD,
        measured=True,
        operations=tuple(directions),
        directions=directions,
        cache_asked=CacheState.UNCHANGED,
        hosts=(PhaseHost(host=HOST, cached_share_before=cached_share(watched), drain_ns=watched.drain_ns),),
        start_ns=0,
        end_ns=watched.elapsed_ns,
        stop=StopRule.WORK,
        flush_in_clock=False,
        clients=tuple(clients(watched, parts)),
        data_files=tuple(one.path for one in watched.files),
        values=values,
    )


def cached_share(watched: Watched) -> float | None:
    """Return how much of the files that were read was in memory before; None where no file's state was known by then."""
    known = [(one.cached_before_bytes, one.size_bytes) for one in watched.files if not one.written and one.size_bytes]
    held = [(cached, size) for cached, size in known if cached is not None]
    return min(1.0, sum(cached for cached, _ in held) / sum(size for _, size in held)) if held else None


LOCAL = ("tmpfs", "ramfs", "overlay")
"""File systems without a device of their own that are of this machine all the same."""


def may_cross_network(watched: Watched, phase: Phase) -> bool:
    """Return whether data may have passed an interface: by a place, a connection, what is measured, an address in the words."""
    remote = any(place.server is not None or not (place.devices or place.filesystem in LOCAL) for place in used_places(watched))
    measured = any(not direction.of_storage for direction in phase.directions.values())
    return remote or measured or watched.is_connected or names_another(watched.argv)


def used_places(watched: Watched) -> tuple[Place, ...]:
    """Return the places that hold a file that the command touched: only their devices can have had its data.

    All where that is not known, and where a server stands at one of them.
    """
    used = [place for one in watched.files if (place := place_of(watched, one.path)) is not None]
    used += [place for place in watched.places if place.tape]  # an argument names it: no other file is there
    doubtful = watched.files_missing is not None or any(place.server is not None for place in watched.places)
    return watched.places if doubtful or not used else tuple(place for place in watched.places if place in used)


def place_of(watched: Watched, path: str) -> Place | None:
    """Return the place that holds a file; None where none is known to."""
    best = max(watched.places, key=lambda place: holds(place, path), default=None)
    return best if best is not None and holds(best, path) else None


def holds(place: Place, path: str) -> int:
    """Return how much of a path is the place's own address: 0 where it is not below it."""
    point = place.address.rstrip("/")
    return len(point) + 1 if path == place.address or path.startswith(f"{point}/") else 0


# ---------------------------------------------------------------------------------------------------- evidence


def evidence(watched: Watched, phase: Phase, extents: Sequence[Series]) -> Observations:
    """What was observed, with what the tool says at L0 and the files' dirty pages; without an account that is not whole."""
    seen, account = watched.observations, watched.account
    readings, missing = (*seen.readings, *reported_readings(phase, HOST)), {one.key: one.reason for one in seen.missing}
    if account is None or account.lost:
        why = watched.account_missing if account is None else account.lost_reason
        readings = tuple(one for one in readings if one.rung not in (Rung.SYSCALL, Rung.CLIENT_CACHE))
        missing |= dict.fromkeys(("L1.read", "L1.write", "L2.read", "L2.write"), why or "not every process was counted")
    for key in {f"{one.layer}.{one.metric}" for one in extents}:
        missing.pop(key, None)
    if watched.files_missing is not None:
        missing.setdefault("page_cache.dirty_bytes", watched.files_missing)
    facts = tuple(one for one in seen.facts if not one.key.startswith(SAMPLE))
    devices = (device for place in used_places(watched) for device in (*place.devices, *filter(None, (place.tape,))))
    ours = {f"device:{device}" for device in devices}
    return replace(
        seen,
        readings=tuple(one for one in readings if one.rung not in DEVICES or one.subject in ours),
        series=(*(one for one in seen.series if one.layer != "block" or one.subject in ours), *added(watched), *extents),
        facts=facts,
        missing=missing_on(HOST, phase.name, missing),
    )


def added(watched: Watched) -> Iterator[Series]:
    """Dirty pages at the end of files that no observer looked at, pages of written ones, what was dirtied and thrown away."""
    known = {one.subject for one in watched.observations.over_time(PHASE, "page_cache", "dirty_bytes")}
    for one in watched.files:
        if one.written and one.dirty_bytes is not None and f"path:{one.path}" not in known:
            yield gauge(PAGES, f"path:{one.path}", "dirty_bytes", "bytes", [(watched.elapsed_ns, one.dirty_bytes)])
        if one.written and one.cached_after_bytes is not None:
            yield gauge(PAGES, f"path:{one.path}", ladder.HELD, "bytes", [(watched.elapsed_ns, one.cached_after_bytes)])
    if watched.account is not None and watched.account.beside_data_read_bytes:
        doubtful = [(watched.elapsed_ns, watched.account.beside_data_read_bytes)]
        yield gauge(PROCESS, ABSOLUTE, "doubtful_read_bytes", "bytes", doubtful)
    if watched.account is not None and watched.account.kinds is not None and watched.account.kinds.device_bytes:
        moved = [(watched.elapsed_ns, watched.account.kinds.device_bytes)]
        yield gauge(PROCESS, ABSOLUTE, ladder.OF_NO_FILE, "bytes", moved)
    if watched.account is not None and watched.account.cpu_wait_ns is not None:
        waited = [(watched.elapsed_ns, watched.account.cpu_wait_ns)]
        yield gauge(PROCESS, ABSOLUTE, ladder.READY, "ns", waited)
    for growth in watched.grown:
        yield from of_growth(growth, watched.elapsed_ns)
    if not watched.grown:
        yield gauge(FILES, ABSOLUTE, "grown_bytes", "bytes", [(watched.elapsed_ns, 0)])
    seen = any(True for _ in watched.observations.over_time(PHASE, "process", "cancelled_write_bytes"))
    if watched.account is not None and not seen:
        points = [(0, 0), (watched.elapsed_ns, watched.account.cancelled_write_bytes)]
        yield gauge(PROCESS, ABSOLUTE, "cancelled_write_bytes", "bytes", points)


def of_growth(growth: FileGrowth, at_ns: int) -> Iterator[Series]:
    """Yield how much longer a file became, and what stands there in place of data."""
    whole, rest = growth.bytes, growth.bytes
    yield gauge(FILES, f"path:{growth.path}", "grown_bytes", "bytes", [(at_ns, whole)])
    for metric in ("linked_bytes", "shared_bytes", "unwritten_bytes", "hole_bytes"):
        part = min(rest, getattr(growth, metric))
        rest -= part
        yield gauge(FILES, f"path:{growth.path}", metric, "bytes", [(at_ns, part)])

"""The life of one phase: caches, quiet, arming, the start at T, the drain, and what it all amounts to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.catalogue import Evidence, Host, Observer, Pace, Target, Undo, Workload
from assay.errors import TrialError
from assay.evidence.reports import reported_readings
from assay.records import (
    Direction,
    Edge,
    Endpoint,
    Histogram,
    HostClock,
    Missing,
    Outcome,
    Phase,
    PhaseHost,
    PhasePlan,
    Place,
    SteadyState,
    StopRule,
    Subject,
    Value,
    WorkloadSpec,
    missing_on,
)
from assay.sampler import Sampler, Seen, looking
from assay.settings.load import scheduled_ns
from assay.trial import clocks, initial_state
from assay.trial.clients import Dialogue, Stopper, progress_report
from assay.trial.events import Events, commands_of, values_of
from assay.trial.harvest import Answer, Harvest, harvest, judge, reported
from assay.trial.quiet import Patience, Quiet, wait_for_quiet
from assay.trial.rendezvous import State
from assay.trial.steady import CELLS, Watch

IDLE_BASELINE_NS = 250_000_000
"""From the first edge to the second: the rate at which others used the devices is taken from it."""
INTERVAL_NS = 100_000_000
"""Checkpoints and progress of the engines."""
LEAST_LIMIT_S = 600.0
LIMIT_TIMES = 20.0
"""The hard end of a phase: this many times the workload's own guess, and never less than ten minutes."""

Tell = Callable[[Mapping[str, object]], None]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all phases of a trial share."""

    host: Host
    target: Target
    place: Place
    dialogue: Dialogue
    observers: tuple[Observer, ...]
    tell: Tell
    """Takes progress: a mapping with at least `event`."""
    cgroups: tuple[str, ...] = ()
    undo: Undo | None = None
    """Where what runs beside a phase is written down; without it nothing does."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One phase of one workload of a trial."""

    workload: Workload
    spec: WorkloadSpec
    plan: PhasePlan
    endpoints: tuple[Endpoint, ...]
    seed: int
    cpus: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """WORKLOAD.PHASE: unique in a run, where two workloads may both have a phase `read`."""
        return f"{self.spec.name}.{self.plan.name}"


@dataclass(frozen=True, kw_only=True)
class Performed:
    """One phase as it happened and what was seen of it."""

    phase: Phase
    seen: Seen
    evidence: Evidence
    """What the engines said."""
    histograms: tuple[Histogram, ...]
    outcome: Outcome
    error: str | None
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Course:
    """What was found before the phase, and how it went."""

    proof: initial_state.Proof
    quiet: Quiet
    start_ns: int
    t0_ns: int
    drain_ns: int | None
    steady: SteadyState | None
    clock: HostClock


def perform(bench: Bench, job: Job, t0_ns: int | None) -> Performed:
    """Run one phase. `t0_ns` is T of the trial's first phase, None for that one itself.

    Raises TrialError where it could not be started; a phase that went wrong later is returned with its outcome.
    """
    proof, quiet = _prepare(bench, job)
    sampler = Sampler(bench.host, looking(bench.observers, whole(job.spec.knobs, "look_every")), _subject(bench, job))
    values = values_of(bench.place, job.spec.knobs, bench.dialogue.crew.pids)
    events = Events(bench.host, job.name, commands_of(job.spec.events, job.plan.name, values))
    try:
        with initial_state.memory_held(bench.host, job.plan):
            _arm(bench, job, sampler)
        start_ns = _start(bench, job)
        sampler.start()
        events.start(start_ns)
        _progress(bench, job, "running")
        steady = _run(bench, job, start_ns)
        sampler.edge(Edge.LAST)
        drain_ns = _drain(bench, job)
        sampler.edge(Edge.DRAINED)
    finally:
        sampler.stop()
        events.finish()
    t0_ns = start_ns if t0_ns is None else t0_ns
    state = steady.state(t0_ns) if steady else None
    name, before = bench.host.name, bench.dialogue.rendezvous.clocks
    clock = clocks.course(before[name], clocks.compare({name: bench.host})[name], t0_ns)
    course = _Course(proof=proof, quiet=quiet, start_ns=start_ns, t0_ns=t0_ns, drain_ns=drain_ns, steady=state, clock=clock)
    return _conclude(bench, job, (sampler, events), course)


def _prepare(bench: Bench, job: Job) -> tuple[initial_state.Proof, Quiet]:
    """Quiet, then caches as asked: a guest gives memory that was freed before a wait back to its hypervisor."""
    _progress(bench, job, "waiting for quiet")
    longest = whole(job.spec.knobs, "quiesce")
    patience = Patience() if longest is None else Patience(longest_ns=longest)
    quiet = wait_for_quiet(bench.host, bench.place, job.plan, patience)
    _progress(bench, job, "preparing")
    return initial_state.establish(bench.host, bench.target, bench.place, job.plan), quiet


def _subject(bench: Bench, job: Job) -> Subject:
    place = bench.place
    return Subject(
        pids=bench.dialogue.crew.pids,
        paths=job.plan.data_files,
        backing_files=place.backing_files,
        directory=place.directory,
        devices=place.devices,
        cgroups=bench.cgroups,
        endpoints=tuple(endpoint.address for endpoint in job.endpoints),
        server=place.server.on(bench.host.name) if place.server else None,
    )


def _arm(bench: Bench, job: Job, sampler: Sampler) -> None:
    """Look, arm every client within the idle baseline, look again. Raises TrialError where one cannot be armed."""
    host, dialogue = bench.host, bench.dialogue
    _progress(bench, job, "arming")
    sampler.begin(bench.undo)
    sampler.edge(Edge.QUIET)
    opened_ns = host.monotonic_ns()
    configs = [_config(job, client) for client in range(dialogue.rendezvous.count)]
    dialogue.obey(dialogue.rendezvous.arm(job.name, configs, _limit_ns(job), opened_ns))
    dialogue.drive(State.ARMED, State.ENDED)
    time.sleep(max(0, opened_ns + IDLE_BASELINE_NS - host.monotonic_ns()) / 1e9)
    sampler.edge(Edge.ARMED)
    if dialogue.catch_up() is not State.ARMED:
        raise TrialError(f"phase {job.name} cannot be started: {'; '.join(dialogue.rendezvous.failures.values())}")


def _config(job: Job, client: int) -> dict[str, object]:
    settings = dict(job.plan.settings[client])
    settings.pop("start_delay_ns", None)
    return {
        "engine": job.plan.engine or job.workload.engine or "command",
        "client": client,
        "clients": len(job.plan.settings),
        "seed": job.seed,
        "cpus": None if job.cpus is None else list(job.cpus),
        "interval_ns": min(INTERVAL_NS, (_round_ns(job) or INTERVAL_NS * CELLS) // CELLS),
        "settings": settings,
    }


def _limit_ns(job: Job) -> int:
    return int(max(LEAST_LIMIT_S, LIMIT_TIMES * job.workload.seconds(job.spec.knobs, Pace())) * 1e9)


def _start(bench: Bench, job: Job) -> int:
    """Agree on T; a client's own `start_delay_ns`, or the knob `start_delay` times its index, makes it late."""
    rendezvous = bench.dialogue.rendezvous
    rendezvous.clocks = clocks.compare({bench.host.name: bench.host})
    each = whole(job.spec.knobs, "start_delay") or 0
    own = [settings.get("start_delay_ns", each * index) for index, settings in enumerate(job.plan.settings)]
    delays = [delay if isinstance(delay, int) else 0 for delay in own]
    bench.dialogue.obey(rendezvous.start(bench.host.monotonic_ns(), delays))
    assert rendezvous.start_ns is not None
    return rendezvous.start_ns


def _round_ns(job: Job) -> int | None:
    """How long a round is, for a phase that runs until it is steady."""
    return whole(job.spec.knobs, "round") if job.plan.stop is StopRule.STEADY else None


def _run(bench: Bench, job: Job, start_ns: int) -> Stopper | None:
    """Listen until every client has ended; what stops them, where that is a steady state."""
    dialogue, round_ns = bench.dialogue, _round_ns(job)
    tell = progress_report(bench.host, dialogue, lambda news: _progress(bench, job, "running", **news))
    if round_ns is None:
        dialogue.drive(State.ENDED, meanwhile=(tell,))
        return None
    watch = Watch(round_ns=round_ns, start_ns=start_ns, clients=dialogue.rendezvous.count)
    stopper = Stopper(bench.host, dialogue, watch, _limit_ns(job))
    dialogue.drive(State.ENDED, meanwhile=(tell, stopper.look))
    return stopper


def _drain(bench: Bench, job: Job) -> int | None:
    """Flush the file system and time it, where the phase changed something."""
    changes = {Direction.WRITE, Direction.METADATA} & set(job.plan.directions.values())
    calls = bench.host.syscalls
    if calls is None or not changes or bench.place.directory is None:
        return None
    _progress(bench, job, "draining")
    return calls.syncfs(bench.place.directory)


def _conclude(bench: Bench, job: Job, parts: tuple[Sampler, Events], course: _Course) -> Performed:
    """The records of a phase that is over."""
    sampler, events = parts
    rendezvous = bench.dialogue.rendezvous
    seen = sampler.seen(job.name, course.t0_ns)
    gathered = [_harvest(bench, job, client, course.clock) for client in sorted(rendezvous.results)]
    state, error = judge(rendezvous.results, rendezvous.failures, rendezvous.lost)
    flaws = (*rendezvous.late.values(), *events.failures)
    if flaws and state is Outcome.FINISHED:
        state, error = Outcome.PARTIAL, "; ".join(flaws)
    values = reported(job.workload, job.spec.knobs, rendezvous.results) if state is Outcome.FINISHED else {}
    phase = _phase(bench, job, course, gathered, values)
    own = reported_readings(phase, bench.host.name)
    refusal = course.proof.refusal
    return Performed(
        phase=phase,
        seen=seen,
        evidence=Evidence(
            readings=(*own, *(reading for one in gathered for reading in one.evidence.readings)),
            series=tuple(series for one in gathered for series in one.evidence.series),
            facts=tuple(events.facts),
        ),
        histograms=tuple(histogram for one in gathered for histogram in one.histograms),
        outcome=state,
        error=None if error is None else f"phase {job.name}: {error}",
        missing=missing_on(bench.host.name, job.name, {} if refusal is None else {"cache.cold": refusal}),
    )


def _harvest(bench: Bench, job: Job, client: int, clock: HostClock) -> Harvest:
    result = bench.dialogue.rendezvous.results[client]
    answer = Answer(phase=job.name, plan=job.plan, client=client, host=clock.host, t0_ns=clock.t0_mono_ns, result=result)
    return harvest(answer, counts_io=any("L2.read" in observer.gives for observer in bench.observers))


def _phase_host(bench: Bench, course: _Course) -> PhaseHost:
    return PhaseHost(
        host=bench.host.name,
        cache_proved=course.proof.proved,
        cached_share_before=course.proof.share,
        new_files=course.proof.new_files,
        not_cold=course.proof.refusal,
        quiesce_ns=course.quiet.waited_ns,
        quiet=course.quiet.quiet,
        drain_ns=course.drain_ns,
        clock=course.clock,
    )


def _phase(bench: Bench, job: Job, course: _Course, gathered: list[Harvest], values: Mapping[str, float]) -> Phase:
    clients, start_ns = tuple(one.client for one in gathered), course.start_ns - course.t0_ns
    return Phase(
        name=job.name,
        workload=job.spec.name,
        measured=job.plan.measured,
        operations=job.plan.operations,
        directions=job.plan.directions,
        cache_asked=job.plan.cache,
        hosts=(_phase_host(bench, course),),
        start_ns=start_ns,
        end_ns=max((client.last_ns for client in clients), default=start_ns),
        stop=job.plan.stop,
        flush_in_clock=job.plan.flush_in_clock,
        clients=clients,
        data_files=job.plan.data_files,
        values=values,
        steady=course.steady,
        within=job.plan.within,
        due_ns=_schedule_end_ns(job.plan, job.spec.knobs, start_ns),
    )


def _schedule_end_ns(plan: PhasePlan, knobs: Mapping[str, Value], start_ns: int) -> int | None:
    """When the schedules of all clients end; None where they have none, or do not begin together."""
    planned = {scheduled_ns(settings) for settings in plan.settings}
    apart = whole(knobs, "start_delay") or any("start_delay_ns" in settings for settings in plan.settings)
    length = planned.pop() if len(planned) == 1 and plan.stop is StopRule.TIME and not apart else None
    return None if length is None else start_ns + length


def _progress(bench: Bench, job: Job, event: str, **more: object) -> None:
    bench.tell({"workload": job.spec.name, "phase": job.plan.name, "event": event, **more})


def whole(knobs: Mapping[str, Value], name: str) -> int | None:
    """A knob that is a whole number, None where it is not set."""
    found = knobs.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None

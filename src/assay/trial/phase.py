"""The life of one phase: caches, quiet, arming, the start at T, the drain, and what it all amounts to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import partial

from assay.catalogue import Evidence, Pace
from assay.errors import DamagedError, TrialError
from assay.evidence.reports import reported_readings
from assay.records import (
    CacheState,
    Edge,
    HostClock,
    Outcome,
    Phase,
    PhaseHost,
    PhasePlan,
    Role,
    StopRule,
    Value,
    missing_on,
)
from assay.settings.load import scheduled_ns
from assay.trial import clocks, initial_state
from assay.trial.answers import ClientReport
from assay.trial.bench import Bench, Job, outside, whole
from assay.trial.dialogue import Stopper, progress_report
from assay.trial.events import Events, commands_of, mending, values_of, ways_of
from assay.trial.fleet import Station, each
from assay.trial.harvest import Harvest, harvest, judge, reported
from assay.trial.performed import Performed, PhaseLife
from assay.trial.protocol import OTHER_VERSION
from assay.trial.quiet import Quiet, QuietWait, wait_for_quiet
from assay.trial.rendezvous import Stage
from assay.trial.steady import CELLS, SteadyWatch
from assay.trial.watchers import Watchers, drains

IDLE_BASELINE_NS = 250_000_000
"""From the first edge to the second: the rate at which others used the devices is taken from it."""
INTERVAL_NS = 100_000_000
"""Checkpoints and progress of the engines."""
LEAST_LIMIT_S = 600.0
LIMIT_TIMES = 20.0
"""The hard end of a phase: this many times the workload's own guess, and never less than ten minutes."""


def perform(bench: Bench, job: Job, t0_ns: int | None) -> Performed:
    """Run one phase. `t0_ns` is T of the trial's first phase, None for that one itself.

    Raises TrialError where it could not be started; a phase that went wrong later is returned with its outcome.
    """
    proofs, quiet = _prepare(bench, job)
    watchers = Watchers(bench, job)
    values = values_of(bench.place, job.spec.knobs, bench.dialogue.crew.pids)
    ways = ways_of(bench.place, bench.paths)
    due = commands_of(job.spec.events, job.plan.name, values, ways, bench.layers)
    due += mending(job.spec.events, job.plan.name, _longest_ns(job), ways)
    events = Events(bench.everywhere, job.name, due)
    try:
        with _memory_held(bench, job):
            _arm(bench, job, watchers)
        start_ns = _start(bench, job)
        watchers.start(start_ns)
        events.start(start_ns)
        bench.progress(job, "running", devices=list(bench.place.devices), directions=dict(job.plan.directions))
        steady = _run(bench, job, start_ns)
        watchers.edge(Edge.LAST)
        events.mend()
        drained = drains(bench, job)
        watchers.edge(Edge.DRAINED)
    finally:
        watchers.stop()
        events.finish()
    t0_ns = start_ns if t0_ns is None else t0_ns
    state = steady.state(t0_ns) if steady else None
    course = PhaseLife(
        proofs=proofs,
        quiet=quiet,
        clocks=_courses(bench, t0_ns),
        start_ns=start_ns,
        t0_ns=t0_ns,
        drains=drained,
        steady=state,
        mounts_cpu_ns=watchers.mounts_cpu_ns(),
    )
    return _conclude(bench, job, (watchers, events), course)


def _courses(bench: Bench, t0_ns: int) -> dict[str, HostClock]:
    """Host -> its clock in this phase; of a host that is lost as it was known before."""
    before, now_ns = bench.dialogue.rendezvous.clocks, time.monotonic_ns()
    known = {name: clock.later(now_ns) for name, clock in before.items()}
    after = {**known, **clocks.compare(bench.hosts, lost=lambda name, reason: None)}
    return {name: clocks.course(clock, after[name], t0_ns) for name, clock in before.items()}


def _prepare(bench: Bench, job: Job) -> tuple[Mapping[str, initial_state.Proof], Mapping[str, Quiet]]:
    """Quiet, then caches as asked: a guest gives memory that was freed before a wait back to its hypervisor."""
    bench.progress(job, "waiting for quiet")
    longest = whole(job.spec.knobs, "quiesce")
    longest = longest if job.plan.is_first else 0
    patience = QuietWait() if longest is None else QuietWait(longest_ns=longest)
    quiet = each(bench.fleet.stations, lambda one: wait_for_quiet(one.host, bench.seen_from(job, one), job.plan, patience))
    bench.progress(job, "preparing")
    return _caches(bench, job), quiet


def _caches(bench: Bench, job: Job) -> dict[str, initial_state.Proof]:
    """Host -> in which state the caches are, after they were put into the one that the phase asks for."""
    fleet, place = bench.fleet, bench.place
    if not fleet.is_spread and place.server is None:
        here = fleet.target
        return {here.name: initial_state.establish(here.host, bench.target, place, job.plan)}
    each(fleet.load, lambda one: initial_state.of_clients(one.host, job.part_of(fleet, one)))
    cold = job.plan.cache is CacheState.COLD
    refusal = initial_state.of_target(fleet.target.host, bench.target, place) if cold else None

    def proved(station: Station) -> initial_state.Proof:
        refused = refusal if station is fleet.target else None
        return initial_state.proof(station.host, bench.seen_from(job, station), job.part_of(fleet, station), refused)

    return each(fleet.stations, proved)


@contextlib.contextmanager
def _memory_held(bench: Bench, job: Job) -> Iterator[None]:
    with contextlib.ExitStack() as held:
        for station in bench.fleet.load:
            held.enter_context(initial_state.memory_held(station.host, job.part_of(bench.fleet, station)))
        yield


def _arm(bench: Bench, job: Job, watchers: Watchers) -> None:
    """Look, arm every client within the idle baseline, look again. Raises TrialError where one cannot be armed."""
    dialogue = bench.dialogue
    bench.progress(job, "arming")
    watchers.begin()
    watchers.edge(Edge.QUIET)
    opened_ns = time.monotonic_ns()
    configs = [_config(bench, job, client) for client in range(dialogue.rendezvous.count)]
    dialogue.obey(dialogue.rendezvous.arm(job.name, configs, _limit_ns(job), opened_ns, job.plan.roles))
    dialogue.drive(Stage.ARMED, Stage.ENDED)
    time.sleep(max(0, opened_ns + IDLE_BASELINE_NS - time.monotonic_ns()) / 1e9)
    watchers.edge(Edge.ARMED)
    if dialogue.catch_up() is not Stage.ARMED:
        raise TrialError(f"phase {job.name} cannot be started: {'; '.join(dialogue.rendezvous.failures.values())}")


def _config(bench: Bench, job: Job, client: int) -> dict[str, object]:
    settings = dict(job.plan.settings[client])
    settings.pop("start_delay_ns", None)
    return {
        "engine": job.plan.engine or job.workload.engine or "command",
        "client": client,
        "clients": len(job.plan.settings) - job.plan.roles.count(Role.SERVER),
        "seed": job.seed,
        "cpus": job.cpus_of(client, bench.fleet.of(client).name),
        "interval_ns": min(INTERVAL_NS, (_round_ns(job) or INTERVAL_NS * CELLS) // CELLS),
        "settings": outside(settings, bench.fleet.of(client).scratch),
    }


def _longest_ns(job: Job) -> int:
    """When the time of all clients is over, or that of a command as its file tells; the hard end where an amount ends them."""
    told = job.spec.knobs.get("lasts")
    times = [time_ns for one in job.plan.settings if (time_ns := one.get("duration_ns") or scheduled_ns(one) or told)]
    return max((one for one in times if isinstance(one, int)), default=_limit_ns(job))


def _limit_ns(job: Job) -> int:
    return int(max(LEAST_LIMIT_S, LIMIT_TIMES * job.workload.seconds(job.spec.knobs, Pace())) * 1e9)


def _start(bench: Bench, job: Job) -> int:
    """Agree on T; a client's own `start_delay_ns`, or the knob `start_delay` times its index, makes it late."""
    rendezvous = bench.dialogue.rendezvous
    rendezvous.clocks = clocks.compare(bench.hosts, lost=partial(_lose, bench))
    if bench.dialogue.catch_up() is not Stage.ARMED:
        raise TrialError(f"phase {job.name} cannot be started: {'; '.join(dict.fromkeys(rendezvous.failures.values()))}")
    each = whole(job.spec.knobs, "start_delay") or 0
    own = [
        settings.get("start_delay_ns", 0 if job.plan.role(index) is Role.SERVER else each * index)
        for index, settings in enumerate(job.plan.settings)
    ]
    delays = [delay if isinstance(delay, int) else 0 for delay in own]
    bench.dialogue.obey(rendezvous.start(time.monotonic_ns(), delays))
    assert rendezvous.start_ns is not None
    return rendezvous.start_ns


def _lose(bench: Bench, host: str, reason: str) -> None:
    bench.dialogue.obey(bench.dialogue.rendezvous.lose_host(host, reason, time.monotonic_ns()))


def _round_ns(job: Job) -> int | None:
    """How long a round is, for a phase that runs until it is steady."""
    return whole(job.spec.knobs, "round") if job.plan.stop is StopRule.STEADY else None


def _run(bench: Bench, job: Job, start_ns: int) -> Stopper | None:
    """Listen until every client has ended; what stops them, where that is a steady state."""
    dialogue, round_ns = bench.dialogue, _round_ns(job)
    tell = progress_report(dialogue, lambda news: bench.progress(job, "running", **news))
    if round_ns is None:
        dialogue.drive(Stage.ENDED, meanwhile=(tell,))
        return None
    watch = SteadyWatch(round_ns=round_ns, start_ns=start_ns, clients=len(job.endpoints))
    stopper = Stopper(dialogue, watch, _limit_ns(job))
    dialogue.drive(Stage.ENDED, meanwhile=(tell, stopper.look))
    return stopper


def _conclude(bench: Bench, job: Job, parts: tuple[Watchers, Events], course: PhaseLife) -> Performed:
    """The records of a phase that is over."""
    watchers, events = parts
    rendezvous = bench.dialogue.rendezvous
    seen = watchers.seen(job.name, course.t0_of)
    gathered = [_harvest(bench, job, client, course) for client in sorted(rendezvous.results)]
    state, error = judge(rendezvous.results, rendezvous.failures, rendezvous.lost)
    flaws = (*rendezvous.late.values(), *events.failures)
    late = state is Outcome.FINISHED and bool(rendezvous.late) and not events.failures
    if flaws and state is Outcome.FINISHED:
        state, error = Outcome.PARTIAL, "; ".join(flaws)
    values = reported(job.workload, job.spec.knobs, rendezvous.results) if state is Outcome.FINISHED else {}
    phase = _phase(bench, job, course, gathered, values)
    own = reported_readings(phase, bench.fleet.load[0].name)
    refusals = {name: proof.refusal for name, proof in course.proofs.items() if proof.refusal is not None}
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
        started_late=late,
        missing=tuple(one for name, refusal in refusals.items() for one in missing_on(name, job.name, {"cache.cold": refusal})),
    )


def _harvest(bench: Bench, job: Job, client: int, course: PhaseLife) -> Harvest:
    station = bench.fleet.of(client)
    result = bench.dialogue.rendezvous.results[client]
    answer = ClientReport(
        phase=job.name, plan=job.plan, client=client, host=station.name, t0_ns=course.t0_of(station.name), result=result
    )
    try:
        return harvest(answer, counts_io=any("L2.read" in observer.gives for observer in station.observers))
    except (KeyError, TypeError, DamagedError) as error:
        raise TrialError(f"the result of client {client} does not have the expected fields ({error}). {OTHER_VERSION}") from error


def _phase_host(name: str, course: PhaseLife, end_ns: int) -> PhaseHost:
    proof, drain = course.proofs[name], course.drains[name].since(course.t0_ns + end_ns)
    return PhaseHost(
        host=name,
        cache_proved=proof.proved,
        cached_share_before=proof.share,
        new_files=proof.new_files,
        not_cold=proof.refusal,
        server_cached_before=proof.server_share,
        quiesce_ns=course.quiet[name].waited_ns,
        quiet=course.quiet[name].quiet,
        drain_ns=drain.took_ns,
        clients_drain_ns=drain.clients_ns,
        server_drain_ns=drain.server_ns,
        clock=course.clocks[name],
        mounts_cpu_ns=course.mounts_cpu_ns.get(name),
    )


def _phase(bench: Bench, job: Job, course: PhaseLife, gathered: list[Harvest], values: Mapping[str, float]) -> Phase:
    everyone, start_ns = [one.client for one in gathered], course.start_ns - course.t0_ns
    clients = tuple(one for one in everyone if one.role is not Role.SERVER)
    end_ns = max((client.until_ns for client in clients), default=start_ns)
    return Phase(
        name=job.name,
        workload=job.spec.name,
        measured=job.plan.measured,
        operations=job.plan.operations,
        directions=job.plan.directions,
        cache_asked=job.plan.cache,
        hosts=tuple(_phase_host(station.name, course, end_ns) for station in bench.fleet.stations),
        start_ns=start_ns,
        end_ns=end_ns,
        stop=job.plan.stop,
        flush_in_clock=job.plan.flush_in_clock,
        clients=clients,
        data_files=job.plan.data_files,
        values=values,
        steady=course.steady,
        within=job.plan.within,
        due_ns=_schedule_end_ns(job.plan, job.spec.knobs, start_ns),
        servers=tuple(one for one in everyone if one.role is Role.SERVER),
        side=job.spec.side,
    )


def _schedule_end_ns(plan: PhasePlan, knobs: Mapping[str, Value], start_ns: int) -> int | None:
    """When the schedules of all clients end; None where they have none, or do not begin together."""
    load = [settings for index, settings in enumerate(plan.settings) if plan.role(index) is not Role.SERVER]
    planned = {scheduled_ns(settings) for settings in load}
    apart = whole(knobs, "start_delay") or any("start_delay_ns" in settings for settings in plan.settings)
    length = planned.pop() if len(planned) == 1 and plan.stop is StopRule.TIME and not apart else None
    return None if length is None else start_ns + length

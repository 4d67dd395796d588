"""One attempt at a trial: its target prepared, its workloads run one after another, everything undone at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from assay import catalogue, sampler
from assay.catalogue import Host, Observer, Order, Setting, Target, Undo, Workload
from assay.errors import TrialError, UsageError, refuse
from assay.records import (
    Endpoint,
    Experiment,
    Fact,
    FactClass,
    Outcome,
    Place,
    Subject,
    TargetSpec,
    Trial,
    Value,
    When,
    WorkloadSpec,
)
from assay.trial import clocks, initial_state, placement, trial_facts
from assay.trial.clients import Crew, Dialogue
from assay.trial.interrupts import Interrupts
from assay.trial.log import Log, in_words
from assay.trial.phase import Bench, Job, Tell, perform, whole
from assay.trial.rendezvous import Rendezvous, State

OnProgress = Callable[[Mapping[str, object]], None]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What one attempt is given: the trial, the means, and where to write down what happens."""

    experiment: Experiment
    trial: Trial
    host: Host
    undo: Undo
    scratch: str
    engine: str
    observers: tuple[Observer, ...]
    """Those that can look at this host."""
    interrupts: Interrupts
    log: Log
    tell: Tell


@dataclass(frozen=True, kw_only=True)
class _Load:
    """A workload of this trial with its knobs and how many clients it has."""

    workload: Workload
    spec: WorkloadSpec
    clients: int
    cpus: tuple[int, ...] | None


@dataclass(kw_only=True)
class _Site:
    """The prepared target, and what has to be undone of it."""

    target: Target
    setting: Setting
    place: Place
    endpoints: list[Endpoint] = field(default_factory=list)
    cgroup: placement.Cgroup | None = None


def live(attempt: Attempt) -> None:
    """Everything from the check to the teardown. What it learns is in the log, also where it raises."""
    loads = loads_of(attempt)
    site = None
    try:
        with attempt.interrupts.shielded():
            site = _prepare(attempt, loads)
        attempt.log.places.append(site.place)
        for client in range(max(load.clients for load in loads)):
            site.endpoints.append(site.target.attach(attempt.host, site.place, client))
        site.cgroup = _cgroup(attempt, loads, site.place)
        _facts(attempt, site, loads, When.BEFORE)
        for load in loads:
            if attempt.log.outcome is Outcome.FINISHED:
                _run(attempt, site, load)
        _facts(attempt, site, loads, When.AFTER)
    finally:
        with attempt.interrupts.uninterrupted():
            if site is not None:
                _tear_down(attempt, site)


def setting_of(attempt: Attempt, loads: Iterable[_Load]) -> tuple[Target, Setting]:
    """The target of the trial and what it is given."""
    spec = target_of(attempt.experiment, attempt.trial.levels)
    target = catalogue.find("targets", spec.kind)
    needs = sum(load.workload.space(load.spec.knobs) for load in loads)
    knobs = catalogue.resolved(target.knobs, spec.knobs)
    return target, Setting(
        name=spec.name, knobs=knobs, scratch=attempt.scratch, undo=attempt.undo, trial=attempt.trial, needs_bytes=needs
    )


def loads_of(attempt: Attempt) -> tuple[_Load, ...]:
    """The workloads of the trial. Raises UsageError with all that is wrong with their knobs."""
    loads: list[_Load] = []
    mistakes: list[str] = []
    for spec in workloads_of(attempt.experiment, attempt.trial.levels):
        workload = catalogue.find("workloads", spec.kind)
        clients = clients_of(attempt.trial, spec)
        full = replace(spec, knobs={**catalogue.resolved(workload.knobs, spec.knobs), "clients": clients})
        mistakes += [f"workload {spec.name}: {mistake}" for mistake in workload.check(full.knobs)]
        cpus = placement.cpus(attempt.host, full.knobs.get("cpus"))
        loads.append(_Load(workload=workload, spec=full, clients=clients, cpus=cpus))
    refuse(mistakes)
    return tuple(loads)


def target_of(experiment: Experiment, levels: Mapping[str, Value]) -> TargetSpec:
    """The target of a trial with its knobs. Raises UsageError where it is not in the file."""
    wanted = levels.get("target", experiment.targets[0].name if experiment.targets else None)
    for spec in experiment.targets:
        if spec.name == wanted:
            return replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
    names = ", ".join(spec.name for spec in experiment.targets) or "none"
    raise UsageError(f"found target {wanted!r}; expected one of the file's: {names}")


def workloads_of(experiment: Experiment, levels: Mapping[str, Value]) -> tuple[WorkloadSpec, ...]:
    """The workloads of a trial in file order: all, or the one that is its level. Raises UsageError for a strange one."""
    wanted = levels.get("workload")
    chosen = tuple(
        replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
        for spec in experiment.workloads
        if wanted in (None, spec.name)
    )
    if not chosen:
        names = ", ".join(spec.name for spec in experiment.workloads) or "none"
        raise UsageError(f"found workload {wanted!r}; expected one of the file's: {names}")
    return chosen


def clients_of(trial: Trial, spec: WorkloadSpec) -> int:
    """How many clients a workload has in this trial: the factor `clients`, else its own knob, else one."""
    count = trial.levels.get("clients", spec.knobs.get("clients", 1))
    if not isinstance(count, int) or count < 1:
        raise UsageError(f"found clients = {count!r}; expected a whole number from 1")
    return count


def _changed(name: str, knobs: Mapping[str, Value], levels: Mapping[str, Value]) -> dict[str, Value]:
    prefix = f"{name}."
    return {**knobs, **{path.removeprefix(prefix): level for path, level in levels.items() if path.startswith(prefix)}}


def _prepare(attempt: Attempt, loads: tuple[_Load, ...]) -> _Site:
    target, setting = setting_of(attempt, loads)
    attempt.tell({"event": "preparing"})
    mistakes = [f"target {setting.name}: {mistake}" for mistake in target.check(attempt.host, setting)]
    mistakes += [
        f"workload {load.spec.name} works on {' or '.join(load.workload.accepts)}, target {setting.name} is a {target.endpoint}"
        for load in loads
        if target.endpoint not in load.workload.accepts
    ]
    mistakes += [
        f"workload {load.spec.name} writes, and target {setting.name} is read-only"
        for load in loads
        if target.read_only and not load.workload.only_reads(load.spec.knobs)
    ]
    refuse(mistakes)
    return _Site(target=target, setting=setting, place=target.prepare(attempt.host, setting))


def _cgroup(attempt: Attempt, loads: tuple[_Load, ...], place: Place) -> placement.Cgroup | None:
    """The groups of all client processes of the trial: they share one memory limit. Raises UsageError, RefusedError."""
    limits = {whole(load.spec.knobs, "memory") for load in loads}
    if len(limits) > 1:
        found = ", ".join(f"{load.spec.name}.memory = {load.spec.knobs.get('memory')}" for load in loads)
        raise UsageError(f"found {found}; expected the same memory for all workloads that run in one trial")
    group = place.private.get("cgroup")
    return placement.place(
        attempt.host, attempt.undo, str(attempt.trial.id), limits.pop(), group if isinstance(group, str) else None
    )


NAMES = ("target.made",)
"""What a target says of itself that makes no difference by itself: which making of it this is (S10)."""


def _facts(attempt: Attempt, site: _Site, loads: tuple[_Load, ...], when: When) -> None:
    """What the target and the observers of trial scope say of this machine."""
    host = attempt.host
    subject = Subject(
        backing_files=site.place.backing_files, directory=site.place.directory or site.place.address, devices=site.place.devices
    )
    found, missing = sampler.facts(host, attempt.observers, subject, when)
    attempt.log.add_missing(missing)
    cpus = sorted({number for load in loads for number in load.cpus or ()})
    pairs = [(f"target.{key}", value) for key, value in site.target.facts(host, site.place)]
    pairs += placement.siblings(host, cpus)
    attempt.log.facts += found
    attempt.log.facts += [
        Fact(
            host=host.name,
            when=when,
            key=key,
            value=value,
            fact_class=FactClass.IDENTITY if key in NAMES else FactClass.PERFORMANCE,
        )
        for key, value in pairs
    ]
    if when is When.BEFORE:
        attempt.log.facts += trial_facts.target_facts(host, site.target, site.place)
        attempt.log.facts += _programs(attempt, site, loads)


def _programs(attempt: Attempt, site: _Site, loads: tuple[_Load, ...]) -> Iterator[Fact]:
    """Which file each external command is, and what is in the files that knobs name, before they can have changed."""
    for load in loads:
        matters = trial_facts.fact_class(load.spec, attempt.trial.levels)
        for key, value in trial_facts.programs(attempt.host, load.workload, load.spec, site.endpoints[0]):
            yield Fact(host=attempt.host.name, when=When.BEFORE, key=key, value=value, fact_class=matters)
        for key, value, matters in trial_facts.inputs(load.workload, load.spec, attempt.trial.levels):
            yield Fact(host=attempt.host.name, when=When.BEFORE, key=key, value=value, fact_class=matters)


def _run(attempt: Attempt, site: _Site, load: _Load) -> None:
    """One workload with clients of its own, phase after phase until one does not end as it should."""
    host = attempt.host
    endpoints = tuple(site.endpoints[: load.clients])
    order = Order(workload=load.spec.name, knobs=load.spec.knobs, endpoints=endpoints, seed=attempt.trial.seed)
    crew = Crew(host, attempt.undo)
    try:
        with attempt.interrupts.shielded():
            crew.spawn(attempt.engine, load.clients, site.cgroup)
        dialogue = _gather(attempt, crew, load.clients)
        bench = Bench(
            host=host,
            target=site.target,
            place=site.place,
            dialogue=dialogue,
            observers=attempt.observers,
            tell=attempt.tell,
            cgroups=site.cgroup.paths if site.cgroup else (),
            undo=attempt.undo,
        )
        with dialogue.kept():
            _perform_all(attempt, bench, load, order)
    finally:
        with attempt.interrupts.uninterrupted():
            crew.close()


def _perform_all(attempt: Attempt, bench: Bench, load: _Load, order: Order) -> None:
    log, seed = attempt.log, attempt.trial.seed
    for planned in load.workload.phases(order):
        plan = initial_state.with_data_files(bench.host, bench.place, planned, seed)
        job = Job(workload=load.workload, spec=load.spec, plan=plan, endpoints=order.endpoints, seed=seed, cpus=load.cpus)
        performed = perform(bench, job, log.t0_ns)
        if log.t0_ns is None:
            log.t0_ns = bench.dialogue.rendezvous.start_ns
        log.compare_clocks(performed.phase.hosts)
        log.take(performed)
        if performed.outcome is not Outcome.FINISHED:
            return


def _gather(attempt: Attempt, crew: Crew, count: int) -> Dialogue:
    """Wait for every client's hello. Raises TrialError where one does not come, or is no release build."""
    host = attempt.host
    rendezvous = Rendezvous(hosts=(host.name,) * count, now_ns=host.monotonic_ns(), clocks=clocks.compare({host.name: host}))
    dialogue = Dialogue(host=host, crew=crew, rendezvous=rendezvous)
    if dialogue.drive(State.READY, State.ENDED) is State.ENDED:
        raise TrialError(f"the load engine {attempt.engine} did not start: {'; '.join(rendezvous.failures.values())}")
    for client in rendezvous.clients:
        hello = client.hello or {}
        attempt.log.versions["assay-engine"] = str(hello.get("version"))
        if hello.get("build") != "release":
            raise TrialError(
                f"the load engine at {attempt.engine} is a {hello.get('build')} build, whose own cost is too high. "
                "Run `make build` for a release build."
            )
    return dialogue


def _tear_down(attempt: Attempt, site: _Site) -> None:
    """Undo what was prepared; what cannot be undone is told in the run and does not keep the rest from being undone."""
    host, place = attempt.host, site.place
    attempt.tell({"event": "removing"})
    steps: list[Callable[[], None]] = []
    if site.cgroup is not None:
        steps.append(partial(placement.leave, attempt.undo, site.cgroup))
    steps.append(partial(site.target.teardown, host, site.setting, place))
    for step in steps:
        try:
            step()
        except Exception as error:  # the other steps must still be done
            attempt.log.errors.append(f"could not be undone: {in_words(error)}")

"""One attempt at a trial: its target prepared, its workloads run one after another, everything undone at the end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from assay import catalogue, sampler
from assay.catalogue import Host, Order, Setting
from assay.errors import TrialError, UsageError, refuse
from assay.machine import cpus, server, server_settings
from assay.machine.stack import memory_device
from assay.records import (
    ON,
    Action,
    Experiment,
    Fact,
    FactClass,
    Outcome,
    PhasePlan,
    Place,
    Subject,
    TargetSpec,
    Trial,
    When,
)
from assay.records.layers import offered, place_at
from assay.trial import clocks, initial_state, machine_settings, memory_files, placement, trial_facts
from assay.trial.bench import Bench, Job, Tell, outside, whole
from assay.trial.clients import Crew
from assay.trial.dialogue import Dialogue
from assay.trial.fleet import Fleet, Station, each, seen_from
from assay.trial.interrupts import Interrupts
from assay.trial.log import Log, in_words
from assay.trial.phase import perform
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.site import PlacedWorkload, Site, attach, named_target, paths_of, place_on, setting_on, target_of, workloads_of

OnProgress = Callable[[Mapping[str, object]], None]
TOKEN_BYTES = 16
"""Of the random word that the two ends of a connection know: the seed of a trial is no secret."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What one attempt is given: the trial, the means, and where to write down what happens."""

    experiment: Experiment
    trial: Trial
    stations: Mapping[str, Station]
    """The hosts that the experiment names."""
    interrupts: Interrupts
    log: Log
    tell: Tell


@dataclass(kw_only=True)
class HeldTarget:
    """A prepared target that goes on from one trial of a duet to the next one, and what was done to it once and for all."""

    attempt: Attempt
    """The last one that used it."""
    site: Site
    made: set[str]
    """Names of phases that are not measured, as WORKLOAD.PHASE."""

    def release(self) -> None:
        """Undo what was prepared; what cannot be undone is told in the log of the attempt."""
        _tear_down(self.attempt, self.site)


def live(attempt: Attempt, held: HeldTarget | None = None, *, hold: bool = False) -> HeldTarget | None:
    """Everything from the check to the teardown. What it learns is in the log, also where it raises.

    `held` is the target as an earlier trial has left it. With `hold` the target of a trial that has finished is handed back in
    place of being torn down.
    """
    loads = loads_of(attempt)
    site, made = (held.site, held.made) if held is not None else (None, set[str]())
    far = attempt.stations[target_of(attempt.experiment, attempt.trial.levels).host]
    taking_part = (far, *(one for load in loads for one in load.stations))
    settings = machine_settings.of_trial(attempt.experiment, attempt.trial.levels, taking_part)
    try:
        with attempt.interrupts.shielded():
            settings.set()
            site = _prepare(attempt, loads) if site is None else site
        settings.refuse_elsewhere(site.place)
        attempt.log.facts += settings.facts()
        attempt.log.places.append(site.place)
        if held is None:
            attach(site, loads)
            attempt.log.places[-1] = site.place
            _group(attempt, site, loads)
        _facts(attempt, site, loads, When.BEFORE)
        for load in loads:
            if attempt.log.outcome is Outcome.FINISHED:
                _run(attempt, site, load, made)
        settings.refuse_changed()
        if not any(one.host.lost() for load in loads for one in site.fleet(load, attempt.stations).stations):
            _facts(attempt, site, loads, When.AFTER)
        if hold and attempt.log.outcome is Outcome.FINISHED:
            kept, site = HeldTarget(attempt=attempt, site=site, made=made), None
            return kept
        return None
    finally:
        with attempt.interrupts.uninterrupted():
            if site is not None:
                _tear_down(attempt, site)
            attempt.log.errors += [f"could not be put back: {in_words(error)}" for error in settings.put_back()]


def _setting(
    attempt: Attempt, station: Station, spec: TargetSpec, loads: Iterable[PlacedWorkload], below: Site | None
) -> Setting:
    """What the target of the trial is given."""
    return Setting(
        name=spec.name,
        knobs=catalogue.resolved(catalogue.find("targets", spec.kind).knobs, spec.knobs),
        scratch=station.scratch,
        undo=station.undo,
        engine=station.engine,
        trial=attempt.trial,
        paths=paths_of(attempt.experiment, attempt.trial.levels),
        needs_bytes=sum(load.workload.space(load.spec.knobs) for load in loads),
        beneath=below.offered if below else None,
        beside=_beside(attempt),
        own_entries=_own_entries(loads),
    )


def _beside(attempt: Attempt) -> int:
    """Which of the two levels of a duet the trial has; 0 of any other."""
    if attempt.experiment.slices is None:
        return 0
    return next(
        one.levels.index(attempt.trial.levels[one.path])
        for one in attempt.experiment.factors
        if one.path == attempt.experiment.compare
    )


def _own_entries(loads: Iterable[PlacedWorkload]) -> Mapping[str, int]:
    """The entries that a workload uses up; none where several do, since the second would miss them."""
    found = [own for load in loads if (own := load.workload.own_entries(load.spec.knobs))]
    return found[0] if len(found) == 1 else {}


def loads_of(attempt: Attempt) -> tuple[PlacedWorkload, ...]:
    """The workloads of the trial. Raises UsageError with all that is wrong with their knobs."""
    loads: list[PlacedWorkload] = []
    mistakes: list[str] = []
    far = attempt.stations[target_of(attempt.experiment, attempt.trial.levels).host]
    for spec in workloads_of(attempt.experiment, attempt.trial.levels):
        workload = catalogue.find("workloads", spec.kind)
        clients = attempt.experiment.clients(spec, attempt.trial.levels)
        full = replace(spec, knobs={**catalogue.resolved(workload.knobs, spec.knobs), "clients": clients})
        mistakes += [f"workload {spec.name}: {mistake}" for mistake in workload.check(full.knobs)]
        stations = tuple(attempt.stations[name] for name in attempt.experiment.load_hosts(spec, attempt.trial.levels))
        if clients < 1:
            mistakes.append(f"workload {spec.name}: found clients = {clients}; expected a whole number from 1")
        elif clients < len(stations):
            mistakes.append(
                f"workload {spec.name}: {clients} clients on {len(stations)} load hosts. Use one client per host or more."
            )
        servers = workload.servers(full.knobs)
        pins = placement.pins([one.host for one in stations], far.host, full.knobs)
        loads.append(
            PlacedWorkload(
                workload=workload,
                spec=full,
                clients=clients,
                stations=stations,
                cpus=pins.load,
                far=far,
                servers=servers,
                server_cpus=pins.server,
            )
        )
    refuse(mistakes)
    return tuple(loads)


def _prepare(attempt: Attempt, loads: tuple[PlacedWorkload, ...]) -> Site:
    spec = target_of(attempt.experiment, attempt.trial.levels)
    attempt.tell({"event": "preparing"})
    below = _beneath(attempt, spec, loads)
    try:
        return _prepared(attempt, spec, loads, below)
    except BaseException:
        _clear_below(attempt, below)
        raise


def _beneath(attempt: Attempt, spec: TargetSpec, loads: tuple[PlacedWorkload, ...]) -> Site | None:
    """The target that this one stands on, prepared after all that it stands on itself."""
    if not spec.knobs.get(ON):
        return None
    lower = named_target(attempt.experiment, attempt.trial.levels, spec.knobs[ON])
    below, target, station = _beneath(attempt, lower, loads), catalogue.find("targets", lower.kind), attempt.stations[lower.host]
    try:
        setting = _setting(attempt, station, lower, loads, below)
        refuse([f"target {setting.name}: {mistake}" for mistake in target.check(station.host, setting)])
        place = _with_memory(station.host, target.prepare(station.host, setting))
    except BaseException:
        _clear_below(attempt, below)
        raise
    site = Site(target=target, station=station, setting=setting, place=place, below=below)
    if target.mounts_each(setting.knobs):
        try:
            site.attached[0, station.name] = target.attach(station.host, setting, place, 0)
        except BaseException:
            _clear_below(attempt, site)
            raise
    return site


def _with_memory(host: Host, place: Place) -> Place:
    """The place, with the lowest of its devices where that one is in memory itself."""
    held = None if place.volatile is not None else memory_device(host, place.devices)
    return place if held is None else replace(place, volatile=held)


def _clear_below(attempt: Attempt, below: Site | None) -> None:
    """Undo what a target stood on, the uppermost first."""
    while below is not None:
        for endpoint in below.attached.values():
            _undo(attempt, partial(below.target.detach, below.station.host, below.setting, endpoint))
        _undo(attempt, partial(below.target.teardown, below.station.host, below.setting, below.place))
        below = below.below


def _prepared(attempt: Attempt, spec: TargetSpec, loads: tuple[PlacedWorkload, ...], below: Site | None) -> Site:
    target, station = catalogue.find("targets", spec.kind), attempt.stations[spec.host]
    setting = _setting(attempt, station, spec, loads, below)
    mistakes = [f"target {setting.name}: {mistake}" for mistake in target.check(station.host, setting)]
    mistakes += [
        f"workload {load.spec.name} works on {' or '.join(load.workload.accepts)}, target {setting.name} is a {kind}"
        for load in loads
        if (kind := offered(load.spec.side, target.endpoint)) not in load.workload.accepts
    ]
    mistakes += [
        f"workload {load.spec.name} writes, and target {setting.name} is read-only"
        for load in loads
        if target.read_only and not load.workload.only_reads(load.spec.knobs)
    ]
    refuse(mistakes)
    return Site(
        target=target,
        station=station,
        setting=setting,
        place=_with_memory(station.host, target.prepare(station.host, setting)),
        below=below,
        named=attempt.experiment.watched_hosts(),
    )


def _group(attempt: Attempt, site: Site, loads: tuple[PlacedWorkload, ...]) -> None:
    """The groups of all client processes of the trial, on each host: they share one memory limit.

    Raises UsageError, RefusedError; what was made by then is in the site.
    """
    limits = {whole(load.spec.knobs, "memory") for load in loads}
    if len(limits) > 1:
        found = ", ".join(f"{load.spec.name}.memory = {load.spec.knobs.get('memory')}" for load in loads)
        raise UsageError(f"found {found}; expected the same memory for all workloads that run in one trial")
    limit = limits.pop()
    for station in {one.name: one for load in loads for one in load.stations}.values():
        group = site.place.private.get("cgroup") if station is site.station else None
        own = group if isinstance(group, str) else None
        made = placement.place(station.host, station.undo, str(attempt.trial.id), limit, own)
        if made is not None:
            site.cgroups[station.name] = made


PINNING = (".placement", ".cpus", ".server_cpus")
"""Knobs whose levels choose the CPUs: which of them share a core then follows from the factor."""
NAMES = ("target.made",)
"""What a target says of itself that makes no difference by itself: which making of it this is (S10)."""


def _facts(attempt: Attempt, site: Site, loads: tuple[PlacedWorkload, ...], when: When) -> None:
    """What the target, and the observers of trial scope of every host, say."""
    stations = {one.name: one for load in loads for one in site.fleet(load, attempt.stations).stations}

    def seen(station: Station) -> tuple[tuple[Fact, ...], dict[str, str]]:
        place = place_on(site, station)
        directory = place.directory or place.address or None
        subject = Subject(backing_files=place.backing_files, directory=directory, devices=place.devices)
        return sampler.facts(station.host, station.observers, subject, when)

    for name, (found, missing) in each(tuple(stations.values()), seen).items():
        attempt.log.add_missing(name, missing)
        attempt.log.facts += found
    beside = {one.name: one for load in loads for one in load.stations if one is not site.station}
    ways = each(tuple(beside.values()), lambda one: server.facts(one.host, site.place.server))
    pairs = [(site.station.name, f"target.{key}", value) for key, value in site.target.facts(site.station.host, site.place)]
    pairs += [(name, f"target.{key}", value) for name, found in ways.items() for key, value in found]
    if when is When.BEFORE:
        known = server_settings.facts(site.station.host, site.place.server)
        pairs += [(site.station.name, f"target.{key}", value) for key, value in known]
    pairs += [
        (station.name, key, value)
        for load in loads
        for station in load.stations
        for key, value in cpus.siblings(station.host, load.cpus.get(station.name, ()))
    ]
    pins_vary = any(path.endswith(PINNING) for path in attempt.trial.levels)
    attempt.log.facts += [
        Fact(
            host=host,
            when=when,
            key=key,
            value=value,
            fact_class=FactClass.IDENTITY if key in NAMES or (pins_vary and key.endswith(".siblings")) else FactClass.PERFORMANCE,
        )
        for host, key, value in dict.fromkeys(pairs)
    ]
    pairs_below = list(_facts_below(site.below))
    attempt.log.facts += [
        Fact(host=host, when=when, key=key, value=value, fact_class=FactClass.PERFORMANCE) for host, key, value in pairs_below
    ]
    if when is When.BEFORE:
        attempt.log.facts += trial_facts.target_facts(site.station.host, site.target, site.place)
        attempt.log.facts += _programs(attempt, site, loads)


def _facts_below(below: Site | None) -> Iterator[tuple[str, str, str]]:
    """Yield (host, key, value) of each target below the one that is measured."""
    while below is not None:
        for key, value in below.target.facts(below.station.host, below.place):
            yield below.station.name, f"target.{ON}.{below.setting.name}.{key}", value
        below = below.below


def _programs(attempt: Attempt, site: Site, loads: tuple[PlacedWorkload, ...]) -> Iterator[Fact]:
    """Which file each external command is, and what is in the files that knobs name, before they can have changed."""
    for load in loads:
        matters = trial_facts.fact_class(load.spec, attempt.trial.levels)
        for station, endpoint in zip(load.stations, site.endpoints(load), strict=False):
            for key, value in trial_facts.programs(station.host, load.workload, load.spec, endpoint):
                yield Fact(host=station.name, when=When.BEFORE, key=key, value=value, fact_class=matters)
        for key, value, matters in trial_facts.inputs(load.workload, load.spec, attempt.trial.levels):
            yield Fact(host=load.stations[0].name, when=When.BEFORE, key=key, value=value, fact_class=matters)


def _run(attempt: Attempt, site: Site, load: PlacedWorkload, made: set[str]) -> None:
    """One workload with clients of its own, phase after phase until one does not end as it should.

    Phases that are not measured are left out where they are among those `made`, and are added there.
    """
    fleet, endpoints = site.fleet(load, attempt.stations), site.endpoints(load)
    crew, memory = Crew(free=partial(_free, site, load)), memory_files.path(load)
    order = Order(
        workload=load.spec.name,
        knobs=load.spec.knobs,
        endpoints=endpoints,
        seed=attempt.trial.seed,
        token=secrets.token_hex(TOKEN_BYTES),
        memory=memory,
    )
    every = load.workload.phases(order)
    refuse(_writing(site, load, every))
    plans = [plan for plan in every if plan.measured or f"{order.workload}.{plan.name}" not in made]
    try:
        memory_files.make(load, memory)
        with attempt.interrupts.shielded():
            crew.spawn(load.everyone, site.cgroups, site.inside(load))
        dialogue = _gather(attempt, crew, load, fleet)
        bench = Bench(
            fleet=fleet,
            everywhere={name: station.host for name, station in attempt.stations.items()},
            target=site.target,
            place=place_at(site.place, load.spec.side),
            dialogue=dialogue,
            tell=attempt.tell,
            paths=site.setting.paths,
            cgroups={name: group.paths for name, group in site.cgroups.items()},
            layers=site.layers(),
        )
        with dialogue.kept():
            _perform_all(attempt, site, load, bench, plans)
            made |= {f"{order.workload}.{plan.name}" for plan in every if not plan.measured}
    finally:
        with attempt.interrupts.uninterrupted():
            crew.close()
            _forget(load, plans)
            memory_files.remove(load, memory)


def _writing(site: Site, load: PlacedWorkload, every: Iterable[PhasePlan]) -> list[str]:
    """The phases that change the target of a workload that says that it only reads: it may be given data of the user."""
    if not (site.target.read_only or load.workload.only_reads(load.spec.knobs)):
        return []
    says = f"target {site.setting.name} is read-only" if site.target.read_only else "by its `only_reads` nothing is written"
    return [
        f"workload {load.spec.name}, phase {plan.name} does {', '.join(plan.changes)}, and {says}"
        for plan in every
        if plan.changes
    ]


def _forget(load: PlacedWorkload, plans: Iterable[PhasePlan]) -> None:
    """Remove what the clients kept outside the target, each file once."""
    every = ((load.on(client), settings) for plan in plans for client, settings in enumerate(plan.settings))
    found = ((station, outside(settings, station.scratch).get("journal")) for station, settings in every)
    kept = {(station.name, path): station.host for station, path in found if isinstance(path, str)}
    for (_, path), host in kept.items():
        if host.lost() is None:
            host.run(["rm", "-f", "--", path], check=False)


def _free(site: Site, load: PlacedWorkload) -> None:
    """End the programs of the mounts that the clients work in: without its program a mount fails, and no call waits for it."""
    for (client, name), endpoint in site.attached.items():
        token, station = endpoint.details.get("token"), load.on(client)
        if token and station.name == name:
            station.undo.undo("family", token=str(token))


def _perform_all(attempt: Attempt, site: Site, load: PlacedWorkload, bench: Bench, plans: Iterable[PhasePlan]) -> None:
    log, seed, first, endpoints = attempt.log, attempt.trial.seed, load.stations[0], site.endpoints(load)
    for planned in plans:
        plan = initial_state.with_data_files(first.host, seen_from(bench.place, first, endpoints), planned, seed)
        job = Job(
            workload=load.workload,
            spec=load.spec,
            plan=plan,
            endpoints=endpoints,
            seed=seed,
            cpus=load.cpus,
            server_cpus=load.server_cpus,
        )
        performed = perform(bench, job, log.t0_ns)
        if log.t0_ns is None:
            log.t0_ns = bench.dialogue.rendezvous.start_ns
        log.take(performed)
        if performed.outcome is not Outcome.FINISHED:
            return
        if any(event.action is Action.POWER and event.phase == plan.name for event in load.spec.events):
            bench = _renewed(attempt, site, load, bench, job)


def _renewed(attempt: Attempt, site: Site, load: PlacedWorkload, bench: Bench, job: Job) -> Bench:
    """The bench after the power was away: a disk may have come back on another device, which is evidence from then on."""
    new = site.renew()
    for old, one in new.items():
        key, value = f"event.{job.name}.device.{old}", f"after the power was back: {one}"
        fact = Fact(host=site.station.name, when=When.AFTER, key=key, value=value, fact_class=FactClass.NOISE)
        attempt.log.facts.append(fact)
    return replace(bench, place=place_at(site.place, load.spec.side), layers=site.layers())


def _gather(attempt: Attempt, crew: Crew, load: PlacedWorkload, fleet: Fleet) -> Dialogue:
    """Wait for every client's hello. Raises TrialError where one does not come, or is no release build."""
    engine = load.stations[0].engine
    known = clocks.compare({one.name: one.host for one in fleet.stations}, times=1)  # for leases; starts compare again
    hosts = [station.name for station in load.everyone]
    rendezvous = Rendezvous(hosts=hosts, now_ns=time.monotonic_ns(), clocks=known)
    dialogue = Dialogue(crew=crew, rendezvous=rendezvous)
    if dialogue.drive(Stage.READY, Stage.ENDED) is Stage.ENDED:
        raise TrialError(f"the load engine {engine} did not start: {'; '.join(rendezvous.failures.values())}")
    for client in rendezvous.clients:
        hello = client.hello or {}
        attempt.log.versions["assay-engine"] = str(hello.get("version"))
        if hello.get("build") != "release":
            raise TrialError(
                f"the load engine at {engine} is a {hello.get('build')} build, whose own cost is too high. "
                "Run `make build` for a release build."
            )
    return dialogue


def _tear_down(attempt: Attempt, site: Site) -> None:
    """Undo what was prepared; what cannot be undone is told in the run and does not keep the rest from being undone."""
    attempt.tell({"event": "removing"})
    names = sorted({*site.cgroups, *(name for _, name in site.attached)})
    each(tuple(attempt.stations[name] for name in names), lambda one: _leave(attempt, site, one))
    _undo(attempt, partial(site.target.teardown, site.station.host, site.setting, site.place))
    _clear_below(attempt, site.below)


def _leave(attempt: Attempt, site: Site, station: Station) -> None:
    """Undo what the clients of one host were given, the latest first."""
    if station.name in site.cgroups:
        _undo(attempt, partial(placement.leave, station.undo, site.cgroups[station.name]))
    for (_, name), endpoint in reversed(tuple(site.attached.items())):
        if name == station.name:
            _undo(attempt, partial(site.target.detach, station.host, setting_on(site, station), endpoint))


def _undo(attempt: Attempt, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception as error:  # the other steps must still be done
        attempt.log.errors.append(f"could not be undone: {in_words(error)}")

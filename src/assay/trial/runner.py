"""The lab: an experiment's targets are installed once, its trials run one by one, and all is removed at the end.

Nothing that fails in a trial is an exception for the caller: it is a run with its outcome and the reason. An interrupt ends
the trial after its teardown; the run then says `interrupted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from assay import catalogue, sampler
from assay.catalogue import Host, Observer, Setting, Undo
from assay.errors import Obstacle, ObstacleErrors, TrialError
from assay.records import Experiment, Fact, FactClass, Observations, Run, TargetSpec, Trial, Value, When
from assay.trial import obstacles
from assay.trial.attempt import Attempt, HeldTarget, OnProgress, live
from assay.trial.fleet import Station, each
from assay.trial.interrupts import Interrupts
from assay.trial.log import Log
from assay.trial.observing import watching
from assay.trial.site import paths_of


@dataclass(kw_only=True)
class TrialRunner:
    """What all trials of an experiment share. `install` once, `run` each trial, `remove` at the end, also after a failure."""

    experiment: Experiment
    host: Host
    ledger: Undo
    scratch: str
    """A private directory of this experiment."""
    engine: str
    """Path of the load engine."""
    observers: tuple[Observer, ...]
    far: Mapping[str, Station] = field(default_factory=dict)
    """The other hosts of the experiment, by name."""
    _installed: list[TargetSpec] = field(default_factory=list)
    _held: dict[tuple[int | None, str], HeldTarget] = field(default_factory=dict)
    """Preparation and levels of a duet -> the target that its next slice uses."""

    def install(self) -> None:
        """Set up every target that a trial may ask for. Raises ObstacleErrors with all of them before anything is set up."""
        if found := self.obstacles():
            raise ObstacleErrors(found)
        for spec in self.experiment.used_targets():
            self._installed.append(spec)  # first, so that what was begun and failed is removed too
            for one in self._beside(spec):
                catalogue.find("targets", spec.kind).install(self._station(spec.host).host, one)

    def _station(self, name: str) -> Station:
        """A host of the experiment with what the lab has there."""
        if name != self.host.name:
            return self.far[name]
        return Station(host=self.host, undo=self.ledger, scratch=self.scratch, engine=self.engine, observers=self.observers)

    def _load_hosts(self) -> dict[str, tuple[Host, ...]]:
        """Workload -> the hosts that its load may come from, of those that are here."""
        here = {self.host.name, *self.far}
        return {
            spec.name: tuple(self._station(name).host for name in self.experiment.load_hosts(spec, {}) if name in here)
            for spec in self.experiment.workloads
        }

    def obstacles(self, doubtful: frozenset[str] = frozenset()) -> tuple[Obstacle, ...]:
        """What the hosts that are here have against the experiment; changes nothing.

        `doubtful` are the targets and workloads with mistakes: of these only what no mending of the file would change counts.
        """
        every = {name: self._station(name).host for name in (self.host.name, *self.far)}
        settings = {
            spec.name: tuple(self._settings(spec, doubtful))
            for spec in self.experiment.used_targets()
            if spec.host in every and spec.name not in doubtful
        }
        return obstacles.obstacles(self.experiment, every, self._load_hosts(), settings)

    def run(self, trial: Trial, attempt: int, on_progress: OnProgress = lambda news: None) -> tuple[Run, Observations]:
        """Run one trial to its end or its failure and undo all that it set up.

        `on_progress` takes mappings with `trial`, `attempt` and `event` (started, waiting for quiet, preparing, arming,
        running, draining, removing, finished), within a phase also `workload` and `phase`, and about once a second while it
        runs `operations` (name -> count and bytes so far). What it raises ends the trial as any failure does.
        """

        def tell(news: Mapping[str, object]) -> None:
            on_progress({"trial": trial.id, "attempt": attempt, **news})

        log = Log(trial=trial, attempt=attempt)
        with Interrupts() as interrupts:
            try:
                tell({"event": "started"})
                given = Attempt(
                    experiment=self.experiment,
                    trial=trial,
                    stations=self._present(log),
                    interrupts=interrupts,
                    log=log,
                    tell=tell,
                )
                self._live(given)
            except KeyboardInterrupt:
                log.interrupt()
            except Exception as error:  # whatever a plug raises: the schedule goes on, the reason is kept
                log.fail(error)
        tell({"event": "finished", "outcome": str(log.outcome)})
        return log.run(), log.observations()

    def _live(self, attempt: Attempt) -> None:
        """Run the trial on a target of its own, or in a duet on that of its preparation, which the last slice tears down."""
        trial, slices = attempt.trial, self.experiment.slices
        if slices is None:
            live(attempt)
            return
        attempt.log.errors += self._release([key for key in self._held if key[0] != trial.preparation])
        key = trial.preparation, repr(sorted(trial.levels.items()))
        is_last = trial.block % slices == slices - 1
        held = live(attempt, self._held.pop(key, None), hold=not is_last)
        if held is not None:
            self._held[key] = held

    def _release(self, keys: Iterable[tuple[int | None, str]]) -> list[str]:
        """Tear down targets that are held; return what could not be undone."""
        left: list[str] = []
        for key in list(keys):
            held = self._held.pop(key)
            known = len(held.attempt.log.errors)
            held.release()
            left += held.attempt.log.errors[known:]
        return left

    def lost(self) -> Exception | None:
        """Why a host is lost, of the first that is: no trial that needs it can run any more."""
        return next((error for one in self.far.values() if (error := one.host.lost()) is not None), None)

    def _present(self, log: Log) -> dict[str, Station]:
        """Every host with the observers that can look at it; what the rest would have given is noted as missing."""
        every = {name: self._station(name) for name in dict.fromkeys((self.host.name, *self.far))}
        for name, station in every.items():
            every[name] = replace(station, observers=(*station.observers, *watching(self.experiment, name)))
        found = each(tuple(every.values()), lambda one: sampler.roll_call(one.host, one.observers))
        for name, (present, missing) in found.items():
            every[name] = replace(every[name], observers=present)
            if name in self._taking_part(log.trial.levels):
                log.add_missing(name, missing)
        log.facts += self._addresses(self._taking_part(log.trial.levels))
        return every

    def _addresses(self, taking_part: frozenset[str]) -> Iterator[Fact]:
        """Where each far host of a trial was reached, which is no part of the experiment."""
        for spec in self.experiment.hosts:
            if spec.name in self.far and spec.name in taking_part and spec.address is not None:
                yield Fact(
                    host=spec.name, when=When.BEFORE, key="host.address", value=spec.address, fact_class=FactClass.IDENTITY
                )

    def _taking_part(self, levels: Mapping[str, Value]) -> frozenset[str]:
        """The hosts that load at these levels, and those of the targets."""
        load = {name for spec in self.experiment.workloads for name in self.experiment.load_hosts(spec, levels)}
        return frozenset(load | {spec.host for spec in self.experiment.used_targets()})

    def remove(self) -> None:
        """Undo what `install` set up, the latest first. Raises TrialError with all that could not be removed."""
        with Interrupts() as interrupts, interrupts.uninterrupted():
            left = self._release(self._held)
            while self._installed:
                spec = self._installed.pop()
                try:
                    for one in self._beside(spec):
                        catalogue.find("targets", spec.kind).remove(self._station(spec.host).host, one)
                except Exception as error:  # the others must still be removed
                    left.append(f"target {spec.name} could not be removed: {error}")
        if left:
            raise TrialError("\n".join(left))

    def _settings(self, spec: TargetSpec, doubtful: frozenset[str]) -> Iterator[Setting]:
        """The setting with the first levels of the target's factors, and with each other level: no trial may be the first to ask.

        The default of a knob that a factor sets is in no trial, so it is not asked about.
        """
        plain = self._setting(spec, doubtful)
        own = {factor.path.removeprefix(f"{spec.name}."): factor.levels for factor in self.experiment.factors if factor.levels}
        varied = {name: own[name] for name in plain.knobs if name in own}
        first = {**plain.knobs, **{name: levels[0] for name, levels in varied.items()}}
        yield replace(plain, knobs=first)
        for name, levels in varied.items():
            yield from (replace(plain, knobs={**first, name: level}) for level in levels[1:])

    def _beside(self, spec: TargetSpec) -> tuple[Setting, ...]:
        """The setting of a target, in a duet those of the two that are prepared at once."""
        return tuple(replace(self._setting(spec), beside=at) for at in range(1 if self.experiment.slices is None else 2))

    def _setting(self, spec: TargetSpec, doubtful: frozenset[str] = frozenset()) -> Setting:
        target = catalogue.find("targets", spec.kind)
        first = {factor.path: factor.levels[0] for factor in self.experiment.factors if factor.levels}
        knobs = catalogue.resolved(target.knobs, spec.knobs)
        unset = [name for name, value in knobs.items() if value in (None, ())]
        knobs |= {name: first[at] for name in unset if (at := f"{spec.name}.{name}") in first}
        station = self._station(spec.host)
        return Setting(
            name=spec.name,
            knobs=knobs,
            scratch=station.scratch,
            undo=station.undo,
            paths=paths_of(self.experiment, first),
            engine=station.engine,
            needs_bytes=obstacles.needed_bytes(self.experiment, doubtful),
        )

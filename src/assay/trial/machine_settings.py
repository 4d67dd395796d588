"""Settings of the machines of a trial: set before the target is prepared, put back after its teardown.

A setting that another program changes meanwhile ends the trial: its figures are of no known setting.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.catalogue import Host
from assay.errors import Obstacle, RefusedError, TrialError
from assay.machine import kernel_settings
from assay.machine.kernel_settings import OF_A_NAMESPACE, KernelSetting
from assay.machine.net_namespaces import NETWORK
from assay.records import MACHINE, Experiment, Fact, FactClass, MachineSpec, Place, Value, When
from assay.settings.knobs import variants
from assay.trial.fleet import Station

PATIENCE_S = 60.0
"""How long a trial waits for one of another lab that has changed this machine."""
LOCK = "/run/assay/machine.lock"
"""Held on this machine as long as its settings are not its own: two labs would put back each other's values."""


@dataclass(kw_only=True)
class MachineSettings:
    """What one trial sets on the machines."""

    knobs: Mapping[str, Value]
    stations: tuple[Station, ...]
    _set: list[tuple[Station, KernelSetting]] = field(default_factory=list)
    _fixed: dict[str, int] = field(default_factory=dict)
    _lock: int | None = None

    def set(self) -> None:
        """Set all of them. Raises RefusedError, TrialError, OSError; what was set by then is put back by `put_back`."""
        if self.stations and any(value is not None for value in self.knobs.values()):
            self._lock = _locked(self.stations)
        for station in self.stations:
            for one in kernel_settings.wanted(station.host, self.knobs):
                if kernel_settings.change(station.host, station.undo, one):
                    self._set.append((station, one))
                else:
                    self._fixed[station.name] = self._fixed.get(station.name, 0) + 1

    def refuse_elsewhere(self, place: Place) -> None:
        """Raise TrialError where a network setting is one of the host, and the load's ends are in namespaces of their own."""
        apart = any(key.startswith(NETWORK) for key in place.private)
        mine = next((one for _, one in self._set if one.path.startswith(OF_A_NAMESPACE)), None)
        if apart and mine is not None:
            raise TrialError(
                f"machine.{mine.knob} is a setting of the host's own network namespace, and this target has namespaces of its "
                "own. Use the target's knob `sysctls` where it has one, or a target without a namespace."
            )

    def refuse_changed(self) -> None:
        """Raise TrialError where a setting is not what it was set to."""
        for station, one in self._set:
            if (now := kernel_settings.in_force(station.host, one)) != one.value:
                raise TrialError(
                    f"{one.path} was {one.value!r} on {station.name} and is {now!r} now: another program changed it during "
                    "the trial. Stop that program (tuned, irqbalance, power-profiles-daemon)."
                )

    def facts(self) -> Iterator[Fact]:
        """What is set, once for each host and knob."""
        said = {(station.name, one.knob): one.value for station, one in self._set}
        said |= {(name, "irq_affinity.fixed"): str(count) for name, count in self._fixed.items()}
        for (host, knob), value in said.items():
            yield Fact(host=host, when=When.BEFORE, key=f"setting.{knob}", value=value, fact_class=FactClass.PERFORMANCE)

    def put_back(self) -> Iterator[Exception]:
        """Put everything back, the latest first; yield what went wrong, which stays in the ledger."""
        for station, one in reversed(self._set):
            try:
                station.undo.undo("setting", path=one.path, value=one.value)
            except Exception as error:  # the others must still be put back
                yield error
        self._set.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def of_trial(experiment: Experiment, levels: Mapping[str, Value], stations: Iterable[Station]) -> MachineSettings:
    """Return what a trial sets: the levels of factors in place of the file's values, on the hosts that take part."""
    spec = experiment.machine
    if spec is None:
        return MachineSettings(knobs={}, stations=())
    prefix = f"{MACHINE}."
    own = {path.removeprefix(prefix): level for path, level in levels.items() if path.startswith(prefix)}
    every = {one.name: one for one in stations}
    return MachineSettings(
        knobs={**spec.knobs, **own}, stations=tuple(one for name, one in every.items() if not spec.hosts or name in spec.hosts)
    )


def obstacles(experiment: Experiment, hosts: Mapping[str, Host], taking_part: Sequence[str]) -> Iterator[Obstacle]:
    """Yield what the hosts that are here have against the settings, at every level."""
    spec = experiment.machine
    if spec is None:
        return
    for name in spec.hosts or taking_part:
        if name in hosts:
            yield from _of_host(experiment, spec, hosts[name])


def _of_host(experiment: Experiment, spec: MachineSpec, host: Host) -> Iterator[Obstacle]:
    if not host.is_root():
        yield Obstacle(at=(MACHINE,), text=f"machine: settings of {host.name} need root there")
        return
    found = {
        (knob, text): knobs[knob]
        for knobs in variants(MACHINE, spec.knobs, experiment.factors)
        for knob, text in kernel_settings.refusals(host, knobs)
    }
    for (knob, text), level in found.items():
        yield Obstacle(at=_place(experiment, knob, level), text=f"machine.{knob}: {text}")


def _place(experiment: Experiment, knob: str, level: Value) -> tuple[str | int, ...]:
    path = f"{MACHINE}.{knob}"
    varied = next((factor.levels for factor in experiment.factors if factor.path == path), None)
    return (MACHINE, *knob.split(".")) if varied is None else ("factors", path, varied.index(level))


def _locked(stations: Iterable[Station]) -> int | None:
    """Hold this machine's lock where it is one of the stations. Raises RefusedError where another lab has it."""
    if all(one.host.far for one in stations):
        return None
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(LOCK), 0o700)  # noqa: PTH102, PTH120 - as the ledger's directory
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise RefusedError(
                    "another experiment has changed settings of this machine, and puts them back at the end of its trial. "
                    "Run the experiments one after the other."
                ) from error
            time.sleep(0.1)
        else:
            return descriptor

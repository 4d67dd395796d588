"""What a rule is shown: one measure of a run, a comparison, or the whole experiment."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records import (
    Claim,
    Comparison,
    Direction,
    Experiment,
    HostRole,
    Judged,
    Measure,
    Observations,
    Phase,
    Plan,
    Run,
    Verdict,
)
from assay.records.sides import joined

Runs = tuple[tuple[Run, Observations], ...]
"""Runs with what was seen of them."""


class About(StrEnum):
    """Whose evidence a trial rule judges."""

    EACH_LOAD_HOST = "each load host"
    ALL_LOAD_HOSTS = "all load hosts together"
    TARGET_HOST = "the target's host"
    EACH_HOST = "each host"
    """Each load host and the target's host by itself. Of the target's host a rule hears all clients."""
    EACH_LOAD_HOST_WITH_TARGET = "each load host with the target"
    ALL_HOSTS = "all hosts together"
    """Of either side the evidence of that side alone: devices and the server of the target's host, the rest of the load hosts."""


@dataclass(frozen=True, kw_only=True)
class TrialCase:
    """One measure of one run, as the trial rules see it."""

    subject: str
    experiment: Experiment
    run: Run
    phase: Phase
    measure: Measure
    claim: Claim
    value: float | None
    observations: Observations
    thresholds: Mapping[str, float]
    siblings: Mapping[str, float] = field(default_factory=dict)
    """Measure name -> value of the other measures of the same run (L08)."""
    host: str | None = None
    """The host whose evidence this is; None where it is that of several, or of all."""
    role: HostRole | None = None
    """What that host is in the run, or those hosts are."""
    beyond: Observations | None = None
    """All evidence of the target's hosts that are no load hosts, for a rule about both sides; None where there are none."""
    everywhere: Observations | None = None
    """The evidence of all hosts, for a rule that names a device on the way (a host by SNMP)."""

    @property
    def holds_target(self) -> bool:
        """Whether the target is on the host, or one of the hosts, whose evidence this is."""
        return self.host is None or self.beyond is not None or self.run.target_host in (None, self.host)

    def sides(self) -> tuple[Observations, ...]:
        """The evidence that this is, and that of the target's hosts where they are apart."""
        return (self.observations,) if self.beyond is None else (self.observations, self.beyond)

    @property
    def direction(self) -> Direction | None:
        """What the measured operation does; None for an external tool's unknown operation."""
        return self.phase.directions.get(self.measure.operation)

    def about(self, whom: About) -> tuple[TrialCase, ...]:
        """The case as a rule sees it that is about these hosts: one case for each host, or a single one.

        Of a load host a rule sees the clients on it alone, with what was done to it; about the target's host it hears all
        clients, and sees the evidence of that host. Each split is made once, for all rules.
        """
        if whom not in self._splits:
            whole = self if self.everywhere is not None else replace(self, everywhere=self.observations)
            self._splits[whom] = whole.split(whom)
        return self._splits[whom]

    @functools.cached_property
    def _splits(self) -> dict[About, tuple[TrialCase, ...]]:
        return {}

    def split(self, whom: About) -> tuple[TrialCase, ...]:
        """What `about` gives, made anew."""
        load = self.phase.load_hosts or tuple(one.host for one in self.phase.hosts) or tuple(self.observations.hosts)
        targets = self.run.target_hosts
        if whom is About.TARGET_HOST and targets:
            return (self._on_target(targets),)
        if whom is About.ALL_HOSTS and targets:
            return (self._joined(load, (*load, *targets)),)
        if whom is About.EACH_LOAD_HOST_WITH_TARGET and load and targets:
            return tuple(self._joined((host,), (host,)) for host in load)
        if whom in (About.ALL_LOAD_HOSTS, About.ALL_HOSTS, About.TARGET_HOST) or not load:
            return (self._on(load, HostRole.LOAD),)
        of_load = tuple(self._on((host,), HostRole.LOAD) for host in load)
        apart = tuple(host for host in targets if host not in load) if whom is About.EACH_HOST else ()
        return (*of_load, *(self._on_target((host,)) for host in apart))

    def _on(self, hosts: tuple[str, ...], role: HostRole) -> TrialCase:
        run = self.run.on(*hosts)
        phase = self.phase if run is self.run else self.phase.on(*hosts)
        host = hosts[0] if len(hosts) == 1 else None
        return replace(self, run=run, phase=phase, observations=self.observations.on(*hosts), host=host, role=role)

    def _on_target(self, targets: tuple[str, ...]) -> TrialCase:
        host = targets[0] if len(targets) == 1 else None
        return replace(self, observations=self.observations.on(*targets), host=host, role=HostRole.TARGET)

    def _joined(self, load: tuple[str, ...], part: tuple[str, ...]) -> TrialCase:
        """Load hosts with the target's hosts; of the phase what was done on the hosts that `part` names."""
        run, targets = self.run.on(*part), self.run.target_hosts
        apart = tuple(host for host in targets if host not in load)
        return replace(
            self,
            run=run,
            phase=self.phase if run is self.run else self.phase.on(*part),
            observations=joined(self.observations, load, targets),
            host=load[0] if len(load) == 1 else None,
            role=HostRole.LOAD,
            beyond=self.observations.on(*apart) if apart else None,
        )


@dataclass(frozen=True, kw_only=True)
class ComparisonCase:
    """One comparison with the runs of both arms, as the comparison rules see it."""

    subject: str
    experiment: Experiment
    plan: Plan
    comparison: Comparison
    measure: Measure
    claim: Claim
    baseline: Runs
    candidate: Runs
    verdicts: Mapping[str, Verdict]
    """Run (`0007/1`) -> verdict of this measure in that run."""
    thresholds: Mapping[str, float]
    left_out: tuple[Judged, ...] = ()
    """Runs at the levels of the two arms that the comparison leaves out, with what was said of them (S08)."""

    @property
    def arms(self) -> tuple[Runs, Runs]:
        """The runs of the baseline, and those of the candidate."""
        return self.baseline, self.candidate


@dataclass(frozen=True, kw_only=True)
class ExperimentCase:
    """The whole experiment, as the experiment rules see it."""

    subject: str
    experiment: Experiment
    plan: Plan
    runs: tuple[Judged, ...]
    """With what was said of them; their evidence stays where it is: no rule of this scope asks for it."""
    thresholds: Mapping[str, float]


Case = TrialCase | ComparisonCase | ExperimentCase

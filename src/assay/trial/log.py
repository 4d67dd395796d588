"""What is known of a run while it happens, and at any moment the records made of it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from assay.catalogue import Evidence
from assay.errors import AssayError
from assay.records import (
    Fact,
    Gap,
    Histogram,
    HostClock,
    Missing,
    Observations,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Reading,
    Run,
    Series,
    Trial,
    missing_on,
)
from assay.trial import trial_facts
from assay.trial.performed import Performed


def now_utc() -> str:
    """The time of day, for people."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(kw_only=True)
class Log:
    """One attempt at a trial: grows while the trial lives."""

    trial: Trial
    attempt: int
    started_utc: str = field(default_factory=now_utc)
    t0_ns: int | None = None
    """T of the first phase by our clock."""
    outcome: Outcome = Outcome.FINISHED
    errors: list[str] = field(default_factory=list)
    late: bool = False
    """Whether it is partial since clients started late."""
    otherwise: bool = False
    """Whether anything else went wrong."""
    places: list[Place] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=trial_facts.versions)
    clocks: dict[str, HostClock] = field(default_factory=dict)
    """The best comparison of each host's clock with ours."""

    def take(self, performed: Performed) -> None:
        """Add a phase that is over."""
        name = performed.phase.name
        self.phases.append(performed.phase)
        self._add(performed.evidence)
        for host, seen in performed.seen.items():
            self._add(seen.evidence)
            self.missing += missing_on(host, name, seen.evidence.missing)
            self.gaps += (Gap(host=host, phase=name, observer=observer, thousandths=gap) for observer, gap in seen.gaps.items())
        self.missing += performed.missing
        self.histograms += performed.histograms
        for one in performed.phase.hosts:
            self._compare_clocks(one)
        self.late |= performed.started_late
        self.otherwise |= performed.outcome is not Outcome.FINISHED and not performed.started_late
        self.end(performed.outcome, performed.error)

    def _add(self, evidence: Evidence) -> None:
        self.readings += evidence.readings
        self.series += evidence.series
        self.facts += evidence.facts

    def add_missing(self, host: str, missing: Mapping[str, str]) -> None:
        """Add evidence that could not be had on a host in the whole trial."""
        self.missing += missing_on(host, None, missing)

    def end(self, outcome: Outcome, error: str | None) -> None:
        """Note how a part of the trial ended; what was bad stays bad."""
        if self.outcome is Outcome.FINISHED:
            self.outcome = outcome
        if error:
            self.errors.append(error)

    def fail(self, error: Exception) -> None:
        """Note an error that ended the trial. One that is none of ours tells where it came from."""
        self.otherwise = True
        self.end(Outcome.FAILED, in_words(error))

    def interrupt(self) -> None:
        """Note that a person or the system ended the trial."""
        self.outcome = Outcome.INTERRUPTED
        self.errors.append("interrupted")

    def _compare_clocks(self, found: PhaseHost) -> None:
        """Keep the best comparison of each host's clock with ours."""
        known = self.clocks.get(found.host)
        if found.clock is not None and (known is None or found.clock.error_ns < known.error_ns):
            self.clocks[found.host] = found.clock

    def run(self) -> Run:
        """The run as it stands."""
        return Run(
            trial=self.trial,
            attempt=self.attempt,
            outcome=self.outcome,
            started_utc=self.started_utc,
            ended_utc=now_utc(),
            hosts=tuple(self.clocks.values()),
            places=tuple(self.places),
            phases=tuple(self.phases),
            versions=dict(self.versions),
            error="; ".join(dict.fromkeys(self.errors)) or None,
            started_late=self.outcome is Outcome.PARTIAL and self.late and not self.otherwise,
        )

    def observations(self) -> Observations:
        """The evidence as it stands. What some phase did deliver is not missing from the run."""
        had = {(reading.host, f"{reading.rung}.{reading.direction}") for reading in self.readings}
        had |= {(series.host, f"{series.layer}.{series.metric}") for series in self.series}
        return Observations(
            readings=tuple(self.readings),
            series=tuple(self.series),
            histograms=tuple(self.histograms),
            facts=tuple(self.facts),
            missing=tuple(dict.fromkeys(one for one in self.missing if (one.host, one.key) not in had)),
            gaps=tuple(self.gaps),
        )


def in_words(error: Exception) -> str:
    """An error in words; of one that Assay did not foresee also its kind and the place in the source."""
    if isinstance(error, AssayError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"

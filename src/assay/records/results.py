"""Everything that is known of one experiment, as report, list and gate read it: of each run how its figures went over time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.estimates import Cell, Comparison, Dip, Estimate, Ranking, RequirementResult, Sensitivity
from assay.records.experiment import Experiment
from assay.records.judgement import Finding, Verdict
from assay.records.plan import Plan
from assay.records.run import Run
from assay.records.scaling import Scaling
from assay.records.time_spent import TimeSpent


class CourseState(StrEnum):
    """Whether a figure was steady within its trial."""

    STEADY = "steady"
    """From `steady_from_ns` on nothing changed by what matters."""
    NOT_STEADY = "not steady"
    UNKNOWN = "unknown"
    """Nobody counted it meanwhile, or at too few points; its noise hides changes; the clients never ran together."""


class UnknownReason(StrEnum):
    """Why nothing can be said of a figure over time."""

    NOT_COUNTED = "not counted"
    """It is known of the whole phase only."""
    NEVER_TOGETHER = "never together"
    """No moment had all clients at work."""
    FEW_POINTS = "few points"
    NOISE = "noise"
    """That hides changes of level."""


class CourseKind(StrEnum):
    """What is looked at: a percentile is known of a whole phase only, over time its mean stands for it."""

    RATE = "rate"
    LATENCY = "mean latency"


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """From where on the level is another, by more than what matters; times relative to T0."""

    at_ns: int
    before: float
    after: float
    """The means of the stretches that it parts, in the course's unit."""

    @property
    def change_share(self) -> float | None:
        """By which share of the level before; None where that is 0."""
        return self.after / self.before - 1 if self.before else None


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How the rounds of a phase ended that was to run until it was steady."""

    number: int
    each_ns: int
    alike: bool
    """Whether the last five met the five-round criterion of SNIA."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """One measure of a run over time."""

    run: str
    """`0007/1`."""
    measure: str
    kind: CourseKind
    unit: str
    state: CourseState
    start_ns: int
    """When the phase began; people count time from there, all times here are from T0."""
    unknown: UnknownReason | None = None
    points: int | None = None
    """At so many points of time it is known, where they are too few."""
    from_ns: int | None = None
    to_ns: int | None = None
    """The window in which all clients ran; None where there is none."""
    clients: int = 0
    parts: int = 0
    """Into how many the window was cut."""
    steady_from_ns: int | None = None
    """None where it was not steady."""
    before: float | None = None
    """The mean before that; None where it was steady from the beginning."""
    correlation_time_ns: int | None = None
    """The correlation time: so long apart, values are worth an independent one each."""
    mean: Estimate | None = None
    """Of the steady part, with the interval of its batch means (n: batches); None where too few independent ones fit."""
    changes: tuple[ChangePoint, ...] = ()
    """In order of time, those of the warm-up among them."""
    detectable_share: float | None = None
    """The smallest change of level, as a share of the mean, that would have been found in its middle (80 % power)."""
    drift_share: float | None = None
    """By which share of its mean the steady part rises (or falls) beyond chance and beyond what matters, else None."""
    rounds: Rounds | None = None
    false_alarm_share: float | None = None
    """How often a figure without a change is said to have one, at most."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A run with the verdicts on its measures (by measure name)."""

    run: Run
    verdicts: Mapping[str, Verdict]
    courses: Mapping[str, Course] = field(default_factory=dict)
    """How its rates and latencies went over time (by measure name); empty where an older version judged it."""

    @property
    def id(self) -> str:
        """`0007/1`: trial and attempt."""
        return self.run.id


@dataclass(frozen=True, kw_only=True)
class DeletedRun:
    """A run that somebody deleted: a reader must be able to see that figures were left out."""

    run: str
    outcome: str
    at_utc: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Results:
    """An experiment with its plan, runs, verdicts and answers. Observations stay in the notebook until asked for."""

    experiment: Experiment
    plan: Plan
    runs: tuple[Judged, ...]
    cells: tuple[Cell, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    comparison_verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By the comparison's id; those of the best against the second best, too."""
    rankings: tuple[Ranking, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    dips: tuple[Dip, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    times: tuple[TimeSpent, ...] = ()
    """Where the time went, of each phase and combination of levels."""
    findings: tuple[Finding, ...] = ()
    """Of experiment scope."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Trial folder -> what is wrong with it."""
    deleted: tuple[DeletedRun, ...] = ()
    ruleset: str = ""

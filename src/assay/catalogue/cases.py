"""What a rule is shown: one measure of a run, a comparison, or the whole experiment."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass, field
from assay.records import Claim, Comparison, Experiment, Judged, Measure, Observations, Phase, Plan, Run, Verdict


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


@dataclass(frozen=True, kw_only=True)
class ComparisonCase:
    """One comparison with the runs of both arms, as the comparison rules see it."""

    subject: str
    experiment: Experiment
    plan: Plan
    comparison: Comparison
    measure: Measure
    claim: Claim
    baseline: tuple[tuple[Run, Observations], ...]
    candidate: tuple[tuple[Run, Observations], ...]
    verdicts: Mapping[str, Verdict]
    """Run (`0007/1`) -> verdict of this measure in that run."""
    thresholds: Mapping[str, float]
    left_out: tuple[Judged, ...] = ()
    """Runs at the levels of the two arms that the comparison leaves out, with what was said of them (S08)."""


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

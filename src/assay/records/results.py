"""Everything that is known of one experiment, as report, list and gate read it."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass, field
from assay.records.course import Course
from assay.records.estimates import Cell, Comparison, Dip, RequirementResult
from assay.records.experiment import Experiment, Plan
from assay.records.judgement import Finding, Verdict
from assay.records.run import Run
from assay.records.scaling import Scaling
from assay.records.sensitivity import Sensitivity


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
class Results:
    """An experiment with its plan, runs, verdicts and answers. Observations stay in the notebook until asked for."""

    experiment: Experiment
    plan: Plan
    runs: tuple[Judged, ...]
    cells: tuple[Cell, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    comparison_verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By the comparison's id."""
    requirements: tuple[RequirementResult, ...] = ()
    dips: tuple[Dip, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Of experiment scope."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Trial folder -> what is wrong with it."""
    ruleset: str = ""

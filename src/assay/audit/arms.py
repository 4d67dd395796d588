"""The two arms of a comparison: which runs count in it, what it is called, what its verdict says in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from assay.audit.verdicts import failures
from assay.frozen import dataclass
from assay.records import Comparison, Finding, Judged, Value, Verdict, VerdictState


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The runs of baseline and candidate that count."""

    baseline: tuple[Judged, ...]
    candidate: tuple[Judged, ...]
    left_out: tuple[Judged, ...] = ()
    """Of both, those that the comparison excludes."""

    @property
    def every(self) -> tuple[Judged, ...]:
        """Both."""
        return (*self.baseline, *self.candidate)


def of(comparison: Comparison, runs: Sequence[Judged]) -> Arms:
    """The runs at the comparison's levels that it does not exclude."""
    return Arms(
        baseline=tuple(run for run in runs if counts(comparison, comparison.baseline, run)),
        candidate=tuple(run for run in runs if counts(comparison, comparison.candidate, run)),
        left_out=tuple(run for run in runs if run.id in comparison.excluded),
    )


def counts(comparison: Comparison, level: Value, judged: Judged) -> bool:
    """Whether a run belongs to the arm of this level and is not excluded."""
    levels = judged.run.trial.levels
    here = levels.get(comparison.factor) == level
    return here and judged.id not in comparison.excluded and all(levels.get(k) == v for k, v in comparison.within.items())


def label(comparison: Comparison, own: VerdictState, runs: Mapping[str, Verdict], findings: Sequence[Finding]) -> str:
    """The conclusion, what its rules hold against it, and how its runs were judged where they are not all sound."""
    failed = [finding.relabel or finding.statement for finding in failures(findings)]
    states = Counter(verdict.state for verdict in runs.values())
    doubtful = [f"{states[state]} {state}" for state in VerdictState if states[state] and state is not VerdictState.SOUND]
    of_runs = [f"of {len(runs)} runs {', '.join(doubtful)}"] if doubtful else []
    held = failed[:2] if own is not VerdictState.SOUND else []
    return "; ".join([comparison.conclusion.value, *held, *of_runs])

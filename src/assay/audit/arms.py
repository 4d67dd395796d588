"""The two arms of a comparison: which runs count in it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.frozen import dataclass
from assay.records import Comparison, Judged, Value


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

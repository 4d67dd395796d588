"""The exit status of a gate: 3 for bad verdicts, 4 for unmet requirements and for what became worse, 0 otherwise.

The gate `worse` asks one question: is a level worse than the baseline? Noise that struck both is in the interval of the
interleaved pairs, so TAINTED figures pass; INVALID ones do not. Worse is a 95 % interval that excludes no change, with an
estimate beyond the smallest relevant effect. Two such intervals are looked at: of the mean, and of the typical pair
(`statistics.signed_ranks`), which sees a change among pairs of which a neighbour disturbed some. Each calls at most 1 of 40 equal
levels worse, both together at most 1 of 20.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from assay.records import Comparison, RequirementState, Results, VerdictState

BAD_VERDICT = 3
UNMET = 4


class Gate(StrEnum):
    """Whether and how strictly a result decides the exit status."""

    OFF = "off"
    ON = "on"
    STRICT = "strict"
    WORSE = "worse"

    @property
    def bad(self) -> tuple[VerdictState, ...]:
        """The verdicts that it does not let through."""
        if self in (Gate.OFF, Gate.WORSE):
            return (VerdictState.INVALID,) if self is Gate.WORSE else ()
        return (VerdictState.TAINTED, VerdictState.INVALID, *((VerdictState.UNVERIFIED,) if self is Gate.STRICT else ()))


def status(results: Results, gate: Gate) -> int:
    """0, 3 or 4; what the answer counts: the verdicts of its cells, of the runs in them, and of the comparisons."""
    if gate is Gate.OFF:
        return 0
    if any(state in gate.bad for state in states(results)):
        return BAD_VERDICT
    if any(requirement.state in unmet(gate) for requirement in results.requirements):
        return UNMET
    return UNMET if gate is Gate.WORSE and any(became_worse(results, one) for one in results.comparisons) else 0


def became_worse(results: Results, comparison: Comparison) -> bool:
    """Whether a measure that the experiment decides by is shown to be worse than at the baseline, by more than what matters."""
    from assay.analysis.cells import measure_of  # `assay stat` takes the gate, and no statistics
    from assay.analysis.require import is_to_baseline
    from assay.measures import Better, figure_kind

    experiment, kind = results.experiment, figure_kind(measure_of(results.experiment, comparison.measure).figure)
    if kind is None or not (experiment.decides_by(comparison.measure) and is_to_baseline(experiment, comparison)):
        return False
    return any(
        is_worse(one.value, (one.low, one.high), experiment.matters_share, lower_better=kind.better is Better.LOWER)
        for one in (comparison.ratio, comparison.typical)
        if one is not None
    )


def is_worse(value: float, ends: tuple[float | None, float | None], matters_share: float, *, lower_better: bool) -> bool:
    """Whether the whole interval of a ratio is on the bad side of 1, and its value beyond what matters."""
    low, high = ends
    if low is None or high is None:
        return False
    return (low > 1 and value > 1 + matters_share) if lower_better else (high < 1 and value < 1 - matters_share)


def unmet(gate: Gate) -> tuple[RequirementState, ...]:
    """The states of a requirement that a gate does not let through."""
    return (RequirementState.NOT_MET, *((RequirementState.UNDECIDED,) if gate is Gate.STRICT else ()))


def states(results: Results) -> Iterator[VerdictState]:
    """The verdicts that count: not those of attempts that were repeated, nor of runs that noise disturbed where others are quiet.

    A run that is INVALID counts: what made it so could have struck the others, too. Without cells, as of one load, all runs do.
    """
    if not results.cells:
        yield from (verdict.state for run in results.runs for verdict in run.verdicts.values())
    runs = {judged.id: judged for judged in results.runs}
    for cell in results.cells:
        here = (*cell.values, *(run for run, why in cell.excluded.items() if why.spoils))
        yield from (runs[run].verdicts[cell.measure].state for run in here if cell.measure in runs[run].verdicts)
        yield from [cell.verdict] if cell.verdict is not None else []
    yield from (verdict.state for verdict in results.comparison_verdicts.values())

"""How far the figures can be trusted: one verdict for each cell, the same in bar, table and headline; noise once for all runs."""

from __future__ import annotations

from collections.abc import Iterable

from assay.answer import marks
from assay.answer.doubts import Cause, cause, of_figure, verdicts_of
from assay.frozen import dataclass
from assay.records import Cell, Results, Verdict, VerdictState, worst


def shown(verdict: Verdict) -> VerdictState:
    """The state of a verdict as it is shown: a figure that was only disturbed is TAINTED and never INVALID."""
    if verdict.state is not VerdictState.INVALID:
        return verdict.state
    held = [one for one in verdict.findings if one.counts]
    return VerdictState.TAINTED if held and all(one.is_disturbance for one in held) else verdict.state


def own_state(verdicts: Iterable[Verdict]) -> VerdictState:
    """The worst state of the runs of a cell; UNVERIFIED where none was judged."""
    states = [shown(one) for one in verdicts]
    return worst(states) if states else VerdictState.UNVERIFIED


def state_of(results: Results, cell: Cell) -> VerdictState:
    """The verdict of a cell: the worst of the runs that it stands on, and of the rules on the whole experiment."""
    return worst((own_state(verdicts_of(results, cell)), of_figure(results, cell.measure)))


def counts(results: Results) -> tuple[tuple[VerdictState, int], ...]:
    """Count the cells with a figure that have each verdict, from best to worst."""
    known = {measure.name for measure in results.experiment.measures}
    cells = (one for one in results.cells if (one.estimate or one.unfiltered) and one.measure in known)
    states = [state_of(results, one) for one in cells]
    return tuple((state, states.count(state)) for state in marks.MEANING)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """A disturbance by the platform: its rule, and how many of the judged runs it may have changed by what matters."""

    cause: Cause
    runs: int
    of: int


def noise(results: Results) -> tuple[Noise, ...]:
    """Give every disturbance that counts, the most frequent first."""
    judged = [one for one in results.runs if one.verdicts]
    found: dict[str, tuple[Cause, set[str]]] = {}
    for run in judged:
        for finding in (each for verdict in run.verdicts.values() for each in verdict.findings):
            if finding.counts and finding.is_disturbance:
                found.setdefault(finding.rule, (cause(finding), set()))[1].add(run.id)
    made = (Noise(cause=first, runs=len(runs), of=len(judged)) for first, runs in found.values())
    return tuple(sorted(made, key=lambda one: (-one.runs, one.cause.rule)))

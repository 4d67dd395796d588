"""How far the figures can be trusted: one verdict for each cell, the same in bar, table and headline; noise once for all runs."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answer import marks
from assay.answer.doubts import Cause, cause, of_figure, verdicts_of
from assay.frozen import dataclass
from assay.records import Cell, Results, Verdict, VerdictState, worst


def own_state(results: Results, cell: Cell) -> VerdictState:
    """The verdict of a cell by its runs; UNVERIFIED where none was judged. Where none counts, of those that are excluded."""
    found = [one.shown for one in verdicts_of(results, cell)]
    own = [cell.verdict] if cell.verdict is not None and cell.values else []
    return worst((*found, *own)) if found or own else VerdictState.UNVERIFIED


def worst_of(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those with the worst state."""
    state = worst(one.shown for one in verdicts)
    return [one for one in verdicts if one.shown is state]


def state_of(results: Results, cell: Cell) -> VerdictState:
    """The verdict of a cell: its own, and that of the rules on the whole experiment."""
    return worst((own_state(results, cell), of_figure(results, cell.measure)))


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

"""The exit status of a gate: 3 for bad verdicts, 4 for unmet requirements, 0 otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from assay.records import RequirementState, Results, VerdictState

BAD_VERDICT = 3
UNMET = 4


class Gate(StrEnum):
    """Whether and how strictly a result decides the exit status."""

    OFF = "off"
    ON = "on"
    STRICT = "strict"

    @property
    def bad(self) -> tuple[VerdictState, ...]:
        """The verdicts that it does not let through."""
        if self is Gate.OFF:
            return ()
        return (VerdictState.TAINTED, VerdictState.INVALID, *((VerdictState.UNVERIFIED,) if self is Gate.STRICT else ()))


def status(results: Results, gate: Gate) -> int:
    """0, 3 or 4; what the answer counts: the verdicts of its cells, of the runs in them, and of the comparisons."""
    if gate is Gate.OFF:
        return 0
    if any(state in gate.bad for state in states(results)):
        return BAD_VERDICT
    if any(requirement.state in unmet(gate) for requirement in results.requirements):
        return UNMET
    return 0


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

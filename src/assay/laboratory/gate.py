"""The exit status of a gate: 3 for bad verdicts, 4 for unmet requirements, 0 otherwise."""

from __future__ import annotations

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
    """0, 3 or 4 as DESIGN 5 has it; verdicts of runs and of comparisons count."""
    if gate is Gate.OFF:
        return 0
    verdicts = [verdict for run in results.runs for verdict in run.verdicts.values()]
    if any(verdict.state in gate.bad for verdict in [*verdicts, *results.comparison_verdicts.values()]):
        return BAD_VERDICT
    unmet = (RequirementState.NOT_MET, *((RequirementState.UNDECIDED,) if gate is Gate.STRICT else ()))
    if any(requirement.state in unmet for requirement in results.requirements):
        return UNMET
    return 0

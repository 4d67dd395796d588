"""Why a comparison is not sound: its own rules, and the runs that it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.records import Comparison, Finding, Judged, Results, Severity, State, Verdict, VerdictState

MOST = 3


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A rule that holds something against a figure, by its id and the short name that it gives."""

    rule: str
    short: str


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason: a rule of the comparison, or how many of its runs have a verdict, with the most frequent cause of it."""

    cause: Cause | None
    state: VerdictState | None = None
    """Of the runs; None of the comparison's own rule."""
    runs: int = 0
    of: int = 0


def cause(finding: Finding) -> Cause:
    """Give the cause that a finding names."""
    return Cause(rule=finding.rule, short=finding.short or finding.name.replace("-", " "))


def why(results: Results, one: Comparison, verdict: Verdict | None) -> tuple[Reason, ...]:
    """The causes of a verdict that is not SOUND; empty for one that is, or where none was given."""
    if verdict is None or verdict.state is VerdictState.SOUND:
        return ()
    own = [Reason(cause=cause(finding)) for finding in verdict.findings if matters(finding, verdict.state)]
    return tuple(dict.fromkeys((*own, *of_runs(runs_in(results, one), one.measure))))[:MOST]


def matters(finding: Finding, state: VerdictState) -> bool:
    """Whether a finding holds something against the comparison; what is unverified only where nothing worse is known."""
    if finding.severity is Severity.NOTES:
        return False
    return finding.state is State.FAIL or (finding.state is State.UNVERIFIED and state is VerdictState.UNVERIFIED)


def runs_in(results: Results, one: Comparison) -> Iterable[Judged]:
    """The runs that count in the two arms; all of them where none does."""
    here = [
        judged
        for judged in results.runs
        if judged.run.trial.levels.get(one.factor) in (one.baseline, one.candidate)
        and all(judged.run.trial.levels.get(path) == level for path, level in one.within.items())
    ]
    return [judged for judged in here if judged.id not in one.excluded] or here


def of_runs(runs: Iterable[Judged], measure: str) -> Iterator[Reason]:
    """A reason for each state of the runs that is not sound, the worst first."""
    verdicts = [judged.verdicts[measure] for judged in runs if measure in judged.verdicts]
    for state in VerdictState:
        here = [verdict for verdict in verdicts if verdict.state is state]
        if here and state is not VerdictState.SOUND:
            causes = Counter(cause(finding) for verdict in here for finding in verdict.findings if matters(finding, state))
            most = causes.most_common(1)[0][0] if causes else None
            yield Reason(cause=most, state=state, runs=len(here), of=len(verdicts))

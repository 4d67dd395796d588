"""What to distrust: why a comparison is not sound, the rules that failed, verdict counts, requirements, lost runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.frozen import dataclass
from assay.records import (
    Cell,
    Comparison,
    DeletedRun,
    Direction,
    Finding,
    Judged,
    Measure,
    Outcome,
    RequirementResult,
    Results,
    Severity,
    State,
    Verdict,
    VerdictState,
    worst,
)
from assay.rulekit.soundness import required_rules


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """One thing to distrust: which rule, what it says, how often."""

    rule: str
    name: str
    state: State
    severity: Severity
    statement: str
    advice: str
    measures: tuple[str, ...]
    runs: int
    disturbs: bool = False
    """Whether it is noise, which has a line of its own."""


WHOLE = "the experiment"
"""Stands for the measure of a finding on the whole experiment."""


def verdicts_of(results: Results, cell: Cell) -> list[Verdict]:
    """Give the verdicts on the runs of a cell that count, or where none does on those that are excluded."""
    names = cell.values or cell.excluded
    return [judged.verdicts[cell.measure] for judged in results.runs if judged.id in names and cell.measure in judged.verdicts]


def of_figure(results: Results, measure: str) -> VerdictState:
    """BOUNDED where a rule on the whole experiment qualifies the figures of a measure, else SOUND."""
    return VerdictState.BOUNDED if of_all_runs(results, measure) else VerdictState.SOUND


def of_all_runs(results: Results, measure: str) -> tuple[Cause, ...]:
    """The causes for which rules on the whole experiment qualify the figures of a measure."""
    failed = (one for one in results.findings if (one.state, one.severity) == (State.FAIL, Severity.QUALIFIES))
    return tuple(cause(one) for one in failed if measure in one.observed)


def _findings(results: Results) -> Iterator[tuple[str, str | None, Finding]]:
    """Measure, run and finding of everything that failed or could not be checked."""
    compared = ((one.measure, results.comparison_verdicts.get(one.id)) for one in results.comparisons)
    judged = (*(pair for one in results.runs for pair in one.verdicts.items()), *compared)
    every = ((measure, verdict.run, finding) for measure, verdict in judged if verdict for finding in verdict.findings)
    whole = ((WHOLE, None, finding) for finding in results.findings)
    yield from (one for one in (*every, *whole) if one[2].state in (State.FAIL, State.UNVERIFIED))


def doubts(results: Results) -> tuple[Doubt, ...]:
    """Every rule that failed or could not be checked, with its first statement.

    First what fails for the whole experiment, then the gravest and most frequent."""
    found: dict[tuple[str, State], list[tuple[str, str | None, Finding]]] = {}
    for measure, run, finding in _findings(results):
        found.setdefault((finding.rule, finding.state), []).append((measure, run, finding))
    made = [
        Doubt(
            rule=rule,
            name=here[0][2].name,
            state=state,
            severity=here[0][2].severity,
            statement=here[0][2].statement,
            advice=here[0][2].advice or "",
            measures=tuple(dict.fromkeys(measure for measure, _, _ in here)),
            runs=len({run for _, run, _ in here if run}),
            disturbs=here[0][2].is_disturbance,
        )
        for (rule, state), here in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (not _is_of_all(one), one.disturbs, _gravity(one), -one.runs, one.rule)))


def _is_of_all(one: Doubt) -> bool:
    """Whether it fails for the whole experiment and is more than a note."""
    return one.measures == (WHOLE,) and one.state is State.FAIL and one.severity is not Severity.NOTES


def _gravity(one: Doubt) -> int:
    """What invalidates first, then what qualifies, what is not known, what is only noted."""
    if one.state is State.FAIL and one.severity is not Severity.NOTES:
        return 0 if one.severity is Severity.INVALIDATES else 1
    return 2 if one.severity is not Severity.NOTES else 3


@dataclass(frozen=True, kw_only=True)
class Required:
    """One requirement with its state at each combination of levels."""

    name: str
    """Of the measure."""
    measure: Measure | None
    """None where the experiment does not have it."""
    text: str
    rows: tuple[RequirementResult, ...]

    @property
    def state(self) -> VerdictState:
        """The worst verdict on its figures."""
        return worst(row.verdict for row in self.rows)


def requirements(results: Results) -> tuple[Required, ...]:
    """The requirements in the experiment's order, each with all its rows."""
    known = {one.name: one for one in results.experiment.measures}
    found: dict[tuple[str, str], list[RequirementResult]] = {}
    for one in results.requirements:
        found.setdefault((one.measure, one.text), []).append(one)
    return tuple(
        Required(name=name, measure=known.get(name), text=text, rows=tuple(rows)) for (name, text), rows in found.items()
    )


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Runs that ended alike and are no whole measurement."""

    outcome: Outcome
    runs: tuple[str, ...]
    errors: tuple[str, ...]
    """Why, each once; empty where no reason was kept."""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """Runs and trials that are not what was planned."""

    runs: tuple[Lost, ...]
    damaged: Mapping[str, str]
    """Trial folder -> what is wrong with it."""
    missing: int
    """Trials that were not run, of so many that were planned."""
    planned: int
    unfinished: int = 0
    """Trials that were run and of which no attempt finished."""
    begun: int = 0
    """Trials that were run."""
    deleted: tuple[DeletedRun, ...] = ()


def losses(results: Results) -> Losses:
    """Find what is not as it was planned."""
    found = []
    for outcome in (Outcome.FAILED, Outcome.PARTIAL, Outcome.INTERRUPTED):
        runs = [judged for judged in results.runs if judged.run.outcome is outcome]
        if runs:
            errors = dict.fromkeys(judged.run.error or "" for judged in runs)
            found.append(Lost(outcome=outcome, runs=tuple(judged.id for judged in runs), errors=tuple(errors)))
    done = {judged.run.trial.id for judged in results.runs}
    gone = {int(one.run.partition("/")[0]) for one in results.deleted}
    missing = sum(trial.id not in done | gone for trial in results.plan.trials)
    return Losses(
        runs=tuple(found),
        damaged=results.damaged,
        missing=missing,
        planned=len(results.plan.trials),
        unfinished=len({judged.run.trial.id for judged in never_finished(results.runs)}),
        begun=len(done),
        deleted=results.deleted,
    )


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
            causes = Counter(cause(finding) for verdict in here for finding in decisive(verdict))
            most = causes.most_common(1)[0][0] if causes else None
            yield Reason(cause=most, state=state, runs=len(here), of=len(verdicts))


def decisive(verdict: Verdict) -> Iterator[Finding]:
    """The findings that make the verdict what it is: what is open of the claim, or what holds something against it."""
    if verdict.state is VerdictState.UNVERIFIED:
        yield from open_findings(verdict)
    else:
        yield from (finding for finding in verdict.findings if matters(finding, verdict.state))


def never_finished(runs: Sequence[Judged]) -> tuple[Judged, ...]:
    """The runs of trials of which no attempt finished."""
    finished = {judged.run.trial.id for judged in runs if judged.run.outcome is Outcome.FINISHED}
    return tuple(judged for judged in runs if judged.run.trial.id not in finished)


def tier(verdicts: Sequence[Verdict]) -> str:
    """The tier that was really measured: the claimed one, unless a finding on it failed or it could not be verified."""
    if not verdicts:
        return "-"
    claimed = verdicts[0].claim.tier.value
    findings = [one for verdict in verdicts for one in verdict.findings if one.part == "tier"]
    if any(one.state is State.FAIL and one.severity is not Severity.NOTES for one in findings):
        return f"not {claimed}"
    return f"{claimed}?" if any(is_open(verdict) for verdict in verdicts) else claimed


def is_open(verdict: Verdict) -> bool:
    """Whether a part of the claim could not be confirmed, also where the verdict says something worse."""
    if verdict.state in (VerdictState.UNVERIFIED, VerdictState.BOUNDED, VerdictState.SOUND):
        return verdict.state is VerdictState.UNVERIFIED
    return any(True for _ in open_findings(verdict))


def open_findings(verdict: Verdict) -> Iterator[Finding]:
    """What is unverified, of the rules that the claim needs for any direction."""
    needed = {rule for direction in Direction for rule in required_rules(verdict.claim, direction)}
    yield from (finding for finding in verdict.findings if finding.state is State.UNVERIFIED and finding.rule in needed)

"""The opening of the report below its conclusions: requirements, verdict counts, what to distrust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.answer import marks
from assay.records import Finding, Measure, Outcome, RequirementResult, Results, Severity, State, VerdictState, worst


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


def counts(results: Results) -> tuple[tuple[VerdictState, int], ...]:
    """How many figures of runs have each verdict, from best to worst."""
    states = [verdict.state for judged in results.runs for verdict in judged.verdicts.values()]
    return tuple((state, states.count(state)) for state in marks.MEANING)


def by_measure(results: Results) -> Mapping[str, tuple[tuple[VerdictState, int], ...]]:
    """For each measure, how many of its runs have each verdict; states that do not occur are left out."""
    found: dict[str, tuple[tuple[VerdictState, int], ...]] = {}
    for measure in results.experiment.measures:
        states = [judged.verdicts[measure.name].state for judged in results.runs if measure.name in judged.verdicts]
        found[measure.name] = tuple((state, states.count(state)) for state in marks.MEANING if state in states)
    return found


def _findings(results: Results) -> Iterator[tuple[str, str | None, Finding]]:
    """Measure, run and finding of everything that failed or could not be checked."""
    compared = ((one.measure, results.comparison_verdicts.get(one.id)) for one in results.comparisons)
    judged = (*(pair for one in results.runs for pair in one.verdicts.items()), *compared)
    every = ((measure, verdict.run, finding) for measure, verdict in judged if verdict for finding in verdict.findings)
    whole = (("the experiment", None, finding) for finding in results.findings)
    yield from (one for one in (*every, *whole) if one[2].state in (State.FAIL, State.UNVERIFIED))


def doubts(results: Results) -> tuple[Doubt, ...]:
    """Every rule that failed or could not be checked, the gravest and most frequent first, with its first statement."""
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
        )
        for (rule, state), here in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (_gravity(one), -one.runs, one.rule)))


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


def losses(results: Results) -> Losses:
    """Find what is not as it was planned."""
    found = []
    for outcome in (Outcome.FAILED, Outcome.PARTIAL, Outcome.INTERRUPTED):
        runs = [judged for judged in results.runs if judged.run.outcome is outcome]
        if runs:
            errors = dict.fromkeys(judged.run.error or "" for judged in runs)
            found.append(Lost(outcome=outcome, runs=tuple(judged.id for judged in runs), errors=tuple(errors)))
    done = {judged.run.trial.id for judged in results.runs}
    missing = sum(trial.id not in done for trial in results.plan.trials)
    return Losses(runs=tuple(found), damaged=results.damaged, missing=missing, planned=len(results.plan.trials))

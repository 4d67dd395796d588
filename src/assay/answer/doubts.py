"""The opening of the report below its conclusions: requirements, verdict counts, what to distrust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.answer import marks
from assay.records import Finding, Outcome, RequirementResult, Results, Severity, State, Verdict, VerdictState


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


def _verdicts(results: Results) -> Iterable[tuple[str, Verdict]]:
    for judged in results.runs:
        yield from judged.verdicts.items()
    for one in results.comparisons:
        verdict = results.comparison_verdicts.get(one.id)
        if verdict is not None:
            yield one.measure, verdict


def doubts(results: Results) -> tuple[Doubt, ...]:
    """Every rule that failed or could not be checked, the gravest and most frequent first, with its first statement."""
    found: dict[tuple[str, State], list[tuple[str, Finding]]] = {}
    for measure, verdict in _verdicts(results):
        for finding in verdict.findings:
            _note(found, measure, finding)
    for finding in results.findings:
        _note(found, "the experiment", finding)
    made = [
        Doubt(
            rule=rule,
            name=here[0][1].name,
            state=state,
            severity=here[0][1].severity,
            statement=here[0][1].statement,
            advice=here[0][1].advice or "",
            measures=tuple(dict.fromkeys(measure for measure, _ in here)),
            runs=len({run for _, finding in here if (run := _run_of(finding.subject))}),
        )
        for (rule, state), here in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (_gravity(one), -one.runs, one.rule)))


def _gravity(one: Doubt) -> int:
    """What invalidates first, then what qualifies, what is not known, what is only noted."""
    if one.state is State.FAIL and one.severity is not Severity.NOTES:
        return 0 if one.severity is Severity.INVALIDATES else 1
    return 2 if one.severity is not Severity.NOTES else 3


def _note(found: dict[tuple[str, State], list[tuple[str, Finding]]], measure: str, finding: Finding) -> None:
    if finding.state in (State.FAIL, State.UNVERIFIED):
        found.setdefault((finding.rule, finding.state), []).append((measure, finding))


def _run_of(subject_name: str) -> str:
    return subject_name.split(":", 2)[1] if subject_name.startswith("run:") else ""


@dataclass(frozen=True, kw_only=True)
class Required:
    """One requirement with its state at each combination of levels."""

    title: str
    text: str
    rows: tuple[RequirementResult, ...]


def requirements(results: Results) -> tuple[Required, ...]:
    """The requirements in the experiment's order, each with all its rows."""
    titles = {one.name: marks.measure(one) for one in results.experiment.measures}
    found: dict[tuple[str, str], list[RequirementResult]] = {}
    for one in results.requirements:
        found.setdefault((one.measure, one.text), []).append(one)
    return tuple(
        Required(title=titles.get(measure, measure), text=marks.bound(text), rows=tuple(rows))
        for (measure, text), rows in found.items()
    )


def losses(results: Results) -> tuple[str, ...]:
    """Runs and trials that are not what was planned, in sentences."""
    said = []
    for outcome in (Outcome.FAILED, Outcome.PARTIAL, Outcome.INTERRUPTED):
        ids = [judged.id for judged in results.runs if judged.run.outcome is outcome]
        if ids:
            reasons = dict.fromkeys(judged.run.error or "no reason kept" for judged in results.runs if judged.id in ids)
            said.append(f"{marks.count(len(ids), 'run')} {outcome.value} ({', '.join(ids)}): {'; '.join(reasons)}")
    said += [f"trial {folder} cannot be read: {why}" for folder, why in results.damaged.items()]
    done = {judged.run.trial.id for judged in results.runs}
    missing = [trial for trial in results.plan.trials if trial.id not in done]
    if missing:
        said.append(f"{marks.count(len(missing), 'trial')} of {len(results.plan.trials):,} not run")
    return tuple(said)


def reservations(results: Results) -> tuple[str, ...]:
    """What is to be known of the schedule, in sentences."""
    said = []
    apart = [one for one in results.comparisons if not one.interleaved]
    if apart:
        said.append(
            f"{marks.count(len(apart), 'comparison')} not interleaved: a change between the sittings would look like a difference"
        )
    return (*said, *(f"{note.subject}: {note.text}" for note in results.plan.notes))

"""The opening of the report: conclusions, requirements, verdict counts, what to distrust."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.records import Comparison, Finding, Outcome, RequirementResult, Results, Severity, State, Verdict, VerdictState, worst
from assay.report import words
from assay.report.quantities import NARROW, number


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """One comparison as a row: where its interval lies on the shared axis, in percent of its width."""

    comparison: Comparison
    condition: str
    text: str
    interval: str
    left: float
    right: float
    at: float
    clipped: bool
    state: VerdictState


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """The comparisons of one measure."""

    measure: str
    title: str
    better: str
    rows: tuple[Ratio, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The axis of the ratios: logarithmic, so that twice and half are equally far from one."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """(percent of the width, label)."""
    one: float
    matter_left: float
    matter_right: float

    def place(self, ratio: float) -> float:
        """Percent of the width at which a ratio stands, kept inside the axis."""
        return _place(min(max(ratio, self.low), self.high), self.low, self.high)


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


def _place(ratio: float, low: float, high: float) -> float:
    return round(100 * math.log(ratio / low) / math.log(high / low), 2)


def axis(results: Results) -> Axis | None:
    """The axis that holds all intervals, at most from a quarter to four times; None where nothing was compared."""
    estimates = [one.ratio for one in results.comparisons if one.ratio is not None and one.ratio.value > 0]
    if not estimates:
        return None
    matters = results.comparisons[0].matters_share
    ends = [one.low or one.value for one in estimates] + [one.high or one.value for one in estimates]
    reach = max([math.log(1 + 2 * matters), *(abs(math.log(end)) for end in ends if end > 0)]) * 1.08
    reach = min(reach, math.log(8))
    low, high = math.exp(-reach), math.exp(reach)
    wanted = next(
        (step for step in (0.05, 0.1, 0.25, 0.5, 1.0) if step >= (high - 1) / 3.01),
        2.0,
    )
    uppers = [1 + wanted * i for i in range(1, 4) if 1 + wanted * i <= high]
    marks = sorted([1.0, *uppers, *(1 / upper for upper in uppers)])
    return Axis(
        low=low,
        high=high,
        ticks=tuple(
            (_place(mark, low, high), f"×{NARROW}{mark:.3g}" if mark != 1 else "1")
            for mark in marks
            if 3 < _place(mark, low, high) < 97
        ),
        one=_place(1.0, low, high),
        matter_left=_place(max(low, 1 / (1 + matters)), low, high),
        matter_right=_place(min(high, 1 + matters), low, high),
    )


def ratios(results: Results) -> tuple[Ratios, ...]:
    """The comparisons by measure, in the experiment's order."""
    span = axis(results)
    if span is None:
        return ()
    titles = {one.name: one for one in results.experiment.measures}
    grouped: dict[str, list[Ratio]] = {}
    for one in results.comparisons:
        if one.ratio is not None and one.ratio.value > 0:
            grouped.setdefault(one.measure, []).append(_ratio(results, span, one))
    return tuple(
        Ratios(
            measure=name,
            title=words.measure(titles[name]) if name in titles else name,
            better="lower is better" if words.lower_is_better(name) else "higher is better",
            rows=tuple(rows),
        )
        for name, rows in grouped.items()
    )


def _ratio(results: Results, span: Axis, one: Comparison) -> Ratio:
    assert one.ratio is not None
    low, high = one.ratio.low or one.ratio.value, one.ratio.high or one.ratio.value
    verdict = results.comparison_verdicts.get(subject(one))
    return Ratio(
        comparison=one,
        condition=", ".join(part for part in (_pair(one), words.levels(one.within)) if part),
        text=number(one.ratio.value),
        interval=f"{number(low)} to {number(high)}" if one.ratio.low is not None else "no interval",
        left=span.place(low),
        right=span.place(high),
        at=span.place(one.ratio.value),
        clipped=low < span.low or high > span.high,
        state=verdict.state if verdict else VerdictState.UNVERIFIED,
    )


def _pair(one: Comparison) -> str:
    return f"{words.level(one.candidate)} to {words.level(one.baseline)}"


def subject(one: Comparison) -> str:
    """The name under which the verdict on a comparison is kept."""
    conditions = ",".join(f"{path}={level}" for path, level in one.within.items())
    return f"comparison:{one.measure}:{one.candidate}" + (f":{conditions}" if conditions else "")


def headlines(results: Results) -> tuple[tuple[str, VerdictState], ...]:
    """The sentences of the first measure that was compared, one per condition, with their verdicts."""
    if not results.comparisons:
        return ()
    first = results.comparisons[0].measure
    here = [one for one in results.comparisons if one.measure == first]
    return tuple((one.statement, verdict_of(results, one)) for one in here)


def verdict_of(results: Results, one: Comparison) -> VerdictState:
    """The verdict on a comparison; UNVERIFIED where none was given."""
    verdict = results.comparison_verdicts.get(subject(one))
    return verdict.state if verdict else VerdictState.UNVERIFIED


def counts(results: Results) -> tuple[tuple[VerdictState, int], ...]:
    """How many figures of runs have each verdict, from best to worst."""
    states = [verdict.state for judged in results.runs for verdict in judged.verdicts.values()]
    return tuple((state, states.count(state)) for state in words.MEANING)


def by_measure(results: Results) -> Mapping[str, tuple[tuple[VerdictState, int], ...]]:
    """For each measure, how many of its runs have each verdict; states that do not occur are left out."""
    found: dict[str, tuple[tuple[VerdictState, int], ...]] = {}
    for measure in results.experiment.measures:
        states = [judged.verdicts[measure.name].state for judged in results.runs if measure.name in judged.verdicts]
        found[measure.name] = tuple((state, states.count(state)) for state in words.MEANING if state in states)
    return found


def overall(results: Results) -> VerdictState | None:
    """The worst verdict of all; None where nothing was judged."""
    states = [verdict.state for judged in results.runs for verdict in judged.verdicts.values()]
    return worst(states) if states else None


def _verdicts(results: Results) -> Iterable[tuple[str, Verdict]]:
    for judged in results.runs:
        yield from judged.verdicts.items()
    for one in results.comparisons:
        verdict = results.comparison_verdicts.get(subject(one))
        if verdict is not None:
            yield one.measure, verdict


def doubts(results: Results) -> tuple[Doubt, ...]:
    """Every rule that failed or could not be checked, the gravest first, with its first statement."""
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
    grave = [Severity.INVALIDATES, Severity.QUALIFIES, Severity.NOTES]
    return tuple(sorted(made, key=lambda doubt: (doubt.state is not State.FAIL, grave.index(doubt.severity), doubt.rule)))


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
    titles = {one.name: words.measure(one) for one in results.experiment.measures}
    found: dict[tuple[str, str], list[RequirementResult]] = {}
    for one in results.requirements:
        found.setdefault((one.measure, one.text), []).append(one)
    return tuple(
        Required(title=titles.get(measure, measure), text=text.replace("<=", "≤").replace(">=", "≥"), rows=tuple(rows))
        for (measure, text), rows in found.items()
    )


def losses(results: Results) -> tuple[str, ...]:
    """Runs and trials that are not what was planned, in sentences."""
    said = []
    for outcome in (Outcome.PARTIAL, Outcome.FAILED, Outcome.INTERRUPTED):
        ids = [judged.id for judged in results.runs if judged.run.outcome is outcome]
        if ids:
            reasons = dict.fromkeys(judged.run.error or "no reason kept" for judged in results.runs if judged.id in ids)
            said.append(f"{words.count(len(ids), 'run')} {outcome.value} ({', '.join(ids)}): {'; '.join(reasons)}")
    done = {judged.run.trial.id for judged in results.runs}
    missing = [trial for trial in results.plan.trials if trial.id not in done]
    if missing:
        said.append(f"{words.count(len(missing), 'trial')} of {len(results.plan.trials):,} not run")
    said += [f"trial {folder} cannot be read: {why}" for folder, why in results.damaged.items()]
    apart = [one for one in results.comparisons if not one.interleaved]
    if apart:
        said.append(
            f"{words.count(len(apart), 'comparison')} not interleaved: a change between the sittings would look like a difference"
        )
    said += [f"{note.subject}: {note.text}" for note in results.plan.notes]
    return tuple(said)

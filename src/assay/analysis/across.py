"""Two notebooks as one experiment: the notebook is a factor changed by hand, so that what compares sittings compares them.

Nothing was interleaved between two notebooks, so their cells are held against each other unpaired, cell by cell of equal
levels, each sitting of the baseline by itself. What one has and the other has not is left out and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from assay.frozen import dataclass, field
from assay.plain import to_plain
from assay.records import (
    Change,
    Experiment,
    Factor,
    Judged,
    Measure,
    Plan,
    RequirementKind,
    RequirementResult,
    RequirementState,
    Results,
    Trial,
    Value,
    VerdictState,
)
from assay.rulekit.pairs import NOTEBOOK

MEANT = ("digest", "title", "question", "compare", "requirements", "measures", "factors")
"""Fields of an experiment that are no setting of the runs, or that are told by themselves."""
Names = tuple[str, str]
"""What the baseline and the candidate are called."""


class UnlikeKind(Enum):
    """In which way two experiments differ."""

    CLAIM = "claim"
    """A measure claims another thing in each, so it is not compared."""
    MEASURE = "measure"
    """Only one has it."""
    SETTING = "setting"
    LEVELS = "levels"
    """Only one has this combination."""


@dataclass(frozen=True, kw_only=True)
class Unlike:
    """One thing that two experiments have not in common."""

    kind: UnlikeKind
    name: str = ""
    """The measure, or the path of the setting."""
    levels: Mapping[str, Value] = field(default_factory=dict)
    only: str = ""
    """The notebook that alone has it."""
    texts: tuple[str | None, str | None] = (None, None)
    """A setting in the baseline and in the candidate; None where it is not there."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The runs of two notebooks under one experiment, not yet answered."""

    results: Results
    origin: Mapping[str, tuple[int, str]]
    """Run -> 0 for the baseline or 1 for the candidate, and its id there."""
    unlike: tuple[Unlike, ...]


@dataclass(frozen=True, kw_only=True)
class NotebookOffset:
    """Where the trials of one notebook go: its name, and what is added to their numbers and sittings."""

    name: str
    trials: int
    sittings: int


def join(baseline: Results, candidate: Results, names: Names) -> Joined:
    """The two as one; the question, what matters and what is required are the baseline's."""
    first = NotebookOffset(name=names[0], trials=0, sittings=0)
    second = NotebookOffset(
        name=names[1],
        trials=max((trial.id for trial in baseline.plan.trials), default=0),
        sittings=len(baseline.plan.sittings),
    )
    both = [(baseline, first), (candidate, second)]
    experiment = combined(baseline.experiment, candidate.experiment, names)
    measured = {measure.name for measure in experiment.measures}
    runs = [[placed(judged, place, measured) for judged in one.runs] for one, place in both]
    return Joined(
        results=Results(
            experiment=experiment,
            plan=planned(baseline.plan, candidate.plan, (first, second)),
            runs=(*runs[0], *runs[1]),
            damaged={f"{place.name}: {path}": why for one, place in both for path, why in one.damaged.items()},
            ruleset=baseline.ruleset,
        ),
        origin={
            new.id: (side, old.id) for side, (one, _) in enumerate(both) for old, new in zip(one.runs, runs[side], strict=True)
        },
        unlike=(*unlike(baseline.experiment, candidate.experiment, names), *unmatched(baseline.plan, candidate.plan, names)),
    )


def combined(baseline: Experiment, candidate: Experiment, names: Names) -> Experiment:
    """The baseline's experiment over the measures that both have, with the notebook as the factor that is compared."""
    measures = common(baseline, candidate)
    measured = {measure.name for measure in measures}
    notebook = Factor(path=NOTEBOOK, levels=names, change=Change.MANUAL)
    return replace(
        baseline,
        factors=(*factors(baseline, candidate), notebook),
        measures=measures,
        requirements=tuple(one for one in baseline.requirements if one.measure in measured),
        compare=NOTEBOOK,
    )


def common(baseline: Experiment, candidate: Experiment) -> tuple[Measure, ...]:
    """The measures that both have, with the same claim."""
    return tuple(measure for measure in baseline.measures if measure in candidate.measures)


def factors(baseline: Experiment, candidate: Experiment) -> Iterator[Factor]:
    """The factors of both, each with the levels of both."""
    rest = {factor.path: factor for factor in candidate.factors}
    for factor in baseline.factors:
        other = rest.pop(factor.path, None)
        yield replace(factor, levels=tuple(dict.fromkeys((*factor.levels, *(other.levels if other else ())))))
    yield from rest.values()


def planned(baseline: Plan, candidate: Plan, places: tuple[NotebookOffset, NotebookOffset]) -> Plan:
    """The schedules one after the other; blocks are those that both were to have."""
    return replace(
        baseline,
        trials=tuple(trial(one, place) for plan, place in zip((baseline, candidate), places, strict=True) for one in plan.trials),
        blocks=min(baseline.blocks, candidate.blocks),
        drawn_blocks=min(baseline.drawn_blocks, candidate.drawn_blocks),
        sittings=(*baseline.sittings, *candidate.sittings),
    )


def placed(judged: Judged, place: NotebookOffset, measured: set[str]) -> Judged:
    """A run at its new place, with the verdicts on the measures that both notebooks have."""
    run = replace(judged.run, trial=trial(judged.run.trial, place))
    name = run.id
    verdicts = {
        measure: replace(verdict, subject=f"run:{name}:{measure}", run=name)
        for measure, verdict in judged.verdicts.items()
        if measure in measured
    }
    return Judged(run=run, verdicts=verdicts)


def trial(one: Trial, place: NotebookOffset) -> Trial:
    """A trial with the notebook among its levels."""
    return replace(
        one,
        id=one.id + place.trials,
        position=one.position + place.trials,
        sitting=one.sitting + place.sittings,
        levels={**one.levels, NOTEBOOK: place.name},
    )


def of_candidate(results: Sequence[RequirementResult], names: Names) -> tuple[RequirementResult, ...]:
    """What is required of the candidate: a bound on a figure was asked of the baseline in its own time."""
    return tuple(one for one in results if one.kind is RequirementKind.NOT_WORSE_THAN or one.levels.get(NOTEBOOK) == names[1])


def unanswered(baseline: Results, candidate: Results, names: Names) -> tuple[RequirementResult, ...]:
    """What the baseline's file requires and the candidate was not to measure: a measure, or levels at which it is required."""
    return tuple(
        RequirementResult(
            measure=one.measure,
            kind=one.kind,
            text=one.text,
            levels={**levels, NOTEBOOK: names[1]},
            estimate=None,
            state=RequirementState.UNDECIDED,
            verdict=VerdictState.UNVERIFIED,
        )
        for one in baseline.experiment.requirements
        for levels in not_measured(one.measure, baseline, candidate)
    )


def not_measured(name: str, baseline: Results, candidate: Results) -> list[Mapping[str, Value]]:
    """The levels at which the baseline has this measure and the candidate has not; one without levels where it never has it."""
    measure = next((one for one in common(baseline.experiment, candidate.experiment) if one.name == name), None)
    if measure is None:
        return [{}]
    wanted = [one for one in distinct(baseline.plan.trials) if one.get("workload", measure.workload) == measure.workload]
    there = distinct(candidate.plan.trials)
    return [levels for levels in wanted if levels not in there]


# ---------------------------------------------------------------------------------------------- what they have not in common


def unlike(baseline: Experiment, candidate: Experiment, names: Names) -> Iterator[Unlike]:
    """Measures that only one has or that claim other things, and settings of the experiments that differ."""
    shared = {measure.name for measure in common(baseline, candidate)}
    claims = [{measure.name: measure.claim for measure in one.measures} for one in (baseline, candidate)]
    for name in dict.fromkeys((*claims[0], *claims[1])):
        if name in claims[0] and name in claims[1] and name not in shared:
            yield Unlike(kind=UnlikeKind.CLAIM, name=name)
        elif name not in shared:
            yield Unlike(kind=UnlikeKind.MEASURE, name=name, only=names[0] if name in claims[0] else names[1])
    one, other = (dict(settings(to_plain(experiment))) for experiment in (baseline, candidate))
    for path in dict.fromkeys((*one, *other)):
        if one.get(path) != other.get(path):
            yield Unlike(kind=UnlikeKind.SETTING, name=path, texts=(one.get(path), other.get(path)))


def settings(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every setting of an experiment as plain values, with its path (`workloads.w.knobs.argv`); things with a name by it."""
    inner: Iterator[tuple[str, object]] = iter(())
    if isinstance(value, dict):
        inner = ((str(name), item) for name, item in value.items() if path or name not in MEANT)
    elif isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        inner = ((str(item["name"]), item) for item in value)
    elif value is not None:
        plainly = value if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value) else [value]
        yield path, ", ".join(map(str, plainly)) or "none"
    for name, item in inner:
        yield from settings(item, f"{path}.{name}" if path else name)


def unmatched(baseline: Plan, candidate: Plan, names: Names) -> Iterator[Unlike]:
    """The combinations of levels that only one of them has."""
    combinations = [distinct(plan.trials) for plan in (baseline, candidate)]
    for side, other in ((0, 1), (1, 0)):
        for levels in combinations[side]:
            if levels not in combinations[other]:
                yield Unlike(kind=UnlikeKind.LEVELS, levels=levels, only=names[side])


def distinct(trials: Sequence[Trial]) -> list[Mapping[str, Value]]:
    """The combinations of levels in the order in which they come first."""
    found: list[Mapping[str, Value]] = []
    for one in trials:
        if dict(one.levels) not in found:
            found.append(dict(one.levels))
    return found

"""How figures went over time within their trials: a line a measure, and the sentence of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay import measures
from assay.answer import marks
from assay.answer.scales import show
from assay.answer.wording.steady import detail
from assay.measures.cost import UNITS
from assay.records import Course, CourseKind, CourseState, Experiment, Judged, Observations, Phase, Results

LISTED = 40
"""Most runs of a measure that are listed; where there are more, those that were not steady come first."""
ORDER = (CourseState.NOT_STEADY, CourseState.UNKNOWN, CourseState.STEADY)


@dataclass(frozen=True, kw_only=True)
class SteadyRow:
    """One run's sentence."""

    run: str
    levels: str
    state: CourseState
    statement: str


@dataclass(frozen=True, kw_only=True)
class SteadyGroup:
    """The sentences of one measure, or of several that have the same ones."""

    title: str
    counts: str
    """`9 steady, 1 not steady`."""
    rows: tuple[SteadyRow, ...]
    left_out: int


def steady(results: Results) -> tuple[SteadyGroup, ...]:
    """A group for each measure that has a course; measures whose runs all say the same are one."""
    groups: dict[tuple[Course, ...], list[str]] = {}
    for measure in results.experiment.measures:
        here = [(judged, judged.courses[measure.name]) for judged in results.runs if measure.name in judged.courses]
        if here:
            groups.setdefault(tuple(bare(course) for _, course in here), []).append(measure.name)
    known = {measure.name: marks.measure(measure) for measure in results.experiment.measures}
    return tuple(group(" and ".join(known[name] for name in names), names[0], results) for names in groups.values())


def bare(one: Course) -> Course:
    """A course without the name of its measure; of one of which nothing is known its unit does not matter, either."""
    return replace(one, measure="") if one.mean else replace(one, measure="", kind=CourseKind.RATE, unit="")


def group(title: str, name: str, results: Results) -> SteadyGroup:
    """One measure: how many runs are in which state, and their sentences."""
    here = [(judged, judged.courses[name]) for judged in results.runs if name in judged.courses]
    states = [course.state for _, course in here]
    shown = here if len(here) <= LISTED else sorted(here, key=lambda pair: ORDER.index(pair[1].state))[:LISTED]
    return SteadyGroup(
        title=title,
        counts=", ".join(f"{states.count(state)} {state.value}" for state in reversed(ORDER) if state in states),
        rows=tuple(row(results.experiment, judged, course) for judged, course in shown),
        left_out=len(here) - len(shown),
    )


def row(experiment: Experiment, judged: Judged, course: Course) -> SteadyRow:
    """A run's line; its state stands before the sentence."""
    where = marks.levels(experiment, judged.run.trial.levels)
    return SteadyRow(run=judged.id, levels=where, state=course.state, statement=detail(course))


COLUMNS = {
    "user_instructions_per_op": "user instructions",
    "kernel_instructions_per_op": "kernel instructions",
    "user_cycles_per_op": "user cycles",
    "kernel_cycles_per_op": "kernel cycles",
    "cpu_ns_per_op": "processor time",
    "voluntary_switches": "voluntary switches",
    "involuntary_switches": "involuntary switches",
    "faults": "page faults",
}
"""Figure -> head of its column; the first five are per operation."""
UNKNOWN = "not known"


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One phase of one run, its figures in the order of COLUMNS."""

    run: str
    levels: str
    phase: str
    figures: tuple[str, ...]


def costs(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """The rows and heads of the table, without the columns of which nothing is known, and what those are called."""
    phases = [(judged, phase) for judged, _ in observed for phase in judged.run.phases if phase.measured]
    known = [name for name in COLUMNS if any(measures.costs(phase)[name] is not None for _, phase in phases)]
    return {
        "costs": tuple(_rows(experiment, phases, known)),
        "cost_columns": tuple(COLUMNS[name] for name in known),
        "cost_unknown": ", ".join(COLUMNS[name] for name in COLUMNS if name not in known),
    }


def _rows(experiment: Experiment, phases: Sequence[tuple[Judged, Phase]], known: Sequence[str]) -> Iterator[CostRow]:
    for judged, phase in phases if known else ():
        found = measures.costs(phase)
        yield CostRow(
            run=judged.id,
            levels=marks.levels(experiment, judged.run.trial.levels),
            phase=phase.name,
            figures=tuple(UNKNOWN if (value := found[name]) is None else show(value, UNITS[name]) for name in known),
        )

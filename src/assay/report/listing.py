"""The rows of the report's tables: measures, figures, verdicts with their findings, runs, how to do it again."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.answer import doubts, marks, prices, trust
from assay.answer.scales import show, show_range, show_truth
from assay.answer.wording import comparison, labels
from assay.frozen import dataclass
from assay.records import Cell, Experiment, Finding, Measure, Results, State, Verdict, VerdictState, worst
from assay.report import picture
from assay.report.charts import cells
from assay.report.charts.figure import ChartFigure

MOST_FIGURES = 8
"""A measure with more combinations of levels opens with one line of them all; its chart and table have the rest."""
LISTED = 60
"""Most verdicts of a measure that are listed whole; above it only those that are not sound."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One measure with its figure."""

    name: str
    heading: str
    claim: str
    counts: tuple[tuple[VerdictState, int], ...]
    label: str
    figure: ChartFigure | None
    prices: tuple[tuple[str, str], ...] = ()
    """Levels, and the price of a unit of the figure there."""


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One measure at one combination of levels, for experiments that compare nothing."""

    name: str
    levels: str
    claim: str
    value: str
    interval: str
    state: VerdictState
    share: str
    """`1 of 5 runs`: how many have this verdict; empty where all have."""
    label: str


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """The verdict on one measure of one run."""

    run: str
    levels: str
    value: str
    corrected: str
    bound: str
    state: VerdictState
    label: str
    rules: str


@dataclass(frozen=True, kw_only=True)
class VerdictGroup:
    """All verdicts on one measure or on all comparisons."""

    title: str
    counts: tuple[tuple[VerdictState, int], ...]
    rows: tuple[VerdictRow, ...]
    left_out: int
    """Sound verdicts that are not listed for their number; their values are in the measure's own table."""
    findings: tuple[tuple[str, tuple[Finding, ...]], ...]
    """Runs in words, and what was found of all of them."""


def measures(results: Results) -> Iterable[Section]:
    """A section for each measure of the experiment; what tick, bar and line usually are is left to the key."""
    sections = list(_sections(results))
    drawn = [one.figure.alone for one in sections if one.figure and one.figure.alone]
    usual = max(dict.fromkeys(drawn), key=drawn.count, default="")
    for one in sections:
        if one.figure and one.figure.alone not in ("", usual):
            yield replace(one, figure=replace(one.figure, caption=picture.caption(one.figure), alone=""))
        else:
            yield one


def _sections(results: Results) -> Iterable[Section]:
    for measure in results.experiment.measures:
        verdicts = [judged.verdicts[measure.name] for judged in results.runs if measure.name in judged.verdicts]
        if verdicts:
            yield Section(
                name=measure.name,
                heading=marks.measure(measure),
                claim=marks.claim(measure.claim),
                counts=marks.tally(one.state for one in verdicts),
                label=labels.of_several(verdicts, labels.undisturbed),
                figure=cells.figure(results, measure),
                prices=tuple(_prices(results, measure)),
            )


def _prices(results: Results, measure: Measure) -> Iterable[tuple[str, str]]:
    """The levels of each cell whose target has a price, and what a unit of its figure costs."""
    for cell in results.cells:
        if cell.measure == measure.name and (words := prices.words(prices.of_cell(results.experiment, cell))):
            yield marks.levels(results.experiment, cell.levels), words


def figures(results: Results) -> tuple[FigureRow, ...]:
    """Each measure at each combination of levels with its estimate and the worst verdict of its runs.

    Where no run counts, those found INVALID stand there with their value in brackets.
    """
    known = {measure.name: measure for measure in results.experiment.measures}
    there = [cell for cell in results.cells if (cell.estimate or cell.unfiltered) and cell.measure in known]
    return tuple(_figure(results, known[cell.measure], cell) for cell in there)


def opening(results: Results) -> tuple[FigureRow, ...]:
    """The figures that the page opens with: a measure of many combinations in one line, smallest to largest."""
    rows: list[FigureRow] = []
    for measure in results.experiment.measures:
        here = [cell for cell in results.cells if cell.measure == measure.name and (cell.estimate or cell.unfiltered)]
        each = [_figure(results, measure, cell) for cell in here]
        rows += each if len(each) <= MOST_FIGURES else [_all(results, measure, here, each)]
    return tuple(rows)


def _all(results: Results, measure: Measure, here: Sequence[Cell], each: Sequence[FigureRow]) -> FigureRow:
    """All combinations of a measure as one line."""
    known = [cell.estimate for cell in here if cell.estimate]
    varied = (name for name in here[0].levels if len({cell.levels.get(name) for cell in here}) > 1)
    verdicts = [one for cell in here for one in doubts.verdicts_of(results, cell)]
    counts = ", ".join(f"{count} {state.value}" for state, count in marks.tally(row.state for row in each))
    return FigureRow(
        name=marks.measure(measure),
        levels=f"{len(here)} combinations of {' and '.join(varied)}",
        claim=marks.claim(measure.claim),
        value=show_range(min(one.value for one in known), max(one.value for one in known), known[0].unit) if known else "-",
        interval="smallest to largest estimate" if known else "n = 0",
        state=worst(row.state for row in each),
        share="",
        label=f"{labels.usual(verdicts)} ({counts})",
    )


def _figure(results: Results, measure: Measure, cell: Cell) -> FigureRow:
    one = cell.estimate or cell.unfiltered
    assert one is not None
    here = doubts.verdicts_of(results, cell)
    own, said = trust.own_state(results, cell), trust.worst_of(here)
    words = labels.parts if own is VerdictState.TAINTED else labels.undisturbed
    return FigureRow(
        name=marks.measure(measure),
        levels=marks.levels(results.experiment, cell.levels),
        claim=marks.claim(measure.claim),
        value=show(one.value, one.unit) if cell.estimate else f"({show(one.value, one.unit)})",
        interval=_interval(cell) if cell.estimate else "; ".join(part for part in ("n = 0", labels.instead(here)) if part),
        state=worst((own, doubts.of_figure(results, cell.measure))),
        share=f"{len(said)} of {len(here)} runs" if len(said) < len(here) else "",
        label="; ".join(
            filter(
                None,
                (
                    show_truth(cell.estimate) if cell.estimate else "",
                    prices.words(prices.of_cell(results.experiment, cell)),
                    labels.of_several(said, words, len(here)),
                    comparison.left_out(cell),
                ),
            )
        ),
    )


def _interval(cell: Cell) -> str:
    """The interval of the estimate; smallest and largest value where there are too few for one."""
    one = cell.estimate
    assert one is not None
    if one.n > 1 and one.low is None:
        return f"{show_range(cell.low, cell.high, one.unit)}, n = {one.n}"
    return show_range(one.low, one.high, one.unit) or f"n = {one.n}"


def verdicts(results: Results) -> Iterable[VerdictGroup]:
    """Group the verdicts by measure, those on comparisons last."""
    levels = functools.partial(marks.levels, results.experiment)
    for measure in results.experiment.measures:
        here = [(judged, judged.verdicts[measure.name]) for judged in results.runs if measure.name in judged.verdicts]
        rows = tuple(_row(judged.id, levels(judged.run.trial.levels), verdict) for judged, verdict in here)
        if rows:
            yield _group(marks.measure(measure), rows, [(judged.id, verdict) for judged, verdict in here])
    compared = [
        (one, results.comparison_verdicts[one.id]) for one in results.comparisons if one.id in results.comparison_verdicts
    ]
    rows = tuple(_row(one.measure, levels({one.factor: one.candidate, **one.within}), verdict) for one, verdict in compared)
    if rows:
        yield _group("Comparisons", rows, [(one.id, verdict) for one, verdict in compared])


def _group(title: str, rows: Sequence[VerdictRow], here: Sequence[tuple[str, Verdict]]) -> VerdictGroup:
    states = [row.state for row in rows]
    return VerdictGroup(
        title=title,
        counts=marks.tally(states),
        rows=tuple(row for row in rows if len(rows) <= LISTED or row.state is not VerdictState.SOUND),
        left_out=states.count(VerdictState.SOUND) if len(rows) > LISTED else 0,
        findings=_findings(here),
    )


def _findings(here: Sequence[tuple[str, Verdict]]) -> tuple[tuple[str, tuple[Finding, ...]], ...]:
    """Each rule's result once, in the words of the first run that has it; those that failed first."""
    found: dict[tuple[str, State], tuple[Finding, list[str]]] = {}
    for name, verdict in here:
        for finding in verdict.findings:
            found.setdefault((finding.rule, finding.state), (finding, []))[1].append(name)
    order = [State.FAIL, State.UNVERIFIED, State.PASS, State.NOT_APPLICABLE]
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for first, names in sorted(found.values(), key=lambda pair: (order.index(pair[0].state), pair[0].rule)):
        groups.setdefault(tuple(names), []).append(first)
    return tuple((_named(names, len(here)), tuple(findings)) for names, findings in groups.items())


def _named(names: Sequence[str], total: int) -> str:
    if total == 1:
        return names[0]
    who = (
        f"All {total}"
        if len(names) == total
        else f"{len(names)} of {total}: {', '.join(names[:6])}{', …' if len(names) > 6 else ''}"
    )
    return f"{who} (numbers of {names[0]})" if len(names) > 1 else who


def _row(name: str, levels: str, verdict: Verdict) -> VerdictRow:
    doubtful = [finding.rule for finding in verdict.findings if finding.state in (State.FAIL, State.UNVERIFIED)]
    bound = verdict.bound
    return VerdictRow(
        run=name,
        levels=levels,
        value=show(verdict.value, verdict.unit),
        corrected=show(verdict.corrected, verdict.unit) if verdict.corrected is not None else "",
        bound=show_range(bound.low, bound.high, bound.unit) if bound else "",
        state=verdict.shown,
        label=labels.label(verdict),
        rules=", ".join(dict.fromkeys(doubtful)),
    )


def _slices(experiment: Experiment) -> str:
    """`, a duet of 10 slices in each preparation`; empty of any other experiment."""
    return f", a duet of {marks.count(experiment.slices, 'slice')} in each preparation" if experiment.slices else ""


def again(results: Results, command: str | None) -> tuple[tuple[str, str], ...]:
    """What it takes to run the same experiment again."""
    experiment = results.experiment
    versions = next((judged.run.versions for judged in results.runs if judged.run.versions), {})
    rows = (
        ("Command", command or "assay run experiment.toml"),
        ("Seed of the schedule", str(results.plan.seed)),
        (
            "Schedule",
            f"{marks.count(results.plan.blocks, 'block')}, {marks.count(len(results.plan.trials), 'trial')}{_slices(experiment)}",
        ),
        ("Experiment (SHA-256)", experiment.digest),
        ("Rules", results.ruleset),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Targets", "; ".join(_spec(experiment, one.name, one.kind, one.knobs) for one in experiment.targets)),
        ("Workloads", "; ".join(_spec(experiment, one.name, one.kind, one.knobs) for one in experiment.workloads)),
    )
    return tuple((key, value) for key, value in rows if value)


def _spec(experiment: Experiment, name: str, kind: str, knobs: object) -> str:
    assert hasattr(knobs, "items")
    texts = ", ".join(
        f"{knob} = {text}"
        for knob, value in knobs.items()
        if value is not None and (text := marks.level(experiment, f"{name}.{knob}", value))
    )
    return f"{name}: {kind}" + (f" ({texts})" if texts else "")

"""The answer of an experiment as one record of values, which the terminal, the page, Markdown and JSON render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from assay.answer.decisions import Decision, decisions
from assay.answer.doubts import (
    Cause,
    Doubt,
    Losses,
    Required,
    cause,
    doubts,
    losses,
    of_all_runs,
    of_figure,
    requirements,
)
from assay.answer.essence import Essence, essence
from assay.answer.headlines import Headline, Line, headlines, leaders, lines, weight
from assay.answer.layers import LayeredRate, layered
from assay.answer.remarks import Remarked, remarks
from assay.answer.trust import Noise, counts, noise, own_state
from assay.frozen import dataclass
from assay.measures.figures import Better, figure_kind
from assay.records import (
    UNREACHED,
    Cell,
    Comparison,
    Conclusion,
    Estimate,
    Experiment,
    Finding,
    Measure,
    PlanNote,
    Ranking,
    Results,
    Scaling,
    ScalingKind,
    Sensitivity,
    Severity,
    State,
    TimeSpent,
    Value,
    Verdict,
    VerdictState,
    worst,
)

MOST_LINES = 3
"""Conditions of one measure that are listed; the table has the rest."""
MOST_BESIDE = 2
"""So many further measures have their values told."""
MOST_CAUSES = 2


class LeadKind(StrEnum):
    """What can be said of a measure."""

    EFFECTS = "effects"
    """Which factor matters most."""
    GROWTH = "growth"
    """How it grows over the count that is compared, and the last of the comparisons."""
    COMPARED = "compared"
    FIGURE = "figure"
    """Nothing is compared: the figure itself."""
    OTHER = "other"
    """No run counts: the figure is not what it is called."""
    DISTURBED = "disturbed"
    """No run counts: the platform disturbed all of them."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """What can be said of one measure, with all that a sentence needs."""

    kind: LeadKind
    measure: Measure
    state: VerdictState
    sensitivity: Sensitivity | None = None
    growth: Scaling | None = None
    lines: tuple[Line, ...] = ()
    """Those that are listed, what was decided first."""
    more: int = 0
    """So many are not listed."""
    leaders: tuple[Value, ...] = ()
    """Of three compared levels or more those ahead, the best first; none where conditions disagree."""
    undecided: tuple[Line, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    """Of three compared levels or more, one for each condition."""
    cells: tuple[Cell, ...] = ()
    everywhere: bool = True
    """Whether these are all cells of the measure."""
    verdicts: tuple[Verdict, ...] = ()
    causes: tuple[Cause, ...] = ()
    """Of a disturbance, the most frequent first."""
    doubted: tuple[Cause, ...] = ()
    """What the rules on the whole experiment hold against the figure."""


def leads(results: Results) -> tuple[Lead, ...]:
    """The measures from the first on that are not what they are called, and the first one that is; none without a figure.

    Of a designed experiment all measures, each with its effects.
    """
    if results.sensitivity:
        known = {measure.name: measure for measure in results.experiment.measures}
        found = ((known[one.measure], one) for one in results.sensitivity)
        return tuple(Lead(kind=LeadKind.EFFECTS, measure=measure, state=one.verdict, sensitivity=one) for measure, one in found)
    return tuple(_from_the_first(results))


def uncounted(results: Results) -> tuple[Lead, ...]:
    """All measures with a figure of which no run counts."""
    found = (_without_runs(results, measure) for measure in results.experiment.measures)
    return tuple(one for one in found if one)


def _without_runs(results: Results, measure: Measure) -> Lead | None:
    """What can be said of the cells of a measure of which no run counts; None where there is none."""
    cells = [cell for cell in results.cells if cell.measure == measure.name]
    lies = [cell for cell in cells if not cell.estimate and cell.unfiltered]
    return _uncounted(results, measure, lies, everywhere=not any(cell.estimate for cell in cells)) if lies else None


def _from_the_first(results: Results) -> Iterator[Lead]:
    for measure in results.experiment.measures:
        if lies := _without_runs(results, measure):
            yield lies
        good = [cell for cell in results.cells if cell.measure == measure.name and cell.estimate]
        if good:
            lead = _answered(results, measure, good)
            doubted = of_all_runs(results, measure.name)
            yield replace(lead, state=worst((lead.state, of_figure(results, measure.name))), doubted=doubted)
            return


def _answered(results: Results, measure: Measure, cells: Sequence[Cell]) -> Lead:
    """Who is ahead where it was compared, what was decided first; else the figure itself."""
    found = [line for line in lines(results, measure) if any(one.ratio is not None for one in line.comparisons)]
    if not found:
        return _figure(results, measure, cells)
    alike = not any(line.unlike for line in found)
    ranked = tuple(one for one in results.rankings if one.measure == measure.name) if alike else ()
    law = _law(results, measure)
    if law and len(found) > 1:
        state = worst(line.state for line in found)
        return Lead(kind=LeadKind.GROWTH, measure=measure, state=state, growth=law, lines=tuple(found[-1:]), rankings=ranked)
    decided = sorted(
        (line for line in found if line.conclusion is not Conclusion.UNDECIDED), key=lambda line: weight(line, measure)
    )
    first = decided or found
    of_all = [*(line.state for line in found), *(judged(results, one.ahead) for one in ranked)]
    return Lead(
        kind=LeadKind.COMPARED,
        measure=measure,
        state=worst(of_all if len(ranked) == 1 else [line.state for line in first]),
        lines=tuple(first[:MOST_LINES]),
        more=max(0, len(first) - MOST_LINES),
        leaders=leaders(results, measure) if ranked else (),
        rankings=ranked,
        cells=tuple(cells) if alike and len({tuple(_conditions(results, cell)) for cell in cells}) == 1 else (),
        undecided=tuple(line for line in found if decided and line.conclusion is Conclusion.UNDECIDED),
    )


def judged(results: Results, one: Comparison) -> VerdictState:
    """The verdict of a comparison; UNVERIFIED where it has none."""
    verdict = results.comparison_verdicts.get(one.id)
    return verdict.state if verdict else VerdictState.UNVERIFIED


def _conditions(results: Results, cell: Cell) -> Iterator[tuple[str, Value]]:
    """The levels of a cell but that of the compared factor."""
    return ((path, level) for path, level in cell.levels.items() if path != results.experiment.compare)


def _law(results: Results, measure: Measure) -> Scaling | None:
    """How the figure grows over the compared count, where that count is all that varies: one curve says more than its points."""
    laws = (one for one in results.scaling if one.kind is ScalingKind.LAW and one.measure == measure.name and not one.within)
    return next((one for one in laws if one.factor == results.experiment.compare), None)


def _figure(results: Results, measure: Measure, cells: Sequence[Cell]) -> Lead:
    """The figure itself, with the verdicts of the runs that count."""
    verdicts = [
        judged.verdicts[measure.name]
        for judged in results.runs
        if measure.name in judged.verdicts and any(judged.id in cell.values for cell in cells)
    ]
    state = worst(own_state(results, cell) for cell in cells)
    return Lead(kind=LeadKind.FIGURE, measure=measure, state=state, cells=tuple(cells), verdicts=tuple(verdicts))


def _uncounted(results: Results, measure: Measure, cells: Sequence[Cell], *, everywhere: bool) -> Lead:
    """A figure of which no run counts: what it really is, or what disturbed it."""
    runs = {run for cell in cells for run in cell.excluded}
    verdicts = [one.verdicts[measure.name] for one in results.runs if one.id in runs and measure.name in one.verdicts]
    invalid = [verdict for verdict in verdicts if verdict.state is VerdictState.INVALID]
    lies = [verdict for verdict in invalid if any(map(accuses, verdict.findings))]
    failed = [one for verdict in invalid for one in verdict.findings if one.state is State.FAIL]
    causes = Counter(cause(one) for one in failed if one.severity is Severity.INVALIDATES)
    return Lead(
        kind=LeadKind.OTHER if lies else LeadKind.DISTURBED,
        measure=measure,
        state=VerdictState.INVALID if lies else VerdictState.TAINTED,
        cells=tuple(cells),
        everywhere=everywhere,
        verdicts=tuple(lies or invalid),
        causes=tuple(one for one, _ in causes.most_common(MOST_CAUSES)),
    )


def accuses(finding: Finding) -> bool:
    """Whether a finding says that the number is not what it is called; noise of the platform only disturbed it."""
    failed = (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    return failed and not finding.is_disturbance


def others(results: Results, found: Sequence[Lead]) -> tuple[Lead, ...]:
    """The compared measures that the opening leaves out and that differ by what matters, the largest effect first."""
    named = {one.measure.name for one in found}
    rest = (measure for measure in results.experiment.measures if measure.name not in named)
    cells = ((measure, [one for one in results.cells if one.measure == measure.name and one.estimate]) for measure in rest)
    known = (_answered(results, measure, here) for measure, here in cells if here)
    differ = (one for one in known if one.lines and one.lines[0].conclusion is Conclusion.MATTERS and not one.lines[0].unlike)
    return tuple(sorted(differ, key=lambda one: -one.lines[0].effect))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What another measure comes to where more of a count gains nothing: it is worse by what matters, beyond both intervals."""

    measure: Measure
    factor: str
    levels: tuple[Value, Value]
    """The smallest that could be the best, and the largest of all."""
    estimates: tuple[Estimate, Estimate]
    state: VerdictState


def costs(results: Results, found: Sequence[Lead]) -> Iterator[Cost]:
    """What more of the compared count costs than the smallest number that could be the best, in the experiment's order."""
    ranked = [one for lead in found for one in lead.rankings]
    span = ranked[0].enough if len(ranked) == 1 else None
    for measure in results.experiment.measures if span is not None else ():
        kind = figure_kind(measure.figure)
        cells = {cell.levels.get(ranked[0].factor): cell for cell in results.cells if cell.measure == measure.name}
        here = [cells.get(level) for level in span or ()]
        if kind is None or measure.name == ranked[0].measure or span is None or None in here:
            continue
        known = [(cell, cell.estimate) for cell in here if cell is not None and cell.estimate is not None]
        if len(known) == 2 and _is_worse(known[0][1], known[1][1], 1 + results.experiment.matters_share, kind.better):
            yield Cost(
                measure=measure,
                factor=ranked[0].factor,
                levels=span,
                estimates=(known[0][1], known[1][1]),
                state=worst(own_state(results, cell) for cell, _ in known),
            )


def _is_worse(few: Estimate, many: Estimate, times: float, better: Better) -> bool:
    """Whether the second is worse by more than so many times, and their intervals have nothing in common."""
    low, high = (few, many) if better is Better.LOWER else (many, few)
    apart = low.sure[1] is not None and high.sure[0] is not None and low.sure[1] < high.sure[0]
    return apart and low.value > 0 and high.value > times * low.value


def beside(results: Results, found: Sequence[Lead]) -> Iterator[Lead]:
    """The next measures of the file, where the opening compares levels and nothing else varies."""
    if not found or found[-1].kind is not LeadKind.COMPARED:
        return
    named = {one.measure.name for one in found}
    rest = [one for one in results.experiment.compared_measures() if one.name not in named]
    for measure in rest[:MOST_BESIDE]:
        cells = tuple(cell for cell in results.cells if cell.measure == measure.name and cell.estimate)
        levels = {cell.levels.get(results.experiment.compare or "") for cell in cells}
        if 1 < len(cells) == len(levels):
            yield _answered(results, measure, cells)


@dataclass(frozen=True, kw_only=True)
class Storage:
    """A target's file system and the devices below it, if any."""

    target: str
    filesystem: str
    devices: tuple[str, ...]


def storages(results: Results) -> tuple[Storage, ...]:
    """The file systems of the targets that are no file system on a device."""
    places = (place for judged in results.runs for place in judged.run.places if not place.is_on_disk)
    found = (Storage(target=one.target, filesystem=one.filesystem or "", devices=one.devices) for one in places)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of an experiment, in the order in which it is read."""

    experiment: Experiment
    essence: Essence | None
    """The opening of an experiment that compares nothing and measures several rates."""
    leads: tuple[Lead, ...]
    """The opening first, unless there is an essence; empty where no run gave a figure."""
    others: tuple[Lead, ...]
    """Further measures that differ by what matters, the largest effect first."""
    decisions: tuple[Decision, ...]
    headlines: tuple[Headline, ...]
    requirements: tuple[Required, ...]
    counts: tuple[tuple[VerdictState, int], ...]
    """How many cells with a figure have each verdict, from best to worst."""
    noise: tuple[Noise, ...]
    """What disturbed runs, once for all of them."""
    doubts: tuple[Doubt, ...]
    """What to distrust, the gravest first."""
    losses: Losses
    apart: int
    """So many comparisons are of arms that were not interleaved."""
    notes: tuple[PlanNote, ...]
    storages: tuple[Storage, ...]
    """Those that are in memory or lie on another file system."""
    remarks: tuple[Remarked, ...]
    """What the experiment and the comparisons are besides, each once."""
    costs: tuple[Cost, ...] = ()
    beside: tuple[Lead, ...] = ()
    """The next measures of the file."""
    times: tuple[TimeSpent, ...] = ()
    """What had the time of the phases of the opening, at each combination of levels."""
    layers: tuple[LayeredRate, ...] = ()
    """Rates of clients with what was measured below them."""
    survivors: tuple[Cell, ...] = ()
    """The cells of the opening whose runs are what INVALID and failed ones left."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the opening and of what could not be counted, in the order in which they are read."""
        rates = self.essence.portions if self.essence else ()
        return (*(one.measure for one in rates), *(one.measure for one in self.leads))

    @property
    def state(self) -> VerdictState | None:
        """The verdict of the opening; None where there is none."""
        return self.essence.state if self.essence else self.leads[0].state if self.leads else None


def answer(results: Results) -> Answer:
    """Make the answer from the results."""
    first = essence(results)
    found = uncounted(results) if first else leads(results)
    following = () if first or results.sensitivity else tuple(beside(results, found))
    return Answer(
        experiment=results.experiment,
        essence=first,
        leads=found,
        others=() if results.sensitivity else others(results, (*found, *following)),
        decisions=() if first or not found or results.sensitivity else tuple(decisions(results, found[-1].measure)),
        headlines=headlines(results),
        requirements=requirements(results),
        counts=counts(results),
        noise=noise(results),
        doubts=doubts(results),
        losses=losses(results),
        apart=sum(not one.interleaved for one in results.comparisons),
        notes=tuple(one for one in results.plan.notes if not (results.runs and one.subject == UNREACHED)),
        storages=storages(results),
        remarks=remarks(results),
        costs=() if first else tuple(costs(results, found)),
        beside=following,
        times=tuple(one for one in results.times if opened(first, found) & set(one.measures)),
        layers=tuple(layered(results)),
        survivors=tuple(one for one in results.cells if one.measure in opened(first, found) and is_left(one)),
    )


def is_left(cell: Cell) -> bool:
    """Whether runs of a cell are INVALID or unreadable beside those that count; of those that failed the losses tell."""
    return cell.survivors and any(one.spoils and one.outcome is None for one in cell.excluded.values())


def opened(first: Essence | None, found: Sequence[Lead]) -> frozenset[str]:
    """The measures that the opening is about."""
    if first is not None:
        return frozenset(one.measure.name for one in first.portions)
    return frozenset(one.measure.name for one in found)

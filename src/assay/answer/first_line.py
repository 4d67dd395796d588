"""The first line of an answer: which measure, who is ahead and by how much, how sure, and how far that can be trusted.

It speaks of the first measure of the experiment, which is the one that was asked first. Where that is not what it is called, the
line says so, and then speaks of the next one. What belongs to the decision (break-even, saturation, requirements) follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.answer import headlines, marks
from assay.answer.instead import instead
from assay.answer.reasons import short
from assay.answer.scales import show, show_range
from assay.answer.wording import labels
from assay.measures import percent
from assay.measures.text import PART
from assay.records import (
    Cell,
    Conclusion,
    Estimate,
    Finding,
    Measure,
    RequirementResult,
    RequirementState,
    Results,
    Scaling,
    ScalingKind,
    Severity,
    State,
    Tier,
    Verdict,
    VerdictState,
    worst,
)

MOST_LINES = 3
"""So many unlike conditions of one measure are told; the table has the rest."""
MOST_PARTS = 2
"""So many reasons are told."""
SENTENCE = re.compile(r"\. (?=[A-Z])")
"""Between two sentences."""
COUNTED_IN = "with the INVALID runs counted in"
"""How the note begins that the table has, too."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The first line, and the lines that belong to it."""

    said: str
    state: VerdictState
    more: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line with its verdict at the end, for where there is no badge."""
        return f"{self.said} [{self.state.value}]"


def lead(results: Results) -> Lead | None:
    """The answer of an experiment; None where no run gave a figure."""
    if results.sensitivity:
        return _weighed(results)
    found = list(_told(results))
    if not found:
        return None
    (measure, first), *others = found
    more = [f"{one.said} [{one.state.value}]" for _, one in others]
    about = others[-1][0] if others else measure
    return Lead(said=first.said, state=first.state, more=(*more, *_decided(results, about)))


def _weighed(results: Results) -> Lead:
    """Which factor matters most to the first measure; what the others do, and the other measures, follow."""
    first, *others = results.sensitivity
    begun, *rest = SENTENCE.split(_in_words(results, first.measure, first.statement))
    more = [f"{SENTENCE.split(_in_words(results, one.measure, one.statement))[0]} [{one.verdict.value}]" for one in others]
    return Lead(said=begun, state=first.verdict, more=(*rest, *more, *_required(results)))


def _told(results: Results) -> Iterator[tuple[Measure, Lead]]:
    """The measures from the first on that are not what they are called, and the first one that is."""
    for measure in results.experiment.measures:
        cells = [cell for cell in results.cells if cell.measure == measure.name]
        good = [cell for cell in cells if cell.estimate]
        lies = [cell for cell in cells if not cell.estimate and cell.unfiltered]
        if lies:
            where = headlines.conditions([cell.levels for cell in lies]) if good else ""
            yield measure, _unmasked(results, measure, lies, where)
        if good:
            yield measure, _answered(results, measure, good)
            return


def named(measure: Measure) -> str:
    """`files create, operations per second`."""
    return f"{marks.operation(measure.workload, measure.operation)}, {marks.figure(measure.figure)}"


def _answered(results: Results, measure: Measure, cells: Sequence[Cell]) -> Lead:
    """Who is ahead where it was compared, what was decided first; else the figure itself."""
    lines = [line for line in headlines.lines(results, measure) if line.size]
    if not lines:
        return _measured(results, measure, cells)
    if (law := _law(results, measure)) and len(lines) > 1:
        return Lead(said=f"{_worded(results, law)}; {_clause(lines[-1])}", state=worst(line.state for line in lines))
    decided = sorted((line for line in lines if line.conclusion is not Conclusion.UNDECIDED), key=_weight)
    told = [_sentence(line) for line in (decided or lines)[:MOST_LINES]]
    told += [f"{len(decided or lines) - MOST_LINES} more below"] if len(decided or lines) > MOST_LINES else []
    told += [f"undecided {_places(line)}" for line in lines if decided and line.conclusion is Conclusion.UNDECIDED]
    return Lead(said=f"{named(measure)}: {'; '.join(told)}", state=worst(line.state for line in decided or lines))


def _law(results: Results, measure: Measure) -> Scaling | None:
    """How the figure grows over the compared count, where that count is all that varies: one curve says more than its points."""
    asked = (one for one in results.scaling if one.kind is ScalingKind.LAW and one.measure == measure.name and not one.within)
    return next((one for one in asked if one.factor == results.experiment.compare), None)


def _weight(line: headlines.Line) -> int:
    """What matters comes first."""
    return list(Conclusion).index(line.conclusion)


def _places(line: headlines.Line) -> str:
    """`at clients = 8 (0.58 times; 95 % interval 0.36 to 1.02)`; which arms, where there is no other condition."""
    return f"{line.where or line.said} ({'; '.join(part for part in (line.size, line.sure) if part)})"


def _sentence(line: headlines.Line) -> str:
    """`xfs is slower, 0.60 times the rate of ext4 at clients = 1 (95 % interval 0.54 to 0.68)`."""
    notes = [part for part in line.note.split(PART) if part and not part.startswith(COUNTED_IN)]
    return PART.join([_clause(line), *notes])


def _clause(line: headlines.Line) -> str:
    """The sentence without its notes."""
    told = " ".join(part for part in (", ".join(part for part in (line.said, line.size) if part), line.where) if part)
    return told + (f" ({line.sure})" if line.sure else "")


def _measured(results: Results, measure: Measure, cells: Sequence[Cell]) -> Lead:
    """`stream read, throughput: 49.9 MB/s (95 % interval ...): cold reads served by the device`."""
    found = sorted((cell.estimate for cell in cells if cell.estimate), key=lambda one: one.value)
    verdicts = [
        judged.verdicts[measure.name]
        for judged in results.runs
        if measure.name in judged.verdicts and any(judged.id in cell.values for cell in cells)
    ]
    label = labels.usual(verdicts)
    amount = _amount(found[0]) if len(found) == 1 else _range(found, f"over {len(found)} combinations of levels")
    return Lead(
        said=f"{named(measure)}: {amount}" + (f": {label}" if label else ""),
        state=worst(verdict.state for verdict in verdicts) if verdicts else VerdictState.UNVERIFIED,
    )


def _unmasked(results: Results, measure: Measure, cells: Sequence[Cell], where: str) -> Lead:
    """A figure of which no run counts: what was read off, and what it really is or what disturbed it."""
    found = sorted((cell.unfiltered for cell in cells if cell.unfiltered), key=lambda one: one.value)
    runs = {run for cell in cells for run in cell.excluded}
    verdicts = [one.verdicts[measure.name] for one in results.runs if one.id in runs and measure.name in one.verdicts]
    invalid = [verdict for verdict in verdicts if verdict.state is VerdictState.INVALID]
    lies = [verdict for verdict in invalid if any(map(accuses, verdict.findings))]
    amount = _amount(found[0]) if len(found) == 1 else _range(found, "")
    what = f"{named(measure)}: {amount}" + (f" {where}" if where else "")
    if not lies:
        return Lead(said=f"{what} does not count: {_disturbed(invalid)}", state=VerdictState.INVALID)
    fault = "cannot be believed" if measure.claim.tier is Tier.AS_IS else f"is no {marks.claim(measure.claim)}"
    return Lead(said=f"{what} {fault}: {_really(lies)}", state=VerdictState.INVALID)


def accuses(finding: Finding) -> bool:
    """Whether a finding says that the number is not what it is called; noise of the platform only disturbed it."""
    failed = (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    return failed and not finding.is_disturbance


def _really(lies: Sequence[Verdict]) -> str:
    """`page-cache bandwidth; nothing came from the device`: what most of these figures are, without a run's own figure."""
    known = "" if any(verdict.corrected is not None for verdict in lies) else instead(lies)
    return PART.join(part for part in (labels.usual(lies), known) if part)


def _disturbed(invalid: Sequence[Verdict]) -> str:
    """Which rules of noise spoke, the most frequent first."""
    failed = [one for verdict in invalid for one in verdict.findings if one.state is State.FAIL]
    found = Counter(short(one) for one in failed if one.severity is Severity.INVALIDATES)
    return "no run was left alone: " + ", ".join(name for name, _ in found.most_common(MOST_PARTS))


def _amount(one: Estimate) -> str:
    """`49.9 MB/s (95 % interval 49.8 MB/s to 50.0 MB/s)`."""
    interval = show_range(one.low, one.high, one.unit) if one.low is not None else ""
    return show(one.value, one.unit) + (f" ({percent(one.confidence)} interval {interval})" if interval else "")


def _range(found: Sequence[Estimate], where: str) -> str:
    """From the smallest to the largest of several, with the hull of their intervals."""
    span = show_range(found[0].value, found[-1].value, found[0].unit)
    lows, highs = [one.low for one in found if one.low is not None], [one.high for one in found if one.high is not None]
    sure = f"{percent(found[0].confidence)} intervals from {show_range(min(lows), max(highs), found[0].unit)}" if lows else ""
    return span + (f" {where}" if where else "") + (f" ({sure})" if sure else "")


# --------------------------------------------------------------------------------------------- the decision


def _decided(results: Results, measure: Measure) -> Iterator[str]:
    """Requirements, up to where they are kept, break-even and saturation, a sentence each."""
    yield from _required(results)
    yield from (_worded(results, one) for one in results.scaling if one.kind is ScalingKind.OBJECTIVE and one.at is not None)
    for one in results.scaling:
        what = one.factor.rpartition(".")[2]
        if one.kind is ScalingKind.BREAK_EVEN and one.measure == measure.name:
            yield _evened(results, one, what)
        elif one.kind is ScalingKind.SATURATION and one.at is not None and not _covers(one):
            yield _worded(results, one)


def _evened(results: Results, one: Scaling, what: str) -> str:
    """Where the order of the two changes, or that it does not."""
    if one.at is not None and _covers(one):
        return f"no break-even can be told from noise between {one.lowest:g} and {one.highest:g} {what}"
    if one.at is not None:
        sure = f"{percent(one.at.confidence)} interval {one.at.low:.3g} to {one.at.high:.3g}"
        return f"break-even at {one.at.value:.3g} {what} ({sure})"
    mine = [found for found in results.comparisons if found.measure == one.measure]
    apart = all(found.conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL) for found in mine)
    sides = {(found.ratio.value > 1) for found in mine if found.ratio is not None}
    if apart and len(sides) == 1:
        return f"no break-even from {one.lowest:g} to {one.highest:g} {what}: the order is the same everywhere"
    return _worded(results, one)


def _covers(one: Scaling) -> bool:
    """Whether the interval of the number is all that was measured: then nothing is known of it."""
    at = one.at
    return at is None or at.low is None or at.high is None or (at.low <= one.lowest and at.high >= one.highest)


def _worded(results: Results, one: Scaling) -> str:
    """The statement with the measure in words."""
    return _in_words(results, one.measure, one.statement)


def _in_words(results: Results, name: str, statement: str) -> str:
    """A statement with its measure in words, without the full stop."""
    measure = next((measure for measure in results.experiment.measures if measure.name == name), None)
    return (statement.replace(name, named(measure), 1) if measure else statement).rstrip(".")


def _required(results: Results) -> Iterator[str]:
    """`required of files create, operations per second, not worse than 5 %: not met at clients = 1; met at clients = 4`."""
    known = {measure.name: measure for measure in results.experiment.measures}
    for (name, text), rows in _grouped(results.requirements).items():
        states = [
            _where(state, [row for row in rows if row.state is state], alone=len({row.state for row in rows}) == 1)
            for state in reversed(RequirementState)
            if any(row.state is state for row in rows)
        ]
        title = named(known[name]) if name in known else name
        state = worst(row.verdict for row in rows).value
        yield f"required of {title}, {text}: {'; '.join(states)} [{state}]"


def _grouped(rows: Iterable[RequirementResult]) -> dict[tuple[str, str], list[RequirementResult]]:
    """The requirements by measure and text, in the experiment's order."""
    found: dict[tuple[str, str], list[RequirementResult]] = {}
    for row in rows:
        found.setdefault((row.measure, row.text), []).append(row)
    return found


def _where(state: RequirementState, rows: Sequence[RequirementResult], *, alone: bool) -> str:
    """The state, and where it holds unless it holds everywhere."""
    places = headlines.conditions([row.levels for row in rows])
    return state.value if alone or not places else f"{state.value} {places}"

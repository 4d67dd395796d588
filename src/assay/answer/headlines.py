"""The answer in sentences: for every compared measure who is better, by how much, how sure, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.answer import marks
from assay.answer.reasons import why
from assay.answer.wording import comparison
from assay.records import Comparison, Conclusion, Estimate, Experiment, Measure, Results, Value, VerdictState, worst

MOST_REASONS = 2
MOST_LINES = 8
"""So many lines of a measure are told at once; the table of comparisons has them all."""
APART = 2
"""So many undecided comparisons are told one by one, each with what could not be seen."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One sentence: several comparisons where they differ in nothing but their conditions and agree."""

    said: str
    size: str
    where: str
    sure: str
    note: str
    conclusion: Conclusion
    state: VerdictState
    why: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole sentence."""
        size = " ".join(part for part in (self.size, self.where) if part)
        sure = f" ({self.sure})" if self.sure else ""
        return f"{self.said}: {size}{sure}".rstrip(": ") + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What the experiment says of one measure."""

    title: str
    figure: str
    lines: tuple[Line, ...]

    @property
    def told(self) -> int:
        """How many of the lines are told at once; all that there are unless these are many."""
        return len(self.lines) if len(self.lines) <= MOST_LINES + 1 else MOST_LINES


def headlines(results: Results) -> tuple[Headline, ...]:
    """One for each measure that was compared, in the experiment's order."""
    return tuple(
        Headline(
            title=marks.operation(measure.workload, measure.operation), figure=marks.figure(measure.figure), lines=tuple(found)
        )
        for measure in results.experiment.measures
        if (found := list(lines(results, measure)))
    )


def lines(results: Results, measure: Measure) -> Iterable[Line]:
    """What the comparisons of one measure say, those that agree in one sentence."""
    grouped: dict[tuple[Value, str], list[Comparison]] = {}
    for one in results.comparisons:
        if one.measure == measure.name:
            grouped.setdefault((one.candidate, comparison.claim(results.experiment, one)), []).append(one)
    for same in grouped.values():
        few = same[0].conclusion is Conclusion.UNDECIDED and len(same) <= APART
        for together in ([one] for one in same) if few else (same,):
            yield _line(results, together)


def _line(results: Results, same: Sequence[Comparison]) -> Line:
    experiment = results.experiment
    parts = [comparison.sentence(experiment, one) for one in same]
    verdicts = [results.comparison_verdicts.get(one.id) for one in same]
    state = worst(verdict.state if verdict else VerdictState.UNVERIFIED for verdict in verdicts)
    causes = [
        reason
        for one, verdict in zip(same, verdicts, strict=True)
        if verdict and verdict.state is state
        for reason in why(results, one, verdict)
    ]
    first = parts[0]
    alone = len(same) == 1
    return Line(
        said=first.claim,
        size=first.size if alone else _sizes(experiment, same),
        where=conditions(experiment, [one.within for one in same]),
        sure=first.interval if alone else _spans(same),
        note="; ".join(part for part in (max(same_notes(same, parts))[1], _efficiency(same)) if part),
        conclusion=same[0].conclusion,
        state=state,
        why=tuple(dict.fromkeys(causes))[:MOST_REASONS],
    )


def same_notes(same: Sequence[Comparison], parts: Sequence[comparison.Sentence]) -> Iterable[tuple[float, str]]:
    """The notes, each with the difference that could not be seen: the largest holds for all."""
    return ((one.detectable_share or 0.0, part.note) for one, part in zip(same, parts, strict=True))


def _efficiency(same: Sequence[Comparison]) -> str:
    """The parallel efficiency; from the least to the most of several."""
    known = [(one.parallel_efficiency.value, one) for one in same if one.parallel_efficiency is not None]
    found = sorted(known, key=lambda pair: pair[0])
    if len(found) < 2:
        return comparison.efficiency(found[0][1]) if found else ""
    low, high = (comparison.round_percent(share) for share, _ in (found[0], found[-1]))
    limits = dict.fromkeys(comparison.limited(one) for _, one in found if one.limiter)
    bound = f" (not of the software alone: {'; '.join(limits)})" if limits else ""
    return f"parallel efficiency {low} to {high}, {comparison.counts(found[0][1])}{bound}"


def conditions(experiment: Experiment, places: Sequence[Mapping[str, Value]]) -> str:
    """`at clients = 1, 2 and 4`: the conditions of several comparisons, each factor once."""
    if not places[0]:
        return ""
    factors = [
        (path, list(dict.fromkeys(marks.level(experiment, path, place.get(path)) for place in places))) for path in places[0]
    ]
    whole = len(places) == _product(len(levels) for _, levels in factors)
    if whole:
        return "at " + ", ".join(f"{path} = {listed(levels)}" for path, levels in factors)
    return "at " + "; ".join(marks.levels(experiment, place) for place in places)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _product(numbers: Iterable[int]) -> int:
    made = 1
    for number in numbers:
        made *= number
    return made


def _ratios(same: Sequence[Comparison]) -> list[Estimate]:
    return [one.ratio for one in same if one.ratio is not None]


def _sizes(experiment: Experiment, same: Sequence[Comparison]) -> str:
    """`1.26 to 1.83 times the rate of ext4`."""
    found = sorted(_ratios(same), key=lambda ratio: ratio.value)
    if not found:
        return ""
    low, high = (measures.digits(end)[0] for end in (found[0], found[-1]))
    span = low if low == high else f"{low} to {high}"
    return comparison.sized(experiment, same[0], span)


def _spans(same: Sequence[Comparison]) -> str:
    """The hull of the intervals, where each has one."""
    found = _ratios(same)
    lowest = min(found, key=lambda ratio: ratio.low or 0.0, default=None)
    highest = max(found, key=lambda ratio: ratio.high or 0.0, default=None)
    if lowest is None or highest is None or any(ratio.low is None for ratio in found):
        return ""
    low, high = measures.digits(lowest)[1], measures.digits(highest)[2]
    return f"{measures.percent(found[0].confidence)} intervals from {low} to {high}"

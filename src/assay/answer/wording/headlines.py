"""Lines of the answer in words: who is better, by how much, where, how sure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.answer import marks
from assay.answer.headlines import Line
from assay.answer.reasons import Reason
from assay.answer.wording import comparison
from assay.answer.wording.labels import short
from assay.records import Comparison, Estimate, Experiment, Value


@dataclass(frozen=True, kw_only=True)
class LineText:
    """The parts of a line; `str()` joins them."""

    claim: str
    size: str
    where: str
    interval: str
    note: str
    unfiltered: str
    """The ratio that includes INVALID runs, which the table has as well."""

    def __str__(self) -> str:
        size = " ".join(part for part in (self.size, self.where) if part)
        interval = f" ({self.interval})" if self.interval else ""
        notes = "; ".join(part for part in (self.note, self.unfiltered) if part)
        return f"{self.claim}: {size}{interval}".rstrip(": ") + (f"; {notes}" if notes else "")


def line(experiment: Experiment, one: Line) -> LineText:
    """Put comparisons that agree in one sentence."""
    same = one.comparisons
    first, alone = same[0], len(same) == 1
    hardest = max(same, key=lambda each: (each.detectable_share or 0.0, comparison.undecided_for(each)))
    notes = (comparison.undecided_for(hardest), _efficiency(same))
    return LineText(
        claim=comparison.claim(experiment, first),
        size=comparison.size(experiment, first) if alone else _sizes(experiment, same),
        where=conditions(experiment, [each.within for each in same]),
        interval=comparison.interval(first) if alone else _spans(same),
        note="; ".join(part for part in notes if part),
        unfiltered=comparison.unfiltered(hardest),
    )


def reason(one: Reason) -> str:
    """`interval too wide (S02)`, `3 of 8 runs TAINTED: CPU contention (N02)`."""
    words = short(one.cause) if one.cause else ""
    if one.state is None:
        return words
    return f"{one.runs} of {one.of} runs {one.state.value}" + (f": {words}" if words else "")


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

"""What the comparisons of every measure come to: those that agree are one line, with the worst of their verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from assay.answer.doubts import Cause, Reason, cause, why
from assay.frozen import dataclass
from assay.measures.figures import Better, figure_kind
from assay.records import Comparison, Conclusion, Finding, Measure, Results, Severity, State, Value, VerdictState, worst
from assay.rulekit.contrasts import differs

MOST_REASONS = 2
MOST_LINES = 8
"""So many lines of a measure are shown at once; the table of comparisons has them all."""
APART = 2
"""So many undecided comparisons are listed one by one, each with what could not be seen."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """Comparisons that differ in nothing but their conditions and agree."""

    comparisons: tuple[Comparison, ...]
    state: VerdictState
    """The worst of their verdicts."""
    reasons: tuple[Reason, ...]
    unlike: Cause | None = None
    """Why the arms cannot be compared by this measure; None where they can."""

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion of all."""
        return self.comparisons[0].conclusion

    @property
    def effect(self) -> float:
        """The largest ratio of them, upwards or downwards, on the logarithmic scale."""
        ratios = (one.ratio.value for one in self.comparisons if one.ratio is not None and one.ratio.value > 0)
        return max((abs(math.log(ratio)) for ratio in ratios), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What the experiment says of one measure."""

    measure: Measure
    lines: tuple[Line, ...]

    @property
    def shown(self) -> int:
        """How many of the lines are shown at once; all that there are unless these are many."""
        return len(self.lines) if len(self.lines) <= MOST_LINES + 1 else MOST_LINES


def headlines(results: Results) -> tuple[Headline, ...]:
    """One for each measure that was compared, in the experiment's order."""
    found = ((measure, tuple(lines(results, measure))) for measure in results.experiment.measures)
    return tuple(Headline(measure=measure, lines=_weighed(measure, mine)) for measure, mine in found if mine)


def _weighed(measure: Measure, mine: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines as they come; of more than are shown at once the weightiest first, so that the least are folded."""
    if len(mine) <= MOST_LINES + 1:
        return mine
    return tuple(sorted(mine, key=lambda line: weight(line, measure)))


def weight(line: Line, measure: Measure) -> tuple[int, bool, float]:
    """Sorts lines: what matters comes first, then who is better, then the largest effect."""
    return list(Conclusion).index(line.conclusion), not is_better(line.comparisons[0], measure.figure), -line.effect


def lines(results: Results, measure: Measure) -> Iterator[Line]:
    """What the comparisons of one measure say, those that agree in one line."""
    grouped: dict[tuple[Value, Value, Conclusion, bool | None, bool | None], list[Comparison]] = {}
    for one in results.comparisons:
        if one.measure == measure.name:
            key = (one.baseline, one.candidate, one.conclusion, *direction(one, measure.figure))
            grouped.setdefault(key, []).append(one)
    for same in grouped.values():
        few = same[0].conclusion is Conclusion.UNDECIDED and len(same) <= APART
        for together in ([one] for one in same) if few else (same,):
            yield _line(results, together)


def direction(one: Comparison, figure: str) -> tuple[bool | None, bool | None]:
    """Whether the candidate is above the baseline, and better; None, None where no direction is claimed."""
    open_ = one.conclusion is Conclusion.EQUIVALENT or (one.conclusion is Conclusion.UNDECIDED and not differs(one))
    return (None, None) if open_ else (is_above(one), is_better(one, figure))


def is_above(one: Comparison) -> bool:
    """Tell whether the candidate's figure is the larger one."""
    return one.ratio is not None and one.ratio.value > 1


def is_better(one: Comparison, figure: str) -> bool | None:
    """Tell whether the candidate's figure is the better one; None where the figure has no better side."""
    kind = figure_kind(figure)
    return None if kind is None else is_above(one) == (kind.better is Better.HIGHER)


def _line(results: Results, same: Sequence[Comparison]) -> Line:
    verdicts = [results.comparison_verdicts.get(one.id) for one in same]
    state = worst(verdict.state if verdict else VerdictState.UNVERIFIED for verdict in verdicts)
    causes = [
        reason
        for one, verdict in zip(same, verdicts, strict=True)
        if verdict and verdict.state is state
        for reason in why(results, one, verdict)
    ]
    refused = (cause(one) for verdict in verdicts if verdict for one in verdict.findings if refuses(one))
    reasons = tuple(dict.fromkeys(causes))[:MOST_REASONS]
    return Line(comparisons=tuple(same), state=state, reasons=reasons, unlike=next(refused, None))


def refuses(finding: Finding) -> bool:
    """Whether a finding says that two arms have nothing in common that the measure could compare."""
    failed = (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    return failed and finding.part == "comparability"


# --------------------------------------------------------------------------------------------- the levels ahead


def leaders(results: Results, measure: Measure) -> tuple[Value, ...]:
    """Give the levels ahead under all conditions, the best first; none where conditions disagree or no level is behind."""
    found = [one.leaders for one in results.rankings if one.measure == measure.name]
    return found[0] if found and all(set(one) == set(found[0]) for one in found) else ()

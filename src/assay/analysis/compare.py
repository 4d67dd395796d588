"""Candidate against baseline: the ratio with its interval, and one of four conclusions.

Levels that the schedule mixes within blocks are compared in pairs, block by block; levels that a person changed by hand
stand in sittings of their own and are compared unpaired. All contrasts of an experiment are tested together, so a
difference must also hold among them (`together`).

The geometric mean stands for the runs of an arm by default: noise multiplies, and rates and times are ratios. Shares and counts
are totals, for which Fieller's interval holds; a file can ask for either, or for the median (`summary = "median"`): in pairs by
order statistics, from six pairs on; apart, by a bootstrap of whole runs, from twenty runs on. Where an interval cannot be had,
nothing is decided.

Where runs carry bounds, the range of what is true decides, and not the interval of what was measured: by the worst case of both
arms, pair by pair. The candidate's lower bound over the baseline's upper one begins it, the other two end it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from assay.analysis.cells import Ends, any_bounded, enough_clean, known_bounds, summary_of, why_noisy
from assay.analysis.together import Tested, corrected, with_effects
from assay.frozen import dataclass, field
from assay.records import (
    Bound,
    Cell,
    Change,
    Comparison,
    Conclusion,
    Estimate,
    Exclusion,
    ExclusionReason,
    Experiment,
    Factor,
    Judged,
    Method,
    Pairs,
    Summary,
)
from assay.rulekit.chronology import in_order
from assay.rulekit.preparations import means, preparation, sample
from assay.statistics.contrast import (
    Contrast,
    fieller,
    four_way,
    interval,
    p_of_one,
    p_value,
    paired_ratio,
    resampled_p,
    resampled_ratio,
    welch_ratio,
)
from assay.statistics.intervals import LEAST, median_interval, sign_test
from assay.statistics.least_squares import correlation
from assay.statistics.partial_identification import Side, between
from assay.statistics.signed_ranks import typical_ratio
from assay.statistics.significance import LEVEL

WIDE, NARROW = 1 - LEVEL, 1 - 2 * LEVEL
Key = tuple[int, int]
"""Sitting and block."""
SEPARATION = 0.6
"""Correlation of arm with place in time above which the arms stood apart. Whole blocks of two arms reach 0.45 at most
(two blocks in the same order), A A A B B B reaches 0.88."""


Edges = tuple[float, float]
METHODS = {
    (Summary.GEOMETRIC, True): Method.PAIRED_GEOMETRIC,
    (Summary.GEOMETRIC, False): Method.UNPAIRED_GEOMETRIC,
    (Summary.TOTAL, True): Method.PAIRED_TOTALS,
    (Summary.TOTAL, False): Method.UNPAIRED_TOTALS,
    (Summary.MEDIAN, True): Method.PAIRED_MEDIANS,
    (Summary.MEDIAN, False): Method.UNPAIRED_MEDIANS,
}
"""By summary, and whether the arms are paired."""


@dataclass(frozen=True, kw_only=True)
class ArmPair:
    """The two cells of a comparison with the runs they stand on."""

    factor: Factor
    baseline: Cell
    candidate: Cell
    runs: Mapping[str, Judged]
    summary: Summary
    pairs: Pairs = Pairs.BASELINE


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The ratio of two arms; both intervals on the scale of logarithms, None where there is none."""

    value: float
    wide: Edges | None
    narrow: Edges | None
    p_value: float | None


@dataclass(frozen=True, kw_only=True)
class Contrasts:
    """Contrasts of two arms: one, or one for each baseline sitting where there are several."""

    contrasts: tuple[Contrast, ...]
    values: tuple[tuple[Sequence[float], Sequence[float]], ...] = ()
    """Of each contrast those of baseline and candidate, pairs in the same order."""
    paired: bool
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)


def comparisons(experiment: Experiment, cells: Sequence[Cell], runs: Sequence[Judged]) -> tuple[Comparison, ...]:
    """All comparisons of the factor that the experiment compares; none where it compares nothing.

    The order that counts is the one in which the runs were made, and they carry their trials.
    """
    by_id = {judged.id: judged for judged in runs}
    tests = [tested(arms, experiment.matters_share) for arms in pairs_of_cells(experiment, cells, by_id)]
    return tuple(
        with_effects(one, own.contrasts) for one, own in zip(corrected(tests, experiment.decides_by), tests, strict=True)
    )


def pairs_of_cells(experiment: Experiment, cells: Sequence[Cell], runs: Mapping[str, Judged]) -> Iterator[ArmPair]:
    """Each cell at a later level of the compared factor with the cells at its baselines, other levels being equal.

    Only measures that the question is about: what stands below the clients is a limit of theirs.
    """
    factor = next((factor for factor in experiment.factors if factor.path == experiment.compare), None)
    summaries_of = {measure.name: summary_of(measure) for measure in experiment.compared_measures()}
    at = {(cell.measure, frozenset(cell.levels.items())): cell for cell in reversed(cells)}
    for cell in cells if factor else ():
        assert factor is not None
        if cell.levels.get(factor.path) not in factor.levels or cell.measure not in summaries_of:
            continue
        for level in experiment.baselines(factor, cell.levels[factor.path]):
            levels = {**cell.levels, factor.path: level}
            base = at.get((cell.measure, frozenset(levels.items())))
            if base is not None:
                summary = summaries_of[cell.measure]
                arms = ArmPair(factor=factor, baseline=base, candidate=cell, runs=runs, summary=summary, pairs=experiment.pairs)
                yield arms if factor.change is Change.MANUAL else on_clean_pairs(arms)


def on_clean_pairs(arms: ArmPair) -> ArmPair:
    """The arms with the pairs that noise left alone in both runs, where these are enough; else with all runs, disturbed or not.

    Each cell leaves its own disturbed runs out, but those of two arms are seldom of the same blocks.
    """
    whole = [with_runs(cell, arms.runs, {ExclusionReason.NOISE}) for cell in (arms.baseline, arms.candidate)]
    first, second = (by_block(cell.values, arms.runs) for cell in whole)
    noisy = {
        run: why
        for cell in whole
        for run in cell.values
        if (why := why_noisy(arms.runs[run].verdicts.get(cell.measure))) is not None
    }
    pairs = [(first[key][0], second[key][0]) for key in first if key in second]
    clean = [pair for pair in pairs if noisy.keys().isdisjoint(pair)]
    if not noisy or not enough_clean(len(clean), len(pairs)):
        return replace(arms, baseline=whole[0], candidate=whole[1])
    baseline, candidate = (without(cell, noisy) for cell in whole)
    return replace(arms, baseline=baseline, candidate=candidate)


def without(cell: Cell, noisy: Mapping[str, Exclusion]) -> Cell:
    """The cell without its disturbed runs."""
    left_out = {run: why for run, why in noisy.items() if run in cell.values}
    kept = {run: value for run, value in cell.values.items() if run not in left_out}
    return replace(cell, values=kept, excluded={**cell.excluded, **left_out})


def tested(arms: ArmPair, matters_share: float) -> Tested:
    """One comparison with the values by block on which it stands."""
    first, second = (by_block(cell.values, arms.runs) for cell in (arms.baseline, arms.candidate))
    baseline, candidate = (
        of_preparations([key for key in one if key in other or not is_duet(arms)], one, arms)
        for one, other in ((first, second), (second, first))
    )
    found = replace(compare(arms, matters_share), unfiltered=unfiltered(arms, matters_share))
    return Tested(
        comparison=found,
        factor=arms.factor,
        baseline=baseline,
        candidate=candidate,
        summary=arms.summary,
        contrasts=[one for one in contrast(arms).contrasts if one.n],
    )


def unfiltered(arms: ArmPair, matters_share: float) -> Estimate | None:
    """The ratio with the runs that rules left out counted in; None where there are none."""
    reasons = {why.reason for cell in (arms.baseline, arms.candidate) for why in cell.excluded.values() if why.measured}
    baseline, candidate = (with_runs(cell, arms.runs, reasons) for cell in (arms.baseline, arms.candidate))
    if (baseline.values, candidate.values) == (arms.baseline.values, arms.candidate.values):
        return None
    return compare(replace(arms, baseline=baseline, candidate=candidate), matters_share).ratio


def with_runs(cell: Cell, runs: Mapping[str, Judged], reasons: Container[ExclusionReason]) -> Cell:
    """The cell with the values of the runs that are excluded for these reasons, as far as they have one."""
    verdicts = {run: runs[run].verdicts.get(cell.measure) for run, why in cell.excluded.items() if why.reason in reasons}
    known = {run: verdict.value for run, verdict in verdicts.items() if verdict is not None and verdict.value is not None}
    excluded = {run: why for run, why in cell.excluded.items() if run not in known}
    return replace(cell, values={**cell.values, **known}, excluded=excluded)


def compare(arms: ArmPair, matters_share: float) -> Comparison:
    """One comparison, not yet corrected for the others."""
    cell, path = arms.candidate, arms.factor.path
    outcome = contrast(arms)
    positive = [found for found in outcome.contrasts if found.n]
    ratio, conclusion = conclude(positive, method_of(arms, paired=outcome.paired), matters_share)
    p = max((p_value(found) for found in positive), default=None)
    if positive and arms.summary is not Summary.GEOMETRIC:
        ratio, conclusion, p = summarised(arms, outcome, matters_share)
    worst = None if ratio is None else worst_case(arms)
    if ratio is not None and worst is not None:
        ratio, conclusion = ranged(ratio, worst, matters_share)
        p = worst.p_value
    return Comparison(
        measure=cell.measure,
        factor=path,
        baseline=arms.baseline.levels[path],
        candidate=cell.levels[path],
        within={name: level for name, level in cell.levels.items() if name != path},
        ratio=ratio,
        conclusion=conclusion,
        matters_share=matters_share,
        detectable_share=None,
        provable_share=None,
        of_every_pair=arms.pairs is Pairs.ALL,
        baseline_sittings=max(1, len(positive)),
        interleaved=arms.factor.change is Change.AUTOMATIC and is_interleaved(*counted_runs(arms)),
        excluded={**arms.baseline.excluded, **cell.excluded, **outcome.excluded},
        p_value=p,
        typical=typical(arms, outcome) if worst is None else None,
        has_zero=bool(arms.baseline.values and cell.values) and not all_positive(arms),
    )


def typical(arms: ArmPair, outcome: Contrasts) -> Estimate | None:
    """The ratio of the typical pair; None of few pairs, and of arms that were measured apart."""
    if not outcome.paired or not outcome.contrasts or arms.summary is not Summary.GEOMETRIC:
        return None
    baseline, candidate = outcome.values[0]
    found = typical_ratio(baseline, candidate, WIDE)
    if found is None:
        return None
    value, low, high = found
    return Estimate(value=value, low=low, high=high, confidence=WIDE, unit="ratio", n=len(baseline), method=Method.SIGNED_RANKS)


def method_of(arms: ArmPair, *, paired: bool) -> Method:
    """The method of a ratio of geometric means."""
    if paired and is_duet(arms):
        return Method.PAIRED_PREPARATIONS
    return METHODS[Summary.GEOMETRIC, paired]


def is_duet(arms: ArmPair) -> bool:
    """Whether the runs are slices of preparations."""
    return any(arms.runs[run].run.trial.preparation is not None for run in arms.candidate.values)


def counted_runs(arms: ArmPair) -> tuple[list[Judged], list[Judged]]:
    """The runs that count in the two arms."""
    return [arms.runs[run] for run in arms.baseline.values], [arms.runs[run] for run in arms.candidate.values]


def is_interleaved(baseline: Sequence[Judged], candidate: Sequence[Judged]) -> bool:
    """Whether the runs of two arms were mixed in the order in which they were started; two runs or fewer always are."""
    started = in_order((*baseline, *candidate))
    if len(started) < 3 or not baseline or not candidate:
        return True
    places, first = [float(place) for place in range(len(started))], {one.id for one in baseline}
    return abs(correlation(places, [float(one.id not in first) for one in started])) <= SEPARATION


def contrast(arms: ArmPair) -> Contrasts:
    """The contrast of two arms: paired by block, or unpaired where a person changed the level by hand."""
    if not all_positive(arms):
        return Contrasts(contrasts=(), paired=True)
    if arms.factor.change is Change.MANUAL:
        return apart(arms)
    return paired(arms)


def all_positive(arms: ArmPair) -> bool:
    """Whether every value of both arms is above 0, as a ratio needs it."""
    return all(value > 0 for cell in (arms.baseline, arms.candidate) for value in cell.values.values())


def paired(arms: ArmPair) -> Contrasts:
    """Pairs of runs of the same block of the same sitting; a run without a partner does not count."""
    first, second = by_block(arms.baseline.values, arms.runs), by_block(arms.candidate.values, arms.runs)
    both = [key for key in first if key in second]
    lonely = {
        run: Exclusion(reason=ExclusionReason.NO_PARTNER)
        for one, other in ((first, second), (second, first))
        for key, (run, _) in one.items()
        if key not in other
    }
    baseline, candidate = (list(of_preparations(both, one, arms).values()) for one in (first, second))
    found = (paired_ratio(baseline, candidate),) if both else ()
    return Contrasts(contrasts=found, values=((baseline, candidate),), paired=True, excluded=lonely)


def by_block(values: Mapping[str, float], runs: Mapping[str, Judged]) -> dict[Key, tuple[str, float]]:
    """Sitting and block -> run and value."""
    return {(runs[run].run.trial.sitting, runs[run].run.trial.block): (run, value) for run, value in values.items()}


def of_preparations(blocks: Sequence[Key], one: Mapping[Key, tuple[str, float]], arms: ArmPair) -> dict[Key, float]:
    """Block -> value, of one arm; in a duet sitting and preparation -> the mean of its slices."""
    return means((preparation(arms.runs[one[key][0]].run.trial, key), one[key][1]) for key in blocks)


def apart(arms: ArmPair) -> Contrasts:
    """The candidate against each baseline sitting by itself, so that a drift between sittings widens the interval."""
    sittings: dict[int, dict[str, float]] = {}
    for run, value in arms.baseline.values.items():
        sittings.setdefault(arms.runs[run].run.trial.sitting, {})[run] = value
    baselines = [sample(values, arms.runs) for _, values in sorted(sittings.items())]
    candidate = sample(arms.candidate.values, arms.runs)
    found = tuple(welch_ratio(values, candidate) for values in baselines) if candidate else ()
    both = tuple((values, candidate) for values in baselines)
    return Contrasts(contrasts=found, values=both, paired=False)


def conclude(contrasts: Sequence[Contrast], method: Method, matters_share: float) -> tuple[Estimate | None, Conclusion]:
    """The ratio with the interval that holds those of all contrasts, and the conclusion from it."""
    if not contrasts:
        return None, Conclusion.UNDECIDED
    n = min(found.n for found in contrasts)
    value = math.exp(sum(found.difference for found in contrasts) / len(contrasts))
    enough = n >= LEAST and min(found.degrees for found in contrasts) > 0
    edges = (hull(contrasts, WIDE), hull(contrasts, NARROW)) if enough else (None, None)
    return decided(value, edges, (n, method), matters_share)


def summarised(arms: ArmPair, outcome: Contrasts, matters_share: float) -> tuple[Estimate, Conclusion, float | None]:
    """The same for totals and medians, whose intervals are other ones."""
    found = joined([summary_ratio(arms.summary, *both, paired=outcome.paired) for both in outcome.values])
    n = min(contrast.n for contrast in outcome.contrasts)
    edges = (found.wide, found.narrow) if n >= LEAST else (None, None)
    return *decided(found.value, edges, (n, METHODS[arms.summary, outcome.paired]), matters_share), found.p_value


def decided(
    value: float, edges: tuple[Edges | None, Edges | None], how: tuple[int, Method], matters_share: float
) -> tuple[Estimate, Conclusion]:
    """The ratio and the conclusion from its wide and its narrow interval (logarithms); undecided without them."""
    (wide, narrow), (n, method) = edges, how
    low, high = (math.exp(wide[0]), math.exp(wide[1])) if wide else (None, None)
    ratio = Estimate(value=value, low=low, high=high, confidence=WIDE, unit="ratio", n=n, method=method)
    return ratio, four_way(wide, narrow, matters_share) if wide and narrow else Conclusion.UNDECIDED


# ------------------------------------------------------------------------------------------- the range of what is true


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The range of a ratio by the bounds of the runs, on the scale of logarithms: wide and narrow; an open end is infinite."""

    wide: Edges
    narrow: Edges
    p_value: float
    """The largest probability, over what may be true, of so large a difference where there is none."""


def worst_case(arms: ArmPair) -> WorstCase | None:
    """The worst case of both arms; None where no run has a bound, or one needs it and has none."""
    cells = (arms.baseline, arms.candidate)
    verdicts = [{run: verdict for run in cell.values if (verdict := arms.runs[run].verdicts.get(cell.measure))} for cell in cells]
    both = [*zip(cells, verdicts, strict=True)]
    baseline, candidate = (known_bounds(cell.values, mine) for cell, mine in both)
    if baseline is None or candidate is None or not any(any_bounded(cell.values, mine) for cell, mine in both):
        return None
    low, high = (at_ends(arms, (baseline, candidate), side) for side in (0, 1))
    ranges = [[range_between(*ends, level) for ends in zip(low, high, strict=True)] for level in (WIDE, NARROW)]
    if not low:
        return None
    wide, narrow = ((min(first for first, _ in each), max(last for _, last in each)) for each in ranges)
    return WorstCase(wide=wide, narrow=narrow, p_value=max(p_between(*ends) for ends in zip(low, high, strict=True)))


def at_ends(arms: ArmPair, ends: Sequence[Mapping[str, Ends]], side: int) -> list[Contrast | None]:
    """The contrasts with the candidate at one side of its bounds and the baseline at the other; None where one is open."""
    moved = [
        replace(cell, values={run: mine[run][at] for run in cell.values})
        for cell, mine, at in zip((arms.baseline, arms.candidate), ends, (1 - side, side), strict=True)
    ]
    known = [one for cell in moved for one in cell.values.values()]
    if not all(math.isfinite(one) and one > 0 for one in known):
        return [None] * len(contrast(arms).contrasts)
    return list(contrast(replace(arms, baseline=moved[0], candidate=moved[1])).contrasts)


def range_between(low: Contrast | None, high: Contrast | None, confidence: float) -> Edges:
    """The range between two contrasts; a side without one is open."""
    sides = [
        Side(mean=one.difference, error=one.standard_error) if one is not None else Side(mean=open_end, error=0.0)
        for one, open_end in ((low, -math.inf), (high, math.inf))
    ]
    freedom = min((one.degrees for one in (low, high) if one is not None), default=0.0)
    return between(sides[0], sides[1], freedom, confidence) if freedom > 0 else (sides[0].mean, sides[1].mean)


def p_between(low: Contrast | None, high: Contrast | None) -> float:
    """The p-value of the end that is nearer to no difference; 1 where no difference lies between both."""
    if low is not None and low.difference > 0:
        return p_value(low)
    return p_value(high) if high is not None and high.difference < 0 else 1.0


def ranged(ratio: Estimate, worst: WorstCase, matters_share: float) -> tuple[Estimate, Conclusion]:
    """The ratio with its range, and the conclusion from that: undecided without an interval of what was measured."""
    low, high = (math.exp(end) if math.isfinite(end) else None for end in worst.wide)
    found = replace(ratio, range=Bound(low=low, high=high, unit="ratio"))
    decided = ratio.low is not None and ratio.high is not None
    return found, four_way(worst.wide, worst.narrow, matters_share) if decided else Conclusion.UNDECIDED


def hull(contrasts: Sequence[Contrast], confidence: float) -> Edges:
    """The smallest interval that holds the interval of every contrast."""
    found = [interval(contrast, confidence) for contrast in contrasts]
    return min(low for low, _ in found), max(high for _, high in found)


# ---------------------------------------------------------------------------------------- totals and medians


def summary_ratio(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> Ratio:
    """The ratio of two arms of positive values; pairs come in the same order. One run alone has a ratio and no interval."""
    totals = summary is Summary.TOTAL
    value = fmean(candidate) / fmean(baseline) if totals else middle(baseline, candidate, paired=paired)
    if min(len(baseline), len(candidate)) < 2:
        return Ratio(value=value, wide=None, narrow=None, p_value=None)
    found = [ratio_edges(summary, baseline, candidate, (level, paired)) for level in (WIDE, NARROW)]
    wide, narrow = (logs(one) for one in found)
    return Ratio(value=value, wide=wide, narrow=narrow, p_value=probability(summary, baseline, candidate, paired=paired))


def middle(baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> float:
    """The median of the ratios of pairs, or the ratio of the medians."""
    return median(ratios(baseline, candidate)) if paired else median(candidate) / median(baseline)


def ratios(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    """The ratio of each pair."""
    return [second / first for first, second in zip(baseline, candidate, strict=True)]


def ratio_edges(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], how: tuple[float, bool]) -> Edges | None:
    """The interval of the ratio at a confidence; None where there is none."""
    confidence, paired = how
    if summary is Summary.TOTAL:
        return fieller(baseline, candidate, confidence, paired=paired)
    if paired:
        return median_interval(ratios(baseline, candidate), confidence)
    return resampled_ratio(baseline, candidate, median, confidence, paired=False)


def logs(found: Edges | None) -> Edges | None:
    """An interval on the scale of logarithms; nothing at or below 0 is a ratio, there it is open."""
    if found is None:
        return None
    low, high = (math.log(edge) if edge > 0 else -math.inf for edge in found)
    return None if math.isinf(low) or math.isinf(high) else (low, high)


def probability(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> float:
    """The probability of so large a difference where there is none, by the test that the interval is made of."""
    if summary is Summary.TOTAL:
        return p_of_one(baseline, candidate, paired=paired)
    if paired:
        return sign_test([math.log(one) for one in ratios(baseline, candidate)])
    found = resampled_p(baseline, candidate, median, paired=False)
    return p_value(welch_ratio(baseline, candidate)) if found is None else found


def joined(found: Sequence[Ratio]) -> Ratio:
    """One ratio of several, with the smallest interval that holds theirs: one of a baseline's sittings each."""
    return Ratio(
        value=math.exp(fmean(math.log(one.value) for one in found)),
        wide=around([one.wide for one in found]),
        narrow=around([one.narrow for one in found]),
        p_value=None if any(one.p_value is None for one in found) else max(one.p_value or 0.0 for one in found),
    )


def around(found: Sequence[Edges | None]) -> Edges | None:
    """The hull of intervals; None where one is missing."""
    known = [one for one in found if one is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known and len(known) == len(found) else None

"""Which runs count, and the cells that they make: one measure at one combination of levels, its mean with an interval.

A run counts that finished, in its last attempt, and was not found INVALID for the measure. Runs that noise of the platform
disturbed count only where too few are clean: at least LEAST_CLEAN, and half of all, are enough.

A cell has two things, told apart: the interval of what was measured, and where runs carry bounds the range of what is true. Runs
that are left of others are no sample: what made those INVALID could have struck them, too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from assay import measures
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.records import (
    Bound,
    Cell,
    Estimate,
    Exclusion,
    ExclusionReason,
    Experiment,
    Judged,
    Measure,
    Method,
    Observations,
    Outcome,
    Plan,
    Severity,
    State,
    Summary,
    Value,
    Verdict,
    VerdictState,
    worst,
)
from assay.rulekit.preparations import sample
from assay.statistics.intervals import Mean, arithmetic_mean, geometric_mean, median_interval
from assay.statistics.partial_identification import identified
from assay.units import Unit

Load = Callable[[str], Observations]

MOST_READ = 100
"""So many runs have their evidence read for what they used: that of thousands would take longer than it is worth."""

LEAST_CLEAN = 3
"""So many runs without noise are enough, if they are half of all: fewer give no interval worth having."""

ADDITIVE = frozenset({Unit.SHARE, Unit.COUNT})
"""Figures that may be zero and are averaged as they are; all others are averaged as logarithms."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """The values of the runs that count, those of runs left out for what rules found, and why a run does not count."""

    values: Mapping[str, float]
    left_out: Mapping[str, float]
    excluded: Mapping[str, Exclusion]


def measure_of(experiment: Experiment, name: str) -> Measure:
    """The measure of this name. Raises KeyError."""
    return next(measure for measure in experiment.measures if measure.name == name)


def additive(measure: Measure) -> bool:
    """Whether the measure is averaged as it is, and not as a logarithm."""
    return measures.unit_of(measure) in ADDITIVE


def summary_of(measure: Measure) -> Summary:
    """What the file asks for, else what the unit asks for."""
    return measure.summary or (Summary.TOTAL if additive(measure) else Summary.GEOMETRIC)


def averaging(measure: Measure, values: Iterable[float]) -> Summary:
    """How these values are averaged: as they are where one is 0, for 0 has no logarithm."""
    summary = summary_of(measure)
    return Summary.TOTAL if summary is Summary.GEOMETRIC and any(value <= 0 for value in values) else summary


def at_levels(runs: Iterable[Judged], levels: Mapping[str, Value]) -> list[Judged]:
    """The runs at exactly these levels."""
    return [judged for judged in runs if dict(judged.run.trial.levels) == dict(levels)]


def count(runs: Sequence[Judged], measure: Measure, load: Load) -> Count:
    """Sort the runs of one combination of levels; nothing is left out because of its size."""
    values: dict[str, float] = {}
    left_out: dict[str, float] = {}
    noisy: dict[str, Exclusion] = {}
    excluded: dict[str, Exclusion] = {}
    last = last_attempts(runs)
    for judged in runs:
        found = why_not_run(judged, last) or value_of(judged, measure, load)
        if isinstance(found, float) and found < 0 and not additive(measure):
            found = Exclusion(reason=ExclusionReason.NOT_POSITIVE, value=found)
        if isinstance(found, Exclusion):
            excluded[judged.id] = found
            continue
        why = why_invalid(judged.verdicts.get(measure.name))
        (left_out if why else values)[judged.id] = found
        if why:
            excluded[judged.id] = why
        elif noise := why_noisy(judged.verdicts.get(measure.name)):
            noisy[judged.id] = noise
    if enough_clean_everywhere([one for one in runs if one.id in values], noisy):
        left_out |= {run: values.pop(run) for run in noisy}
        excluded |= noisy
    return Count(values=values, left_out=left_out, excluded=excluded)


def enough_clean_everywhere(runs: Iterable[Judged], noisy: Mapping[str, Exclusion]) -> bool:
    """Whether every sitting has enough undisturbed runs: one that keeps a single run shows no drift."""
    sittings: dict[int, list[bool]] = defaultdict(list)
    for judged in runs:
        sittings[judged.run.trial.sitting].append(judged.id not in noisy)
    return bool(sittings) and all(enough_clean(sum(clean), len(clean)) for clean in sittings.values())


def enough_clean(clean: int, every: int) -> bool:
    """Whether so many undisturbed runs, or pairs of runs, suffice without the disturbed ones."""
    return clean >= max(LEAST_CLEAN, every / 2)


def early(runs: Iterable[Judged]) -> list[Judged]:
    """The runs of the first blocks, at most MOST_READ; a block holds every combination once."""
    return sorted(runs, key=lambda judged: judged.run.trial.block)[:MOST_READ]


def last_attempts(runs: Iterable[Judged]) -> Mapping[int, int]:
    """Trial -> its last attempt that was not interrupted."""
    last: dict[int, int] = {}
    for judged in runs:
        if judged.run.outcome is not Outcome.INTERRUPTED:
            last[judged.run.trial.id] = max(judged.run.attempt, last.get(judged.run.trial.id, 0))
    return last


def why_not_run(judged: Judged, last: Mapping[int, int]) -> Exclusion | None:
    """Why a run does not count, whatever the measure; None where it does."""
    if judged.run.outcome is not Outcome.FINISHED:
        later = last.get(judged.run.trial.id, 0)
        return Exclusion(
            reason=ExclusionReason.OUTCOME,
            outcome=judged.run.outcome,
            error=judged.run.error or "",
            attempt=later if later > judged.run.attempt else None,
            disturbed=judged.run.started_late,
        )
    if judged.run.attempt != last[judged.run.trial.id]:
        return Exclusion(reason=ExclusionReason.REPEATED, attempt=last[judged.run.trial.id])
    return None


def value_of(judged: Judged, measure: Measure, load: Load) -> float | Exclusion:
    """The figure by the verdict, else from the evidence; why there is none, where the evidence cannot be read or lacks it."""
    verdict = judged.verdicts.get(measure.name)
    if verdict is not None:
        value = verdict.value
    else:
        try:
            figure = measures.value(judged.run, load(judged.id), measure)
        except AssayError as error:
            return Exclusion(reason=ExclusionReason.UNREADABLE, error=str(error))
        value = None if figure is None else figure.value
    if value is None:  # operations of which none succeeded have no latency, and are INVALID all the same
        return why_invalid(verdict) or Exclusion(reason=ExclusionReason.NO_FIGURE)
    return float(value)


def why_invalid(verdict: Verdict | None) -> Exclusion | None:
    """Which rules made a verdict INVALID; None where it is not."""
    if verdict is None or verdict.state is not VerdictState.INVALID:
        return None
    failed = (one for one in verdict.findings if (one.state, one.severity) == (State.FAIL, Severity.INVALIDATES))
    rules = {one.rule: one.name for one in failed}
    return Exclusion(reason=ExclusionReason.INVALID, rules=rules, disturbed=verdict.shown is not VerdictState.INVALID)


def why_noisy(verdict: Verdict | None) -> Exclusion | None:
    """Which rules found noise that counts; None where none did."""
    if verdict is None or not verdict.noise:
        return None
    return Exclusion(reason=ExclusionReason.NOISE, rules={one.rule: one.name for one in verdict.noise})


CONFIDENCE = 0.95
Levels = dict[str, Value]


def cells(experiment: Experiment, plan: Plan, runs: Sequence[Judged], load: Load, factor: float = math.inf) -> tuple[Cell, ...]:
    """The cells of all measures, in the order of the experiment and of its factors.

    `Cell.unfiltered` is the mean with the runs that rules left out counted in; `factor` how wide a range may be at most.
    """
    found = combinations(experiment, plan)
    return tuple(
        cell(measure, levels, at_levels(runs, levels), load, factor)
        for measure in experiment.measures
        for levels in found
        if levels.get("workload", measure.workload) == measure.workload
    )


def combinations(experiment: Experiment, plan: Plan) -> list[Levels]:
    """The combinations of levels that the plan has, in the order of the factors' levels."""
    found: list[Levels] = []
    for trial in plan.trials:
        if dict(trial.levels) not in found:
            found.append(dict(trial.levels))

    def place(levels: Levels) -> list[int]:
        return [factor.levels.index(levels[factor.path]) if factor.path in levels else -1 for factor in experiment.factors]

    return sorted(found, key=place)


def cell(measure: Measure, levels: Levels, runs: Sequence[Judged], load: Load, factor: float = math.inf) -> Cell:
    """The cell of one measure at one combination of levels."""
    counted = count(runs, measure, load)
    by_id = {judged.id: judged for judged in runs}
    values = sample(counted.values, by_id)
    verdicts = {judged.id: verdict for judged in runs if (verdict := judged.verdicts.get(measure.name)) is not None}
    found = estimate(measure, values)
    bounds = known_bounds(counted.values, verdicts)
    if found is not None and bounds is not None and any_bounded(counted.values, verdicts):
        sides = (sample({run: ends[side] for run, ends in bounds.items()}, by_id) for side in (0, 1))
        found = replace(found, range=range_of(measure, [*zip(*sides, strict=True)], averaging(measure, values)))
    made = Cell(
        measure=measure.name,
        levels=levels,
        estimate=found,
        values=counted.values,
        excluded=counted.excluded,
        low=min(counted.values.values(), default=None),
        high=max(counted.values.values(), default=None),
        unfiltered=estimate(measure, sample({**counted.values, **counted.left_out}, by_id)) if counted.left_out else None,
    )
    return replace(made, verdict=judged_state(made, verdicts, factor))


def judged_state(cell: Cell, verdicts: Mapping[str, Verdict], factor: float = math.inf) -> VerdictState | None:
    """The worst verdict of the runs that count, TAINTED with a range wider than a factor; survivors are UNVERIFIED at best.

    Where none counts: INVALID if one was excluded as that, else UNVERIFIED. None where no run was judged.
    """
    if not verdicts:
        return None
    if not cell.values:
        return VerdictState.INVALID if any(one.invalid for one in cell.excluded.values()) else VerdictState.UNVERIFIED
    states = [verdicts[run].shown if run in verdicts else VerdictState.UNVERIFIED for run in cell.values]
    if cell.survivors:
        states.append(VerdictState.UNVERIFIED)
    if cell.estimate is not None and cell.estimate.range is not None:
        states.append(VerdictState.TAINTED if cell.estimate.range.is_wider(factor) else VerdictState.BOUNDED)
    return worst(states)


Ends = tuple[float, float]


def known_bounds(values: Mapping[str, float], verdicts: Mapping[str, Verdict]) -> Mapping[str, Ends] | None:
    """Run -> between what its figure is true; None where one is not known to be. A side that a bound leaves open is infinite."""
    found = {run: between(value, verdicts.get(run)) for run, value in values.items()}
    known = {run: ends for run, ends in found.items() if ends is not None}
    return known if len(known) == len(found) else None


def any_bounded(values: Mapping[str, float], verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a run carries a bound."""
    return any(run in verdicts and verdicts[run].bound is not None for run in values)


def between(value: float, verdict: Verdict | None) -> Ends | None:
    """Between what the figure of a run is true: at its value where nothing is held against it; None where that is not known."""
    if verdict is None or any(one.counts and one.bound is None for one in verdict.findings):
        return None
    if verdict.bound is None:
        return (value, value) if verdict.state in (VerdictState.SOUND, VerdictState.BOUNDED) else None
    low, high = verdict.bound.low, verdict.bound.high
    return -math.inf if low is None else low, math.inf if high is None else high


def range_of(measure: Measure, bounds: Sequence[Ends], summary: Summary) -> Bound:
    """The range of what is true of the mean (or of the median), by the bounds of each run."""
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    if summary is Summary.MEDIAN:
        first, last = (median_interval(ends, CONFIDENCE) or (min(ends), max(ends)) for ends in (lows, highs))
        low, high = first[0], last[1]
    elif summary is Summary.TOTAL:
        low, high = identified(lows, highs, CONFIDENCE)
        low = low if measure.unit is not None or min(lows) < 0 else max(0.0, low)
    else:
        low, high = map(math.exp, identified([logarithm(one) for one in lows], [logarithm(one) for one in highs], CONFIDENCE))
    return Bound(
        low=None if -math.inf in lows else low,
        high=None if math.inf in highs else high,
        unit=measures.unit_of(measure),
    )


def logarithm(value: float) -> float:
    """The logarithm of a bound; that of 0 is no number, but where a range ends."""
    return math.log(value) if value > 0 else -math.inf


def estimate(measure: Measure, values: Sequence[float]) -> Estimate | None:
    """The mean of the values, or their median, with its 95 % interval (a median needs six values); None where there are none."""
    if not values:
        return None
    summary = averaging(measure, values)
    if summary is Summary.MEDIAN:
        low, high = median_interval(values, CONFIDENCE) or (None, None)
        mean, method = Mean(value=median(values), low=low, high=high, n=len(values)), Method.MEDIAN
    elif summary is Summary.TOTAL:
        mean, method = within_range(arithmetic_mean(values, CONFIDENCE), measure, values), Method.MEAN
    else:
        mean, method = geometric_mean(values, CONFIDENCE), Method.GEOMETRIC_MEAN
    return Estimate(
        value=mean.value,
        low=mean.low,
        high=mean.high,
        confidence=CONFIDENCE,
        unit=measures.unit_of(measure),
        n=mean.n,
        method=method,
    )


def within_range(mean: Mean, measure: Measure, values: Sequence[float]) -> Mean:
    """The mean with an interval that ends at 0 where the figure cannot be negative; one of a command (it has a unit) can."""
    is_free = measure.unit is not None or min(values) < 0
    return mean if is_free or mean.low is None else replace(mean, low=max(0.0, mean.low))

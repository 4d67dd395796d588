"""Why two arms differ: the part of the time of an operation that differs most, by pairs of runs, with Student's interval.

Nothing is said where the arms have no difference, where nobody looked at the threads (observer thread_states), of fewer than
three pairs, and where no part surely differs by more than a tenth of what all parts together do.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from assay import measures
from assay.analysis.cells import Load, measure_of
from assay.errors import AssayError
from assay.evidence import served, time_ladder
from assay.evidence.time_ladder import TimeLadder
from assay.frozen import dataclass
from assay.records import Cell, Comparison, Experiment, Judged, Measure, Phase, TimeDifference
from assay.rulekit.contrasts import differs
from assay.statistics.contrast import Contrast, interval

LEAST_PAIRS = 3
LEAST_PART = 0.1
"""Of the whole difference; a part that differs by less explains nothing."""
OPERATION, MB, RUN = "operation", "MB", "run"
Key = tuple[int, int]
"""Sitting and block."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one operation of a run took, or a MB, or all of it, by the states of the load's threads."""

    found: TimeLadder
    ns: float
    each: str = OPERATION

    def of(self, state: str) -> float:
        """The time in a state."""
        return self.found.share(state) * self.ns


def explained(
    experiment: Experiment, cells: Sequence[Cell], found: Sequence[Comparison], runs: Sequence[Judged], load: Load
) -> tuple[Comparison, ...]:
    """The comparisons, each with the part of the time that differs most."""
    by_id = {judged.id: judged for judged in runs}

    @functools.cache
    def spent(run: str, name: str) -> Spent | None:
        return spent_by(by_id[run], measure_of(experiment, name), load)

    def with_time(one: Comparison) -> Comparison:
        if not differs(one):
            return one
        arms = [_by_block(cells, one, level, by_id) for level in (one.baseline, one.candidate)]
        both = [(spent(arms[0][key], one.measure), spent(arms[1][key], one.measure)) for key in arms[0] if key in arms[1]]
        pairs = [(first, second) for first, second in both if first and second and first.each == second.each]
        return replace(one, time=most(pairs)) if len(pairs) >= LEAST_PAIRS else one

    return tuple(with_time(one) for one in found)


def _by_block(cells: Sequence[Cell], one: Comparison, level: object, runs: Mapping[str, Judged]) -> dict[Key, str]:
    """Sitting and block -> the run of an arm that counts."""
    levels = {**one.within, one.factor: level}
    cell = next((each for each in cells if each.measure == one.measure and each.levels == levels), None)
    counted = (run for run in (cell.values if cell else ()) if run in runs and run not in one.excluded)
    return {(runs[run].run.trial.sitting, runs[run].run.trial.block): run for run in counted}


def spent_by(judged: Judged, measure: Measure, load: Load) -> Spent | None:
    """Where the time of an operation of a run went; None where it is not known."""
    phase = measures.phase_of(judged.run, measure)
    if phase is None:
        return None
    try:
        seen = load(judged.id).on_all()
    except AssayError:
        return None
    found = time_ladder.of_phase(phase, seen)
    ns, each = _amount(phase, measure)
    return None if found is None else Spent(found=found, ns=ns, each=each)


def _amount(phase: Phase, measure: Measure) -> tuple[float, str]:
    """How long an operation took, by its number or the rate that a tool told; else a MB, else the whole run."""
    whole = float(phase.lasted_ns)
    if done := served.reported_operations(phase, measure.operation):
        return whole / done, OPERATION
    for figure, amount, each in (("ops_per_s", 1, OPERATION), ("bytes_per_s", 10**6, MB)):
        if rate := phase.values.get(f"{measure.operation}.{figure}"):
            return 1e9 * amount / rate, each
    return whole, RUN


def most(pairs: Sequence[tuple[Spent, Spent]]) -> TimeDifference | None:
    """The state whose time surely differs, and by most; None where none does."""
    whole = fmean(second.ns - first.ns for first, second in pairs)
    found = [one for one in _each(pairs, whole) if not one.low_ns <= 0 <= one.high_ns]
    worth = [one for one in found if abs(one.difference_ns) >= LEAST_PART * abs(whole)]
    return max(worth, key=lambda one: abs(one.difference_ns), default=None)


def _each(pairs: Sequence[tuple[Spent, Spent]], whole: float) -> Iterator[TimeDifference]:
    states = dict.fromkeys(part.state for pair in pairs for one in pair for part in one.found.parts)
    for state in states:
        times = [(first.of(state), second.of(state)) for first, second in pairs]
        differences = [second - first for first, second in times]
        error, n = stdev(differences) / len(pairs) ** 0.5, len(pairs)
        contrast = Contrast(difference=fmean(differences), standard_error=error, degrees=n - 1, n=n, spread=error * n**0.5)
        low, high = interval(contrast, 0.95)
        names = {name for pair in pairs for one in pair if (name := one.found.process(state))}
        yield TimeDifference(
            state=state,
            process=names.pop() if len(names) == 1 else "",
            baseline_ns=fmean(first for first, _ in times),
            candidate_ns=fmean(second for _, second in times),
            difference_ns=contrast.difference,
            low_ns=low,
            high_ns=high,
            whole_ns=whole,
            n=n,
            each=pairs[0][0].each,
        )

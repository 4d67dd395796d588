"""Finds figures that depend on the runs before them: one run changes the state in which the next one begins.

The rule takes the runs of each measure at each combination of levels in the order in which they ran, on logarithms:
- the first run against the rest, by the t test of one new value,
- the slope over the order, by its t test,
- the 95 % interval of their geometric mean.

The figure is qualified if first run or slope differ by more than `matters` of the experiment at p below `p`. The number of tests
multiplies p.
It is qualified, too, if the ends of the interval differ by more than `interval_factor`.
The statement adds runs whose rate changes inside the trial. Such a change alone may belong to the load: W02 and W03 judge it.
The wall clock was set back by `step_s` or more between two runs: a note, and the order is that of the schedule.
One arm is enough. S04 and S05 test whether the order explains the difference of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from assay import measures
from assay.catalogue import ExperimentCase, Rule
from assay.measures.text import level as level_text
from assay.records import Course, Finding, Outcome, Scope, Severity, State, Value, VerdictState
from assay.rulekit import chronology
from assay.rulekit.findings import found
from assay.statistics.contrast import Contrast, interval, p_value
from assay.statistics.least_squares import trend
from assay.units import Unit

ADDITIVE = (Unit.SHARE, Unit.COUNT)
"""Units of figures that may be 0 and have no ratios."""
LEAST = 3
"""Runs of which the others than the first have a spread."""


@dataclass(frozen=True, kw_only=True)
class CellRuns:
    """The runs of one measure at one combination of levels, in order of time."""

    measure: str
    where: tuple[tuple[str, Value], ...]
    logs: tuple[float, ...]
    courses: tuple[Course, ...]

    @property
    def factor(self) -> float:
        """The upper end of the interval of the mean over the lower."""
        error = stdev(self.logs) / math.sqrt(len(self.logs))
        degrees = len(self.logs) - 1
        low, high = interval(Contrast(difference=0, standard_error=error, degrees=degrees, n=degrees + 1, spread=0), 0.95)
        return math.exp(high - low)

    @property
    def first(self) -> Contrast:
        """The first run less the mean of the others."""
        first, *rest = self.logs
        spread = stdev(rest)
        error = spread * math.sqrt(1 + 1 / len(rest))
        return Contrast(difference=first - fmean(rest), standard_error=error, degrees=len(rest) - 1, n=1, spread=spread)

    def against(self, matters: float, p: float) -> Iterator[str]:
        """What the order has to do with the values, in words."""
        if abs(math.expm1(self.first.difference)) > matters and p_value(self.first) < p:
            others = f"{math.exp(self.first.difference):.3g} times the mean of the other {len(self.logs) - 1}"
            yield f"the first run is {others} (p = {p_value(self.first):.1g})"
        slope = trend(range(len(self.logs)), self.logs)
        if slope is not None and abs(math.expm1(slope.rise)) > matters and slope.p_value < p:
            yield f"from the first to the last run {math.exp(slope.rise):.3g} times (p = {slope.p_value:.1g})"

    def inside(self) -> str:
        """How many runs change inside the trial, and by how much at most, in words; empty where none does."""
        changes = [max((each.change_share or 0 for each in one.changes), key=abs) for one in self.courses if one.changes]
        most = measures.percent(max(changes, key=abs, default=0.0))
        return f"; {len(changes)} of {len(self.logs)} runs change inside the trial, by {most} at most" if changes else ""


def series(case: ExperimentCase) -> Iterator[CellRuns]:
    """The figures with enough runs that count."""
    ordered = chronology.in_order(case.runs)
    last = {judged.run.trial.id: judged for judged in ordered if judged.run.outcome is Outcome.FINISHED}
    runs = [judged for judged in ordered if last.get(judged.run.trial.id) is judged]
    for measure in case.experiment.measures:
        kind = measures.figure_kind(measure.figure)
        if kind is not None and kind.unit in ADDITIVE:
            continue
        cells: dict[tuple[tuple[str, Value], ...], list[tuple[float, Course | None]]] = {}
        for judged in runs:
            verdict = judged.verdicts.get(measure.name)
            if verdict is None or verdict.state is VerdictState.INVALID or verdict.value is None or verdict.value <= 0:
                continue
            where = tuple(judged.run.trial.levels.items())
            cells.setdefault(where, []).append((math.log(verdict.value), judged.courses.get(measure.name)))
        for where, known in cells.items():
            if len(known) >= LEAST:
                logs, courses = zip(*known, strict=True)
                yield CellRuns(measure=measure.name, where=where, logs=logs, courses=tuple(filter(None, courses)))


def applies(case: ExperimentCase) -> str | None:
    """Experiments with a figure of three runs, or with a clock that was set back."""
    return None if any(series(case)) or set_back(case) else f"no figure has {LEAST} runs that count"


def set_back(case: ExperimentCase) -> str:
    """Say that the wall clock was set back between two runs; empty where it was not."""
    step_s = chronology.set_back_s(judged.run for judged in case.runs)
    if step_s < case.thresholds["step_s"]:
        return ""
    return f" The wall clock was set back by at least {step_s:.3g} s between two runs; the order is that of the schedule."


def check(case: ExperimentCase) -> Finding:
    """Fail where the order of the runs, or what nobody knows, moves a figure by more than its interval may hide."""
    every = list(series(case))
    p = case.thresholds["p"] / max(1, 2 * len(every))
    held = {place: tuple(one.against(case.experiment.matters_share, p)) for place, one in enumerate(every)}
    failed = [one for place, one in enumerate(every) if held[place] or one.factor > case.thresholds["interval_factor"]]
    step = set_back(case)
    if not failed:
        statement = f"{len(every)} figures: the order of the runs changes none.{step}"
        if step:
            label = "measured while the wall clock was set back"
            return found(RULE, case, State.FAIL, statement, severity=Severity.NOTES, relabel=label)
        return found(RULE, case, State.PASS, statement)
    worst = max(failed, key=lambda one: one.factor)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{in_words(case, worst, held[every.index(worst)])}{more(failed, worst)}{step}",
        observed={name: max(one.factor for one in failed if one.measure == name) for name in names(failed)},
    )


def names(failed: Sequence[CellRuns]) -> tuple[str, ...]:
    """The measures of these series, each once."""
    return tuple(dict.fromkeys(one.measure for one in failed))


def in_words(case: ExperimentCase, one: CellRuns, held: Sequence[str]) -> str:
    """What is held against one figure."""
    at = ", ".join(f"{path} = {level_text(case.experiment, path, level)}" for path, level in one.where)
    at = f" at {at}" if at else ""
    limit = f" (limit {case.thresholds['interval_factor']:.3g})" if one.factor > case.thresholds["interval_factor"] else ""
    spread = f"95 % interval over a factor of {one.factor:.3g}{limit}"
    unexplained = () if held else ("the order of the runs does not explain it",)
    return f"{one.measure}{at}: {'; '.join((*held, spread, *unexplained))}{one.inside()}."


def more(failed: Sequence[CellRuns], worst: CellRuns) -> str:
    """Name the other measures."""
    others = [name for name in names(failed) if name != worst.measure]
    return f" Also: {', '.join(others)}." if others else ""


RULE = Rule(
    id="S14",
    name="depends-on-history",
    scope=Scope.EXPERIMENT,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="runs disagree",
    applies=applies,
    check=check,
    wrong="Each trial creates 10,000 files and removes them. The first one makes 28,763 files a second, the next four 2,000 "
    "each, since the file system remembers the deleted ones. The mean of five, 3,700, is a rate that no run had.",
    alternatives=(
        "A neighbour worked during some of the runs (N02, N03). Then other experiments at that time have the same course.",
        "The first run warmed something for later runs: a cache, a clock rate, a server. Claim that state.",
        "ext4 without a journal passes over inodes deleted in the last minute. Target `directory` avoids it on large disks only.",
    ),
    advice="Remove noise first (N02, N03, W07). Look at the runs one by one, in order (`assay show`). Give each trial a fresh "
    "state (target `loopfs`), or wait between trials. Claim the state that production has: the first run, or the later ones.",
    sources=(
        "Linux fs/ext4/ialloc.c, recently_deleted(): 60 s, and 360 s while the block is dirty, without a journal only",
        "Montgomery, Peck, Vining, Introduction to Linear Regression Analysis: the t test of one new value",
    ),
)

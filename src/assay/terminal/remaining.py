"""How long the rest of a schedule takes: by guesses at first, then by what the finished trials of each cell took.

A trial has stages, as its news name them: set-up, quiet, each phase, drain, removal. A trial of a cell that has run takes as long
as the cell's finished trials, stage by stage. Of a cell that has not run yet the load grows with its guess, and what is around
the load takes as long as elsewhere. The less is known, the wider is the range. Pure: the time comes with each call.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from assay.terminal.courses import LATEST, Courses, Expected, Stage

REPEATED = "repeated for noise"
GUESS_SPREAD = 0.7
"""Standard deviation of the logarithm of a guess before any trial has finished: a range of 3.2 times to either side."""
DRIFT_SHARE = 0.08
"""What a mean of the past leaves open of the future."""
Z90 = 1.645
WIDEST = math.log(4)
NARROW = 1.6
"""A range whose ends are nearer is said as one time."""
OVERRUN_SHARE = 0.25
"""A stage that takes longer than it did is taken to last this part of its time more."""
MOST_REPEATS = 0.5
"""Repeats for noise take at most this share of the first attempts (laboratory/campaign.py)."""
USUAL_REPEATS = 0.1
"""The share until enough trials have run to show it."""


@dataclass(frozen=True, kw_only=True)
class TimeLeft:
    """The time that is left, in seconds: from, about, to (nine in ten)."""

    low_s: float
    value_s: float
    high_s: float

    def words(self) -> str:
        """Return `about 40 s left`, or `2 to 5 min left` while little is known; empty below a second."""
        if self.high_s < 1:
            return ""
        low, high = rounded(self.low_s), rounded(self.high_s)
        if self.high_s <= NARROW * self.low_s or low == high or self.high_s < 10:
            return f"about {rounded(max(1.0, self.value_s))} left"
        (low_number, low_unit), high_unit = low.split(), high.split()[1]
        return f"{low_number if low_unit == high_unit else low} to {high} left"


def rounded(seconds: float) -> str:
    """Return a length of time as one says it: to seconds, then fives, then minutes, then half hours."""
    if seconds < 20:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{round(seconds / 1800) / 2:g} h"


@dataclass(kw_only=True)
class Remaining:
    """The time that the rest takes, from the news of the trials so far."""

    trials: Mapping[object, Expected]
    fewest_blocks: int | None = None
    """Where a precision ends the schedule: after so many blocks at the earliest."""
    most_s: float | None = None
    """The end of a budget, from the first trial on."""
    after_s: float = 0.0
    """What is guessed to come after the last trial."""
    _done: set[object] = field(default_factory=set)
    _current: object = None
    _attempts: Counter[object] = field(default_factory=Counter)
    _course: dict[Stage, float] = field(default_factory=dict)
    _stage: Stage = ("", "", "")
    _began_s: float | None = None
    _since_s: float = 0.0
    _gaps_s: list[float] = field(default_factory=list)
    _ended_s: float | None = None
    _spent_s: list[list[float]] = field(default_factory=list)
    """Of each trial in this call its first attempt, and its repeats for noise."""
    _blocks: tuple[int, int, int] | None = None
    _told_s: float = math.inf
    """What was told in the trial that runs: nothing that it does makes the rest longer, only its end tells more."""

    def __post_init__(self) -> None:
        self._courses = Courses(guesses_s={one.cell: one.guess_s for one in self.trials.values()})

    @property
    def done(self) -> int:
        """How many trials have ended; one that is repeated has not."""
        return len(self._done)

    @property
    def number(self) -> int:
        """The place of the trial that runs, or ran last, among those that were begun; the first before any."""
        return max(1, len(self._attempts))

    @property
    def attempt(self) -> int:
        """The number of its attempt in this call."""
        return next(reversed(self._attempts.values()), 1)

    def know(self, cell: str, seconds: float) -> None:
        """Take a trial of an earlier call."""
        self._courses.add(cell, {("", "", ""): seconds})

    def take(self, now_s: float, news: Mapping[str, object]) -> None:
        """Take one record: `event`, `trial`, and within a phase `workload` and `phase`."""
        event, trial = news.get("event"), news.get("trial")
        if event in ("started", "finished", "precision", REPEATED):
            self._told_s = math.inf
        if event == "started":
            self._start(now_s, trial)
        elif event == "finished":
            self._finish(now_s, trial, failed=news.get("outcome", "finished") != "finished")
        elif event == "precision":
            self._foresee(news)
        elif event == REPEATED:
            self._done.discard(trial)
        elif self._current is not None:
            self._enter(now_s, (str(news.get("workload") or ""), str(news.get("phase") or ""), str(event)))

    def _start(self, now_s: float, trial: object) -> None:
        self._began_s = now_s if self._began_s is None else self._began_s
        if self._ended_s is not None:
            self._gaps_s.append(now_s - self._ended_s)
        self._current, self._course, self._stage = trial, {}, ("", "", "started")
        self._since_s, self._ended_s = now_s, None
        self._attempts[trial] += 1
        self._done.discard(trial)

    def _enter(self, now_s: float, stage: Stage) -> None:
        """Note the end of a stage, where this is another one."""
        if stage != self._stage:
            self._course[self._stage] = self._course.get(self._stage, 0.0) + now_s - self._since_s
            self._stage, self._since_s = stage, now_s

    def _finish(self, now_s: float, trial: object, *, failed: bool) -> None:
        self._began_s = now_s if self._began_s is None else self._began_s
        if self._current is not None:
            self._enter(now_s, ("", "", "finished"))
            took_s = sum(self._course.values())
            if self._attempts[trial] > 1 and self._spent_s:
                self._spent_s[-1].append(took_s)
            else:
                self._spent_s.append([took_s])
            cell = self._of(trial).cell
            if not failed or not self._courses.of(cell):
                self._courses.add(cell, self._course)
        self._done.add(trial)
        self._current, self._ended_s = None, now_s

    def _foresee(self, news: Mapping[str, object]) -> None:
        """Take how many blocks a precision needs: at least, about, at most."""
        found = [news.get(name) for name in ("blocks_low", "blocks", "blocks_high")]
        low, value, high = (int(one) if isinstance(one, int) else len(self.trials) for one in found)
        self._blocks = low, value, high

    def _of(self, trial: object) -> Expected:
        return self.trials.get(trial) or Expected(cell=str(trial))

    def left(self, now_s: float) -> TimeLeft:
        """Return the time that is left; while a trial runs it never rises, however long its phase or its loss takes."""
        found = self._estimate(now_s)
        if self._current is not None:
            self._told_s = min(self._told_s, found.value_s)
            found = replace(found, low_s=min(found.low_s, self._told_s), value_s=self._told_s)
        return found

    def _estimate(self, now_s: float) -> TimeLeft:
        waiting = [one for number, one in self.trials.items() if number not in self._done and number != self._current]
        if self.fewest_blocks is None:
            found = self._of_these(now_s, waiting)
        else:
            every = 1 + max((one.block for one in self.trials.values()), default=0)
            low, value, high = self._blocks or (self.fewest_blocks, self.fewest_blocks, every)
            least, about, most = (
                self._of_these(now_s, [one for one in waiting if one.block < blocks]) for blocks in (low, value, high)
            )
            found = TimeLeft(low_s=least.low_s, value_s=about.value_s, high_s=most.high_s)
        if self.most_s is None or self._began_s is None:
            return found
        end_s = max(0.0, self._began_s + self.most_s - now_s) + self.after_s
        return TimeLeft(low_s=min(found.low_s, end_s), value_s=min(found.value_s, end_s), high_s=min(found.high_s, end_s))

    def _of_these(self, now_s: float, waiting: Sequence[Expected]) -> TimeLeft:
        """Return the time for these trials, the one that runs, repeats and what comes after."""
        counts = Counter((one.cell, one.guess_s) for one in waiting)
        times = self._times(now_s)
        each = {key: self._trial_s(Expected(cell=key[0], guess_s=key[1]), times) for key in counts}
        own_s = self._current_s(now_s, times) if self._current is not None else 0.0
        rest_s = sum(number * each[key] for key, number in counts.items())
        gaps_s = fmean(self._gaps_s[-LATEST:]) * len(waiting) if self._gaps_s else 0.0
        repeats_s = self._more_s(own_s + rest_s)
        variance = self._variance(counts, each, own_s) + repeats_s**2 + (DRIFT_SHARE * rest_s) ** 2 + (2 * self.after_s) ** 2
        value_s = own_s + rest_s + gaps_s + repeats_s + self.after_s
        wide = math.exp(min(WIDEST, Z90 * math.sqrt(variance) / value_s)) if value_s else 1.0
        return TimeLeft(low_s=value_s / wide, value_s=value_s, high_s=value_s * wide)

    def _times(self, now_s: float) -> float:
        """How many times as long as guessed a trial takes before one has finished: the first one may have shown it already."""
        if self._current is None or self._courses.cells:
            return 1.0
        took_s = sum(self._course.values()) + now_s - self._since_s
        return max(1.0, (1 + OVERRUN_SHARE) * took_s / self._of(self._current).guess_s)

    def _trial_s(self, trial: Expected, times: float) -> float:
        typical = self._courses.typical(trial)
        return sum(typical.values()) if typical else times * trial.guess_s

    def _current_s(self, now_s: float, times: float) -> float:
        """Return what is left of the trial that runs."""
        expected, here_s = self._of(self._current), now_s - self._since_s
        took_s, typical = sum(self._course.values()) + here_s, self._courses.typical(self._of(self._current))
        if self._stage not in typical:
            return max(self._trial_s(expected, times) - took_s, OVERRUN_SHARE * here_s)
        later = [seconds for stage, seconds in typical.items() if stage not in self._course and stage != self._stage]
        return sum(later) + max(typical[self._stage] - here_s, OVERRUN_SHARE * here_s if here_s > typical[self._stage] else 0.0)

    def _more_s(self, first_s: float) -> float:
        """Return what repeats for noise are expected to take, of what is left of first attempts."""
        every_s, repeats_s = sum(map(sum, self._spent_s)), sum(sum(one[1:]) for one in self._spent_s)
        late = self._spent_s[-LATEST:]  # the first trials of a call are repeated most
        usual_s = 2 * (every_s - repeats_s) / max(1, len(self._spent_s)) or 1.0
        share = (sum(sum(one[1:]) for one in late) + USUAL_REPEATS * usual_s) / (sum(one[0] for one in late) + usual_s)
        return max(0.0, min(share * first_s, MOST_REPEATS * (every_s - repeats_s + first_s) - repeats_s))

    def _variance(self, counts: Mapping[tuple[str, float], int], each: Mapping[tuple[str, float], float], own_s: float) -> float:
        """Return the variance of the sum: the scatter of each cell, what its mean leaves open, and what no cell has shown."""
        scatter, spread = self._courses.scatter(), self._courses.spread_of_guesses()
        sums = [(cell, number, number * each[cell, guess_s]) for (cell, guess_s), number in counts.items()]
        if self._current is not None:
            sums.append((self._of(self._current).cell, 1, own_s))
        own, unseen_s = 0.0, 0.0
        for cell, number, sum_s in sums:
            if seen := len(self._courses.of(cell)):
                own += (scatter * sum_s) ** 2 * (1 / number + 1 / seen)
            else:
                own, unseen_s = own + (sum_s * spread) ** 2, unseen_s + sum_s
        cells = self._courses.cells
        return own + (spread * unseen_s) ** 2 / cells if cells else (GUESS_SPREAD * unseen_s) ** 2

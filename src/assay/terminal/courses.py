"""What the trials of each cell took, stage by stage, and what that tells of trials that have not run yet. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

Stage = tuple[str, str, str]
"""Workload, phase, event."""
Course = Mapping[Stage, float]
"""The seconds of each stage of a trial."""
RUNNING = "running"
LATEST = 5
"""So many finished trials of a cell count, the latest: a machine may become slower."""
CELL_CV = 0.15
"""How far the trials of a cell are taken to scatter, until the finished ones show it."""
OTHERS_SPREAD = 0.3
"""Standard deviation of the logarithm of a guess for a cell that has not run, after other cells have."""
PRIOR_FREEDOM = 2
"""Degrees of freedom that these two assumptions weigh."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is known of a trial before it runs: its cell, and how long it is guessed to take."""

    cell: str
    guess_s: float = 1.0
    block: int = 0


@dataclass(frozen=True, kw_only=True)
class Courses:
    """The courses of finished trials by their cell, and the guess of each cell."""

    guesses_s: Mapping[str, float]
    _courses: dict[str, list[Course]] = field(default_factory=lambda: defaultdict(list))

    def add(self, cell: str, course: Course) -> None:
        """Take the course of a finished trial."""
        self._courses[cell] = [*self._courses[cell], course][-LATEST:]

    def of(self, cell: str) -> tuple[Course, ...]:
        """Return the latest courses of a cell."""
        return tuple(self._courses.get(cell, ()))

    @property
    def cells(self) -> int:
        """How many cells have run."""
        return len(self._courses)

    def typical(self, trial: Expected) -> Course:
        """Return the stages of a trial as they are expected; empty before any trial has finished."""
        if own := self.of(trial.cell):
            return mean_course(own)
        if not self._courses:
            return {}
        usual_s = fmean(self.guesses_s.get(cell, trial.guess_s) for cell in self._courses)
        every = mean_course(mean_course(courses) for courses in self._courses.values())
        return {stage: seconds * (trial.guess_s / usual_s if stage[2] == RUNNING else 1) for stage, seconds in every.items()}

    def scatter(self) -> float:
        """Return the coefficient of variation of the trials of a cell, pooled over the cells."""
        squares, freedom = PRIOR_FREEDOM * CELL_CV**2, float(PRIOR_FREEDOM)
        for totals in ([sum(course.values()) for course in courses] for courses in self._courses.values()):
            mean = fmean(totals)
            squares += sum((one / mean - 1) ** 2 for one in totals) if mean and len(totals) > 1 else 0.0
            freedom += len(totals) - 1
        return math.sqrt(squares / freedom)

    def spread_of_guesses(self) -> float:
        """Return the standard deviation of the logarithms of time against guess, among the cells that have run."""
        logs = [
            math.log(max(1e-3, fmean(sum(course.values()) for course in courses)) / self.guesses_s[cell])
            for cell, courses in self._courses.items()
            if cell in self.guesses_s
        ]
        around, freedom = fmean(logs) if logs else 0.0, max(0, len(logs) - 1)
        squares = PRIOR_FREEDOM * OTHERS_SPREAD**2 + sum((one - around) ** 2 for one in logs)
        known = PRIOR_FREEDOM + freedom
        return math.sqrt(squares / known) * (1 + 1 / known)  # a spread of few cells is known badly itself


def mean_course(courses: Iterable[Course]) -> Course:
    """Return the mean of each stage, in the order in which they come; one that some trials lack counts as 0 there."""
    held = list(courses)
    names = dict.fromkeys(stage for course in held for stage in course)
    return {stage: sum(course.get(stage, 0.0) for course in held) / len(held) for stage in names}

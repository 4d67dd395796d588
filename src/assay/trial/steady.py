"""Says when a phase is steady: adds up what the clients tell of their progress on one grid of rounds. No I/O.

A phase is steady when the last five rounds meet the five-round criterion (statistics/steadiness.py) and MSER-5, asked over the
tenths of these rounds, finds no warm-up that fills half of them. The five rounds are asked and not the whole phase: their
steadiness is what is claimed, and a phase with a long warm-up should not have to run as long again for it. A false alarm of
MSER-5 costs a round more; a false calm would cost the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from assay.records import SteadyState
from assay.statistics.steadiness import ROUNDS, five_rounds, mser5
from assay.trial.protocol import ClientState, completed

CELLS = 10
"""Parts of a round in which the operations are counted."""


@dataclass(kw_only=True)
class _Course:
    """How far one client is: its operations at each edge of the grid that it has passed."""

    at_ns: int
    count: float = 0.0
    edges: list[float] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Whole rounds that it has run."""
        return len(self.edges) // CELLS


@dataclass(kw_only=True)
class SteadyWatch:
    """The clients of one phase that is to run until it is steady. Times are on the controller's clock."""

    round_ns: int
    start_ns: int
    clients: int
    rounds: int = 0
    """Whole rounds that all clients have run."""
    reached: bool = False
    _courses: list[_Course] = field(default_factory=list)
    _behind: int = 0
    """How many clients have not run the round after these."""

    def __post_init__(self) -> None:
        self._courses = [_Course(at_ns=self.start_ns) for _ in range(self.clients)]
        self._behind = self.clients

    def hear(self, clients: Mapping[int, ClientState]) -> bool:
        """Take in what some clients said last; whether the phase is steady. Once it is, nothing changes that."""
        for index, client in clients.items():
            progress = client.progress
            if progress is not None and isinstance(at_ns := progress.get("at_ns"), int):
                self.take(index, at_ns - client.offset_ns, completed(progress))
        return self.reached

    def take(self, client: int, at_ns: int, count: int) -> None:
        """A client had done so many operations at this time; between two such times it is taken to have worked evenly."""
        course = self._courses[client]
        if self.reached or at_ns <= course.at_ns:
            return
        was_behind = course.rounds <= self.rounds
        slope = (count - course.count) / (at_ns - course.at_ns)
        while (edge_ns := self.start_ns + (len(course.edges) + 1) * self.round_ns // CELLS) <= at_ns:
            course.edges.append(course.count + slope * (edge_ns - course.at_ns))
        course.at_ns, course.count = at_ns, count
        self._behind -= was_behind and course.rounds > self.rounds
        while not self._behind and not self.reached:
            self._end_round()

    def _end_round(self) -> None:
        """All clients have run a round more: ask whether they are steady."""
        self.rounds += 1
        self._behind = sum(course.rounds <= self.rounds for course in self._courses)
        self.reached = self.rounds >= ROUNDS and is_steady(self._cells())

    def _cells(self) -> list[float]:
        """What all clients did in each tenth of the last five rounds."""
        last = self.rounds * CELLS
        edges = [self._done(at) for at in range(last - ROUNDS * CELLS, last + 1)]
        return [after - before for before, after in pairwise(edges)]

    def _done(self, edge: int) -> float:
        return sum(course.edges[edge - 1] for course in self._courses) if edge else 0.0

    def state(self, t0_ns: int, stopped_ns: int | None) -> SteadyState:
        """How it ended, relative to T0; `stopped_ns`: when the clients were told to stop, None where they were not."""
        to_ns = self.start_ns + self.rounds * self.round_ns - t0_ns
        return SteadyState(
            reached=self.reached,
            round_ns=self.round_ns,
            rounds=self.rounds,
            from_ns=to_ns - ROUNDS * self.round_ns if self.reached else None,
            to_ns=to_ns if self.reached else None,
            at_ns=None if stopped_ns is None else stopped_ns - t0_ns,
        )


def is_steady(cells: list[float]) -> bool:
    """Whether five rounds of equal parts are alike, and hold no warm-up that fills half of them."""
    each = len(cells) // ROUNDS
    found = five_rounds([sum(cells[at : at + each]) for at in range(0, each * ROUNDS, each)])
    truncation = mser5(cells)
    return found is not None and found.within() and truncation is not None and not truncation.at_limit

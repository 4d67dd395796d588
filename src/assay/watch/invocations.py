"""Several calls of one tool in one command: when each ran, which figures are whose, and what they did while all ran.

/proc is polled for the calls: the first polls follow each other quickly, later ones as the budget allows. Rates that were never
seen together do not add up. The time counts in which all calls ran, each at its own even pace; rule W04 says how much of the
whole that was, and between which values the rate lies. Calls one after the other are one long call.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from assay.catalogue import Parser
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.records import OperationTotal
from assay.records.watched import Lived
from assay.watch import process_tree
from assay.watch.process_tree import Tree

MOST_LINES = 400
"""Lines of the output of several tools that are looked at: the last."""
ADDED = (".bytes", ".count", ".errors")
RATES = {"bytes_per_s": "bytes", "ops_per_s": "count"}
SLACK_NS = 20_000_000
"""Starts are known to a tick of 10 ms and may be said to be one earlier."""
SHORTEST_NS = 50_000_000
"""Of shorter calls it cannot be said which of them ran together."""
LEAST_SHARE = 0.5
"""As for a command that is one call (E05.unseen_share)."""
APART_SHARE = 0.05
"""Times that differ by more tell two calls from each other."""

Figures = Mapping[str, float]
Kind = frozenset[str]
"""The operations that a call is about by its words; empty for all."""


@dataclass(frozen=True, kw_only=True)
class CallReport:
    """What one call says; when it ran, in ns since the exec of the command."""

    values: Figures
    from_ns: int
    to_ns: int

    @property
    def operations(self) -> tuple[str, ...]:
        """What it did."""
        return tuple(dict.fromkeys(name.rpartition(".")[0] for name in self.values))

    @property
    def length_ns(self) -> int:
        """How long it ran."""
        return max(1, self.to_ns - self.from_ns)

    def rate(self, operation: str, kind: str) -> float:
        """Return its bytes or operations over its time; where it tells neither, the rate that it says."""
        amount = self.values.get(f"{operation}.{RATES[kind]}")
        return self.values[f"{operation}.{kind}"] if amount is None else amount * 1e9 / self.length_ns

    def totals(self) -> Iterator[OperationTotal]:
        """Yield what it says of each operation, over its time."""
        for operation in self.operations:
            yield OperationTotal(
                operation=operation,
                count=round(self.values.get(f"{operation}.count", 1)),
                bytes=round(self.values.get(f"{operation}.bytes", 0)),
                errors=round(self.values.get(f"{operation}.errors", 0)),
                busy_ns=self.length_ns,
                first_ns=self.from_ns,
                last_ns=self.to_ns,
            )


def reports_in(parser: Parser, text: str) -> list[Figures]:
    """Return what each of several tools says in one output, in which a parser reads the last: the output is read as it grew."""
    found: list[Figures] = []
    lines = text.splitlines(keepends=True)[-MOST_LINES:]
    former = None
    for end in range(1, len(lines) + 1):
        with contextlib.suppress(EvidenceError):
            figures = parser.parse("".join(lines[:end]))
            if figures != former:
                found.append(figures)
            former = figures
    return found


def parts(each: Sequence[Figures], kinds: Sequence[Kind], lived: Sequence[Lived]) -> tuple[CallReport, ...]:
    """Return the figures with the processes that said them, each with those operations alone that its own words are about.

    Who ran longer says the longer time. Raises EvidenceError where that tells nothing and the calls did different things.
    """
    by_length = sorted(each, key=own_ns)
    called = sorted(zip(lived, kinds, strict=True), key=lambda one: one[0].to_ns - one[0].from_ns)
    for (first, second), ((_, kind), (_, other)) in zip(pairwise(by_length), pairwise(called), strict=True):
        if kind != other and near(own_ns(first), own_ns(second)) and not alike(first, second):
            raise EvidenceError("parallel calls of different kinds: their figures cannot be assigned")
    made = (part(chosen(figures, kind), one) for figures, (one, kind) in zip(by_length, called, strict=True))
    return tuple(sorted(made, key=lambda one: one.from_ns))


def near(one: float, other: float) -> bool:
    """Return whether two numbers do not tell two calls from each other."""
    return abs(one - other) <= APART_SHARE * max(one, other)


def alike(one: Figures, other: Figures) -> bool:
    """Return whether it does not matter which of two calls said what."""
    return one.keys() == other.keys() and all(near(figure, other[name]) for name, figure in one.items())


def part(figures: Figures, one: Lived) -> CallReport:
    """Return a call with its time: as long as it says it worked, as soon after the start of its process as the end allows.

    A time that is less than half of its process's life nobody saw: then all of its life counts.
    """
    own = round(own_ns(figures))
    if not own or own < (one.to_ns - one.slack_ns - one.from_ns) * LEAST_SHARE:
        return CallReport(values=figures, from_ns=one.from_ns, to_ns=one.to_ns)
    end = min(one.to_ns, max(one.to_ns - one.slack_ns, one.from_ns + own))
    return CallReport(values=figures, from_ns=max(one.from_ns, end - own), to_ns=end)


def untracked(each: Sequence[Figures], kinds: Sequence[Kind], elapsed_ns: int) -> tuple[CallReport, ...]:
    """Calls that were gone before anybody looked, in the order of their words: each has the whole time of the command."""
    return tuple(
        CallReport(values=chosen(figures, kind), from_ns=0, to_ns=elapsed_ns) for figures, kind in zip(each, kinds, strict=True)
    )


def chosen(figures: Figures, operations: Kind) -> dict[str, float]:
    """Return the figures of these operations; all where none are named."""
    return {name: figure for name, figure in figures.items() if not operations or name.rpartition(".")[0] in operations}


def own_ns(figures: Figures) -> float:
    """Return how long a tool says that it worked; 0 where it does not."""
    return max((figure for name, figure in figures.items() if name.endswith(".elapsed_ns")), default=0.0)


def are_distinguishable(lived: Sequence[Lived]) -> bool:
    """Return whether all lived long enough to say which of them ran together."""
    return all(one.to_ns - one.from_ns >= SHORTEST_NS for one in lived)


def in_turn(each: Sequence[CallReport]) -> bool:
    """Return whether no two of them ran at the same time, as far as the clock of their starts can tell."""
    by_start = sorted(each, key=lambda one: one.from_ns)
    return all(before.to_ns <= after.from_ns + SLACK_NS for before, after in pairwise(by_start))


def summed(each: Sequence[CallReport]) -> dict[str, float]:
    """Return amounts of all, and their rates while all ran; over the whole time where they never did."""
    values: dict[str, float] = {}
    for operation in dict.fromkeys(operation for one in each for operation in one.operations):
        values |= of_operation(operation, [one for one in each if operation in one.operations])
    return values


def of_operation(operation: str, mine: Sequence[CallReport]) -> Iterator[tuple[str, float]]:
    """Yield the figures of one operation."""
    first, last = min(one.from_ns for one in mine), max(one.to_ns for one in mine)
    together = max(one.from_ns for one in mine) < min(one.to_ns for one in mine)
    for kind in ADDED:
        name = f"{operation}{kind}"
        if any(name in one.values for one in mine):
            yield name, sum(one.values.get(name, 0.0) for one in mine)
    for kind, amount in RATES.items():
        if not any(f"{operation}.{kind}" in one.values for one in mine):
            continue
        if together:
            yield f"{operation}.{kind}", sum(one.rate(operation, kind) for one in mine)
        elif all(f"{operation}.{amount}" in one.values for one in mine):
            whole = sum(one.values[f"{operation}.{amount}"] for one in mine)
            yield f"{operation}.{kind}", whole * 1e9 / max(1, last - first)
    yield f"{operation}.elapsed_ns", float(last - first)


def own_rates(each: Sequence[Figures]) -> dict[str, float]:
    """Return the sum of the rates that each says: more than all together can have done."""
    names = {name for figures in each for name in figures if name.endswith("_per_s")}
    return {name: sum(figures.get(name, 0.0) for figures in each) for name in sorted(names)}


TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
SOONEST_NS, LATEST_NS = 4_000_000, 100_000_000
GROWTH = 1.25
COST_TIMES = 1000
"""After a look that took so much of the processor, a later one comes no sooner than this many times later: 0.1 %."""
PROGRAM_WORDS = 2
"""The program is one of the first words: `dd`, `busybox dd`, `python3 smallfile_cli.py`."""


@dataclasses.dataclass
class TrackedCall:
    """One process; times are monotonic."""

    argv: tuple[str, ...]
    from_ns: int
    seen_ns: int
    gone_ns: int | None = None


@dataclasses.dataclass
class CallTracker:
    """The calls of some programs in one tree."""

    tree: Tree
    programs: frozenset[str]
    calls: dict[int, TrackedCall] = dataclasses.field(default_factory=dict)
    """By process."""
    due_ns: int = 0
    _gap_ns: int = SOONEST_NS

    def patience_s(self) -> float:
        """Return how long the next look may wait."""
        return max(0.0, (self.due_ns - time.monotonic_ns()) / 1e9)

    def look(self) -> None:
        """Look where it is time to."""
        if not self.programs or time.monotonic_ns() < self.due_ns:
            return
        began_ns, now_ns = time.thread_time_ns(), time.monotonic_ns()
        there = set(self._walk(self.tree.others(), now_ns))
        for pid, call in self.calls.items():
            if pid not in there and call.gone_ns is None:
                call.gone_ns = now_ns
        self._gap_ns = min(LATEST_NS, round(self._gap_ns * GROWTH))
        spent_ns = time.thread_time_ns() - began_ns if self._gap_ns == LATEST_NS else 0
        self.due_ns = time.monotonic_ns() + max(self._gap_ns, spent_ns * COST_TIMES)

    def lived(self, t0_ns: int, ended_ns: int) -> tuple[Lived, ...]:
        """Return all calls by their starts, relative to T0."""
        made: list[Lived] = []
        for call in sorted(self.calls.values(), key=lambda call: call.from_ns):
            start = max(0, call.from_ns - t0_ns)
            alike = max(made[0].from_ns, start - TICK_NS) if made else start
            gone = min(call.gone_ns or ended_ns, ended_ns)
            made.append(Lived(argv=call.argv, from_ns=alike, to_ns=gone - t0_ns, slack_ns=max(0, gone - call.seen_ns)))
        return tuple(made)

    def _walk(self, pids: tuple[int, ...], now_ns: int) -> Iterator[int]:
        """Yield the calls that live; what is below one is a part of it."""
        for pid in pids:
            if self._meets(pid, now_ns):
                yield pid
            else:
                yield from self._walk(process_tree.children(pid), now_ns)

    def _meets(self, pid: int, now_ns: int) -> bool:
        known = self.calls.get(pid)
        if known is not None and known.gone_ns is None:
            if process_tree.is_zombie(pid):
                return False
            known.seen_ns = now_ns
            return True
        argv = process_tree.argv_of(pid)
        if not any(posixpath.basename(word) in self.programs for word in argv[:PROGRAM_WORDS]):
            return False
        began_ns = process_tree.began_ns(pid)
        if began_ns is None:
            return False
        self.calls[pid] = TrackedCall(argv=argv, from_ns=began_ns, seen_ns=now_ns)
        return True

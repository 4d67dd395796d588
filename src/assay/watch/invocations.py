"""Meets the calls of a tool while they run in the tree: the words of each, when it began, when it was gone.

Who looks at /proc misses what is shorter than the time between two looks. So the first looks follow each other quickly, later
ones as the budget allows.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.records.watched import Lived
from assay.watch import descendants
from assay.watch.process_tree import Tree

TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
SOONEST_NS, LATEST_NS = 4_000_000, 100_000_000
GROWTH = 1.25
COST_TIMES = 1000
"""After a look that took so much of the processor, a later one comes no sooner than this many times later: 0.1 %."""
PROGRAM_WORDS = 2
"""The program is one of the first words: `dd`, `busybox dd`, `python3 smallfile_cli.py`."""


@dataclass
class Call:
    """One process; times are monotonic."""

    argv: tuple[str, ...]
    from_ns: int
    seen_ns: int
    gone_ns: int | None = None


@dataclass
class Meeting:
    """The calls of some programs in one tree."""

    tree: Tree
    programs: frozenset[str]
    calls: dict[int, Call] = field(default_factory=dict)
    """By process."""
    due_ns: int = 0
    _gap_ns: int = SOONEST_NS

    def patience_s(self) -> float:
        """How long the next look may wait."""
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
        """All calls by their starts, relative to T0."""
        made: list[Lived] = []
        for call in sorted(self.calls.values(), key=lambda call: call.from_ns):
            start = max(0, call.from_ns - t0_ns)
            alike = max(made[0].from_ns, start - TICK_NS) if made else start
            gone = min(call.gone_ns or ended_ns, ended_ns)
            made.append(Lived(argv=call.argv, from_ns=alike, to_ns=gone - t0_ns, slack_ns=max(0, gone - call.seen_ns)))
        return tuple(made)

    def _walk(self, pids: tuple[int, ...], now_ns: int) -> Iterator[int]:
        """The calls that live; what is below one is a part of it."""
        for pid in pids:
            if self._meets(pid, now_ns):
                yield pid
            else:
                yield from self._walk(descendants.children(pid), now_ns)

    def _meets(self, pid: int, now_ns: int) -> bool:
        known = self.calls.get(pid)
        if known is not None and known.gone_ns is None:
            if descendants.is_zombie(pid):
                return False
            known.seen_ns = now_ns
            return True
        argv = descendants.words(pid)
        if not any(posixpath.basename(word) in self.programs for word in argv[:PROGRAM_WORDS]):
            return False
        began_ns = descendants.began_ns(pid)
        if began_ns is None:
            return False
        self.calls[pid] = Call(argv=argv, from_ns=began_ns, seen_ns=now_ns)
        return True

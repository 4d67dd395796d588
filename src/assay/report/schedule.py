"""The schedule as it happened: each run in the row of its block, from when to when, and why it does not count."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.answer.wording.methods import exclusion
from assay.records import Judged, Results, VerdictState, worst

REASONS = 5
"""Reasons that a caption names; the table has them all."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One run: its row, from when to when (s since its row began), why it does not count for which measures."""

    judged: Judged
    row: int
    start: float
    end: float
    excluded: Mapping[str, str]
    state: VerdictState | None

    @property
    def is_hollow(self) -> bool:
        """Whether the run counts for no measure."""
        return not self.judged.verdicts or set(self.judged.verdicts) <= set(self.excluded)


def bars_of(results: Results) -> tuple[Bar, ...]:
    """The runs in rows, those of a row in the order in which they began."""
    excluded = _excluded(results)
    alone = len({block_of(judged) for judged in results.runs}) == len({judged.run.trial.id for judged in results.runs})
    rows: dict[tuple[int, int], list[Judged]] = {}
    for judged in sorted(results.runs, key=block_of):
        rows.setdefault((0, 0) if alone else block_of(judged), []).append(judged)
    longest = max(took(judged) for judged in results.runs)
    found = []
    for row, here in enumerate(rows.values()):
        in_order = sorted(here, key=lambda judged: (judged.run.started_utc, judged.id))
        for judged, start in zip(in_order, _starts(in_order, longest), strict=True):
            states = [verdict.state for verdict in judged.verdicts.values()]
            found.append(
                Bar(
                    judged=judged,
                    row=row,
                    start=start,
                    end=start + took(judged),
                    excluded=excluded.get(judged.id, {}),
                    state=worst(states) if states else None,
                )
            )
    return tuple(found)


def block_of(judged: Judged) -> tuple[int, int]:
    """Sitting and block of a run, from 0."""
    return judged.run.trial.sitting, judged.run.trial.block


def _starts(here: Sequence[Judged], longest: float) -> list[float]:
    """When each run of a row began (s since the first), long pauses cut."""
    starts = [0.0]
    for before, after in itertools.pairwise(here):
        pause = (_at(after.run.started_utc) - _at(before.run.started_utc)).total_seconds() - took(before)
        starts.append(starts[-1] + took(before) + min(max(pause, 0.0), longest))
    return starts


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def took(judged: Judged) -> float:
    """Seconds from the start to the end of a run."""
    return max(0.0, (_at(judged.run.ended_utc) - _at(judged.run.started_utc)).total_seconds())


def _excluded(results: Results) -> dict[str, dict[str, str]]:
    """Run -> measure -> why it does not count."""
    found: dict[str, dict[str, str]] = {}
    for cell in results.cells:
        for run, why in cell.excluded.items():
            found.setdefault(run, {})[cell.measure] = exclusion(why)
    return found


def reasons(results: Results, bars: Sequence[Bar]) -> list[str]:
    """`Not counted: 0009/1 (partial: client 3 was lost)`, the same reasons together."""
    found: dict[tuple[str, str], list[str]] = {}
    for bar in bars:
        by_reason: dict[str, list[str]] = {}
        for measure, why in bar.excluded.items():
            by_reason.setdefault(why, []).append(measure)
        for why, measures in by_reason.items():
            everything = len(measures) >= len(results.experiment.measures)
            where = "" if everything else f" for {measures[0]}" if len(measures) == 1 else f" for {len(measures)} measures"
            found.setdefault((why, where), []).append(bar.judged.id)
    if not found:
        return []
    said = [f"{_few(runs)}{where} ({why})" for (why, where), runs in found.items()]
    more = f"; {len(said) - REASONS} more reasons in the table" if len(said) > REASONS else ""
    return [f"Not counted: {'; '.join(said[:REASONS])}{more}."]


def _few(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= 4 else f"{', '.join(runs[:3])} and {len(runs) - 3} more"

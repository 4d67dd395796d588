"""Which runs count: those that finished, in their last attempt, and were not found INVALID for the measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.errors import AssayError
from assay.records import Experiment, Judged, Measure, Observations, Outcome, Severity, State, Value, Verdict, VerdictState
from assay.units import Unit

Load = Callable[[str], Observations]

MOST_READ = 100
"""So many runs have their evidence read for what they used: that of thousands would take longer than it is worth."""

ADDITIVE = frozenset({Unit.SHARE, Unit.COUNT})
"""Figures that may be zero and are averaged as they are; all others are averaged as logarithms."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """The values of the runs that count, the values of those found INVALID, and why a run does not count."""

    values: Mapping[str, float]
    invalid: Mapping[str, float]
    excluded: Mapping[str, str]


def measure_of(experiment: Experiment, name: str) -> Measure:
    """The measure of this name. Raises KeyError."""
    return next(measure for measure in experiment.measures if measure.name == name)


def unit_of(measure: Measure) -> Unit:
    """What the measure is counted in; no unit where its figure is an external tool's own."""
    kind = measures.figure_kind(measure.figure)
    return kind.unit if kind else Unit.NONE


def additive(measure: Measure) -> bool:
    """Whether the measure is averaged as it is, and not as a logarithm."""
    return unit_of(measure) in ADDITIVE


def at_levels(runs: Iterable[Judged], levels: Mapping[str, Value]) -> list[Judged]:
    """The runs at exactly these levels."""
    return [judged for judged in runs if dict(judged.run.trial.levels) == dict(levels)]


def count(runs: Sequence[Judged], measure: Measure, load: Load) -> Count:
    """Sort the runs of one combination of levels; nothing is left out because of its size."""
    values: dict[str, float] = {}
    invalid: dict[str, float] = {}
    excluded: dict[str, str] = {}
    last = last_attempts(runs)
    for judged in runs:
        reason = why_not_run(judged, last)
        verdict = judged.verdicts.get(measure.name)
        found = None if reason else value_of(judged, measure, load)
        if reason is None and (isinstance(found, str) or found is None):
            reason = found or "the figure could not be computed"
        if reason is None and isinstance(found, float) and found <= 0 and not additive(measure):
            reason = f"INVALID: found {found:g}; expected a number above 0"
        if reason is None and isinstance(found, float):
            reason = why_invalid(verdict)
            (invalid if reason else values)[judged.id] = found
        if reason is not None:
            excluded[judged.id] = reason
    return Count(values=values, invalid=invalid, excluded=excluded)


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


def why_not_run(judged: Judged, last: Mapping[int, int]) -> str | None:
    """Why a run does not count, whatever the measure; None where it does."""
    if judged.run.outcome is not Outcome.FINISHED:
        return f"{judged.run.outcome.value}: {judged.run.error}" if judged.run.error else judged.run.outcome.value
    if judged.run.attempt != last[judged.run.trial.id]:
        return f"repeated as attempt {last[judged.run.trial.id]}"
    return None


def value_of(judged: Judged, measure: Measure, load: Load) -> float | str | None:
    """The figure by the verdict, else from the evidence; a reason in words where the evidence cannot be read."""
    verdict = judged.verdicts.get(measure.name)
    if verdict is not None:
        return verdict.value
    try:
        figure = measures.value(judged.run, load(judged.id), measure)
    except AssayError as error:
        return str(error)
    return None if figure is None else figure.value


def why_invalid(verdict: Verdict | None) -> str | None:
    """What made a verdict INVALID, in words; None where it is not."""
    if verdict is None or verdict.state is not VerdictState.INVALID:
        return None
    failed = [
        f"{finding.name} ({finding.rule})"
        for finding in verdict.findings
        if finding.state is State.FAIL and finding.severity is Severity.INVALIDATES
    ]
    return f"INVALID: {', '.join(failed)}" if failed else "INVALID"

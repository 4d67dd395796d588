"""Slices of a duet: those of one preparation share its data, its place on the disk and the time of day, so they are one value."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from assay.records import Judged, Trial

Key = TypeVar("Key", bound=Hashable)


def sample(values: Mapping[str, float], runs: Mapping[str, Judged]) -> list[float]:
    """The values of runs as independent ones: of each preparation of a duet the mean, of other runs their own."""
    each = ((preparation(runs[run].run.trial, run), value) for run, value in values.items())
    return list(means(each).values())


def means(values: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """The mean of the values of each key: geometric, arithmetic where one is not above 0."""
    found: dict[Key, list[float]] = {}
    for key, value in values:
        found.setdefault(key, []).append(value)
    return {key: mean(each) for key, each in found.items()}


def mean(values: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one where a value is not above 0 or is no number."""
    if len(values) == 1:
        return values[0]
    if all(value > 0 and math.isfinite(value) for value in values):
        return math.exp(fmean(math.log(value) for value in values))
    return fmean(values)


def preparation(trial: Trial, own: Key) -> Key | tuple[int, int]:
    """Sitting and preparation of a trial of a duet; its own key of any other."""
    return own if trial.preparation is None else (trial.sitting, trial.preparation)

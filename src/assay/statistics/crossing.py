"""Where a curve that was measured at some places passes a level: between which places, and between which bounds.

The curve and its interval are joined by straight lines; the bounds are where the ends of the interval pass the level (the
inverse of a confidence band, as Fieller's theorem is that of a ratio). Outside of the places nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, kw_only=True)
class Band:
    """The curve at one place, with its interval."""

    at: float
    low: float
    value: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """One passage; a bound is None where the interval does not pass within the places."""

    at: float
    low: float | None
    high: float | None
    rising: bool


def crossings(bands: Sequence[Band], level: float = 0.0) -> tuple[Crossing, ...]:
    """Every passage of the curve through the level, from left to right."""
    ordered = sorted(bands, key=lambda band: band.at)
    places = [band.at for band in ordered]
    value, low, high = (_passages(places, [getattr(band, name) - level for band in ordered]) for name in ("value", "low", "high"))
    found = []
    for at, rising in value:
        edges = [_nearest([place for place, up in edge if up is rising], at) for edge in (low, high)]
        first, last = (edges[1], edges[0]) if rising else edges
        found.append(Crossing(at=at, low=_below(first, at), high=_above(last, at), rising=rising))
    return tuple(found)


def _passages(places: Sequence[float], values: Sequence[float]) -> list[tuple[float, bool]]:
    """Where the line passes 0, and whether it rises there."""
    found = []
    for (left, before), (right, after) in pairwise(zip(places, values, strict=True)):
        if (before < 0) != (after < 0):
            found.append((left + (right - left) * before / (before - after), after > before))
    return found


def _nearest(places: Sequence[float], at: float) -> float | None:
    return min(places, key=lambda place: abs(place - at), default=None)


def _below(place: float | None, at: float) -> float | None:
    return place if place is not None and place <= at else None


def _above(place: float | None, at: float) -> float | None:
    return place if place is not None and place >= at else None

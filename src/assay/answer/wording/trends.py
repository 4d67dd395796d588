"""What a picture over time or over operations shows, in words: slower, faster or the same; how many within which time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay import measures, units
from assay.answer.scales import show
from assay.measures.timelines import LineTrend
from assay.units import Unit

STEADY = 1.2
"""A rate that ends within this factor of its beginning is called the same."""


def rate(trend: LineTrend) -> str:
    """`slow down 8 times within the run`, `end as fast as they begin`; empty where one end has no rate."""
    times = trend.times
    if times is None:
        return ""
    if trend.swing is not None:
        return f"go up and down, {_times(trend.swing)} within the run"
    if times >= STEADY:
        return f"speed up {_times(times)} within the run"
    return f"slow down {_times(1 / times)} within the run" if times <= 1 / STEADY else "end about as fast as they begin"


def latency(first_ns: float, last_ns: float) -> str:
    """`The median grows from 80 µs to 640 µs`: the medians of the first and of the last steps of time."""
    begins, ends = show(first_ns, Unit.NANOSECONDS), show(last_ns, Unit.NANOSECONDS)
    if last_ns >= STEADY * first_ns:
        return f"The median grows from {begins} to {ends}."
    return f"The median falls from {begins} to {ends}." if first_ns >= STEADY * last_ns else f"The median stays near {ends}."


def rates(noun: str, found: Mapping[str, LineTrend]) -> str:
    """`Creates slow down 8 times within the run.`; of several levels each, those that go alike together; empty without any."""
    alike: dict[str, list[str]] = {}
    for levels, trend in found.items():
        if text := rate(trend):
            alike.setdefault(text, []).append(levels)
    capital = noun[:1].upper() + noun[1:]
    if len(alike) == 1:
        return f"{capital} {next(iter(alike))}."
    each = "; ".join(f"{', '.join(levels)}: {text}" for text, levels in alike.items())
    return f"{capital}: {each}." if alike else ""


def percentiles(found: Sequence[tuple[str, float | None, float | None]]) -> str:
    """`Half within 85 µs, 99 % within 3 ms.`: of one combination of levels; of several the fastest and the slowest at 99 %."""
    known = [(levels, half, most) for levels, half, most in found if half is not None and most is not None]
    if not known:
        return ""
    if len(known) == 1:
        _, half, most = known[0]
        return f"Half within {show(half, Unit.NANOSECONDS)}, 99 % within {show(most, Unit.NANOSECONDS)}."
    ordered = sorted(known, key=lambda one: one[2] or 0.0)
    ends = (f"{show(most, Unit.NANOSECONDS)} ({levels})" for levels, _, most in (ordered[0], ordered[-1]))
    return f"99 % within {' to '.join(ends)}."


def apart(lowest: tuple[str, str], highest: tuple[str, str], times: float, unclear: Sequence[str] = ()) -> str:
    """`Highest: xfs, 7,200/s; lowest: ext4, 5,200/s: 1.4 times apart.`; an end in `unclear` may be its neighbour."""
    if not unclear:
        return f"Highest: {highest[0]}, {highest[1]}; lowest: {lowest[0]}, {lowest[1]}: {_times(times)} apart."
    return f"{_ends(lowest, highest)}, {_times(times)} apart; which is {' or '.join(unclear)} is undecided."


def alike(lowest: tuple[str, str], highest: tuple[str, str]) -> str:
    """`From 5,200/s (ext4) to 5,300/s (xfs), not distinguishable.`"""
    return f"{_ends(lowest, highest)}, not distinguishable."


def _ends(lowest: tuple[str, str], highest: tuple[str, str]) -> str:
    return f"From {lowest[1]} ({lowest[0]}) to {highest[1]} ({highest[0]})"


def _times(value: float) -> str:
    """`8 times`, `1.4 times`, `55 %` where it is less than a fifth more."""
    if value < STEADY:
        return measures.percent(value - 1)
    return f"{units.digits(value, 2)} times"

"""Steady states in words, one sentence a trial and measure: `steady from 1.20 s on; 14 batches; mean 49.8 MB/s ± 0.6 %; ...`."""

from __future__ import annotations

from assay import measures
from assay.records import ChangePoint, Course, CourseKind, CourseState, UnknownReason
from assay.statistics.intervals import LEAST_BATCHES
from assay.statistics.steadiness import LEAST_VALUES
from assay.units import Unit

MOST_NAMED = 3
"""So many change points are named by their time."""


def statement(one: Course) -> str:
    """Put a course in one sentence: `steady from 1.20 s on; 14 batches; ...`."""
    return detail(one) if one.state is CourseState.STEADY else f"{one.state.value}: {detail(one)}"


def detail(one: Course) -> str:
    """Put a course in one sentence for where its state stands before it."""
    if one.unknown not in (None, UnknownReason.NOISE):
        return missing(one)
    parts = {CourseState.STEADY: steady, CourseState.NOT_STEADY: not_steady, CourseState.UNKNOWN: hidden}[one.state](one)
    return "; ".join(part for part in parts if part)


def missing(one: Course) -> str:
    """Say why nothing is known of a figure over time."""
    if one.unknown is UnknownReason.NOT_COUNTED:
        return "no samples within the phase"
    if one.unknown is UnknownReason.NEVER_TOGETHER:
        return f"at no moment all {one.clients} clients ran"
    return f"{one.points} {'sample' if one.points == 1 else 'samples'}, {LEAST_VALUES} needed"


def steady(one: Course) -> tuple[str, ...]:
    """Since when, of how many batches, with which mean."""
    return (since(one), batches(one), mean(one), f"{none(one)}{'' if one.before is None else ' after that'}")


def none(one: Course) -> str:
    """`no change point of 5.8 % or more`: how small a change would have shown."""
    assert one.detectable_share is not None
    return f"no change point of {measures.percent(one.detectable_share)} or more"


def hidden(one: Course) -> tuple[str, ...]:
    """No change was found, but none would have shown."""
    assert one.detectable_share is not None
    share = measures.percent(one.detectable_share)
    return (f"noise hides level changes below {share}", batches(one), mean(one))


def since(one: Course) -> str:
    """`steady from 1.20 s on, before that 35 % less`."""
    assert one.steady_from_ns is not None
    at = f"from {seconds(one, one.steady_from_ns)} on"
    if one.before is not None and one.mean is not None:
        return f"steady {at}, before that {compared(one.before, one.mean.value)}"
    if one.rounds is not None:
        return f"steady {at}, five rounds of {measures.with_unit(one.rounds.each_ns, Unit.NANOSECONDS)} alike"
    return "steady from the beginning"


def batches(one: Course) -> str:
    """How many batches the mean is made of."""
    return f"{one.mean.n} batches" if one.mean is not None and one.mean.n else ""


def mean(one: Course) -> str:
    """`mean 49.8 MB/s ± 0.6 %`; why it has no interval."""
    known = one.mean
    assert known is not None
    what = "mean" if one.kind is CourseKind.RATE else one.kind.value
    value = f"{what} {measures.with_unit(known.value, known.unit)}"
    if known.low is None or known.high is None:
        so_long = measures.with_unit(one.correlation_time_ns or 0, Unit.NANOSECONDS)
        few = f"fewer than {LEAST_BATCHES} independent batches"
        return f"{value}, no confidence interval: autocorrelation time {so_long} leaves {few}"
    half = (known.high - known.low) / 2
    return f"{value} ± {measures.percent(half / known.value) if known.value else measures.with_unit(half, known.unit)}"


def not_steady(one: Course) -> tuple[str, ...]:
    """What is against it, the worst first; where it changes, and between which levels."""
    return (against(one), places(one), levels(one))


def against(one: Course) -> str:
    """The strongest reason."""
    if one.rounds is not None and not one.rounds.alike:
        each = measures.with_unit(one.rounds.each_ns, Unit.NANOSECONDS)
        return f"no five consecutive rounds alike in {one.rounds.number} rounds of {each}"
    if one.drift_share is not None:
        way = "rises" if one.drift_share > 0 else "falls"
        return f"{way} throughout, by {measures.percent(abs(one.drift_share))} of its mean from beginning to end"
    if one.changes:
        return change(one, max(one.changes, key=lambda point: abs(point.after - point.before)))
    assert one.before is not None
    assert one.mean is not None
    return f"beginning differs from the rest (MSER-5), {compared(one.before, one.mean.value)}"


def compared(value: float, other: float) -> str:
    """`35 % less`; of nothing there is no share."""
    if other == 0:
        return "more" if value > 0 else "as much"
    share = value / other - 1
    return f"{measures.percent(abs(share))} {'more' if share > 0 else 'less'}"


def change(one: Course, point: ChangePoint) -> str:
    """`falls by 12 % at 3.40 s`."""
    way, share = "rises" if point.after > point.before else "falls", point.change_share
    return f"{way} {'from 0' if share is None else f'by {measures.percent(abs(share))}'} at {seconds(one, point.at_ns)}"


def places(one: Course) -> str:
    """`2 change points, at 3.40 s and 5.10 s`; nothing where they are the stairs of a drift."""
    if not one.changes or one.drift_share is not None:
        return ""
    if len(one.changes) == 1:
        return "1 change point"
    times = [seconds(one, point.at_ns) for point in one.changes[:MOST_NAMED]]
    more = f" and {len(one.changes) - MOST_NAMED} more" if len(one.changes) > MOST_NAMED else ""
    listed = f"{', '.join(times)}{more}" if more else f"{', '.join(times[:-1])} and {times[-1]}"
    return f"{len(one.changes)} change points, at {listed}"


def levels(one: Course) -> str:
    """`levels between 44.1 MB/s and 50.2 MB/s`."""
    if not one.changes or one.drift_share is not None:
        return ""
    means = [one.changes[0].before, *(point.after for point in one.changes)]
    low, high = (measures.with_unit(edge, one.unit) for edge in (min(means), max(means)))
    return f"levels between {low} and {high}"


def seconds(one: Course, at_ns: int) -> str:
    """A time since the phase began."""
    return measures.with_unit(at_ns - one.start_ns, Unit.NANOSECONDS)

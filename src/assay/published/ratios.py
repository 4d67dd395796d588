"""Two printed figures against each other: by how much one is more, and by how much at least and at most by their digits (S02)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from assay import measures
from assay.published import wording
from assay.published.digits import Interval
from assay.published.finding import CONTRADICTION, WIDE_INTERVAL, Case, found
from assay.published.statement import Comparison
from assay.published.vocabulary import Kind
from assay.records import Bound, Finding, Severity, State
from assay.units import Unit

ONE = Fraction(1)
NO_SPREAD = "one figure of each side tells nothing of the spread"


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """One figure over its base."""

    text: str
    value: Fraction | None
    """None where one of the two is a range or a limit."""
    interval: Interval
    inverse: Interval


def check(case: Case) -> Iterator[Finding]:
    """Every comparison of the claim; and a share, where it says how large the only one is."""
    for one in case.statement.comparisons:
        ratio = ratio_of(one)
        if ratio is not None:
            yield _width(case, ratio)
    share = case.statement.only(Kind.SHARE)
    if share is not None and len(case.statement.comparisons) == 1:
        ratio = ratio_of(case.statement.comparisons[0])
        if ratio is not None and share not in (case.statement.comparisons[0].first, case.statement.comparisons[0].second):
            yield _claimed(case, ratio)


def ratio_of(one: Comparison) -> Ratio | None:
    """First over second, of a change second over first; None where the base is nothing."""
    figure, base = (one.second, one.first) if one.is_change else (one.first, one.second)
    if not base.value or not figure.value:
        return None
    exact = all(each.limit is None and each.ends is None for each in (figure, base))
    word = "after" if one.is_change else "against"
    return Ratio(
        text=f"{figure.text} {word} {base.text}",
        value=figure.value / base.value if exact else None,
        interval=figure.interval.over(base.interval),
        inverse=base.interval.over(figure.interval),
    )


def _width(case: Case, ratio: Ratio) -> Finding:
    """Whether the printed digits leave the difference open by more than matters."""
    low, high = ratio.interval.low, ratio.interval.high
    allowed = case.limit(WIDE_INTERVAL, "half_width_of_matters") * Fraction(str(case.matters))
    anything = spread(ratio.interval)
    if ratio.value is None:
        said, rounded = f"{ratio.text} is {anything}", ""
    else:
        digits = f"; by the printed digits {anything}" if " to " in anything else ""
        said = f"{ratio.text} is {difference(ratio.value)}{_other_base(ratio.value)}{digits}"
        rounded = f" by the printed digits ({difference(ratio.value)} from the rounded figures)"
    if high is not None and (high - low) / 2 <= allowed:
        relabel = f"{ratio.text} is {anything if ratio.value is None else difference(ratio.value)}; {NO_SPREAD}"
        return found(WIDE_INTERVAL, State.PASS, f"{said}; {NO_SPREAD}.", relabel=relabel)
    return found(
        WIDE_INTERVAL,
        State.FAIL,
        f"{said}.",
        severity=Severity.QUALIFIES,
        bound=Bound(low=float(low), high=None if high is None else float(high), unit=Unit.SHARE),
        relabel=f"{ratio.text} is {anything}{rounded}",
    )


def difference(ratio: Fraction) -> str:
    """`13.3 % less`, `2.6 % more`, `4.62 times as much`, `the same`."""
    if ratio == 1:
        return "the same"
    if ratio >= 2 or ratio <= Fraction(1, 2):
        return f"{float(ratio):.3g} times as much"
    return f"{measures.percent(abs(float(ratio - 1)))} {'more' if ratio > 1 else 'less'}"


def _other_base(ratio: Fraction) -> str:
    """The same the other way round, where the base makes a difference to the words."""
    return "" if ratio == 1 or not Fraction(1, 2) < ratio < 2 else f" (by the other base {difference(1 / ratio)})"


def spread(interval: Interval) -> str:
    """`anything from 4.5 % to 21 % less`, `at least 4.62 times as much`, `anything from 2 % less to 3 % more`."""
    low, high = interval.low, interval.high
    if high is None:
        return f"at least {float(low):.3g} times as much"
    if high >= 2 or low <= Fraction(1, 2):
        return _from_to(f"{float(low):.3g}", f"{float(high):.3g}") + " times as much"
    if high <= 1:
        return _from_to(wording.two_digits(1 - high), wording.two_digits(1 - low)) + " less"
    if low >= 1:
        return _from_to(wording.two_digits(low - 1), wording.two_digits(high - 1)) + " more"
    return f"anything from {wording.two_digits(1 - low)} less to {wording.two_digits(high - 1)} more"


def _from_to(low: str, high: str) -> str:
    return low if low == high else f"anything from {low} to {high}"


def _claimed(case: Case, ratio: Ratio) -> Finding:
    """A claimed share against all that it is usually made of: the difference by either base, the ratio, the scale-up."""
    share = case.statement.of(Kind.SHARE)[0]
    tolerance = case.limit(CONTRADICTION, "disagreement_share")
    fits = [words for words, one in _readings(ratio) if one.meets(share.interval, tolerance)]
    if fits:
        return found(CONTRADICTION, State.PASS, f"{share.text} is right as {fits[0]}.")
    return found(
        CONTRADICTION,
        State.FAIL,
        f"{ratio.text} is {spread(ratio.interval)}, by the other base {spread(ratio.inverse)}: not {share.text}.",
        severity=Severity.QUALIFIES,
        relabel=f"{ratio.text} is {spread(ratio.interval)}, not {share.text}",
    )


def _readings(ratio: Ratio) -> Iterator[tuple[str, Interval]]:
    """What a share beside two figures can be, with the words for it; `the first` is the one that is held against the other."""
    yield "the difference by the base of the second", _size(ratio.interval)
    yield "the difference by the base of the first", _size(ratio.inverse)
    yield "the first over the second", ratio.interval
    yield "the second over the first", ratio.inverse
    yield "the first over twice the second", ratio.interval.scaled(Fraction(1, 2))
    yield "the second over twice the first", ratio.inverse.scaled(Fraction(1, 2))


def _size(ratio: Interval) -> Interval:
    """How far from 1 a ratio is."""
    if ratio.high is None or ratio.high < ratio.low:
        return Interval(low=max(Fraction(0), ratio.low - ONE), high=None)
    ends = sorted((abs(ratio.low - ONE), abs(ratio.high - ONE)))
    return Interval(low=Fraction(0) if ratio.holds(ONE) else ends[0], high=ends[1])

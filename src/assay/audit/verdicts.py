"""From findings to one word: INVALID, TAINTED, UNVERIFIED, BOUNDED or SOUND; the first that matches stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from math import inf

from assay.records import Bound, Finding, Meaning, Severity, State, VerdictState


def state_of(
    findings: Sequence[Finding], required: Iterable[str], value: float | None = None, factor: float = inf
) -> VerdictState:
    """The verdict that follows from the findings, given the ids of the rules that must have passed.

    A required rule that is not there, or is unverified, leaves the claim UNVERIFIED. A note never changes a verdict.
    Bounds that are further apart than a factor are as good as none.
    """
    failed = failures(findings)
    if any(finding.severity is Severity.INVALIDATES for finding in failed):
        return VerdictState.INVALID
    bound = common_bound(findings, value)
    if any(finding.bound is None for finding in failed) or (failed and bound is not None and bound.is_wider(factor)):
        return VerdictState.TAINTED
    if unverified(findings, required):
        return VerdictState.UNVERIFIED
    return VerdictState.BOUNDED if failed else VerdictState.SOUND


def failures(findings: Iterable[Finding]) -> list[Finding]:
    """The failed findings that count: the worst first, among equals those that explain."""
    return sorted((one for one in findings if one.counts), key=_rank)


def _rank(finding: Finding) -> tuple[int, int]:
    meaning = finding.meaning
    explains = list(Meaning).index(meaning) if meaning is not None and meaning.explains else len(Meaning)
    return list(Severity).index(finding.severity), explains


def notes(findings: Iterable[Finding]) -> list[Finding]:
    """Failed findings that are only worth knowing under this claim."""
    return [finding for finding in findings if finding.state is State.FAIL and finding.severity is Severity.NOTES]


def unverified(findings: Sequence[Finding], required: Iterable[str]) -> list[str]:
    """Ids of the required rules of which nothing is known, in the order of the table."""
    known = {finding.rule: finding.state for finding in findings}
    return [rule for rule in required if known.get(rule, State.UNVERIFIED) is State.UNVERIFIED]


def both(one: Bound, other: Bound) -> Bound:
    """The bound of a figure that two disturbances held back: one end of each is the measured value, their effects multiply."""
    if one.low is not None and one.high is not None and other.low is not None and other.high is not None:
        if one.low == other.low:
            return replace(one, high=one.high * other.high / one.low)
        return replace(one, low=one.low * other.low / one.high)
    return one


def overlap(one: Bound, other: Bound) -> bool:
    """Whether a value lies within both."""
    lows = [low for low in (one.low, other.low) if low is not None]
    highs = [high for high in (one.high, other.high) if high is not None]
    return max(lows, default=-inf) <= min(highs, default=inf)


def counted(findings: Iterable[Finding], value: float | None) -> list[tuple[str, Bound]]:
    """The rules that bound the figure, each with its bound: failed findings, else those that could not be verified.

    Disturbances add up, each took its own share. Bounds that begin or end at the measured value are reckoned from it:
    where another finding proves that value false, they say nothing.
    """
    findings = tuple(findings)
    failed = [(one, one.bound) for one in failures(findings) if one.bound is not None]
    noise = [bound for one, bound in failed if one.part == "noise"]
    other = [(one.rule, bound) for one, bound in failed if one.part != "noise"]
    proved = [(rule, bound) for rule, bound in other if value is None or not is_reckoned(bound, value)]
    reckoned = [(rule, bound) for rule, bound in other if (rule, bound) not in proved]
    if noise:
        named = next(one.rule for one, _ in failed if one.part == "noise")
        reckoned.append((named, reduce(both, noise)))
    kept = [(rule, bound) for rule, bound in reckoned if all(overlap(bound, one) for _, one in proved)]
    unknown = [(one.rule, one.bound) for one in findings if one.state is State.UNVERIFIED and one.bound is not None]
    return [*proved, *kept] or unknown


def bounding(findings: Iterable[Finding], value: float | None) -> tuple[Finding, ...]:
    """The findings that the common bound comes from; of noise all, since what each took adds up."""
    findings = tuple(findings)
    rules = {rule for rule, _ in counted(findings, value)}
    noise = {one.rule for one in failures(findings) if one.part == "noise" and one.bound is not None}
    rules |= noise if rules & noise else set()
    return tuple(one for one in findings if one.rule in rules and one.bound is not None)


def is_reckoned(bound: Bound, value: float) -> bool:
    """Whether a bound begins or ends at the measured value."""
    return value in (bound.low, bound.high)


def common_bound(findings: Iterable[Finding], value: float | None = None) -> Bound | None:
    """Between which values the figure lies by all findings that say so; None where none does, or they exclude each other."""
    bounds = [bound for _, bound in counted(findings, value)]
    if not bounds or len({bound.unit for bound in bounds}) > 1:
        return bounds[0] if bounds else None
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        return None
    return Bound(low=low, high=high, unit=bounds[0].unit)


def exclusive(findings: Iterable[Finding], value: float | None) -> tuple[tuple[str, Bound], tuple[str, Bound]] | None:
    """Two rules whose bounds exclude each other, with these: both cannot be true; None where there are no such two."""
    known = counted(findings, value)
    pairs = ((one, other) for at, one in enumerate(known) for other in known[at + 1 :] if one[1].unit == other[1].unit)
    return next((pair for pair in pairs if not overlap(pair[0][1], pair[1][1])), None)

"""From findings to one word: INVALID, TAINTED, UNVERIFIED, BOUNDED or SOUND; the first that matches stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, prod

from assay.records import Bound, Finding, Meaning, Severity, State, VerdictState

Bounded = tuple[tuple[str, ...], Bound]
"""Rules, with the bound that they give together."""


def state_of(
    findings: Sequence[Finding],
    required: Iterable[str],
    value: float | None = None,
    factor: float = inf,
    possible: Bound | None = None,
) -> VerdictState:
    """The verdict that follows from the findings, given the ids of the rules that must have passed.

    A required rule that is not there, or is unverified, leaves the claim UNVERIFIED. A note never changes a verdict.
    Bounds that are further apart than a factor are as good as none, and a figure that is further from them is refuted by them.
    """
    failed = failures(findings)
    if any(finding.severity is Severity.INVALIDATES for finding in failed):
        return VerdictState.INVALID
    bound = common_bound(findings, value, possible)
    loose = failed and bound is not None and (bound.is_wider(factor) or bound.is_far_from(value, factor))
    if loose or any(finding.bound is None or is_of_a_limit(finding) for finding in failed):
        return VerdictState.TAINTED
    if unverified(findings, required):
        return VerdictState.UNVERIFIED
    return VerdictState.BOUNDED if failed else VerdictState.SOUND


def is_of_a_limit(finding: Finding) -> bool:
    """Whether the figure is that of a quota which nobody claims, and how far the true one lies beyond it is not known."""
    bound = finding.bound
    return finding.meaning is Meaning.QUOTA and bound is not None and None in (bound.low, bound.high)


def failures(findings: Iterable[Finding]) -> list[Finding]:
    """The failed findings that count: the worst first, among equals those that explain, then a pause."""
    return sorted((one for one in findings if one.counts), key=_rank)


def _rank(finding: Finding) -> tuple[int, int]:
    meaning = finding.meaning
    if meaning is not None and meaning.explains:
        order = list(Meaning).index(meaning)
    else:
        order = len(Meaning) + (meaning is not Meaning.PAUSE)
    return list(Severity).index(finding.severity), order


def notes(findings: Iterable[Finding]) -> list[Finding]:
    """Failed findings that are only worth knowing under this claim."""
    return [finding for finding in findings if finding.state is State.FAIL and finding.severity is Severity.NOTES]


def unverified(findings: Sequence[Finding], required: Iterable[str]) -> list[str]:
    """Ids of the required rules of which nothing is known, in the order of the table."""
    known = {finding.rule: finding.state for finding in findings}
    return [rule for rule in required if known.get(rule, State.UNVERIFIED) is State.UNVERIFIED]


def together(bounds: Sequence[Bound], value: float | None) -> Bound:
    """The bound of a figure that several things may have changed, each with the measured value at an end: effects multiply.

    A side that one of them leaves open is open.
    """
    if value is None:  # of noise alone, whose bounds all begin, or all end, at it
        first = {bound.low for bound in bounds}
        value = bounds[0].low if len(first) == 1 else bounds[0].high
    return replace(bounds[0], low=product([one.low for one in bounds], value), high=product([one.high for one in bounds], value))


def product(ends: Sequence[float | None], value: float | None) -> float | None:
    """The value with the effects of all ends; of 0, which nothing multiplies, the farthest end. None where one is open."""
    known = [end for end in ends if end is not None]
    if len(known) < len(ends) or value is None:
        return None
    return value * prod(end / value for end in known) if value else max(known, key=abs)


def overlap(one: Bound, other: Bound) -> bool:
    """Whether a value lies within both."""
    lows = [low for low in (one.low, other.low) if low is not None]
    highs = [high for high in (one.high, other.high) if high is not None]
    return max(lows, default=-inf) <= min(highs, default=inf)


def counted(findings: Iterable[Finding], value: float | None) -> Sequence[Bounded]:
    """What bounds the figure, each bound with its rules: failed findings, else those that could not be verified.

    Bounds that begin or end at the measured value are reckoned from it: each says by how much it may be wrong, and these shares
    multiply, of noise and of all else. Where another finding proves that value false, they say nothing.
    """
    findings = tuple(findings)
    failed = [(one, one.bound) for one in failures(findings) if one.bound is not None]
    proved: list[Bounded] = [
        ((one.rule,), bound) for one, bound in failed if one.part != "noise" and not is_reckoned(bound, value)
    ]
    reckoned = [(one.rule, bound) for one, bound in failed if one.part == "noise" or is_reckoned(bound, value)]
    if reckoned and len({bound.unit for _, bound in reckoned}) == 1:
        changed = together([bound for _, bound in reckoned], value)
        if all(overlap(changed, bound) for _, bound in proved):
            proved.append((tuple(dict.fromkeys(rule for rule, _ in reckoned)), changed))
    return proved or [((one.rule,), one.bound) for one in findings if one.state is State.UNVERIFIED and one.bound is not None]


def bounding(findings: Iterable[Finding], value: float | None) -> tuple[Finding, ...]:
    """The findings that the common bound comes from."""
    findings = tuple(findings)
    rules = {rule for mine, _ in counted(findings, value) for rule in mine}
    return tuple(one for one in findings if one.rule in rules and one.bound is not None)


def is_reckoned(bound: Bound, value: float | None) -> bool:
    """Whether a bound begins or ends at the measured value."""
    return value is not None and value in (bound.low, bound.high)


def common_bound(findings: Iterable[Finding], value: float | None = None, possible: Bound | None = None) -> Bound | None:
    """Between which values the figure lies by all findings that say so; None where none does, or they exclude each other.

    No end is beyond what is possible, but for what was measured: shares of several rules multiply to more than any alone.
    """
    bounds = [bound for _, bound in counted(findings, value)]
    if not bounds or len({bound.unit for bound in bounds}) > 1:
        return bounds[0] if bounds else None
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        return None
    if possible is not None and possible.high is not None and high is not None:
        high = min(high, max(possible.high, *(one for one in (low, value) if one is not None)))
    if possible is not None and possible.low is not None and low is not None:
        low = max(low, min(possible.low, *(one for one in (high, value) if one is not None)))
    return Bound(low=low, high=high, unit=bounds[0].unit)


def exclusive(findings: Iterable[Finding], value: float | None) -> tuple[Bounded, Bounded] | None:
    """Two rules whose bounds exclude each other, with these: both cannot be true; None where there are no such two."""
    known = counted(findings, value)
    pairs = ((one, other) for at, one in enumerate(known) for other in known[at + 1 :] if one[1].unit == other[1].unit)
    return next((pair for pair in pairs if not overlap(pair[0][1], pair[1][1])), None)

"""From findings to one word: INVALID, TAINTED, UNVERIFIED, BOUNDED or SOUND; the first that matches stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from math import inf

from assay.records import Bound, Finding, Meaning, Severity, State, VerdictState


def state_of(findings: Sequence[Finding], required: Iterable[str]) -> VerdictState:
    """The verdict that follows from the findings, given the ids of the rules that must have passed.

    A required rule that is not there, or is unverified, leaves the claim UNVERIFIED. A note never changes a verdict.
    """
    failed = failures(findings)
    if any(finding.severity is Severity.INVALIDATES for finding in failed):
        return VerdictState.INVALID
    if any(finding.bound is None for finding in failed):
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


def common_bound(findings: Iterable[Finding]) -> Bound | None:
    """Between which values the figure lies by all failed findings that say so; where they exclude each other, all they span.

    Disturbances add up, each took its own share. What they took is counted from the measured value: where another finding proves
    that value false, they say nothing. Where none failed, what those that could not be verified leave possible.
    """
    findings = tuple(findings)
    noise = [one.bound for one in failures(findings) if one.bound is not None and one.part == "noise"]
    bounds = [one.bound for one in failures(findings) if one.bound is not None and one.part != "noise"]
    if noise:
        taken = reduce(both, noise)
        bounds += [taken] if all(overlap(taken, other) for other in bounds) else []
    bounds = bounds or [f.bound for f in findings if f.state is State.UNVERIFIED and f.bound is not None]
    if not bounds or len({bound.unit for bound in bounds}) > 1:
        return bounds[0] if bounds else None
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        low, high = min(lows), max(highs)
    return Bound(low=low, high=high, unit=bounds[0].unit)

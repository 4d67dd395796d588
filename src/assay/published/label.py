"""What a published number really is, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from assay.published.finding import WIDE_INTERVAL, WORKING_SET
from assay.records import Finding, Severity, State

MEMORY_TEST = "a memory test, not one of disks"
NOTHING_WRONG = "nothing in these figures contradicts the rest"
NOTHING_TO_CHECK = "no two of these figures can be held against each other: add amount, time, memory or link, or `against`"
MOST = 3


def label(findings: Sequence[Finding], in_other_words: Sequence[str]) -> str:
    """The worst failures in their own words; else that nothing is wrong, and what the figures come to."""
    failed = [one for one in findings if one.state is State.FAIL and one.severity is not Severity.NOTES]
    if not failed:
        compared_first = sorted(findings, key=lambda one: one.rule != WIDE_INTERVAL.id)
        known = list(dict.fromkeys(one.relabel for one in compared_first if one.state is State.PASS and one.relabel))
        return "; ".join([NOTHING_WRONG, *known[:1]] if findings else [*in_other_words, NOTHING_TO_CHECK])
    worst_first = sorted(failed, key=lambda one: list(Severity).index(one.severity))
    words = list(dict.fromkeys(one.relabel or one.statement for one in worst_first))[:MOST]
    in_memory = any(one.rule == WORKING_SET.id for one in failed)
    return f"{MEMORY_TEST}: {'; '.join(words)}" if in_memory else "; ".join(words)

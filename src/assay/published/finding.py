"""Words the findings of arithmetic: figures with their digits, the rules that need no run, and the label of the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from assay import links, units
from assay.catalogue import Rule, find
from assay.published.digits import Interval
from assay.published.statement import Statement
from assay.published.vocabulary import BASES, QuantityKind
from assay.records import Bound, Finding, Severity, State
from assay.units import Unit

UNITS_OF = {
    "bytes/s": Unit.BYTES_PER_S,
    "bytes": Unit.BYTES,
    "1/s": Unit.PER_S,
    "count": Unit.COUNT,
    "share": Unit.SHARE,
    "": Unit.NONE,
}


def quantity(value: Fraction | float, kind: QuantityKind) -> str:
    """`853 MB/s`, `7,410/s`, `0.63 s`, `13.3 %`."""
    base = BASES[kind]
    if base == "s":
        return seconds(float(value))
    return units.percent(float(value)) if base == "share" else units.human(float(value), UNITS_OF[base])


def seconds(value: float) -> str:
    """`0.63 s`, `283 s`, `2,106 s`, `4.00 ms`."""
    if 0.1 <= value < 600:
        return f"{units.digits(value, 2 if value < 1 else 3, trimmed=True)} s"
    return units.human(value * 1e9, Unit.NANOSECONDS)


def capacity(bytes_per_s: float, *, bits: bool = False) -> str:
    """`206.6 MB/s`, `941.5 Mbit/s`: four digits, as capacities are tabulated."""
    return units.human(bytes_per_s, Unit.BYTES_PER_S, 4, bits=bits)


def between(interval: Interval, kind: QuantityKind) -> str:
    """`787 MB/s to 932 MB/s`."""
    low = quantity(interval.low, kind)
    if interval.high is None:
        return f"{low} or more"
    high = quantity(interval.high, kind)
    number, _, unit = low.partition(" ")
    return f"{number} to {high}" if unit and high.endswith(f" {unit}") else f"{low} to {high}"


def rounding(interval: Interval, kind: QuantityKind, words: str = "") -> str:
    """` (787 to 932 MB/s by the printed digits)`, with its leading space; empty where the ends differ by less than 1 %."""
    if interval.high is not None and interval.high * 100 <= interval.low * 101:
        return ""
    return f" ({between(interval, kind)}{words})"


def times(ratio: Fraction | float) -> str:
    """`2.42 times`, `109 % of`: how much one thing is of another."""
    return units.times(float(ratio)) if ratio >= 2 else f"{units.percent(float(ratio))} of"


def two_digits(share: Fraction | float) -> str:
    """`4.5 %`, `21 %`, `117 %`: the end of an interval."""
    percent = 100 * float(share)
    return f"{units.digits(percent, 2, trimmed=True) if percent < 10 else round(percent)} %"


SUBJECT = "claim"
ROOFLINE, WORKING_SET, TOO_SHORT, CONTRADICTION, WIDE_INTERVAL, LITTLE, CROSS_METRIC = RULES = tuple(
    find("rules", name)
    for name in ("roofline", "working_set", "too_short", "contradiction", "wide_interval", "little", "cross_metric")
)
"""The rules that arithmetic can apply."""
Thresholds = Mapping[str, Mapping[str, float]]
"""By rule and name, as rules/limits.toml has them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A claim with what it is judged by."""

    statement: Statement
    thresholds: Thresholds
    matters: float
    """The smallest share that would change a decision."""

    def limit(self, rule: Rule, name: str) -> Fraction:
        """Return a threshold, exactly as it is printed."""
        return Fraction(str(self.thresholds[rule.id][name]))


class ClaimDetails(TypedDict, total=False):
    """What a finding may say beyond its statement."""

    severity: Severity
    bound: Bound | None
    relabel: str | None
    observed: Mapping[str, float | str | None]
    threshold: Mapping[str, float | str | None]
    advice: str


def claim_finding(rule: Rule, state: State, statement: str, **details: Unpack[ClaimDetails]) -> Finding:
    """Return one finding about the claim; only a failure carries what to do."""
    return Finding(
        subject=SUBJECT,
        phase=None,
        rule=rule.id,
        name=rule.name,
        state=state,
        severity=details.get("severity", rule.severity),
        part=rule.part,
        statement=statement,
        observed=details.get("observed", {}),
        threshold=details.get("threshold", {}),
        bound=details.get("bound"),
        relabel=details.get("relabel"),
        advice=details.get("advice", rule.ask) if state is State.FAIL else None,
        short=rule.short,
        meaning=rule.meaning,
    )


def mistaken_unit(ratio: Fraction | float, tolerance: Fraction, *, coded: bool = True) -> str:
    """Return a sentence on the mistake of units that this ratio (or its inverse) tells of; empty where it is none."""
    larger = float(ratio if ratio >= 1 else 1 / ratio)
    words = links.unit_mistake(larger, float(tolerance))
    if words is None or (not coded and "8b/10b" in words):
        return ""
    return f" {units.digits(larger, trimmed=True)} is the ratio of {words}."


MEMORY_TEST = "a memory test, not a disk test"
NOTHING_WRONG = "no contradiction among these figures"
NOTHING_TO_CHECK = "nothing to check: add an amount, a time, memory, a link, or a second figure after `against`"
MOST = 3


def label(findings: Sequence[Finding], in_other_words: Sequence[str]) -> str:
    """Return the worst failures in their own words; else that nothing is wrong, and what the figures come to."""
    failed = [one for one in findings if one.state is State.FAIL and one.severity is not Severity.NOTES]
    if not failed:
        compared_first = sorted(findings, key=lambda one: one.rule != WIDE_INTERVAL.id)
        known = list(dict.fromkeys(one.relabel for one in compared_first if one.state is State.PASS and one.relabel))
        return "; ".join([NOTHING_WRONG, *known[:1]] if findings else [*in_other_words, NOTHING_TO_CHECK])
    worst_first = sorted(failed, key=lambda one: list(Severity).index(one.severity))
    words = list(dict.fromkeys(one.relabel or one.statement for one in worst_first))[:MOST]
    in_memory = any(one.rule == WORKING_SET.id for one in failed)
    return f"{MEMORY_TEST}: {'; '.join(words)}" if in_memory else "; ".join(words)

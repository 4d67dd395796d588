"""How arithmetic words what it found: the findings of the rules that need no run, with the limits that the rules have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from assay import links
from assay.published.statement import Statement
from assay.records import Bound, Finding, Severity, State

SUBJECT = "claim"
Thresholds = Mapping[str, Mapping[str, float]]
"""By rule and name, as rules/limits.toml has them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A claim with what it is judged by."""

    statement: Statement
    thresholds: Thresholds
    matters: float
    """The smallest share that would change a decision."""

    def limit(self, rule: str, name: str) -> Fraction:
        """A threshold, exactly as it is printed."""
        return Fraction(str(self.thresholds[rule][name]))


@dataclass(frozen=True, kw_only=True)
class _Rule:
    name: str
    part: str
    severity: Severity
    advice: str


RULES: Mapping[str, _Rule] = {
    "L04": _Rule(
        name="roofline",
        part="tier",
        severity=Severity.INVALIDATES,
        advice="find the cache that answered, or the other path; check the units (MB is 10^6 bytes, Mbit an eighth of it)"
        " and over which window parallel parts were summed",
    ),
    "T05": _Rule(
        name="working-set",
        part="tier",
        severity=Severity.QUALIFIES,
        advice="ask for data of at least twice the memory of all caches in the path, or for direct I/O with proof",
    ),
    "W01": _Rule(
        name="too-short",
        part="regime",
        severity=Severity.QUALIFIES,
        advice="ask for a run of a minute or more",
    ),
    "E05": _Rule(
        name="contradiction",
        part="evidence",
        severity=Severity.INVALIDATES,
        advice="ask which of the figures was measured, and which was computed from what",
    ),
    "S02": _Rule(
        name="wide-interval",
        part="statistics",
        severity=Severity.QUALIFIES,
        advice="ask for more digits, and for the spread of repeated runs",
    ),
    "L07": _Rule(
        name="little",
        part="load",
        severity=Severity.INVALIDATES,
        advice="ask how the latency was averaged, and how many requests really were in flight",
    ),
    "L08": _Rule(
        name="cross-metric",
        part="tier",
        severity=Severity.QUALIFIES,
        advice="ask which of the two was served from memory, and how many requests were in flight in each",
    ),
}
"""The rules that arithmetic can apply; they are those of rules/, and `assay explain` has their pages."""


class Details(TypedDict, total=False):
    """What a finding may say beyond its statement."""

    severity: Severity
    bound: Bound | None
    relabel: str | None
    observed: Mapping[str, float | str | None]
    threshold: Mapping[str, float | str | None]
    advice: str


def found(rule: str, state: State, statement: str, **details: Unpack[Details]) -> Finding:
    """One finding about the claim; only a failure carries what to do."""
    about = RULES[rule]
    return Finding(
        subject=SUBJECT,
        phase=None,
        rule=rule,
        name=about.name,
        state=state,
        severity=details.get("severity", about.severity),
        part=about.part,
        statement=statement,
        observed=details.get("observed", {}),
        threshold=details.get("threshold", {}),
        bound=details.get("bound"),
        relabel=details.get("relabel"),
        advice=details.get("advice", about.advice) if state is State.FAIL else None,
    )


def mistaken_unit(ratio: Fraction | float, tolerance: Fraction, *, coded: bool = True) -> str:
    """A sentence on the mistake of units that this ratio (or its inverse) tells of; empty where it is none."""
    larger = float(ratio if ratio >= 1 else 1 / ratio)
    words = links.unit_mistake(larger, float(tolerance))
    if words is None or (not coded and "8b/10b" in words):
        return ""
    return f" {larger:.3g} is the ratio of {words}."

"""The findings of the rules that need no run but arithmetic, with the limits that the rules have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from assay import links
from assay.catalogue import Rule, find
from assay.published.statement import Statement
from assay.records import Bound, Finding, Severity, State

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
        """A threshold, exactly as it is printed."""
        return Fraction(str(self.thresholds[rule.id][name]))


class Details(TypedDict, total=False):
    """What a finding may say beyond its statement."""

    severity: Severity
    bound: Bound | None
    relabel: str | None
    observed: Mapping[str, float | str | None]
    threshold: Mapping[str, float | str | None]
    advice: str


def found(rule: Rule, state: State, statement: str, **details: Unpack[Details]) -> Finding:
    """One finding about the claim; only a failure carries what to do."""
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
    """A sentence on the mistake of units that this ratio (or its inverse) tells of; empty where it is none."""
    larger = float(ratio if ratio >= 1 else 1 / ratio)
    words = links.unit_mistake(larger, float(tolerance))
    if words is None or (not coded and "8b/10b" in words):
        return ""
    return f" {larger:.3g} is the ratio of {words}."

"""How a rule words what it found: a finding with the rule's own name, part, alternatives and advice filled in.

`found(RULE, case, State.PASS, "...")` inside a rule's `check` may name the RULE constant that ends the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

from assay.catalogue import Case, Rule, TrialCase
from assay.records import Bound, Finding, Severity, State

Figures = Mapping[str, float | str | None]


class Details(TypedDict, total=False):
    """What a finding may say beyond its statement; each stands for itself in `records.Finding`."""

    severity: Severity
    part: str
    observed: Figures
    threshold: Figures
    bound: Bound | None
    relabel: str | None
    evidence: tuple[str, ...]


def found(rule: Rule, case: Case, state: State, statement: str, **details: Unpack[Details]) -> Finding:
    """One finding about the case's subject; a failure carries what else could cause it and what to do."""
    failed = state is State.FAIL
    return Finding(
        subject=case.subject,
        phase=case.phase.name if isinstance(case, TrialCase) else None,
        rule=rule.id,
        name=rule.name,
        state=state,
        severity=details.get("severity", rule.severity),
        part=details.get("part", rule.part),
        statement=statement,
        observed=details.get("observed", {}),
        threshold=details.get("threshold", {}),
        bound=details.get("bound"),
        relabel=details.get("relabel"),
        evidence=details.get("evidence", ()),
        alternatives=rule.alternatives if failed else (),
        advice=rule.advice if failed else None,
    )

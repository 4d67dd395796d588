"""Puts one case before one rule: thresholds filled in, n/a and missing evidence settled before the rule is asked."""

from __future__ import annotations

import dataclasses

from assay.audit import limits
from assay.catalogue import Case, ComparisonCase, ExperimentCase, Rule, TrialCase
from assay.errors import EvidenceError
from assay.evidence import sources
from assay.records import Finding, Severity, State
from assay.rulekit.findings import found

STATES = (State.FAIL, State.UNVERIFIED, State.PASS, State.NOT_APPLICABLE)
"""Of several hosts the first of these counts."""
OF_STORAGE = ("tier", "durability")
"""Parts of a claim that speak of storage."""


def examine(rule: Rule, case: Case) -> Finding:
    """The finding of one rule on one case; never raises for lack of evidence, says UNVERIFIED instead.

    A trial rule is given the evidence of those hosts that it is about; of a rule about each load host the worst finding counts.
    """
    if not isinstance(case, TrialCase):
        return _examine(rule, case)
    return min((_examine(rule, scoped) for scoped in case.about(rule.about)), key=_badness)


def _badness(finding: Finding) -> tuple[int, int, bool]:
    severities = list(Severity)
    return STATES.index(finding.state), severities.index(finding.severity), finding.bound is not None


def _examine(rule: Rule, case: Case) -> Finding:
    case = dataclasses.replace(case, thresholds=limits.thresholds(rule.id))
    reason = None if isinstance(case, ExperimentCase) else limits.outside(rule.id, case.claim)
    reason = reason or _not_of_storage(rule, case) or rule.applies(case)
    if reason is not None:
        return found(rule, case, State.NOT_APPLICABLE, f"{reason[:1].upper()}{reason[1:]}.")
    missing = lacking(rule, case)
    if missing:
        said = "; ".join(f"{key} ({why})" if why else key for key, why in missing.items())
        return found(rule, case, State.UNVERIFIED, f"Evidence is missing: {said}.", evidence=tuple(missing))
    try:
        return rule.check(case)
    except EvidenceError as error:
        return found(rule, case, State.UNVERIFIED, f"The evidence cannot be read: {error}")


def _not_of_storage(rule: Rule, case: Case) -> str | None:
    """Why a rule of storage says nothing of what goes over a network or is a request; None where it may."""
    if not isinstance(case, TrialCase) or rule.part not in OF_STORAGE:
        return None
    direction = case.phase.directions.get(case.measure.operation)
    return None if direction is None or direction.of_storage else "no storage is asked for by itself"


def lacking(rule: Rule, case: Case) -> dict[str, str]:
    """Evidence that the rule needs and that is not there, each with the reason where one is known."""
    if isinstance(case, TrialCase):
        absent = [key for key in rule.needs if not sources.has(case.phase, case.observations, key)]
        return {key: case.observations.why_missing(key) or "" for key in absent}
    if not isinstance(case, ComparisonCase):
        return {}
    every = [observations for _, observations in (*case.baseline, *case.candidate)]
    return {
        key: next((why for seen in every if (why := seen.why_missing(key)) is not None), "")
        for key in rule.needs
        if not all(sources.has_anywhere(seen, key) for seen in every)
    }

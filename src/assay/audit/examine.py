"""Puts one case before one rule: thresholds filled in, n/a and missing evidence settled before the rule is asked."""

from __future__ import annotations

import dataclasses

from assay.audit import limits
from assay.catalogue import Case, ComparisonCase, ExperimentCase, Rule, TrialCase
from assay.errors import EvidenceError
from assay.evidence import ladder
from assay.records import Finding, State
from assay.rulekit.findings import found


def examine(rule: Rule, case: Case) -> Finding:
    """The finding of one rule on one case; never raises for lack of evidence, says UNVERIFIED instead."""
    case = dataclasses.replace(case, thresholds=limits.thresholds(rule.id))
    reason = None if isinstance(case, ExperimentCase) else limits.outside(rule.id, case.claim)
    reason = reason or rule.applies(case)
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


def lacking(rule: Rule, case: Case) -> dict[str, str]:
    """Evidence that the rule needs and that is not there, each with the reason where one is known."""
    if isinstance(case, TrialCase):
        absent = [key for key in rule.needs if not ladder.has(case.phase, case.observations, key)]
        return {key: case.observations.missing.get(key, "") for key in absent}
    if not isinstance(case, ComparisonCase):
        return {}
    every = [observations for _, observations in (*case.baseline, *case.candidate)]
    return {
        key: next((seen.missing[key] for seen in every if key in seen.missing), "")
        for key in rule.needs
        if not all(ladder.has_anywhere(seen, key) for seen in every)
    }

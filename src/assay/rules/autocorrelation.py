"""Finds intervals made of runs that are no repetitions of their own: each is like the one before it.

Evidence: the paired differences of a comparison in the order of their blocks (of arms in sittings of their own: the values of
each). A system that wanders slowly, or trials that begin where the last one ended, give neighbours that are alike, and the
usual interval of so many values is too narrow. The interval for as many as they are worth is the bound.
"""

from __future__ import annotations

import math
from dataclasses import replace

from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Finding, Scope, Severity, State
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.serial import Serial, serial

ALTERNATIVES = (
    "A rhythm longer than a few blocks (a job every hour): neighbours at half of its length are then unlike.",
    "A level that changed once, half-way: look when, and at what else happened then (S04, the schedule of runs).",
)
ADVICE = (
    "Begin every trial from a fresh set-up, so that a trial and not a sample is what is repeated, and mix the arms in blocks; "
    "wait between trials where the system needs time to forget. More of the same runs do not help as much as they seem to."
)

LEAST_DEGREES = 2.0
"""Of freedom, as three pairs have, the fewest for which Assay gives an interval."""


def applies(case: Case) -> str | None:
    """Comparisons with enough pairs for neighbours to be told alike."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    least = int(case.thresholds["least_values"])
    if all(len(one) < least for one in in_order(case)):
        return f"neighbours are not told to be alike by fewer than {least} pairs of runs"
    return None


def check(case: Case) -> Finding:
    """Fail where neighbours are alike by more than chance, with the interval that so many values are worth."""
    assert isinstance(case, ComparisonCase)
    tested = [known for one in in_order(case) if (known := serial(one)) is not None]
    if not tested:
        return found(RULE, case, State.PASS, "The runs do not differ, so no run follows another.")
    worst = min(tested, key=lambda one: one.p_value)
    p = min(1.0, worst.p_value * len(tested))
    observed = {"correlation": worst.correlation, "p": p, "worth": worst.effective}
    threshold = {"correlation": case.thresholds["correlation"], "p": case.thresholds["p"]}
    said = f"Neighbours among the {what(case)} correlate by {worst.correlation:.2f} (p = {p:.2g})"
    if worst.correlation <= case.thresholds["correlation"] or p >= case.thresholds["p"]:
        return found(RULE, case, State.PASS, f"{said}: no more than by chance.", observed=observed, threshold=threshold)
    return widened(case, worst, said, (observed, threshold))


def widened(case: ComparisonCase, worst: Serial, said: str, numbers: tuple[dict[str, float], dict[str, float]]) -> Finding:
    """The failure, with the interval of as many independent values as there are."""
    answer, n = pairs.answer(case, pairs.values(case)), max(len(one) for one in in_order(case))
    wide = "" if answer is None else ", so the interval is too narrow"
    bound = None
    if answer is not None:
        contrast = answer.contrast
        error, degrees = contrast.standard_error * math.sqrt(n / worst.effective), max(LEAST_DEGREES, worst.effective - 1)
        real = pairs.concluded(case, replace(contrast, standard_error=error, degrees=degrees))
        bound = real.bound
        if real.conclusion is not case.comparison.conclusion:
            wide += f"; by the one they bear the answer is {real.conclusion.value}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}: they are worth no more than {worst.effective:.2g} independent ones{wide}.",
        observed=numbers[0],
        threshold=numbers[1],
        bound=bound,
        relabel=f"{n} runs worth {worst.effective:.2g}",
    )


def in_order(case: ComparisonCase) -> tuple[list[float], ...]:
    """What the interval is made of, in the order of the schedule: differences of logarithms, or the logarithms of each arm."""
    values = pairs.values(case)
    if any(value <= 0 for value in values.values()):
        return ()
    if pairs.by_hand(case):
        levels = (case.comparison.baseline, case.comparison.candidate)
        return tuple([math.log(value) for value in pairs.arm(case, level, values).values()] for level in levels)
    return ([math.log(second / first) for first, second in pairs.by_block(case, values).values()],)


def what(case: ComparisonCase) -> str:
    """What the neighbours are, in words."""
    number = max(len(one) for one in in_order(case))
    return f"{number} runs of an arm" if pairs.by_hand(case) else f"{number} paired differences"


RULE = Rule(
    id="S07",
    name="autocorrelation",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="runs that follow each other",
    needs=(),
    applies=applies,
    check=check,
    wrong="Sixty samples of one run are taken for sixty repetitions, or thirty trials begin one where the last one ended. "
    "Neighbours are alike, so sixty values are worth six, and the interval that is computed from sixty is three times too "
    'narrow: a "95 %" interval of samples that correlate by 0.8 holds the truth in less than half of all cases.',
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time, on runs that depend on each other",
        "Bayley and Hammersley 1946: the effective number of independent observations",
        "Hurlbert, Ecological Monographs 54 (1984) 187: pseudoreplication",
    ),
)

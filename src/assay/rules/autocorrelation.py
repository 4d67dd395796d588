"""Finds intervals that rest on runs which depend on each other: each value resembles the one before.

Assay's unit of inference is the trial, never a sample, thread or client within a run. A series of trials can still be
autocorrelated.
The rule tests the paired differences of logarithms in schedule order, or each arm's values if a person changes the level.
A drift that both arms share cancels in the differences.
- Fewer than `least_values` pairs: n/a.
- Neighbours correlate by more than `correlation` and von Neumann's ratio gives p below `p`: the comparison qualifies.

The bound is the interval for the effective number of values, n (1 - r) / (1 + r).
Independent runs fail in 0.4 to 1.1 % of comparisons (20,000 simulated series each).
A first-order series with r = 0.8 is found in 16 % of series with 8 pairs, 44 % with 12 and 96 % with 30.
"""

from __future__ import annotations

import math
from dataclasses import replace

from assay.catalogue import ComparisonCase, Rule
from assay.records import Finding, Scope, Severity, State
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.autocorrelation import Serial, serial

LEAST_DEGREES = 2.0
"""Of freedom, as three pairs have, the fewest for which Assay gives an interval."""


def applies(case: ComparisonCase) -> str | None:
    """Comparisons with enough pairs to correlate neighbours."""
    least = int(case.thresholds["least_values"])
    if all(len(one) < least for one in in_order(case)):
        return f"fewer than {least} pairs of runs cannot show a correlation"
    return None


def check(case: ComparisonCase) -> Finding:
    """Fail where neighbours are alike by more than chance, with the interval that so many values are worth."""
    tested = [known for one in in_order(case) if (known := serial(one)) is not None]
    if not tested:
        return found(RULE, case, State.PASS, "No correlation: the runs do not differ.")
    worst = min(tested, key=lambda one: one.p_value)
    p = min(1.0, worst.p_value * len(tested))
    of_what = "runs of an arm" if pairs.by_hand(case) else "paired differences"
    observed = {"correlation": worst.correlation, "p": p, "worth": worst.effective}
    neighbours = f"Correlation {worst.correlation:.2f} of neighbours among {longest(case)} {of_what} (p = {p:.2g})"
    if worst.correlation <= case.thresholds["correlation"] or p >= case.thresholds["p"]:
        return found(RULE, case, State.PASS, f"{neighbours}: within chance.", observed=observed)
    return widened(case, worst, neighbours, observed)


def widened(case: ComparisonCase, worst: Serial, neighbours: str, observed: dict[str, float]) -> Finding:
    """The failure, with the interval of as many independent values as there are."""
    answer, n = pairs.answer(case, pairs.values(case)), longest(case)
    wide = "" if answer is None else "; the interval is too narrow"
    bound = None
    if answer is not None:
        contrast = answer.contrast
        error, degrees = contrast.standard_error * math.sqrt(n / worst.effective), max(LEAST_DEGREES, worst.effective - 1)
        real = pairs.concluded(case, replace(contrast, standard_error=error, degrees=degrees))
        bound = real.bound
        if real.conclusion is not case.comparison.conclusion:
            wide += f". With the wider interval the answer is {real.conclusion.value}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{neighbours}: worth {worst.effective:.2g} independent values{wide}.",
        observed=observed,
        bound=bound,
        relabel="runs that depend on each other",
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


def longest(case: ComparisonCase) -> int:
    """The number of values, of the arm that has more."""
    return max(len(one) for one in in_order(case))


RULE = Rule(
    id="S07",
    name="autocorrelation",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="runs autocorrelated",
    applies=applies,
    check=check,
    wrong="Sixty samples of one run are taken for sixty repetitions, or thirty trials begin in the state in which the last one "
    'ended. Neighbours are alike, so sixty values are worth six, and the interval is three times too narrow. A "95 %" interval '
    "of samples that correlate by 0.8 covers the truth in less than half of all cases.",
    alternatives=(
        "A rhythm longer than a few blocks (an hourly job). Neighbours half a period apart then differ.",
        "A level that changed once, half-way. Find the time of the change in the schedule of runs (S04).",
    ),
    advice="Begin every trial from a fresh set-up and mix the arms in blocks. Wait between trials if the system needs time to "
    "forget. More runs of the same kind help less than they seem to.",
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time, on runs that depend on each other",
        "Bayley and Hammersley 1946: the effective number of independent observations",
        "Hurlbert, Ecological Monographs 54 (1984) 187: pseudoreplication",
    ),
)

"""Finds runs that are too short, or have too few operations, for a steady figure or its percentile.

The rule applies to regime = steady. It reads the time from the first start to the last end, the operations, and those beyond
the percentile.
Less than `seconds`, `operations` or `tail_samples` qualifies; less than `invalid_seconds` is invalid.
A phase with `until_steady` counts its steady rounds: five rounds of 12 s are a minute. W02 tests the rate itself.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found

TAILS = {"latency_p90_ns": 0.10, "latency_p95_ns": 0.05, "latency_p99_ns": 0.01, "latency_p999_ns": 0.001}
"""Percentile -> share of the operations beyond it."""


def check(case: TrialCase) -> Finding:
    """Length, number of operations, and samples beyond the percentile."""
    whole = measures.whole_window(case.phase, case.measure.operation)
    window = measures.common_window(case.phase, case.observations, case.measure.operation) if is_steady(case) else whole
    if window is None or whole is None:
        return found(RULE, case, State.UNVERIFIED, "No completed operation, so the length of the run is unknown.")
    limits = case.thresholds
    beyond = whole.count * TAILS.get(case.measure.figure, 1.0)
    shortfalls = [
        f"{window.seconds:.1f} s (at least {limits['seconds']:.0f} s)" if window.seconds < limits["seconds"] else "",
        f"{window.count:,.0f} operations (at least {limits['operations']:,.0f})" if window.count < limits["operations"] else "",
        f"{beyond:,.0f} operations beyond the percentile (at least {limits['tail_samples']:.0f})"
        if beyond < limits["tail_samples"]
        else "",
    ]
    short = [text for text in shortfalls if text]
    observed = {"seconds": window.seconds, "operations": window.count, "samples_beyond": beyond}
    if not short:
        return found(RULE, case, State.PASS, f"{window.seconds:.0f} s with {window.count:,.0f} operations.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Steady state claimed, but {'the steady rounds have ' if is_steady(case) else ''}{'; '.join(short)}.",
        severity=Severity.INVALIDATES if window.seconds < limits["invalid_seconds"] else Severity.QUALIFIES,
        observed=observed,
        relabel="too few steady rounds" if is_steady(case) else "a burst",
        detail=f"{window.seconds:.1f} s",
    )


def is_steady(case: TrialCase) -> bool:
    """Whether the phase ran until it was steady, and was: then its steady rounds are what is claimed."""
    return measures.steady_edges(case.phase, case.measure.operation) is not None


RULE = Rule(
    id="W01",
    name="too-short",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="regime",
    short="too short",
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A run of three seconds ends before the journal has committed, memory is full or the device is warm. Its p99.9 "
    "is the longest of a few hundred operations. It is neither a steady rate nor a percentile.",
    alternatives=("A burst is the subject. Claim regime = burst.",),
    advice='Run for at least a minute (duration = "60 s"; until_steady with round = "12 s") and until a hundred operations lie '
    "beyond the percentile. Or claim regime = burst.",
    at_shell="Run for at least a minute. Or claim regime=burst.",
    ask="ask for a run of a minute or more",
    sources=("IO500: 300 s stonewall", "MLPerf: 600 s a point", "TPC-C: two hours of measurement"),
)

"""Finds rates and latencies with a period that fits too few times into the measured window.

The window is divided into up to 300 parts. The autocorrelation, after a linear trend is removed, peaks at the period.
The peak must exceed `correlation`, and chance at p below `p` (Bartlett's variance, for all lags).
Fewer than `periods` periods fail if a partial period can change the mean by more than `off_share`.
A steady rate or mean latency is bounded, a steady percentile qualified; other claims get a note. The rate of an open load is
n/a.
Simulated series without a period (400 of each kind) fail in 0 to 0.5 %.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Bound, Finding, Regime, Scope, Severity, State
from assay.rulekit.findings import found
from assay.statistics.autocorrelation import LEAST_PERIODIC, Cycle, cycle
from assay.units import Unit

MOST_PARTS = 300
"""More parts than these cost time and show no period that matters."""
METRICS = {**measures.AMOUNTS, "busy_ops_per_s": "count"}


def applies(case: TrialCase) -> str | None:
    """Rates and latencies of our own engines; the rate of an open load is that of its schedule."""
    if case.phase.values:
        return "an external tool: how its rate went over time is not known"
    if case.measure.figure.startswith("latency_"):
        return None
    if case.measure.figure not in METRICS:
        return "neither a rate nor a latency"
    is_open = any(client.load is not None for client in case.phase.clients)
    return "an open load: its rate follows the schedule" if is_open else None


def check(case: TrialCase) -> Finding:
    """The strongest period of the figure over time, and how many of it fit."""
    window = measures.common_window(case.phase, case.observations, case.measure.operation)
    values = course(case, (window.from_ns, window.to_ns)) if window is not None and window.seconds > 0 else ()
    if window is None or len(values) < LEAST_PERIODIC:
        return found(RULE, case, State.UNVERIFIED, "Too few points over time for a period.")
    seen, limits = cycle(values), case.thresholds
    if seen is None or seen.correlation <= limits["correlation"] or seen.p_value >= limits["p"]:
        observed = {"correlation": seen.correlation, "p": seen.p_value} if seen else {}
        return found(RULE, case, State.PASS, f"No period in {len(values)} parts of {window.seconds:.3g} s.", observed=observed)
    period_s = window.seconds / seen.turns
    observed = {"period_s": period_s, "periods": seen.turns, "correlation": seen.correlation}
    observed |= {"p": seen.p_value, "off_share": seen.off_share}
    each = measures.with_unit(period_s * 1e9, Unit.NANOSECONDS)
    if seen.turns < limits["periods"] and seen.off_share > limits["off_share"]:
        return too_few(case, seen, each, observed)
    text = f"Period {each}; {seen.turns:.3g} periods change a mean by {measures.percent(seen.off_share)} at most."
    return found(RULE, case, State.PASS, text, observed=observed)


def course(case: TrialCase, edges: tuple[int, int]) -> Sequence[float]:
    """The rate, or the mean latency, in equal parts of the window; none where too little is known between the edges."""
    parts = min(MOST_PARTS, measures.points_inside(case.phase, case.observations, case.measure.operation, edges))
    if parts < LEAST_PERIODIC:
        return ()
    counts = amounts(case, METRICS.get(case.measure.figure, "count"), edges, parts)
    if not case.measure.figure.startswith("latency_"):
        return counts
    busy = amounts(case, "busy_ns", edges, parts)
    return [spent / count for spent, count in zip(busy, counts, strict=True)] if all(counts) else ()


def amounts(case: TrialCase, metric: str, edges: tuple[int, int], parts: int) -> tuple[float, ...]:
    """What was done in each part."""
    return measures.in_parts(case.phase, case.observations, (case.measure.operation, metric), edges, parts)


def too_few(case: TrialCase, seen: Cycle, each: str, observed: dict[str, float]) -> Finding:
    """The failure: it bounds a steady rate or mean, of anything else it is worth knowing."""
    steady = case.claim.regime is Regime.STEADY
    return found(
        RULE,
        case,
        State.FAIL,
        f"Period {each}, and only {seen.turns:.2g} periods measured (at least {case.thresholds['periods']:g})."
        f" A partial period changes a mean by up to {measures.percent(seen.off_share)}.",
        severity=Severity.QUALIFIES if steady else Severity.NOTES,
        observed=observed,
        bound=bound(case, seen.off_share) if steady else None,
        relabel="over too few periods" if steady else None,
        detail=f"{seen.turns:.2g} periods of {each}" if steady else None,
        evidence=("L0 engine: operations over time",),
    )


def bound(case: TrialCase, off: float) -> Bound | None:
    """What whole periods may give for a rate or a mean latency; None for percentiles, which no mean bounds."""
    kind = measures.figure_kind(case.measure.figure)
    is_mean = case.measure.figure in METRICS or case.measure.figure == "latency_mean_ns"
    if case.value is None or kind is None or not is_mean or off >= 1:
        return None
    return Bound(low=case.value / (1 + off), high=case.value / (1 - off), unit=kind.unit)


RULE = Rule(
    id="W06",
    name="periodicity",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="window",
    short="too few periods",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A journal commits every 5 s, dirty pages are written back, a collector runs, a quota grants its slices. The mean "
    "over two and a half such periods depends on its start within the period. Runs differ that should agree, and runs with the "
    "same start agree on a wrong figure.",
    alternatives=(
        "The sampler's own period beats against a faster one. Use another interval of checkpoints.",
        "A CPU quota or a throttle grants time or operations in slices. L06 names it.",
        "A neighbour runs periodically (cron, a backup). N02 and N03 show it at the same times.",
    ),
    advice="Run for ten periods or more, best for a whole number of them, and start trials at random times within the period.",
    sources=(
        "Hoefler and Belli, SC 2015: report the time over which is averaged",
        "jbd2 commits every 5 s; the kernel writes back every 5 s what is older than 30 s",
    ),
)

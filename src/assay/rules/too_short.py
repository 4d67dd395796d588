"""Finds runs that are too short, or have too few operations, for a steady figure or its percentile.

Under regime = steady it reads the time from the first start to the last end, the operations, and those beyond the percentile.
Less than `seconds`, `operations` or `tail_samples` qualifies; less than `invalid_seconds` is invalid.
A phase with `until_steady` counts its steady rounds: five rounds of 12 s are a minute. W02 tests the rate itself.

**External tools**, under any claim: the tool's time is known to half a step of its clock, or of its last printed digit. More
than `clock_share` of the time qualifies the figure; a time of less than half a step was never measured. So does a rate of
fewer than `operations` in less than `published_s`: that is the time of connecting and beginning. So does a run of less than
`asked_share` of the time that its words ask for: its data or its count ended first.
"""

from __future__ import annotations

import math

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence.asked_time import asked_seconds
from assay.records import Bound, Finding, Regime, Scope, Severity, State
from assay.rulekit.findings import argv_of, found
from assay.units import Unit

TAILS = {"latency_p90_ns": 0.10, "latency_p95_ns": 0.05, "latency_p99_ns": 0.01, "latency_p999_ns": 0.001}
"""Percentile -> share of the operations beyond it."""


TIMED = ("ops_per_s", "bytes_per_s", "elapsed_ns")
"""Figures that rest on the tool's own time."""


def applies(case: TrialCase) -> str | None:
    """Steady claims, and figures of tools by a clock that is too coarse for them."""
    wrong = is_coarse(case) or is_beginning(case) or cut_short(case) is not None
    return None if case.claim.regime is Regime.STEADY or wrong else "no steady regime is claimed"


def is_coarse(case: TrialCase) -> bool:
    """Whether the step of the tool's clock matters for its figure."""
    elapsed, half = tool_time(case)
    return case.measure.figure in TIMED and elapsed is not None and half > case.thresholds["clock_share"] * elapsed


def is_beginning(case: TrialCase) -> bool:
    """Whether the rate of a tool rests on few operations in a short time."""
    elapsed, _ = tool_time(case)
    done = case.phase.values.get(f"{case.measure.operation}.count")
    if case.measure.figure != "ops_per_s" or case.claim.regime is Regime.BURST or elapsed is None or done is None:
        return False
    return done < case.thresholds["operations"] and elapsed < case.thresholds["published_s"] * 1e9


def cut_short(case: TrialCase) -> tuple[str, float] | None:
    """The time that the words of a command ask for, where its tool says that it ran much less; else None."""
    elapsed, _ = tool_time(case)
    told = case.phase.values.get(f"{case.measure.operation}.asked_ns")
    asked = asked_seconds(argv_of(case)) or (None if told is None else ("its job", told / 1e9))
    if asked is None or elapsed is None or case.measure.figure not in TIMED:
        return None
    return asked if elapsed < case.thresholds["asked_share"] * asked[1] * 1e9 else None


def ended_early(case: TrialCase, asked: tuple[str, float]) -> Finding:
    """The failure of a run that ended long before its time."""
    elapsed, _ = tool_time(case)
    took = measures.with_unit(elapsed or 0.0, Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The tool was asked for {asked[1]:g} s ({asked[0]}) and was done after {took}: its data or its count ended first.",
        observed={"elapsed_ns": elapsed, "asked_s": asked[1]},
        relabel="a run that ended before its time",
        detail=f"{took} of {asked[1]:g} s",
        advice="Let the tool go on until its time is over (fio: --time_based; ab: a larger -n behind -t).",
    )


def tool_time(case: TrialCase) -> tuple[float | None, float]:
    """The time of an external tool in ns, by its rate where it does not print it, and what is open of it to either side."""
    elapsed, half, count, rate = (
        case.phase.values.get(f"{case.measure.operation}.{name}")
        for name in ("elapsed_ns", "elapsed_ns_half", "count", "ops_per_s")
    )
    if elapsed is None and count and rate:
        elapsed = count * 1e9 / rate
    return elapsed, half or 0.0


def check(case: TrialCase) -> Finding:
    """Length, number of operations, and samples beyond the percentile; of a tool what its clock can tell."""
    if is_coarse(case):
        return coarse(case)
    if (asked := cut_short(case)) is not None:
        return ended_early(case, asked)
    return beginning(case) if case.claim.regime is not Regime.STEADY else too_few(case)


def beginning(case: TrialCase) -> Finding:
    """The failure of a rate of a few operations."""
    elapsed, _ = tool_time(case)
    done = case.phase.values[f"{case.measure.operation}.count"]
    took = measures.with_unit(elapsed or 0.0, Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{done:,.0f} operations in {took} (at least {case.thresholds['operations']:,.0f} expected, or a second): connecting and "
        "beginning are a large part of that.",
        observed={"operations": done, "elapsed_ns": elapsed},
        relabel="too few operations",
        detail=f"{done:,.0f} in {took}",
    )


def coarse(case: TrialCase) -> Finding:
    """The failure of a figure that rests on a few steps of a clock."""
    elapsed, half = tool_time(case)
    assert elapsed is not None
    took, step = (measures.with_unit(one, Unit.NANOSECONDS) for one in (elapsed, 2 * half))
    unknown = elapsed <= half
    return found(
        RULE,
        case,
        State.FAIL,
        f"The tool timed {took} by a clock, or with digits, of {step}: "
        f"{'nothing was timed' if unknown else f'the figure is uncertain by {measures.percent(half / elapsed)}'}.",
        severity=Severity.INVALIDATES if unknown else Severity.QUALIFIES,
        observed={"elapsed_ns": elapsed, "half_ns": half},
        threshold={"clock_share": case.thresholds["clock_share"]},
        bound=open_to(case, elapsed, half),
        relabel="too short for the clock of the tool",
        detail=f"{took} in steps of {step}",
    )


def open_to(case: TrialCase, elapsed: float, half: float) -> Bound | None:
    """Between which values a time lies by the step of the clock. So short a run is all beginning: its rate has no bound."""
    if case.measure.figure != "elapsed_ns" or elapsed <= half:
        return None
    return Bound(low=elapsed - half, high=elapsed + half, unit=Unit.NANOSECONDS)


def operations_of(case: TrialCase, own: float) -> float | None:
    """How many operations there were: of an external tool as it tells; None where it tells none."""
    if not case.phase.values:
        return own
    elapsed, _ = tool_time(case)
    count, rate = (case.phase.values.get(f"{case.measure.operation}.{name}") for name in ("count", "ops_per_s"))
    return count if count is not None or rate is None or elapsed is None else rate * elapsed / 1e9


def too_few(case: TrialCase) -> Finding:
    """Length, number of operations, and samples beyond the percentile."""
    whole = measures.whole_window(case.phase, case.measure.operation)
    window = measures.common_window(case.phase, case.observations, case.measure.operation) if is_steady(case) else whole
    if window is None or whole is None:
        return found(RULE, case, State.UNVERIFIED, "No completed operation, so the length of the run is unknown.")
    limits, counted = case.thresholds, operations_of(case, window.count)
    count = math.inf if counted is None else counted
    beyond = (whole.count if not case.phase.values else count) * TAILS.get(case.measure.figure, 1.0)
    shortfalls = [
        f"{window.seconds:.1f} s (at least {limits['seconds']:.0f} s)" if window.seconds < limits["seconds"] else "",
        f"{count:,.0f} operations (at least {limits['operations']:,.0f})" if count < limits["operations"] else "",
        f"{beyond:,.0f} operations beyond the percentile (at least {limits['tail_samples']:.0f})"
        if beyond < limits["tail_samples"]
        else "",
    ]
    short = [text for text in shortfalls if text]
    observed = {"seconds": window.seconds, "operations": counted, "samples_beyond": None if counted is None else beyond}
    if not short:
        done = "" if counted is None else f" with {counted:,.0f} operations"
        return found(RULE, case, State.PASS, f"{window.seconds:.0f} s{done}.", observed=observed)
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
    applies=applies,
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

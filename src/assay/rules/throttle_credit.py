"""Finds figures of a throttled disk that used burst credit: the run ended before the limit was in force.

A block throttle grants slices of 100 ms, and the first slices pass at the speed of the disk below.
The rule divides the requests and bytes of the limited device during the clock by the amount that the limit allows. A result above
`share` fails.
The journal's I/O counts too. Counters are read up to some ten ms around the clock.
A rate is at most the measured value, and at least the value without credit. Latencies have no bound.
Measured: 110 requests in 6 ms, 9.1 times the declared 2,000 per second; the same load for 3 s stayed at 0.98 times.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import limits
from assay.measures.limits import LimitUse, Traffic
from assay.records import Bound, Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

RATES = ("ops_per_s", "bytes_per_s")


def applies(case: TrialCase) -> str | None:
    """Trials on a device with a declared throttle."""
    return None if any(place.limits for place in case.run.places) else "no disk of this trial has a declared limit"


def check(case: TrialCase) -> Finding:
    """The direction and kind of which most was used."""
    most = max(used(case), key=lambda one: one.share, default=None)
    if most is None:
        return found(RULE, case, State.UNVERIFIED, "I/O of the limited device during the clock unknown.")
    limit = f"its {measures.with_unit(most.per_s, most.unit)} limit in the {lasted(most)} measured"
    observed = {"share": most.share, "seconds": most.seconds, "passed": most.amount}
    if most.share <= case.thresholds["share"]:
        text = f"{most.name} served {measures.percent(most.share)} of {limit}."
        return found(RULE, case, State.PASS, text, observed=observed)
    times = f"{measures.percent(most.share)} of" if most.share < 2 else f"{most.share:.2g} times"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{most.name} served {times} {limit}: burst credit, not the limit. Run for 2 s or longer.",
        observed=observed,
        bound=bound(case, most),
        relabel="burst credit",
        detail=f"{times} the limit of {most.name} in {lasted(most)}",
        evidence=(f"device:{most.name}", "declared limit"),
    )


def bound(case: TrialCase, most: LimitUse) -> Bound | None:
    """A rate is at most what was measured; with nothing on credit it would have taken `share` times as long."""
    kind = measures.figure_kind(case.measure.figure)
    if case.measure.figure not in RATES or case.value is None or kind is None:
        return None
    return Bound(low=case.value / most.share, high=case.value, unit=kind.unit)


def lasted(most: LimitUse) -> str:
    """For how long the clock ran, as read: `6.04 ms`."""
    return measures.with_unit(1e9 * most.seconds, Unit.NANOSECONDS)


def used(case: TrialCase) -> Iterator[LimitUse]:
    """Each limit of the trial's devices with what passed it during the clock, whoever sent it."""
    for limit in (limit for place in case.run.places for limit in place.limits):
        yield from limits.of_device(case.phase, case.observations, limit, Traffic.ALL)


RULE = Rule(
    id="W11",
    name="throttle-credit",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="regime",
    short="burst credit",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    wrong="A disk is limited to 2,000 operations per second, and a hundred of them are timed. They end after 6 ms, before the "
    "throttle holds back anything, and 11,000 per second are printed as the speed of this disk.",
    alternatives=(
        "The throttle was lifted or set anew during the clock. Compare the facts before and after (C01, L06).",
        "A control group beside the root has no rule of its own (v1), and a process in it wrote to this disk (N03).",
    ),
    advice="Run each phase for two seconds or longer (duration, or more work): one slice of 100 ms then hardly counts.",
    at_shell="Run for two seconds or longer: one slice of 100 ms then hardly counts.",
    sources=(
        "Linux blk-throttle: slices of 100 ms",
        "measured: 110 requests in 6 ms, 9 times the 2,000 a second that 3 s keep to",
    ),
)

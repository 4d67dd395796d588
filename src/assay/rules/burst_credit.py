"""Finds rates that began on credit and then fell: a token bucket, a fast cache inside a disk, a fresh disk.

The rule divides the window into up to 60 equal parts and looks for one lasting fall of the rate. Fewer checkpoints of the engine
give fewer parts.
The first level must be `ratio` times the last. A share of `kept_share` of the parts must lie on the right side of the middle,
so drifts and rates that come and go pass.
Each level must hold for at least five parts (none of 6,000 series of plain noise failed).
The finding gives the size of the bucket: the amount moved before the fall, and the amount above the lower level.
A steady claim is invalid and bounded by the two levels. A burst claim makes the rule n/a; any other claim gets a note.

**External tools** print one mean, and nobody sees in it that it is one of two levels. The counters
of the process, the device or the interfaces tell its rate over time, where they saw what the tool reports within `seen_share`.
Levels `apart` times each other qualify the figure, whatever is claimed: it is that of this length of run alone.
A credit that lasts for fewer than five parts counts from `credit_share` of all bytes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import Window
from assay.measures.tool_course import Course, counters, course_of_tool
from assay.records import Bound, Finding, Regime, Scope, Severity, State
from assay.rulekit.findings import found
from assay.statistics.steadiness import segments
from assay.units import Unit

MOST_PARTS = 60
LEAST_EACH = 5
"""Parts of either level: fewer, and chance alone makes a level of them (as the five rounds of W02)."""
LEAST_PARTS = 2 * LEAST_EACH
METRICS = {"ops_per_s": ("count", Unit.COUNT), "bytes_per_s": ("bytes", Unit.BYTES)}


@dataclass(frozen=True, kw_only=True)
class Fall:
    """One fall of a rate: after which share of the time, from which level to which, per s; how clean it is."""

    at_share: float
    before: float
    after: float
    kept_share: float
    """Of the parts, those that lie on their own side of the middle between the two levels."""

    @property
    def ratio(self) -> float:
        """The first level over the last."""
        return self.before / self.after


def applies(case: TrialCase) -> str | None:
    """Rates of closed loads, without a burst claim."""
    if case.measure.figure not in METRICS:
        return "the figure is no rate"
    if case.claim.regime is Regime.BURST:
        return "a burst is claimed"
    direction = case.phase.directions.get(case.measure.operation)
    if case.phase.values and not any(counters(case.phase, case.observations, direction)):
        return "an external tool: how its rate went over time is not known"
    is_open = any(client.load is not None for client in case.phase.clients)
    return "an open load: its rate follows the schedule" if is_open else None


def check(case: TrialCase) -> Finding:
    """One clean fall, and how deep it is."""
    if case.phase.values:
        return of_tool(case)
    window = measures.common_window(case.phase, case.observations, case.measure.operation)
    values = course(case, window) if window is not None and window.seconds > 0 else ()
    if window is None or len(values) < LEAST_PARTS:
        return found(RULE, case, State.UNVERIFIED, "Too few points of the rate over time.")
    fall, limits = fall_of(values), case.thresholds
    if fall is None or fall.ratio <= limits["ratio"] or fall.kept_share < limits["kept_share"]:
        text = f"No lasting fall of the rate in {window.seconds:.3g} s."
        return found(RULE, case, State.PASS, text, observed={"ratio": fall.ratio} if fall else {})
    return on_credit(case, fall, window)


def of_tool(case: TrialCase) -> Finding:
    """The course of an external tool, by counters that saw its bytes."""
    seen, limits = course_of_tool(case.phase, case.observations, case.measure.operation, LEAST_PARTS), case.thresholds
    reported = moved(case)
    if seen is None or reported is None or case.value is None:
        return found(RULE, case, State.UNVERIFIED, "Too few points of the tool's rate over time.")
    if abs(seen.seen_bytes - reported) > limits["seen_share"] * reported:
        amounts = f"{measures.in_bytes(seen.seen_bytes)} of {measures.in_bytes(reported)}"
        return found(RULE, case, State.UNVERIFIED, f"The counters saw {amounts}, so they tell nothing of its rate over time.")
    mean = sum(seen.parts) / len(seen.parts)
    values = [case.value * part / mean for part in seen.parts]
    falls = [one for one in (fall_of(values), head_of(values, limits)) if one is not None]
    clean = [one for one in falls if one.ratio > limits["apart"] and one.kept_share >= limits["kept_share"]]
    fall = next(iter(clean or falls), None)
    if fall is None or not clean:
        text = f"No lasting fall of the tool's rate to less than half in {seen.seconds:.3g} s."
        return found(RULE, case, State.PASS, text, observed={"ratio": fall.ratio} if fall else {})
    return two_levels(case, fall, seen)


def moved(case: TrialCase) -> float | None:
    """The bytes that the tool says it moved; None where it does not say."""
    told, operation = case.phase.values, case.measure.operation
    if amount := told.get(f"{operation}.bytes"):
        return amount
    rate, elapsed = (told.get(f"{operation}.{name}") for name in ("bytes_per_s", "elapsed_ns"))
    return rate * elapsed / 1e9 if rate and elapsed else None


def two_levels(case: TrialCase, fall: Fall, seen: Course) -> Finding:
    """The failure of a tool: its mean is of neither level."""
    kind, steady = measures.figure_kind(case.measure.figure), case.claim.regime is Regime.STEADY
    assert kind is not None
    first, last = measures.with_unit(fall.before, kind.unit), measures.with_unit(fall.after, kind.unit)
    amount = measures.in_bytes(seen.seen_bytes * fall.at_share * fall.before / (case.value or fall.before))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{first} until {amount} had passed, then {last}: the tool's mean is of neither, and falls with the length of the run.",
        severity=Severity.INVALIDATES if steady else Severity.QUALIFIES,
        observed={"ratio": fall.ratio, "first_level": fall.before, "last_level": fall.after},
        bound=Bound(low=fall.after, high=fall.before, unit=kind.unit),
        relabel="a burst, then a lower rate",
        detail=f"{amount} at {first}, then {last}",
        evidence=("counters of the process, or of the interfaces, over time",),
    )


def course(case: TrialCase, window: Window) -> Sequence[float]:
    """The rate per s in equal parts of the window; none where too little is known."""
    edges = (window.from_ns, window.to_ns)
    parts = min(MOST_PARTS, measures.points_inside(case.phase, case.observations, case.measure.operation, edges))
    if parts < LEAST_PARTS:
        return ()
    what = (case.measure.operation, METRICS[case.measure.figure][0])
    each_s = window.seconds / parts
    return [done / each_s for done in measures.in_parts(case.phase, case.observations, what, edges, parts)]


def fall_of(values: Sequence[float]) -> Fall | None:
    """The last change of level that lasts to the end, where it goes down and something was there before and after it."""
    stretches = segments(values)
    drops = [one for one in stretches[1:] if one.mean > 0]
    if not drops:
        return None
    from statistics import fmean  # what it imports itself costs more than this rule

    at = max(drops, key=lambda one: fmean(values[: one.first]) - fmean(values[one.first :])).first
    before, after = fmean(values[:at]), fmean(values[at:])
    if after <= 0 or min(at, len(values) - at) < LEAST_EACH:
        return None
    middle = (before + after) / 2
    kept = sum(value > middle for value in values[:at]) + sum(value < middle for value in values[at:])
    return Fall(at_share=at / len(values), before=before, after=after, kept_share=kept / len(values))


def head_of(values: Sequence[float], limits: Mapping[str, float]) -> Fall | None:
    """A credit that was used up in the first few parts: so many of all bytes came in them above a rate that then stays.

    Fewer than five parts are a level where they hold a share of all bytes that no chance puts there.
    """
    from statistics import fmean, median  # as above

    for first in range(1, min(LEAST_EACH, len(values) - LEAST_EACH)):
        before, rest = fmean(values[:first]), values[first:]
        after = median(rest)  # the part in which the credit ended has some of both
        if after > 0 and (before - after) * first >= limits["credit_share"] * sum(values):
            middle = (before + after) / 2
            kept = sum(value > middle for value in values[:first]) + sum(
                after / 2 < value < min(middle, 2 * after) for value in rest
            )
            fall = Fall(at_share=first / len(values), before=before, after=after, kept_share=kept / len(values))
            if fall.kept_share >= limits["kept_share"]:
                return fall
    return None


def on_credit(case: TrialCase, fall: Fall, window: Window) -> Finding:
    """The failure: a steady rate is the lower level, of anything else it is worth knowing."""
    _, unit = METRICS[case.measure.figure]
    kind = measures.figure_kind(case.measure.figure)
    assert kind is not None
    seconds = fall.at_share * window.seconds
    first, last = measures.with_unit(fall.before, kind.unit), measures.with_unit(fall.after, kind.unit)
    credit = measures.with_unit((fall.before - fall.after) * seconds, unit)
    amount = measures.with_unit(fall.before * seconds, unit)
    steady = case.claim.regime is Regime.STEADY
    return found(
        RULE,
        case,
        State.FAIL,
        f"{first} for {seconds:.3g} s, then {last}: credit of {credit} used up after {amount}.",
        severity=Severity.INVALIDATES if steady else Severity.NOTES,
        observed={"ratio": fall.ratio, "first_level": fall.before, "last_level": fall.after, "at_s": seconds},
        bound=Bound(low=fall.after, high=fall.before, unit=kind.unit) if steady else None,
        relabel="a burst, then a lower rate" if steady else None,
        detail=f"{amount} at {first}, then {last}" if steady else None,
        evidence=("L0 engine: operations over time",),
    )


RULE = Rule(
    id="W03",
    name="burst-credit",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="regime",
    short="a burst, then a lower rate",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A cloud disk or network grants tokens that were saved up. A flash disk writes into its fast cells first. A fresh "
    "flash disk has no garbage to collect. Ten seconds of that are a true figure of ten seconds and a false one of the day.",
    alternatives=(
        "Buffered writes filled the memory allowed for dirty data. Check D01 and D05; O_DIRECT shows no such fall.",
        "A throttle was set, a neighbour started, or the CPU grew hot. Check L06, N02 and N01 at that time.",
        "A bucket falls after the same amount each time and refills after a rest. A fall without that has another cause.",
    ),
    advice="Write twice the capacity first, or drain the bucket, and measure after the fall. Or claim the burst and report its "
    "size. Repeat after a rest: a rate that returns was credit.",
    at_shell="Run on until the rate no longer falls, and quote the lower level. Or claim regime=burst.",
    sources=(
        "SNIA SSS PTS 2.0.1: purge, then precondition with twice the capacity",
        "Uta et al., NSDI 2020: Is big data performance reproducible in modern cloud networks? (token buckets)",
    ),
)

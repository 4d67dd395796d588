"""Finds operations so short that the clock is a considerable part of the figure.

A latency includes one clock stamp, each operation of a rate two and a histogram entry. Their cost has two bounds:
- at least the instruction: 20 cycles for the cycle counter (`tsc_ns`), 60 for clock_gettime through the vDSO (`gettime_ns`),
- at most `warm_times` the engine's own measurement, the shortest latency of the same clock, or the user time per operation.
  Without a measurement a hypervisor's trap counts (`tsc_most_ns`, `gettime_most_ns`).

Both are divided by the median latency. The lower bound above `cost_share` fails; the upper bound within it passes; else it is
unverified.
A failure qualifies: without the clock a latency is shorter, a rate higher, by the user time at most.
A workload `null` in the same trial measures clock and loop. External tools, open rates and `null` itself are n/a.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import latency
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found, held_back
from assay.units import Unit

SLOW = "clock_gettime"
STAMPS = {"latency": 1, "rate": 2}
"""How many stamps an operation's own time holds, and how many are taken with each operation."""


@dataclass(frozen=True, kw_only=True)
class StampCost:
    """Cost of the time stamps per operation in ns: lower bound, and one upper bound per method."""

    low_ns: float
    most_ns: tuple[float, ...]
    user_ns: float | None
    """One bound, and the only one for stamps that the CPU overlaps with the operation."""

    @property
    def high_ns(self) -> float:
        """At most, by the best of them; some overlap with the operation itself, so never less than at least."""
        return max(self.low_ns, min(self.most_ns))

    def left_share(self, of_ns: float) -> float | None:
        """Which share of an operation is surely its own, by the time in user mode; None where that is all of it or not known."""
        return None if self.user_ns is None or self.user_ns >= of_ns else 1 - max(self.low_ns, self.user_ns) / of_ns


def applies(case: TrialCase) -> str | None:
    """Latencies and rates of operations that our own engines timed."""
    if case.phase.values:
        return "an external tool: cost of its clock unknown"
    if workload_kind(case) == "null":
        return "the engine's own loop is the subject"
    if kind_of(case) is None:
        return "neither a latency nor a rate"
    if kind_of(case) == "rate" and any(client.load is not None for client in case.phase.clients):
        return "an open load: its rate follows the schedule"
    return None


def kind_of(case: TrialCase) -> str | None:
    """`latency`, `rate`, or None for another figure."""
    if case.measure.figure.startswith("latency_"):
        return "latency"
    return "rate" if case.measure.figure.endswith(("ops_per_s", "bytes_per_s")) else None


def check(case: TrialCase) -> Finding:
    """The cost of the stamps over the middle latency."""
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    middle = latency.percentile(buckets, 0.5)
    if not middle:
        return found(RULE, case, State.UNVERIFIED, "No latencies, so the cost of the clock has no reference.")
    cost, limit = cost_of(case), case.thresholds["cost_share"]
    low, high = min(1.0, cost.low_ns / middle), min(1.0, cost.high_ns / middle)
    observed = {"median_ns": middle, "least_ns": cost.low_ns, "most_ns": cost.high_ns, "least_share": low, "most_share": high}
    if low > limit:
        return too_short(case, cost, middle, observed)
    reference = f"(limit {measures.percent(limit)}) of the median latency of {measures.with_unit(middle, Unit.NANOSECONDS)}"
    if high <= limit:
        return found(RULE, case, State.PASS, f"Clock cost at most {measures.percent(high)} {reference}.", observed=observed)
    between = f"Clock cost between {measures.percent(low)} and {measures.percent(high)} {reference}"
    statement = f"{between}. Add a workload `null` to the trial to measure it."
    return found(RULE, case, State.UNVERIFIED, statement, observed=observed)


def cost_of(case: TrialCase) -> StampCost:
    """The bounds of what taking the time cost an operation."""
    limits, stamps = case.thresholds, STAMPS[kind_of(case) or "rate"]
    name = "gettime" if is_slow(case) else "tsc"
    bounds = (measured(case) or stamps * limits[f"{name}_most_ns"], shortest(case), user_ns(case))
    return StampCost(low_ns=stamps * limits[f"{name}_ns"], most_ns=tuple(filter(None, bounds)), user_ns=user_ns(case))


def is_slow(case: TrialCase) -> bool:
    """Whether a client took its stamps by system call."""
    return any(client.clock_source == SLOW for client in case.phase.clients)


def measured(case: TrialCase) -> float | None:
    """At most, by what the engines measured of themselves with warm caches; None where one of them did not."""
    rate = kind_of(case) == "rate"
    costs = [client.own_ns if rate else client.stamp_ns for client in case.phase.clients]
    known = [one for one in costs if one is not None]
    return case.thresholds["warm_times"] * max(known) if known and len(known) == len(costs) else None


def shortest(case: TrialCase) -> float | None:
    """For latencies: the shortest one of any operation of this run that was taken with the same clock holds one stamp too."""
    if kind_of(case) != "latency":
        return None
    sources = {client.clock_source for client in case.phase.clients}
    alike = {phase.name for phase in case.run.phases if {client.clock_source for client in phase.clients} == sources}
    firsts = [one.upper_ns[0] for one in case.observations.histograms if one.phase in alike and len(one.upper_ns)]
    return float(min(firsts)) if firsts else None


def user_ns(case: TrialCase) -> float | None:
    """Time in user mode for each operation of the phase: stamps, histogram and all else that the engine did."""
    count = sum(total.count for client in case.phase.clients for total in client.operations)
    parts = [client.cost.cpu_user_ns for client in case.phase.clients if client.cost is not None]
    known = len(parts) == len(case.phase.clients) and count and sum(parts) > 0
    return sum(parts) / count if known else None


def too_short(case: TrialCase, cost: StampCost, middle_ns: float, observed: dict[str, float]) -> Finding:
    """The failure, with what the figure would be without the clock."""
    source, each = SLOW if is_slow(case) else "the cycle counter", measures.with_unit(middle_ns, Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Reading {source} costs at least {measures.percent(observed['least_share'])} (limit"
        f" {measures.percent(case.thresholds['cost_share'])}) of the median latency of {each}: the clock is part of the figure.",
        observed=observed,
        bound=held_back(case, cost.left_share(middle_ns)),
        relabel="short operations, clock included",
        detail=f"median latency {each}",
        evidence=("L0 engine: histogram, clock, CPU time in user mode",),
    )


RULE = Rule(
    id="G07",
    name="timer-overhead",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Each operation is timed by two stamps. An operation of tens of nanoseconds (a copy out of a buffer, a hit in a "
    "mapped page) is as much clock as operation. Two systems look alike because both show the clock. Without a usable "
    "cycle counter a stamp is a call, and the same holds for hundreds of nanoseconds.",
    alternatives=(
        "The operation itself does almost nothing (a copy out of a buffer). Then the figure describes that.",
        "A hypervisor that traps clock reads makes every stamp expensive. Measure `null`, and check the clock source.",
    ),
    advice="Let each operation do more (a larger record_size), or take the elapsed time of many. If the engine used "
    "clock_gettime, use a machine with a trusted cycle counter (W08). Never subtract the clock by guess.",
    sources=(
        "Hoefler and Belli, SC 2015: report the resolution and the overhead of the timer",
        "the engine's own loop with nothing in it, workload null",
    ),
)

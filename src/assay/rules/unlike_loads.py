"""Finds latencies or rates compared under different loads: other concurrency, or other offered rates.

Busy time of all operations over the phase is the mean number of operations in flight (Little's law).
- Closed loads: the arms' means differ by more than `in_flight_share`: invalid.
- Neither arm had `least_in_flight` operations in flight: operations do not meet, and a difference of little is none.
- Open loads (claimed, or by the clients' own record): the rates differ by more than `rate_share`: invalid.

An operation within another counts once. The load as factor (`clients`, `workers`, `depth`, `rate`, ...), and figures that are
neither a latency nor a rate, are n/a. So are a writer and a reader, which act in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.measures import coherence
from assay.records import Finding, Load, Phase, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

LOAD_FACTORS = frozenset(
    {"clients", "hosts", "workers", "walkers", "threads", "queue_depth", "depth", "rate", "schedule", "think", "regions", "files"}
)
"""Last parts of the paths of factors that are the load itself."""
LoadOf = Callable[[Phase], float | None]


def applies(case: ComparisonCase) -> str | None:
    """None for comparisons of latencies and rates, where the load is not the factor."""
    kind = measures.figure_kind(case.measure.figure)
    if kind is None or kind.unit not in (Unit.NANOSECONDS, Unit.PER_S, Unit.BYTES_PER_S):
        return "neither a latency nor a rate"
    if case.comparison.factor.rpartition(".")[2] in LOAD_FACTORS:
        return f"the load is the factor ({case.comparison.factor})"
    arms = (*case.baseline, *case.candidate)
    if any(coherence.in_turn(phase) for run, _ in arms for phase in run.phases if phase.workload == case.measure.workload):
        return "a writer and a reader, which act in turn"
    return None


def check(case: ComparisonCase) -> Finding:
    """Fail where the mean load of the two arms differs by more than the threshold."""
    opened = case.claim.load is Load.OPEN or were_open(case)
    load_of = offered if opened else in_flight
    first, second = (mean_load(case, runs, load_of) for runs in case.arms)
    if not first or not second:
        return found(RULE, case, State.UNVERIFIED, "Load of an arm unknown: no counts of operations.")
    share = max(first, second) / min(first, second) - 1
    threshold = case.thresholds["rate_share" if opened else "in_flight_share"]
    what = "operations a second" if opened else "operations in flight"
    alone = not opened and max(first, second) < case.thresholds["least_in_flight"]
    failed = share > threshold and not alone
    apart = f"{measures.percent(share)} apart (limit {measures.percent(threshold)})"
    end = ": the difference may come from the load." if failed else "; operations do not meet." if alone else "."
    return found(
        RULE,
        case,
        State.FAIL if failed else State.PASS,
        f"Load of the arms: {first:.3g} and {second:.3g} {what}, {apart}{end}",
        observed={"baseline": first, "candidate": second, "apart_share": share},
        threshold={"apart_share": threshold},
        relabel="comparison at different loads" if failed else None,
    )


def were_open(case: ComparisonCase) -> bool:
    """Whether every client of both arms had a schedule of its own that did not wait for answers."""
    seen = [measures.phase_of(run, case.measure) for run, _ in (*case.baseline, *case.candidate)]
    clients = [client for phase in seen if phase is not None for client in phase.clients]
    return bool(clients) and all(client.load is not None for client in clients)


def mean_load(case: ComparisonCase, runs: Runs, load_of: LoadOf) -> float | None:
    """The mean over the included runs of an arm; None without values."""
    phases = (measures.phase_of(run, case.measure) for run, _ in runs if run.id not in case.comparison.excluded)
    loads = [load for phase in phases if phase is not None and (load := load_of(phase))]
    return fmean(loads) if loads else None


def length_ns(phase: Phase) -> int:
    """From the first operation of any client to the last."""
    if not phase.clients:
        return 0
    return max(client.until_ns for client in phase.clients) - min(client.first_ns for client in phase.clients)


def in_flight(phase: Phase) -> float | None:
    """The mean number of operations in flight while the phase ran."""
    length = length_ns(phase)
    busy = sum(total.busy_ns for client in phase.clients for total in measures.outermost(phase, client))
    return busy / length if length > 0 and busy > 0 else None


def offered(phase: Phase) -> float | None:
    """The mean rate of all operations, per second."""
    length = length_ns(phase)
    count = sum(total.count for client in phase.clients for total in client.operations)
    return count * 1e9 / length if length > 0 and count > 0 else None


RULE = Rule(
    id="C06",
    name="unlike-loads",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="different loads",
    applies=applies,
    check=check,
    wrong="A latency means nothing without its load. If a client of one arm started late or ended early, that arm had less to "
    "do, and its operations were faster for that alone.",
    alternatives=(
        "Operations so short that the generator's own time between them counts. Both arms are then limited by the generator.",
        "An operation that waits for a lock inside one arm is in flight while it waits. That is the system, not the load.",
    ),
    advice="Compare curves (make `clients` or the rate a factor). Or offer both arms the same load: as many clients in "
    "a closed loop, the same rate in an open loop.",
    sources=(
        "Hoefler and Belli, SC 2015: Scientific benchmarking of parallel computing systems",
        "Little, Operations Research 9 (1961): L = lambda W",
    ),
)

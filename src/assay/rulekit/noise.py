"""What noise of the platform can have done to a figure: the most that it can have changed it, as a bound.

Noise takes time from the load. A load that lost the share x of its time needs 1 - x of it without the noise: a rate is between
the measured value and value / (1 - x), a time between value x (1 - x) and the value. Of a percentile the bound is what remains
if all lost time hit the operations just below it. A load at a declared limit cannot have lost more than what is left of the
limit.

On the target's host the server takes the load's place: what it loses costs the load no more than the time in which the load
itself is not on a CPU, and its threads are as many as it kept CPUs busy.

Noise changes no count of events, such as locks that two clients held at once, and no count of a fixed work. CPU time goes on only
on a CPU: waiting adds nothing to it, and a neighbour no more than shared caches and cores cost. No operation is made faster than
the fastest one that was seen, and no rate higher than all places in flight allow at that latency.
A change below `noted_share` is no finding, one up to the experiment's `matters` is a note. A larger one is a failure: with a
bound (BOUNDED), or without one (TAINTED). Noise never makes a figure false, so it never invalidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay import measures
from assay.catalogue import TrialCase
from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures import cost, latency, limits
from assay.measures.figures import PERCENTILES
from assay.measures.limits import LimitUse
from assay.records import Bound, HostRole, Limit, Severity, State, StopRule
from assay.rulekit.findings import held_back

LIMITED = ("ops_per_s", "bytes_per_s", "elapsed_ns", "latency_mean_ns")
"""Figures that a limit of a device holds: of a percentile it says nothing."""
RATES = ("ops_per_s", "bytes_per_s")
EVENTS = ("granted_twice", "lost", "never", "stale")
"""Figures of things that happened or did not: lost time makes none of them happen."""
AMOUNTS = ("count", "bytes", "errors", "attempts")
"""Figures of a work that is done to its end, whatever time that takes."""
CPU_TIME = ("cpu_ns_per_op", "cpu_ns_per_gb", "cpu_s_per_million_ops", "cycles_per_op")
"""Ends of the names of figures that grow on a CPU alone."""
INSTRUCTIONS = "instructions_per_op"
NEVER = 1e-9
"""A smaller rest of the time bounds nothing."""


@dataclass(frozen=True, kw_only=True)
class NoiseEffect:
    """The most that noise can have changed a figure, and what follows for the finding."""

    share: float
    """Of the figure: 0.1 is a rate that is 10 % higher without the noise, or a time that is 10 % shorter."""
    state: State
    severity: Severity
    bound: Bound | None


def effect(case: TrialCase, lost: float, shared: float = 0.0) -> NoiseEffect:
    """What a lost share of the load's time, 0..1, means for the figure; `shared` is what it lost while it was on a CPU."""
    if is_fixed(case):
        return NoiseEffect(share=0.0, state=State.PASS, severity=Severity.QUALIFIES, bound=None)
    lost = min(shared if case.measure.figure.endswith(CPU_TIME) else lost, room(case))
    bound = bound_of(case, lost)
    share = changed(case, bound) if bound is not None else lost
    if share <= case.thresholds["noted_share"]:
        return NoiseEffect(share=share, state=State.PASS, severity=Severity.QUALIFIES, bound=None)
    if share <= case.experiment.matters_share:
        return NoiseEffect(share=share, state=State.FAIL, severity=Severity.NOTES, bound=None)
    return NoiseEffect(share=share, state=State.FAIL, severity=Severity.QUALIFIES, bound=bound)


def is_fixed(case: TrialCase) -> bool:
    """Whether no noise can change the figure: events, instructions, and the amounts of a work that is done to its end."""
    figure = case.measure.figure
    amount = figure in AMOUNTS and case.phase.stop is StopRule.WORK
    return figure in EVENTS or figure.endswith(INSTRUCTIONS) or amount


def in_words(case: TrialCase, one: NoiseEffect) -> str:
    """`Effect on the figure at most 12 % (limit 5 %).`"""
    limit = f"(limit {measures.percent(case.experiment.matters_share)})"
    if one.state is State.FAIL and one.severity is Severity.QUALIFIES and one.bound is None:
        return f"Effect on the figure unknown, {measures.percent(one.share)} or more {limit}."
    return f"Effect on the figure at most {measures.percent(one.share)} {limit}."


def room(case: TrialCase) -> float:
    """The most of its time that a load at a declared limit of its device can have lost; 1 without such a limit."""
    if case.measure.figure not in LIMITED or case.direction is None:
        return 1.0
    declared = [limit for place in case.run.places for limit in place.limits if limit.direction is case.direction]
    return max(0.0, 1.0 - max((use.share for limit in declared for use in own_use(case, limit)), default=0.0))


def own_use(case: TrialCase, limit: Limit) -> Iterator[LimitUse]:
    """What the load alone used of a limit: no more than it asked for, and no more than passed the device."""
    step, seconds = ladder.limited(case.phase, case.observations, limit), case.phase.lasted_ns / 1e9
    asked = ladder.requested_bytes(case.phase, case.observations, limit.direction)
    if step is not None and asked is not None and seconds > 0:
        operations = min(step.raw_operations, ladder.done_operations(case.phase, limit.direction))
        rates = min(step.raw_bytes, asked) / seconds, operations / seconds
        yield from limits.uses(limit, rates, seconds, limits.Credit())


def changed(case: TrialCase, bound: Bound) -> float:
    """By which share of the measured value the far end of a bound differs from it."""
    ends = [end for end in (bound.low, bound.high) if end is not None]
    return max((abs(end / case.value - 1) for end in ends), default=0.0) if case.value else 0.0


def bound_of(case: TrialCase, lost: float) -> Bound | None:
    """Where the figure lies if the load lost at most this share of its time; None where that says nothing."""
    share = PERCENTILES.get(case.measure.figure)
    if share is not None:
        return of_percentile(case, share, lost)
    if case.measure.figure == "latency_mean_ns":
        lost *= max(1.0, 1 / in_flight(case))  # of a worker that rests between operations the operations may have lost it all
        fastest = fastest_ns(case)
        if fastest is not None:
            held = held_back(case, max(NEVER, 1 - lost))
            return held and replace(held, low=min(case.value or 0.0, max(held.low or 0.0, fastest)))
    held = held_back(case, 1 - lost) if lost < 1 - NEVER else None
    most = highest_rate(case)
    if held is None or held.high is None or case.value is None or most is None:
        return held
    return replace(held, high=max(case.value, min(held.high, most)))


def fastest_ns(case: TrialCase) -> float | None:
    """The latency of the fastest operation that was seen; None where no latencies were kept."""
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    return float(buckets[0][0]) if buckets else None


def highest_rate(case: TrialCase) -> float | None:
    """The rate with all places in flight always busy with operations as fast as the fastest; None of other figures.

    An operation is in flight at once with as many others as there are places, and none is faster (Little's law). A load at a rate
    of its own is no faster than that: what it lacks is what was due and never begun.
    """
    if case.measure.figure not in RATES or case.value is None:
        return None
    fastest, places = fastest_ns(case), sum(client.places for client in case.phase.clients)
    done = sum(total.count for _, total in measures.client_operations(case.phase, case.measure.operation))
    duration = case.phase.lasted_ns
    if any(client.load is not None for client in case.phase.clients):
        unstarted = sum(client.load.unstarted for client in case.phase.clients if client.load is not None)
        return case.value * (done + unstarted) / done if done else None
    if not fastest or not done or not places or duration <= 0:
        return None
    return case.value * places / fastest * duration / done


def of_percentile(case: TrialCase, share: float, lost: float) -> Bound | None:
    """The bound of a percentile: the lost time taken off the operations that bring it down most."""
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    held = held_back(case)
    if held is None or case.value is None or not buckets:
        return None
    low = latency.lowered(buckets, share, lost * work_ns(case) * max(1.0, in_flight(case)))
    return Bound(low=min(max(low, float(buckets[0][0])), case.value), high=held.high, unit=held.unit)


def of_no_server(case: TrialCase) -> str | None:
    """Why noise of the target's host is not judged; None where its server was observed, and of every load host."""
    if case.role is not HostRole.TARGET or server_cpus(case) is not None:
        return None
    return "no server of the target was observed on its host"


def server_cpus(case: TrialCase) -> float | None:
    """How many CPUs the server kept busy beside the operations; None where its processes were not observed."""
    series = next(iter(case.observations.over_time(case.phase.name, "server", "run_ns")), None)
    duration = case.phase.lasted_ns
    if series is None or duration <= 0:
        return None
    ran = ladder.rise(series, case.phase.start_ns, case.phase.end_ns)
    return None if ran is None else ran / duration


def waiting_share(case: TrialCase) -> float:
    """Share of its time that the load was not on a CPU and may have waited for the server, at most; all where unknown."""
    known = all(client.cost is not None for client in case.phase.clients)
    return 1 - cost.on_cpu_share(case.phase) if known else 1.0


def on_cpu_share(case: TrialCase) -> float:
    """Share of the load's time that was spent on a CPU of this host: by the load, or by the server that it waits for."""
    if case.role is not HostRole.TARGET:
        return cost.on_cpu_share(case.phase)
    return min(waiting_share(case), server_cpus(case) or 0.0)


def work_ns(case: TrialCase) -> int:
    """The time of all workers together."""
    return case.phase.lasted_ns * max(1, workers(case))


def workers(case: TrialCase) -> int:
    """Workers of all clients."""
    return sum(client.workers for client in case.phase.clients)


def in_flight(case: TrialCase) -> float:
    """Operations that each worker had in flight, on average; 1 where it is not known."""
    busy = sum(total.busy_ns for client in case.phase.clients for total in client.operations)
    return busy / work_ns(case) if busy and work_ns(case) else 1.0

"""Finds a rate that stayed below that of an emulated path, without a limit that Assay can name.

The line counts what it delivers in each direction, with the framing of the path (observer `line`). Between two
samples, about a second apart, the fuller direction delivered less than `reached_share` of the stated rate each time. Paths that
are used together count as one. None of these explains it:
- the path's own queue, which was full in `queue_share` of that time or more, or its stated losses (Mathis, RFC 9438),
- the receive window, the sender's buffer or a slow reader (as L14),
- a CPU or a thread of an end (as L12).

Then this machine did not reach the rate, or a limit that nobody counts held the load back. The figure is a lower bound: over the
stated path it would have been at least as good. The finding has the reached share, the late packets, and the busy CPUs.

A load with a pace of its own, transactions, and paths whose rate an event changes are n/a. A rate that still rose at the end
(more than `rise_share` from one sample to the next), or less than `seconds`, is unverified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import line_ways, served
from assay.evidence.line_ways import WayUse
from assay.measures import connections
from assay.records import Action, Direction, Finding, Scope, Severity, State
from assay.rulekit import end_cpus
from assay.rulekit.findings import found, held_back, knob, rate_of
from assay.rulekit.stream_limits import limiter

MOVING = (Direction.SEND, Direction.RECEIVE, Direction.READ, Direction.WRITE)
RENO, CUBIC = 1.22, 1.054
"""Segments on the way at a loss of p: RENO / sqrt(p); CUBIC (round trip in s / p) ** 0.75 (RFC 9438, equation 6)."""


def applies(case: TrialCase) -> str | None:
    """Bytes that move as fast as they can over the lab's line, at a stated rate."""
    if served.line(case.phase, case.observations, case.host) is None:
        return "no emulated path"
    if case.direction not in MOVING or rate_of(case) is None:
        return "no rate of bytes"
    ends = (*case.phase.clients, *case.phase.servers)
    if any(one.load is not None for one in ends) or any(knob(case, name) for name in ("think", "rate", "schedule")):
        return "a load with a pace of its own"
    events = (event for one in case.experiment.workloads if one.name == case.measure.workload for event in one.events)
    if any(event.action is Action.RATE for event in events):
        return "an event changes the rate of a path"
    names = line_ways.paths_of(case.phase, case.observations)
    rates = (line_ways.fact(case.observations, name, way, "bytes_per_s", case.host) for name in names for way in line_ways.WAYS)
    return "no path with a stated rate" if names and None in rates else None


def check(case: TrialCase) -> Finding:
    """The fullest time of the fuller direction, and what of the load explains that it was no fuller."""
    seconds, limits = case.phase.lasted_ns / 1e9, case.thresholds
    use = line_ways.fullest(case.phase, case.observations, case.host)
    if use is None:
        return found(RULE, case, State.UNVERIFIED, "No counts of a line: how full the emulated path was is unknown.")
    reached = f"The path carried at most {measures.percent(use.most)} of its {rate_words(use)}"
    observed = {"reached_share": use.most, **held(case)}
    if use.most >= limits["reached_share"]:
        return found(RULE, case, State.PASS, f"{reached}: its rate was reached.", observed=observed)
    if seconds < limits["seconds"]:
        return found(
            RULE, case, State.UNVERIFIED, f"{seconds:.2g} s are too short to reach a rate. Run longer.", observed=observed
        )
    if len(use.shares) > 1 and use.shares[-1] > (1 + limits["rise_share"]) * use.shares[-2]:
        return found(RULE, case, State.UNVERIFIED, f"{reached}, and the rate still rose. Run longer.", observed=observed)
    why = next(explained(case, use), None)
    if why is not None:
        return found(RULE, case, State.PASS, f"{reached}; what held the load back is known: {why}.", observed=observed)
    return unexplained(case, reached, observed)


def unexplained(case: TrialCase, reached: str, observed: dict[str, float]) -> Finding:
    """The failure: this machine's own limit where its CPUs were full, else one that nobody counts."""
    names = {
        "late_share": "late packets",
        "line_cpu_share": "CPU time of the line's busiest direction",
        "busy_share": "CPUs of this machine busy",
    }
    beside = "; ".join(f"{words} {measures.percent(observed[name])}" for name, words in names.items() if name in observed)
    crowded = observed.get("busy_share", 0.0) >= case.thresholds["busy_share"]
    cause = (
        "the CPUs of this machine were full with the ends and the line"
        if crowded
        else "no limit of the ends or of the path was found"
    )
    return found(
        RULE,
        case,
        State.FAIL,
        f"{reached}, and {cause}. {beside[:1].upper()}{beside[1:]}.",
        observed=observed,
        bound=held_back(case),
        relabel="limited by the CPUs of this machine, which emulates the path"
        if crowded
        else "limit unknown, below the path's rate",
        detail=f"{reached[:1].lower()}{reached[1:]}; {beside}" if beside else None,
    )


def rate_words(use: WayUse) -> str:
    """`40000 Mbit/s`, as the facts of the path have it."""
    return f"{use.stated_bytes_per_s * 8 / 1e6:g} Mbit/s"


def held(case: TrialCase) -> dict[str, float]:
    """What tells of this machine: late packets, the line's CPU time, and how busy its CPUs were."""
    took_ns = max(1, case.phase.lasted_ns)
    ways = line_ways.rises(case.phase, case.observations).values()
    cpus = [one.busy for one in end_cpus.cpus_of(case)]
    return {
        "late_share": max((one["late_packets"] / max(1.0, one["delivered_packets"]) for one in ways), default=0.0),
        "line_cpu_share": max((one["cpu_ns"] / took_ns for one in ways), default=0.0),
        **({"busy_share": sum(cpus) / len(cpus)} if cpus else {}),
    }


def explained(case: TrialCase, use: WayUse) -> Iterator[str]:
    """Limits of the stated path and of the load that explain a rate below the path's."""
    full = sum(use.dropping) / len(use.dropping)
    if full >= case.thresholds["queue_share"]:
        yield f"its queue was full, and dropped segments, in {measures.percent(full)} of the time"
    seen = case.everywhere.on_all() if case.everywhere is not None else case.observations
    ends = connections.stream_ends(case.phase, case.measure.operation)
    stream = connections.stream_use(case.phase, seen, ends) if ends else None
    rtt_ns = stream.rtt_ns if stream else None
    if use.lost_share and is_of_losses(case, use, rtt_ns):
        yield f"its losses of {measures.percent(use.lost_share)}"
    if stream is not None and ends is not None:
        restless = connections.restless_share(case.phase, case.everywhere or seen, ends.receivers)
        label, words = limiter(case, stream, restless)
        if label is not None:
            yield f"{label} ({words})"
    yield from of_ends(case)


def is_of_losses(case: TrialCase, use: WayUse, rtt_ns: float | None) -> bool:
    """Whether as many segments are on the way as losses as stated leave there; without a round trip, whether many are lost."""
    if rtt_ns is None:
        return use.lost_share >= case.thresholds["lost_share"]
    count = max(1, sum(len(one.net.connections) for one in case.phase.clients if one.net is not None))
    model = count * max(RENO / math.sqrt(use.lost_share), CUBIC * math.pow(rtt_ns / 1e9 / use.lost_share, 0.75))
    factor, on_the_way = case.thresholds["loss_factor"], use.segments_per_s * rtt_ns / 1e9
    return model / factor <= on_the_way <= factor * model


def of_ends(case: TrialCase) -> Iterator[str]:
    """CPUs of an end, or a thread, at their limit."""
    yield from (f"{one}" for one in end_cpus.full(case, end_cpus.cpus_of(case)))
    name, thread = end_cpus.busiest_thread(case)
    if thread >= case.thresholds["thread_share"]:
        yield f"a thread of {name} ran for {measures.percent(thread)} of the time that it could"


RULE = Rule(
    id="L17",
    name="unreached-rate",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="path",
    short="path's rate not reached",
    reads=(
        "line.delivered_bytes",
        "line.delivered_segments",
        "line.late_packets",
        "line.cpu_ns",
        "end_cpu.busy_ns",
        "tcp.rtt_ns",
    ),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A file states a path of 40 Gbit/s, the machine that emulates it carries 10. No packet is late, as the ends send no "
    "more than the machine lets them. The report says `1.23 GB/s over 40 Gbit/s`, and a faster link is called useless.",
    alternatives=(
        "A shaper, a quota or a slow program at an end, which no counter shows. Look at what the ends wait for.",
        "Congestion control that has not found the rate yet, after a cut or a burst of losses. Run longer.",
        "An external program may limit its own rate or window. Check its options.",
    ),
    advice="State a path that this machine reaches (some 5 Gbit/s with two CPUs), or measure over a wire. Compare the rate with "
    "that of more connections: if it rises, the connection was the limit.",
    sources=(
        "Mathis et al. 1997: the macroscopic behavior of the TCP congestion avoidance algorithm",
        "RFC 9438, section 5.1: average window of CUBIC",
        "measured: 1.23 GB/s over a stated path of 40 Gbit/s on two CPUs, and no rule that spoke",
    ),
)

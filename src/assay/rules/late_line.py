"""Finds an emulated link that did not deliver the configured delay, rate or loss: late, unread or wrongly lost packets.

How it is seen: the line between load and server counts what it does in each direction (observer `line`). In the phase:
- late packets (later than 5 % of the path's delay and than 0.2 ms) above `late_share` of those delivered,
- the line's own thread busy for more than `busy_share` of the time: the path is then as fast as a CPU, not as its rate,
- packets dropped since the line did not read or hold them, above `unread_share`.
The figure is then bounded: at the stated path it would have been at least as good.
- losses that differ from the stated share by more than `loss_errors` standard errors: tainted.

Directions with fewer than `least_packets` packets have no share of late ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import line_ways, served
from assay.evidence.line_ways import Numbers
from assay.measures import with_unit
from assay.records import Finding, Path, Scope, Severity, State
from assay.rulekit.findings import found, held_back
from assay.units import Unit

WORDS: Mapping[str, str] = {
    "late_share": "late packets",
    "busy_share": "CPU time of the line's busiest direction",
    "unread_share": "packets lost by the line itself",
}


def applies(case: TrialCase) -> str | None:
    """Whatever passes the lab's own line, and claims of such a path."""
    if case.claim.path is not Path.EMULATED and served.line(case.phase, case.observations, case.host) is None:
        return "no emulated path"
    return None


def check(case: TrialCase) -> Finding:
    """What the line did in each direction against what its path says."""
    ways = line_ways.rises(case.phase, case.observations)
    if not ways:
        return found(
            RULE, case, State.UNVERIFIED, "No counts of a line: whether an emulated path kept rate and delay is unknown."
        )
    took_ns = max(1, case.phase.lasted_ns)
    observed = {key: max(values) for key, values in shares(case, ways, took_ns).items()}
    strange = tuple(losses(case, ways))
    if strange:
        return found(RULE, case, State.FAIL, f"Wrong losses on the emulated path: {'; '.join(strange)}.", observed=observed)
    wrong = [
        f"{WORDS[key]} {measures.percent(value)} (limit {measures.percent(case.thresholds[key])})"
        for key, value in observed.items()
        if value > case.thresholds[key]
    ]
    late_ns, delivered = (sum(one[key] for one in ways.values()) for key in ("late_ns", "delivered_packets"))
    mean = with_unit(late_ns / max(1.0, delivered), Unit.NANOSECONDS)
    if wrong:
        text = f"The emulated path did not keep its word: {'; '.join(wrong)}. Mean lateness {mean}."
        return found(RULE, case, State.FAIL, text, observed=observed, bound=held_back(case), relabel="late line")
    said = "; ".join(f"{WORDS[key]} {measures.percent(value)}" for key, value in observed.items())
    return found(
        RULE, case, State.PASS, f"The emulated path kept rate and delay: {said}; mean lateness {mean}.", observed=observed
    )


def shares(case: TrialCase, ways: Mapping[str, Numbers], took_ns: int) -> dict[str, list[float]]:
    """The share of each direction that the limits are for."""
    least = case.thresholds["least_packets"]
    late = [one["late_packets"] / one["delivered_packets"] for one in ways.values() if one["delivered_packets"] >= least]
    unread = [(one["unread_packets"] + one["overrun_segments"]) / max(1.0, one["segments"]) for one in ways.values()]
    return {
        "late_share": late or [0.0],
        "busy_share": [one["cpu_ns"] / took_ns for one in ways.values()],
        "unread_share": unread,
    }


def losses(case: TrialCase, ways: Mapping[str, Numbers]) -> Iterator[str]:
    """Directions whose losses are not those of their path."""
    for name, one in ways.items():
        stated = case.observations.fact(f"target.path.{name}.loss", host=case.host)
        sent = one["delivered_segments"] + one["lost_segments"]
        if stated is None or not sent:
            continue
        share = float(stated)
        error = math.sqrt(max(share * (1 - share) * sent, 1.0))
        if abs(one["lost_segments"] - share * sent) > case.thresholds["loss_errors"] * error:
            got = measures.percent(one["lost_segments"] / sent)
            yield f"{name} lost {got} of {sent:,.0f} segments, stated {measures.percent(share)}"


RULE = Rule(
    id="L13",
    name="late-line",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="path",
    reads=("line.delivered_packets", "line.late_packets", "line.lost_segments", "line.unread_packets", "line.cpu_ns"),
    applies=applies,
    check=check,
    wrong="A path is emulated by a program, which needs CPU time at the right moment. On a busy machine packets come late, or "
    "a rate is stated that no CPU reaches. The result then shows the machine, and the report says `2.5 Gbit/s, 4 ms`.",
    alternatives=(
        "Other programs of the machine took the CPUs: N02 and N03 show it, and the line waited for a CPU (line.cpu_wait_ns).",
        "The hypervisor took the CPU (N01): packets are late although the line did not wait by its own account.",
    ),
    advice="Run the experiment on an idle machine, or state a slower path. Above some 5 Gbit/s a line needs more than a CPU: "
    "measure over a wire.",
    sources=("sched(7): SCHED_FIFO; Documentation/scheduler/sched-stats.rst", "ip-netns(8), tuntap.rst: TUN devices"),
)

"""Finds sends that count data which had not arrived: still in the sender's buffer, in a queue on the way, or lost.

A sender is done when its kernel has taken the data. The rule compares what a tool says it sent with
1. what the tool says arrived (the line `receiver` of iperf3),
2. else the bytes that left the interfaces of this host, the loopback included, while the command ran. They have headers and other
   programs' traffic in them, so only too few say something. A command in another network namespace has counters of its own.

- More than `lost_share` of the sent data did not arrive: the figure is invalid, and bounded by the rate that arrived.
- More than `noted_share`: qualified, with the same bound.
- Neither is known: unverified.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.measures import in_bytes, percent
from assay.records import Bound, Direction, Finding, Rung, Scope, Severity, State
from assay.rulekit.findings import found, rate_of
from assay.units import Unit

SEND = "send"
"""How the operations of parsers begin that send."""
ELSEWHERE = ("process", "other_network")
"""Whether the command was seen in another network namespace."""


def applies(case: TrialCase) -> str | None:
    """External tools that report the bytes which they sent."""
    sends = case.direction is Direction.SEND or case.measure.operation.startswith(SEND)
    if not sends or not case.phase.values:
        return "no send of an external tool"
    return None if reported(case, "bytes") is not None else "the tool reports no bytes"


def check(case: TrialCase) -> Finding:
    """What arrived, or at least left this host, over what was sent."""
    sent, arrived = reported(case, "bytes") or 0.0, reported(case, "delivered_bytes")
    who = "receiver"
    if arrived is None:
        arrived, who = left(case), "interfaces"
    if arrived is None or sent <= 0:
        return found(RULE, case, State.UNVERIFIED, "Bytes that arrived are unknown: no report of the receiver, no counters.")
    lost, limits = max(0.0, 1 - arrived / sent), case.thresholds
    observed = {"sent_bytes": sent, "delivered_bytes": arrived, "lost_share": lost}
    text = f"{in_bytes(sent)} sent, {in_bytes(arrived)} {'arrived' if who == 'receiver' else 'left the interfaces of this host'}"
    if lost <= limits["noted_share"]:
        return found(RULE, case, State.PASS, f"{text}.", observed=observed, evidence=(SOURCES[who],))
    many = lost > limits["lost_share"]
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text}: {percent(lost)} did not arrive (limit {percent(limits['lost_share' if many else 'noted_share'])}).",
        severity=Severity.INVALIDATES if many else Severity.QUALIFIES,
        observed=observed,
        bound=arriving(case, 1 - lost),
        relabel="sent into a buffer or lost",
        detail=f"{percent(lost)} did not arrive",
        evidence=(SOURCES[who],),
    )


SOURCES = {"receiver": "L0: the tool's report of its receiver", "interfaces": "L3: bytes of the interfaces and of the loopback"}


def reported(case: TrialCase, figure: str) -> float | None:
    """A figure that the tool says of the measure's operation; None without one."""
    return case.phase.values.get(f"{case.measure.operation}.{figure}")


def left(case: TrialCase) -> float | None:
    """Bytes that left the interfaces under the clock; None where they are not those of the command's network."""
    own = [*case.observations.over_time(case.phase.name, *ELSEWHERE)]
    if not own or any(value for series in own for value in series.value):
        return None
    inside = ladder.host_rise(case.phase, case.observations, "network", "loopback_bytes")
    outside = ladder.passed(case.phase, case.observations, Rung.CLIENT_NIC, Direction.WRITE)
    return None if inside is None or outside is None else inside + outside.raw_bytes


def arriving(case: TrialCase, share: float) -> Bound | None:
    """The rate that arrived, as the tool says it, else that share of the figure."""
    rate = rate_of(case)
    if rate is None:
        return None
    value, unit = rate
    own = reported(case, "delivered_bytes_per_s") if unit == Unit.BYTES_PER_S else None
    return Bound(low=None, high=min(value, value * share if own is None else own), unit=unit)


RULE = Rule(
    id="G11",
    name="unarrived",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    short="did not arrive",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("L0.write", "L3.write", "network.loopback_bytes"),
    wrong="A sender reports 17.3 Mbit/s over a path of 10 Mbit/s: one second of sending fits into the buffers on the way. "
    "Another one reports 50 Mbit/s of datagrams, and a queue drops four of five.",
    alternatives=(
        "The adapter moved the bytes itself (remote direct memory access). Check its own counters.",
        "The way compresses the data (a tunnel). Compare with the counters of the receiver.",
    ),
    advice="Quote the rate of the receiver. Send for longer than the buffers hold (10 s and more). Send datagrams at a rate "
    "that the path carries.",
    sources=(
        "iperf3, manual: the sender's and the receiver's lines of the summary",
        "RFC 6349: throughput is what the receiver has got",
    ),
)

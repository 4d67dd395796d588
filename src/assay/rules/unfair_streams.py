"""Finds connections of one load that got far less than the rest: one starved stream among many.

Each end of the engine `net` has the bytes of each connection (TCP_INFO): those that the peer acknowledged, or that came.
A fair share is the mean over the connections in one direction.
- Jain's index of the bytes below `fairness`, or a connection below `least_share` of its fair share: a note that names it.

The first 64 connections of a client are listed, and only those are judged. The engine notes since which look a connection moved
less than half of the mean.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import connections
from assay.records import Finding, Meaning, Scope, Severity, State
from assay.rulekit.findings import Figures, found


def applies(case: TrialCase) -> str | None:
    """Streams of more than one connection."""
    ends = connections.stream_ends(case.phase, case.measure.operation)
    if ends is None:
        return "no streams between two ends of the lab"
    return None if len(connections.connections(ends.senders)) > 1 else "a single connection"


def check(case: TrialCase) -> Finding:
    """The index of all connections, and the one that got least."""
    shares = connections.shares(case.phase, case.measure.operation)
    if shares is None:
        return found(RULE, case, State.UNVERIFIED, "Bytes of the single connections unknown (TCP_INFO).")
    least, fair = shares.slowest, shares.fairness
    text = f"Jain's index of {len(shares.each)} connections: {fair:.2f} (limit {case.thresholds['fairness']:g})"
    observed: Figures = {"fairness": fair, "least_share": least.share, "slowest": least.name}
    if fair >= case.thresholds["fairness"] and least.share >= case.thresholds["least_share"]:
        return found(RULE, case, State.PASS, f"{text}.", observed=observed)
    which = f"{least.name} moved {measures.in_bytes(least.bytes)}, {measures.percent(least.share)} of its fair share{least.since}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text}: {which}.",
        observed=observed,
        relabel="unequal streams",
        detail=which,
    )


RULE = Rule(
    id="L18",
    name="unfair-streams",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    short="unequal streams",
    meaning=Meaning.UNEQUAL,
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="Eight streams move 42 MB/s together, and seven of them did it. The eighth is held at 70 kB/s by a policer. "
    "In the sum nobody sees it, and one user in eight waits for ever.",
    alternatives=(
        "Connections with different round trips, or different congestion controls, share a queue unequally by design.",
        "The phase was too short for slow start to end on each connection.",
    ),
    advice="Run the slow connection by itself. Look for a rule on its ports, for the member of a bond that it hashes to, and for "
    "its queue. Report the slowest stream beside the sum.",
    sources=(
        "Jain, Chiu, Hawe, DEC-TR-301, 1984: a quantitative measure of fairness",
        "measured: one of eight streams at 0.53 MB beside 31 to 71 MB",
    ),
)

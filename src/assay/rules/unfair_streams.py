"""Finds connections of one load, or hosts of one server, that got far less than the rest: one starved stream, one slow server.

Each end of the engine `net` has the bytes of each connection (TCP_INFO): those that the peer acknowledged, or that came.
A fair share is the mean over the connections in one direction.
If a server has nodes on several hosts, and the lab does not see its connections, the bytes of each host's interfaces count.
- Jain's index of the bytes below `fairness`, or a connection below `least_share` of its fair share: a note that names it.

The first 64 connections of a client are listed, and only those are judged. The engine notes since which look a connection moved
less than half of the mean. A host of a server is slow since its CPU time rose by less than half of the mean.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.measures import connections, windows
from assay.records import Finding, Meaning, Scope, Severity, State
from assay.rulekit.findings import Figures, found


def applies(case: TrialCase) -> str | None:
    """Streams of more than one connection, and servers on more than one host."""
    ends = connections.stream_ends(case.phase, case.measure.operation)
    if ends is None:
        return None if len(hosts_of(case)) > 1 else "no streams between two ends of the lab, and no server on several hosts"
    return None if len(connections.connections(ends.senders)) > 1 else "a single connection"


def hosts_of(case: TrialCase) -> frozenset[str]:
    """The hosts of the target's server that clients reach by an address."""
    server = served.server(case.run)
    return frozenset(node.host for node in server.nodes if node.address) if server is not None else frozenset()


def check(case: TrialCase) -> Finding:
    """The index of all connections, or of all hosts of the server, and the one that got least."""
    lacking: tuple[str, ...] = ()
    if connections.stream_ends(case.phase, case.measure.operation) is None:
        shares, what, label = servers(case), "hosts of the server", "unequal servers"
        lacking = ("L4.read", "L4.write")
    else:
        shares, what, label = connections.shares(case.phase, case.measure.operation), "connections", "unequal streams"
    if shares is None:
        text = f"Bytes of the single {what} unknown{'' if lacking else ' (TCP_INFO)'}."
        return found(RULE, case, State.UNVERIFIED, text, lacking=lacking)
    least, fair = shares.slowest, shares.fairness
    text = f"Jain's index of {len(shares.each)} {what}: {fair:.2f} (limit {case.thresholds['fairness']:g})"
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
        relabel=label,
        detail=which,
    )


def servers(case: TrialCase) -> connections.StreamShares | None:
    """What passed the interfaces of each host of the server; None where not every one of them was counted."""
    passed = served.each_passed(case.phase, case.observations)
    moved = {host: round(passed[host]) for host in sorted(hosts_of(case) & passed.keys())}
    if len(moved) < len(hosts_of(case)) or not sum(moved.values()):
        return None
    ran = served.each_over_time(case.phase, case.observations)
    known = ran if moved.keys() <= ran.keys() else {}
    edges = (case.phase.start_ns, case.phase.end_ns)
    since = windows.behind_since(known, edges) if known else {}
    return connections.shared_out(
        (host, amount, (since[host] - case.phase.start_ns) / 1e9 if host in since else None) for host, amount in moved.items()
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
        "A server that holds less of the data, or is further down in a list, gets fewer requests by design.",
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

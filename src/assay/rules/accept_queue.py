"""Names a full accept queue: the server's kernel drops connections that the server has not accepted in time.

A listening socket keeps as many connections as its backlog allows (listen(2), net.core.somaxconn). A further one is dropped,
and the client asks again after 1 s, 3 s, 7 s. The counters ListenOverflows, ListenDrops and TCPReqQFullDrop of the network
namespaces of both ends are compared with the segments that were sent again there.
- At least `least_drops` dropped, and `answered_share` as many segments sent again: the queue held the load back.
- Fewer sent again: the connections were another program's.

It qualifies tier = device and claimed paths, and bounds the figure; other claims get a note with the limiter. A server that
resets what it cannot take (tcp_abort_on_overflow) gives errors in place of waits.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.records import Finding, Path, Scope, Severity, State, Tier
from assay.rulekit.findings import found, held_back
from assay.units import Unit

LAYER = "end_network"
DROPPED = ("tcp_listen_overflows", "tcp_listen_drops")
AGAIN = "tcp_retransmitted_segments"
FREE = (Path.WIRE, Path.EMULATED)
WAIT_NS = 10**9
"""The first timeout of a connection request (RFC 6298)."""


def applies(case: TrialCase) -> str | None:
    """Loads that reach a server by an address."""
    server = served.server(case.run)
    return None if server is not None and server.addresses else "the target names no address of a server"


def check(case: TrialCase) -> Finding:
    """Connections that the kernel dropped for want of a place, against what was sent again."""
    overflows, drops = (risen(case, metric) for metric in DROPPED)
    if overflows is None or drops is None:
        return found(RULE, case, State.UNVERIFIED, "Connections that the server's kernel dropped unknown.")
    dropped, again, limits = max(overflows, drops), risen(case, AGAIN), case.thresholds
    observed = {"overflows": overflows, "dropped": dropped, "sent_again": again}
    if dropped < limits["least_drops"]:
        return found(RULE, case, State.PASS, "The accept queue of the server was never full.", observed=observed)
    if again is None:
        text = f"{dropped:,.0f} connection requests dropped; segments that were sent again unknown."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    if again < limits["answered_share"] * dropped:
        text = f"{dropped:,.0f} connection requests of another program dropped; the ends sent {again:,.0f} segments again."
        return found(RULE, case, State.PASS, text, observed=observed)
    free = case.claim.tier is Tier.DEVICE or case.claim.path in FREE
    return found(
        RULE,
        case,
        State.FAIL,
        f"The server's kernel dropped {dropped:,.0f} connection requests (accept queue full in {overflows:,.0f}). "
        f"Each waits {measures.with_unit(WAIT_NS, Unit.NANOSECONDS)} or longer to be sent again.",
        severity=Severity.QUALIFIES if free else Severity.NOTES,
        observed=observed,
        bound=held_back(case) if free else None,
        relabel="limited by the accept queue of the server",
    )


def risen(case: TrialCase, metric: str) -> float | None:
    """The rise of a counter under the clock, of all namespaces of both ends; None where it was not read."""
    every = [one for seen in case.sides() for one in seen.over_time(case.phase.name, LAYER, metric)]
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


RULE = Rule(
    id="L25",
    name="accept-queue",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="connections dropped by a full accept queue",
    reads=tuple(f"{LAYER}.{metric}" for metric in (*DROPPED, AGAIN)),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="Fifty clients connect at once to a server with a backlog of five. Most of them wait a second for nothing, and the "
    "server is called slow while it is idle.",
    alternatives=(
        "The server was stopped for a moment, and accepted nothing (W12).",
        "Memory was short: the kernel drops connections then, too (N05).",
    ),
    advice="Raise the backlog of the server and net.core.somaxconn, or let the clients keep their connections.",
    sources=("listen(2), tcp(7)", "Linux: ip-sysctl.rst: tcp_max_syn_backlog, tcp_abort_on_overflow", "RFC 6298"),
)

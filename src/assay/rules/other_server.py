"""Finds a load that talks to another server than the one that the target names.

On each host the kernel's tables of TCP connections are read (/proc/PID/net/tcp).
Beside them stand the sockets of the load, of the programs behind its FUSE mounts, and of the server.
- On one machine the other end of a load's connection belongs to a process. A connection of the server's, or of a program
  before it or on its port (L02), passes. Another program, while the server has none of these connections, is invalid.
- On two machines the load's connections end at addresses and ports. An address of the server with a port on which it listens
  passes. If none is, and less than `moved_share` of the load's bytes passed the server's interfaces, it is invalid. The bytes of
  the lab's own connections to that host do not count (TCP_INFO). With more bytes a balancer or a translation of addresses is on
  the way: unverified. If the load's host translates addresses (NAT, /proc/PID/net/nf_conntrack), the end that answers counts.
  If it is the server's address, and less than `moved_share` of the bytes passed its interfaces, it is unverified, too.

Connections of the kernel (NFS, SMB) and datagrams have no process, so they are unverified. So is a server that a proxy may reach
by a Unix socket.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.records import Direction, Finding, Observations, Rung, Scope, Severity, State
from assay.rulekit.applicability import servers_only
from assay.rulekit.findings import found

THROUGH = {served.BETWEEN_FACT: "is before the server", served.BESIDE_FACT: "is on the server's port"}
MOVING = (Direction.READ, Direction.WRITE, Direction.SEND, Direction.RECEIVE)


def check(case: TrialCase) -> Finding:
    """Who accepted the load's connections."""
    other, direct = fact(case, served.INSTEAD_FACT), fact(case, served.DIRECT_FACT)
    if other is not None:
        return elsewhere(case, f"The load is connected to {other}, and the named server has no connection of either.", other)
    if direct is not None:
        return found(RULE, case, State.PASS, "The named server accepted connections of the load.", observed={"direct": 1})
    for key, what in THROUGH.items():
        if (who := fact(case, key)) is not None:
            return found(RULE, case, State.PASS, f"The load is connected to {who}, which {what}.", observed={"direct": 0})
    return by_address(case)


def by_address(case: TrialCase) -> Finding:
    """Where the connections of load hosts end, against where the server listens."""
    ends = {end for key in ends_of(case, served.REACHED_FACT) for end in key.split(", ")}
    doors = {door for key in ends_of(case, served.DOORS_FACT) for door in key.split(", ")}
    server = served.server(case.run)
    if not ends or not doors or server is None or not server.addresses:
        return found(RULE, case, State.UNVERIFIED, "Who accepted the load's connections is unknown.")
    ports = {door.rpartition(":")[2] for door in doors}
    named = {canonical(one) for one in server.addresses}
    if None in named:
        return found(RULE, case, State.UNVERIFIED, "The server is named by no IP address. Set server.address to one.")
    own = {end for end in ends if end.rpartition(":")[2] in ports and canonical(end.rpartition(":")[0].strip("[]")) in named}
    share = moved_share(case)
    if own and share is not None and share < case.thresholds["moved_share"]:
        statement = (
            f"The load is connected to an address of the named server, but {measures.percent(share)} of its bytes passed that"
            " server's interfaces. A cache answered, or the address is translated on the way (NAT)."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed={"moved_share": share})
    if own:
        return found(RULE, case, State.PASS, "The load is connected to the named server.", observed={"direct": 1})
    words = f"The load is connected to {', '.join(sorted(ends))}; the named server listens on {', '.join(sorted(doors))}"
    if share is None or share >= case.thresholds["moved_share"]:
        passed = "bytes of its interfaces unknown" if share is None else f"{measures.percent(share)} of the bytes passed it"
        return found(RULE, case, State.UNVERIFIED, f"{words}; {passed}.", observed={"moved_share": share})
    return elsewhere(case, f"{words} at {', '.join(server.addresses)}.", ", ".join(sorted(ends)), share)


def canonical(address: str) -> str | None:
    """An IP address as the kernel's tables are printed, without the interface of a link-local one; None for other texts."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def elsewhere(case: TrialCase, statement: str, who: str, share: float | None = None) -> Finding:
    """The failure: what was measured is another server."""
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        observed={"other": who, "moved_share": share},
        relabel=f"not of the named server: the load is connected to {who}",
    )


def moved_share(case: TrialCase) -> float | None:
    """What others than the lab moved over the server's interfaces, over what the load moved; None where nobody knows either."""
    moved = sum(ladder.reported_bytes(case.phase, way) or 0.0 for way in MOVING)
    each = [passed for seen in case.sides() if (passed := passed_server(case, seen)) is not None]
    return max(each) / moved if moved and each else None


def passed_server(case: TrialCase, seen: Observations) -> float | None:
    """Bytes over the server's interfaces in both directions, without the lab's own; None where not counted."""
    steps = (ladder.passed(case.phase, seen, Rung.SERVER_NIC, way) for way in (Direction.READ, Direction.WRITE))
    counted = [step.raw_bytes for step in steps if step is not None]
    return max(0.0, sum(counted) - served.of_the_lab(case.phase, seen)) if counted else None


def fact(case: TrialCase, key: str) -> str | None:
    """The first host's fact of this phase."""
    return next(iter(ends_of(case, key)), None)


def ends_of(case: TrialCase, key: str) -> Iterator[str]:
    """The facts of this phase, of each host."""
    for seen in case.sides():
        yield from (str(one.value) for one in seen.facts if one.key == f"{key}{case.phase.name}")


RULE = Rule(
    id="E13",
    name="other-server",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="another server answered",
    reads=tuple(f"fact:{key}*" for key in (served.DIRECT_FACT, served.INSTEAD_FACT, served.REACHED_FACT, served.DOORS_FACT)),
    applies=servers_only,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A script has the port of last week's server, or a name leads to another host. All evidence is of the server that the "
    "file names, and the figure is that of another one.",
    alternatives=(
        "The program is a proxy that keeps no connection to the server, or reaches it by a Unix socket. Name it as a node.",
        "The server hands its connections to a program of its own that `pid_file` does not lead to. Name that, too.",
    ),
    advice="Correct the address of the load, or name the server that it talks to (server.pid_file, server.address).",
    sources=("proc_pid_net(5)", "ss(8)"),
)

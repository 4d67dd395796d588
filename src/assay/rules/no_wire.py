"""Finds traffic that never crossed a wire: loopback, a veth pair, or a bridge of the same machine.

The target names its server (`server.address`, `server.pid_file`). The kernel's route gives the interface; a wire has a device
behind it (/sys/class/net/X/device).
- path = wire: invalid if the path stays on this machine, or if less than `wire_share` of the clients' bytes passed the
  interface.
- path = loopback: pass on this machine, qualified if the path leaves it.
- No claim: a note if the path stays on this machine.

Without an address the rule is unverified. A machine's own address leads to `lo`, whichever interface carries it.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import in_bytes
from assay.records import Direction, Finding, Path, Rung, Scope, Severity, State
from assay.rulekit.findings import Figures, found

SAME_HOST = "same host: client and server share CPUs and memory bandwidth"


def applies(case: TrialCase) -> str | None:
    """Claims of a path, and whatever a server does."""
    if case.claim.path is Path.LOCAL or (case.claim.path is None and served.server(case.run) is None):
        return "no server named, and no network path claimed"
    return None


def check(case: TrialCase) -> Finding:
    """The interface that leads to the server, and the bytes on it, against the path that is claimed."""
    interface, kind = (case.observations.fact(f"target.server.{name}") for name in ("route", "route_kind"))
    if interface is None or kind is None:
        statement = "Interface to the server unknown. Name it in the target (server.pid_file, server.address)."
        return found(RULE, case, State.UNVERIFIED, statement)
    carried, data = passed(case, interface, crosses=kind == "physical"), payload(case)
    amount = "" if carried is None else f"; {in_bytes(carried)} passed it"
    observed = {"interface": interface, "kind": kind, "passed_bytes": carried, "payload_bytes": data}
    if kind != "physical":
        way = f"Clients reach the server through {interface} ({kind}), so nothing left this machine{amount}"
        return stayed(case, way, observed)
    if case.claim.path is Path.WIRE and carried is not None and data and carried < case.thresholds["wire_share"] * data:
        limit = measures.percent(case.thresholds["wire_share"])
        statement = f"Wire claimed, but hardly any of the clients' bytes passed {interface} (limit {limit})."
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel=f"traffic outside {interface}")
    if case.claim.path is Path.LOOPBACK:
        text = f"Loopback claimed, but clients reach the server through {interface}, which has a device behind it."
        return found(RULE, case, State.FAIL, text, severity=Severity.QUALIFIES, observed=observed, relabel=f"over {interface}")
    statement = f"Clients reach the server through {interface}, which has a device behind it{amount}."
    return found(RULE, case, State.PASS, statement, observed=observed)


def passed(case: TrialCase, interface: str, *, crosses: bool) -> float | None:
    """Bytes both ways on the client's interface (L3), or for one that never leaves the machine on the server's (L4)."""
    rungs = (Rung.CLIENT_NIC, Rung.SERVER_NIC) if crosses else (Rung.SERVER_NIC,)
    for rung in rungs:
        each = [
            reading.bytes or 0
            for direction in (Direction.READ, Direction.WRITE)
            for reading in case.observations.rung(case.phase.name, rung, direction)
            if not crosses or reading.subject == f"interface:{interface}"
        ]
        if each:
            return float(sum(each))
    return None


def payload(case: TrialCase) -> float | None:
    """Bytes by the clients' own account, both directions together; None where they give none."""
    return sum(ladder.reported_bytes(case.phase, way) or 0.0 for way in (Direction.READ, Direction.WRITE)) or None


def stayed(case: TrialCase, way: str, observed: Figures) -> Finding:
    """The bytes stayed on the machine: a pass where that is claimed, decisive where a wire is."""
    if case.claim.path is Path.LOOPBACK:
        return found(RULE, case, State.PASS, f"{way}, as claimed.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{way}: no network card, cable or switch, and both ends share the same CPUs.",
        severity=Severity.INVALIDATES if case.claim.path is Path.WIRE else Severity.NOTES,
        observed=observed,
        relabel=SAME_HOST,
    )


RULE = Rule(
    id="L05",
    name="no-wire",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="path",
    reads=("fact:target.server.route", "fact:target.server.route_kind", "L3.read", "L4.read"),
    applies=applies,
    check=check,
    about=About.EACH_LOAD_HOST_WITH_TARGET,
    wrong="Client and server run on one machine, perhaps with the address of its network card: the kernel still uses `lo`. "
    "There is no card, cable, switch or packet of 1,500 bytes, and both ends share CPUs and memory bandwidth. Such a figure "
    "says little about a network.",
    alternatives=(
        "Two namespaces of one machine may be joined by a real cable between two interfaces. Name its address.",
        "Two virtual machines on one host look like a wire. A round trip below 50 µs, or more than the link can carry, shows it.",
    ),
    advice="Put the clients on another machine. Or claim path = loopback; for a slow link shape a veth pair (tc tbf) and "
    "report it.",
    sources=("ip-route(8): a machine's own address is `local` and leads to lo", "Gregg: did it break limits?"),
)

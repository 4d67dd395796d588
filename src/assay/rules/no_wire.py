"""Finds traffic that never crossed a wire: loopback, a veth pair, a bridge of the same machine, or two hosts that are one.

The target names its server (`server.address`, `server.pid_file`). The kernel's route on each load host gives the interface; a
wire has a device behind it (/sys/class/net/X/device). A client in a network namespace of its own is asked there.
Two hosts with equal boot ids are one machine. Between two machines a bond, a bridge or a tunnel leaves the machine too.
- path = wire: invalid if the path stays on this machine, or if less than `wire_share` of the clients' bytes passed the
  interface.
- path = loopback: pass on this machine if the bytes passed the interface (`wire_share`), else invalid. It is qualified if the
  path leaves the machine.
- path = emulated: pass if the bytes passed the lab's own line (target `line`), invalid over the loopback or a device, else
  unverified. A line under path = wire is invalid.
- No claim: a note if the path stays on this machine; without a named server, of data and requests whose peers were seen. A note,
  too, if less than `wire_share` of sent data or requests passed the interface that leads out: a socket bound to another, or NAT.

Without an address the rule is unverified. A machine's own address leads to `lo`, whichever interface carries it.
An interface without a device is a bond, a bridge, a tunnel or the end of a container.
It stays on the machine if one of its network namespaces has the server's address; else the rule is unverified.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import in_bytes
from assay.records import Direction, Finding, Meaning, Path, Rung, Scope, Severity, State
from assay.rulekit.findings import Figures, found

BOOT = "host.boot"
END, SPACES = "end_network", "end_network.spaces."
"""Layer of the counters of the ends' namespaces; before the name of a phase: which processes are in which."""
MOVING = (Direction.READ, Direction.WRITE, Direction.SEND, Direction.RECEIVE)
SAME_HOST = "same host: client and server share CPUs and memory bandwidth"

NOTHING = "no byte of it was counted, and the clients report none"
NO_MOUNT = "Look at what the clients' directory is (findmnt). Drop their caches before reads. Or claim path = local."


@dataclass(frozen=True, kw_only=True)
class ClientRoute:
    """How the clients of one load host reach the server."""

    interface: str
    kind: str
    apart: bool | None
    """Whether the clients are in a network namespace of their own; None where that is not known."""

    @property
    def is_virtual(self) -> bool:
        """Whether there is no device below it."""
        return self.kind in ("virtual", "unknown")


def applies(case: TrialCase) -> str | None:
    """Claims of a path, and whatever a server does."""
    if case.claim.path is Path.LOCAL or (case.claim.path is None and served.server(case.run) is None and not on_a_way(case)):
        return "no server named, and no network path claimed"
    return None


def on_a_way(case: TrialCase) -> bool:
    """Whether the figure is of data or requests that went somewhere, and it was seen where to."""
    return sends(case) and way_of(case) is not None


def sends(case: TrialCase) -> bool:
    """Whether the figure is of data or requests themselves, which no cache of a file system answers."""
    return case.direction is not None and not case.direction.of_storage


def check(case: TrialCase) -> Finding:
    """The interface that leads to the server, and the bytes on it, against the path that is claimed."""
    line = served.line(case.phase, case.observations, case.host)
    if line is not None or case.claim.path is Path.EMULATED:
        return not_made(case) if line is None else made(case, line)
    return by_interface(case)


def by_interface(case: TrialCase) -> Finding:
    """Where the clients' interface leads, against the path that is claimed."""
    way, same = way_of(case), is_one_machine(case)
    if same:
        return one_machine(case, way)
    if way is None:
        statement = "Interface to the server unknown. Name it in the target (server.pid_file, server.address)."
        return found(RULE, case, State.UNVERIFIED, statement)
    if case.beyond is None and way.kind == "unknown":
        statement = f"Clients reach the server through {way.interface}, which has no device. Whether it leads out is unknown."
        return found(RULE, case, State.UNVERIFIED, statement)
    if case.beyond is not None and same is None and way.is_virtual:
        statement = f"Clients reach the server through {way.interface}; whether both hosts are one machine is unknown (boot ids)."
        return found(RULE, case, State.UNVERIFIED, statement)
    crosses = way.kind == "physical" or (case.beyond is not None and way.is_virtual)
    carried, data = passed(case, way, crosses=crosses), payload(case)
    amount = "" if carried is None else f"; {in_bytes(carried)} passed it"
    observed = {"interface": way.interface, "kind": way.kind, "passed_bytes": carried, "payload_bytes": data}
    if not crosses:
        text = f"Clients reach the server through {way.interface} ({way.kind}), so nothing left this machine{amount}"
        return stayed(case, text, observed)
    outside = carried is not None and data is not None and carried < case.thresholds["wire_share"] * data
    if outside and (case.claim.path is Path.WIRE or (case.claim.path is None and sends(case))):
        limit = measures.percent(case.thresholds["wire_share"])
        claimed = "Wire claimed, but hardly" if case.claim.path is Path.WIRE else "Hardly"
        statement = f"{claimed} any of the clients' bytes passed {way.interface} (limit {limit})."
        severity = Severity.INVALIDATES if case.claim.path is Path.WIRE else Severity.NOTES
        label = f"traffic outside {way.interface}"
        return found(RULE, case, State.FAIL, statement, severity=severity, observed=observed, relabel=label)
    return left(case, way, f"Clients reach the server through {way.interface}, {behind(way)}", amount, observed)


def made(case: TrialCase, line: str) -> Finding:
    """Clients and server are joined by the lab's own line: a pass where that is claimed, decisive where a wire is."""
    carried, data = over_line(case), arrived(case)
    observed = {"interface": line, "kind": "emulated", "passed_bytes": carried, "payload_bytes": data}
    text = f"Clients reach the server through a path that the lab emulates ({line})"
    if case.claim.path is not Path.EMULATED:
        quietly = Severity.QUALIFIES if case.claim.path is Path.LOOPBACK else Severity.NOTES
        severity = Severity.INVALIDATES if case.claim.path is Path.WIRE else quietly
        statement = f"{text}: no network card, cable or switch, and both ends share the same CPUs."
        return found(RULE, case, State.FAIL, statement, severity=severity, observed=observed, relabel=f"emulated path {line}")
    if carried is None:
        statement = f"{text}, but the line did not count its bytes."
        return found(RULE, case, State.UNVERIFIED, statement, lacking=(served.LINE_BYTES,))
    if not carried and not data:
        return found(RULE, case, State.UNVERIFIED, f"{text}, but {NOTHING}.", observed=observed)
    if data and carried < case.thresholds["wire_share"] * data:
        limit = measures.percent(case.thresholds["wire_share"])
        statement = f"Emulated path claimed, but hardly any of the clients' bytes passed the line (limit {limit})."
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel="traffic outside the line")
    return found(RULE, case, State.PASS, f"{text}, as claimed; {in_bytes(carried)} passed it.", observed=observed)


def not_made(case: TrialCase) -> Finding:
    """An emulated path is claimed, and the lab made none."""
    way = way_of(case)
    if way is None or way.is_virtual:
        statement = (
            "Emulated path claimed, but this lab made none: whether it kept rate and delay is unknown. Use a target of kind line."
        )
        return found(RULE, case, State.UNVERIFIED, statement)
    observed = {"interface": way.interface, "kind": way.kind, "passed_bytes": None, "payload_bytes": payload(case)}
    statement = f"Emulated path claimed, but clients reach the server through {way.interface} ({way.kind})."
    return found(RULE, case, State.FAIL, statement, observed=observed, relabel=f"over {way.interface}")


def over_line(case: TrialCase) -> float | None:
    """Bytes that the line delivered during the phase, both directions together; None where it was not asked."""
    every = case.observations.over_time(case.phase.name, "line", "delivered_bytes")
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


def behind(way: ClientRoute) -> str:
    """What is behind an interface that leads out of the machine."""
    return "which has a device behind it" if way.kind == "physical" else "which leads to another machine"


def left(case: TrialCase, way: ClientRoute, text: str, amount: str, observed: Figures) -> Finding:
    """The bytes left the machine: a pass, unless the loopback is claimed, or a wire on which nobody counted them."""
    if case.claim.path is Path.LOOPBACK:
        text = f"Loopback claimed, but {text[:1].lower()}{text[1:]}."
        return found(
            RULE, case, State.FAIL, text, severity=Severity.QUALIFIES, observed=observed, relabel=f"over {way.interface}"
        )
    if (case.claim.path is Path.WIRE or sends(case)) and not amount:
        return found(RULE, case, State.UNVERIFIED, f"{text}; whether their bytes passed it was not counted.", observed=observed)
    return found(RULE, case, State.PASS, f"{text}{amount}.", observed=observed)


def way_of(case: TrialCase) -> ClientRoute | None:
    """The interface and its kind as the clients' namespace, else the lab's on that host, tells them; None where unknown."""
    own = f"{served.INSIDE_FACT}{case.phase.name}"
    interface, kind, space = (case.observations.fact(name, host=case.host) for name in (own, f"{own}.kind", f"{own}.space"))
    if interface is not None and kind is not None:
        return ClientRoute(interface=interface, kind=kind, apart=None if space is None else space == "apart")
    interface, kind = (case.observations.fact(name, host=case.host) for name in (served.ROUTE_FACT, served.KIND_FACT))
    return None if interface is None or kind is None else ClientRoute(interface=interface, kind=kind, apart=False)


def is_one_machine(case: TrialCase) -> bool | None:
    """Whether a host of the target that is no load host is the machine of this load host; None where it is not known."""
    own = case.observations.fact(BOOT, host=case.host)
    theirs = {case.beyond.fact(BOOT, host=host) for host in case.beyond.hosts} if case.beyond is not None else set()
    if own in theirs and own is not None:
        return True
    return None if own is None or None in theirs else False


def one_machine(case: TrialCase, way: ClientRoute | None) -> Finding:
    """Two hosts of the experiment with one boot id."""
    carried = None if way is None else passed(case, way, crosses=True) or passed(case, way, crosses=False)
    observed: dict[str, float | str | None] = {
        "interface": way.interface if way else None,
        "kind": way.kind if way else None,
        "passed_bytes": carried,
        "payload_bytes": payload(case),
    }
    text = f"Load host {case.host} and the target's host are one machine (equal boot ids), so nothing left this machine"
    return stayed(case, text, observed)


def passed(case: TrialCase, way: ClientRoute, *, crosses: bool) -> float | None:
    """Bytes both ways on the client's interface (L3), or for one that never leaves the machine on the server's (L4)."""
    both = (Rung.CLIENT_NIC, Rung.SERVER_NIC)
    rungs = (both[:1] if case.beyond is not None else both) if crosses else both[1:]
    if way.apart is not False:
        return inside(case, way) if way.apart else None
    for rung in rungs:
        each = [
            reading.bytes or 0
            for direction in (Direction.READ, Direction.WRITE)
            for reading in case.observations.rung(case.phase.name, rung, direction)
            if not crosses or reading.subject == f"interface:{way.interface}"
        ]
        if each:
            return float(sum(each))
    return None


def inside(case: TrialCase, way: ClientRoute) -> float | None:
    """Bytes both ways on the interface in the namespaces of the clients themselves; None where nobody counted them."""
    fact = case.observations.fact(f"{SPACES}{case.phase.name}", host=case.host) or ""
    pids = {str(client.pid) for client in case.phase.clients}
    theirs = {name for name, *found in map(str.split, filter(None, fact.split("; "))) if pids & set(found)}
    every = (one for metric in ("rx_bytes", "tx_bytes") for one in case.observations.over_time(case.phase.name, END, metric))
    mine = (one for one in every if one.subject.partition("@")[::2] in {(name, way.interface) for name in theirs})
    return ladder.rises(mine, case.phase.start_ns, case.phase.end_ns) if theirs else None


def payload(case: TrialCase) -> float | None:
    """Bytes by the clients' own account, both directions together; None where they give none."""
    return sum(ladder.reported_bytes(case.phase, way) or 0.0 for way in MOVING) or None


def arrived(case: TrialCase) -> float | None:
    """Bytes by the account of the ends that received them where these are the lab's own: a path may drop what was sent."""
    taken = sum(total.bytes for one in case.phase.servers for total in one.operations if total.operation == "receive")
    sent = ladder.reported_bytes(case.phase, Direction.SEND) or 0.0
    whole = payload(case)
    return whole if whole is None or not case.phase.servers else whole - max(0.0, sent - taken)


def stayed(case: TrialCase, way: str, observed: Figures) -> Finding:
    """The bytes stayed on the machine: a pass where that is claimed and they were counted, decisive where a wire is."""
    if case.claim.path is Path.LOOPBACK:
        return claimed_loopback(case, way, observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{way}: no network card, cable or switch, and both ends share the same CPUs.",
        severity=Severity.INVALIDATES if case.claim.path is Path.WIRE else Severity.NOTES,
        observed=observed,
        relabel=SAME_HOST,
    )


def claimed_loopback(case: TrialCase, way: str, observed: Figures) -> Finding:
    """A loopback is claimed, and the way is one: whether the clients' bytes passed it."""
    carried, data, share = observed["passed_bytes"], observed["payload_bytes"], case.thresholds["wire_share"]
    if not isinstance(carried, float):
        if case.phase.servers:  # both ends are Assay's, and each counts its own connections
            return found(RULE, case, State.PASS, f"{way}, as claimed.", observed=observed)
        statement = f"{way}; whether their bytes passed it was not counted."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if not carried and not data:
        return found(RULE, case, State.UNVERIFIED, f"{way}; {NOTHING}.", observed=observed)
    if isinstance(data, float) and carried < share * data:
        statement = (
            f"Loopback claimed, but {in_bytes(carried)} of the clients' {in_bytes(data)} passed {observed['interface']}"
            f" (limit {measures.percent(share)}). A cache answered, or the directory is no mount of this server."
        )
        outside = f"traffic outside {observed['interface']}"
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel=outside, advice=NO_MOUNT)
    return found(RULE, case, State.PASS, f"{way}, as claimed.", observed=observed)


RULE = Rule(
    id="L05",
    name="no-wire",
    meaning=Meaning.ONE_MACHINE,
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="path",
    reads=(
        "fact:target.server.route",
        "fact:target.server.route_kind",
        "fact:host.boot",
        "L3.read",
        "L4.read",
        "end_network.rx_bytes",
        "line.delivered_bytes",
    ),
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
    advice="Put the clients on another machine. Or claim path = loopback. For a link of stated rate and delay use a target of "
    "kind line, and claim path = emulated.",
    sources=("ip-route(8): a machine's own address is `local` and leads to lo", "Gregg: did it break limits?"),
)

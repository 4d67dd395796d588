"""What a server did for its clients in one phase: bytes that were asked of it and that it moved, its requests, its processors."""

from __future__ import annotations

from collections.abc import Sequence

from assay.evidence import ladder, line_ways
from assay.frozen import dataclass
from assay.records import Direction, Observations, Phase, Run, Rung, Series, Server, Span, WorkSide

LAYER = "server"
LINK_FACT = "target.server.limit_bytes_per_s"
"""The least that a link or a shaper on the way to the server lets pass each way, as a load host sees it."""
LINK_NAME = "target.server.limit"
OWN_LINK_FACT, OWN_LINK_NAME = "target.server.own_limit_bytes_per_s", "target.server.own_limit"
"""The same of the server's own side, which all clients of other hosts share."""
ROUTE_FACT, KIND_FACT = "target.server.route", "target.server.route_kind"
ROUTER_FACT = "target.server.router"
"""The first router on the way to the server; no fact where there is none."""
BETWEEN_FACT = "target.server.between."
"""Before the name of a phase: `haproxy (4711)`, a program between clients and server on its host; no fact without one."""
BESIDE_FACT = "target.server.beside."
"""Before the name of a phase: the same of a program that clients reached by the server's own port."""
INSTEAD_FACT = "target.server.instead."
"""Before the name of a phase: the same of a program that clients are connected to, and the server is not."""
DIRECT_FACT = "target.server.direct."
"""Before the name of a phase: the client's end of a connection whose other end is the server, as the kernel prints it."""
REACHED_FACT = "target.server.reached."
"""Before the name of a phase, on a load host: `10.0.0.9:80`, where the load's connections end."""
DOORS_FACT = "target.server.doors."
"""Before the name of a phase, on the server's host without a load: `10.0.0.5:80`, where the server listens."""
LINE_FACT = "target.line"
"""The paths of the lab's own line between clients and server."""
LAB_BYTES = "lab_bytes"
"""What the lab's own connections moved over interfaces of the server's host: two samples a look, before it and after it."""
LINE_BYTES = "line.delivered_bytes"
PEERS_FACT = "sockets.peers."
"""Before the name of a phase: `127.0.0.1 through lo (loopback)`, or `A_UNIX_SOCKET`."""
A_UNIX_SOCKET = "a Unix socket"
INSIDE_FACT = "target.server.inside."
"""Before the name of a phase: the same as the clients' own sockets tell it; `.kind` and `.space` (`own`, `apart`) after it."""


def server(run: Run) -> Server | None:
    """The server that the target of a run names; None where it names none."""
    return next((place.server for place in run.places if place.server is not None), None)


def line(phase: Phase, observations: Observations, host: str | None) -> str | None:
    """The lab's own line between the clients of a phase and their server; None without one, and on the server's side."""
    return None if phase.side is WorkSide.SERVER else observations.fact(LINE_FACT, host=host)


def reported_operations(phase: Phase, operation: str) -> float | None:
    """How often the clients say they did an operation; None where they do not say it (a command counts as no operation)."""
    if phase.values:
        return phase.values.get(f"{operation}.count")
    return float(sum(t.count for c in phase.clients for t in c.operations if t.operation == operation)) or None


def over_network(phase: Phase, observations: Observations, direction: Direction) -> ladder.LadderStep | None:
    """L4 as the clients see it: what the server sent for reads, what it received for writes; headers and others included."""
    way = Direction.WRITE if direction is Direction.READ else Direction.READ
    return ladder.passed(phase, observations, Rung.SERVER_NIC, way)


def fuller_way(phase: Phase, observations: Observations) -> float | None:
    """Bytes/s in the direction in which more passed the server's interfaces, headers included; None where nobody counted them."""
    seconds = phase.lasted_ns / 1e9
    both = (ladder.passed(phase, observations, Rung.SERVER_NIC, way) for way in (Direction.READ, Direction.WRITE))
    moved = [step.raw_bytes for step in both if step is not None]
    return max(moved) / seconds if moved and seconds > 0 else None


@dataclass(frozen=True, kw_only=True)
class NetworkUse:
    """A part of the way to the server, and how full it was in the fuller direction."""

    name: str
    rate: float
    """Bytes/s that passed it, headers included, or of payload."""
    share: float
    counted: str = "with headers"


def fullest_link(phase: Phase, observations: Observations, beyond: Observations | None) -> NetworkUse | None:
    """The part of the way between clients and server that was fullest; None where no speed is known.

    Of one load host all that passed the server's interfaces passed its links too. Of several each has what passed its own
    interface. The line of the lab between both ends is a part, too. `beyond` is the evidence of the server's hosts where
    these are no load hosts: its side of the way counts then.
    """
    total, load = fuller_way(phase, observations), phase.load_hosts or (None,)
    own = {host: total if len(load) == 1 else over_interface(phase, observations, host) for host in load}
    links = [_link(observations, (LINK_FACT, LINK_NAME), host, rate) for host, rate in own.items()]
    if beyond is not None:
        links += [_link(beyond, (OWN_LINK_FACT, OWN_LINK_NAME), host, total) for host in beyond.hosts]
    links.append(_over_line(phase, observations))
    return max((link for link in links if link is not None), key=lambda link: link.share, default=None)


def _over_line(phase: Phase, observations: Observations) -> NetworkUse | None:
    use = line_ways.mean_use(phase, observations) if phase.side is not WorkSide.SERVER else None
    if use is None:
        return None
    return NetworkUse(name=f"path {', '.join(line_ways.paths_of(phase, observations))}", rate=use[0], share=use[1])


def _link(seen: Observations, keys: tuple[str, str], host: str | None, rate: float | None) -> NetworkUse | None:
    limit, name = (seen.fact(key, host=host) for key in keys)
    if rate is None or limit is None or not limit.isdigit() or not int(limit):
        return None
    return NetworkUse(name=name or "the link", rate=rate, share=rate / int(limit))


def over_interface(phase: Phase, observations: Observations, host: str | None) -> float | None:
    """Bytes/s in the fuller direction on a load host's interface to the server; None where nobody counted them."""
    subject, seconds = f"interface:{observations.fact(ROUTE_FACT, host=host)}", phase.lasted_ns / 1e9
    both = (observations.rung(phase.name, Rung.CLIENT_NIC, way, subject=subject) for way in (Direction.READ, Direction.WRITE))
    moved = [sum(one.bytes or 0 for one in found if one.host == host) for found in both]
    return max(moved) / seconds if any(moved) and seconds > 0 else None


def below_client(run: Run, phase: Phase, observations: Observations) -> ladder.LadderStep | None:
    """What reads made others deliver: what a server sent (L4), where one is named, else what storage was made to read (L2)."""
    rung, way = (Rung.CLIENT_CACHE, Direction.READ) if server(run) is None else (Rung.SERVER_NIC, Direction.WRITE)
    return ladder.passed(phase, observations, rung, way)


def of_the_lab(phase: Phase, observations: Observations) -> float:
    """Bytes of the lab's own connections that passed the server's interfaces with the load's, at least."""
    found = 0.0
    for series in ladder.gauges(phase, observations, LAYER, LAB_BYTES):
        counted = [one for one in observations.rung(phase.name, Rung.SERVER_NIC, Direction.READ) if one.host == series.host]
        if counted and series.value:
            end = ladder.latest_sample(series, counted[0].to_ns) or 0.0
            found += max(0.0, end - (ladder.value_after(series, counted[0].from_ns + 1) or 0.0))
    return found


def payload(phase: Phase, observations: Observations, direction: Direction) -> float | None:
    """Bytes that the clients got or gave: as they say, else what passed the server's interfaces."""
    own = ladder.reported_bytes(phase, direction)
    passed = over_network(phase, observations, direction)
    return own or (passed.raw_bytes if passed else None)


def storage_io(
    phase: Phase, observations: Observations, direction: Direction, span: Span = Span.CLOCK
) -> ladder.LadderStep | None:
    """L6: what the server made its storage read, or made dirty in its host's page cache."""
    return ladder.passed(phase, observations, Rung.SERVER_CACHE, direction, span)


def flushes(phase: Phase, observations: Observations) -> float | None:
    """How many flushes that device completed under the clock."""
    step = ladder.highest_device(phase, observations, Direction.FLUSH, Span.CLOCK)
    return step.raw_operations if step else None


def rose(phase: Phase, observations: Observations, metric: str) -> float | None:
    """By how much a counter or gauge of all parts of the server rose from arming to the last operation; None if not read."""
    every = [one for one in ladder.gauges(phase, observations, LAYER, metric) if one.value]
    return ladder.rises(every, phase.start_ns, phase.end_ns)


def each_rose(phase: Phase, observations: Observations, metric: str) -> dict[str, float]:
    """The same by host, without hosts where a part was not seen."""
    found: dict[str, list[Series]] = {}
    for one in ladder.gauges(phase, observations, LAYER, metric):
        if one.value:
            found.setdefault(one.host, []).append(one)
    each = {host: ladder.rises(every, phase.start_ns, phase.end_ns) for host, every in found.items()}
    return {host: risen for host, risen in each.items() if risen is not None}


def at_arming(phase: Phase, observations: Observations, metric: str) -> float | None:
    """A gauge of the server just before the clock started."""
    return ladder.at_arming(phase, ladder.gauges(phase, observations, LAYER, metric))


def each_passed(phase: Phase, observations: Observations) -> dict[str, float]:
    """Bytes that passed the interfaces of each host of the server, both directions together."""
    found: dict[str, float] = {}
    for way in (Direction.READ, Direction.WRITE):
        for one in observations.rung(phase.name, Rung.SERVER_NIC, way, Span.CLOCK):
            if one.bytes is not None:
                found[one.host] = found.get(one.host, 0.0) + one.bytes
    return found


def each_over_time(phase: Phase, observations: Observations) -> dict[str, Sequence[tuple[int, float]]]:
    """CPU time of the server on each host at each look: what shows since when one of them did less."""
    series = (one for one in observations.over_time(phase.name, LAYER, "run_ns") if len(one.at_ns) > 1)
    return {one.host: list(zip(one.at_ns, one.value, strict=True)) for one in series}

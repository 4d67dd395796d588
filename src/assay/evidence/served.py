"""What a server did for its clients in one phase: bytes that were asked of it and that it moved, its requests, its processors."""

from __future__ import annotations

from assay.evidence import ladder
from assay.records import Direction, Observations, Phase, Run, Rung, Server, Span

LAYER = "server"
LINK_FACT = "target.server.limit_bytes_per_s"
"""The least that a link or a shaper on the way to the server lets pass each way."""


def server(run: Run) -> Server | None:
    """The server that the target of a run names; None where it names none."""
    return next((place.server for place in run.places if place.server is not None), None)


def reported_operations(phase: Phase, operation: str) -> float | None:
    """How often the clients say they did an operation; None where they do not say it (a command counts as no operation)."""
    if phase.values:
        return phase.values.get(f"{operation}.count")
    return float(sum(t.count for c in phase.clients for t in c.operations if t.operation == operation)) or None


def over_network(phase: Phase, observations: Observations, direction: Direction) -> ladder.Step | None:
    """L4 as the clients see it: what the server sent for reads, what it received for writes; headers and others included."""
    way = Direction.WRITE if direction is Direction.READ else Direction.READ
    return ladder.passed(phase, observations, Rung.SERVER_NIC, way)


def fuller_way(phase: Phase, observations: Observations) -> float | None:
    """Bytes/s in the direction in which more passed the server's interfaces, headers included; None where nobody counted them."""
    seconds = (phase.end_ns - phase.start_ns) / 1e9
    both = (ladder.passed(phase, observations, Rung.SERVER_NIC, way) for way in (Direction.READ, Direction.WRITE))
    moved = [step.raw_bytes for step in both if step is not None]
    return max(moved) / seconds if moved and seconds > 0 else None


def link_share(phase: Phase, observations: Observations) -> float | None:
    """How full the slowest known part of the way to the server was, in the fuller direction; None where no speed is known."""
    rate, limit = fuller_way(phase, observations), observations.fact(LINK_FACT)
    return rate / int(limit) if rate is not None and limit is not None and limit.isdigit() and int(limit) else None


def below_client(run: Run, phase: Phase, observations: Observations) -> ladder.Step | None:
    """What reads made others deliver: what a server sent (L4), where one is named, else what storage was made to read (L2)."""
    rung, way = (Rung.CLIENT_CACHE, Direction.READ) if server(run) is None else (Rung.SERVER_NIC, Direction.WRITE)
    return ladder.passed(phase, observations, rung, way)


def payload(phase: Phase, observations: Observations, direction: Direction) -> float | None:
    """Bytes that the clients got or gave: as they say, else what passed the server's interfaces."""
    own = ladder.reported_bytes(phase, direction)
    passed = over_network(phase, observations, direction)
    return own or (passed.raw_bytes if passed else None)


def storage_io(phase: Phase, observations: Observations, direction: Direction) -> ladder.Step | None:
    """L6: what the server made its storage read, or made dirty in its host's page cache."""
    return ladder.passed(phase, observations, Rung.SERVER_CACHE, direction)


def flushes(phase: Phase, observations: Observations) -> float | None:
    """How many flushes that device completed under the clock."""
    step = ladder.highest_device(phase, observations, Direction.FLUSH, Span.CLOCK)
    return step.raw_operations if step else None


def rose(phase: Phase, observations: Observations, metric: str) -> float | None:
    """By how much a counter or gauge of the server rose from arming to the last operation; None where it was not read."""
    found = next(ladder.gauges(phase, observations, LAYER, metric), None)
    if found is None or not found.value:
        return None
    return ladder.rise(found, phase.start_ns, phase.end_ns)


def at_arming(phase: Phase, observations: Observations, metric: str) -> float | None:
    """A gauge of the server just before the clock started."""
    return ladder.at_arming(phase, ladder.gauges(phase, observations, LAYER, metric))

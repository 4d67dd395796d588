"""What the figures of a command are taken for: its operations, their directions, the claims by the caller or by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.records import Claim, Direction, Durability, Measure, Tier
from assay.watch.reports import GROW, SIDES, SOCKETS

WORKLOAD = "stat"
FIGURES = ("bytes_per_s", "ops_per_s", "latency_mean_ns", "elapsed_ns", "bytes", "count")
"""Of an operation the first of these that is told is judged."""


def claimed(directions: Mapping[str, Direction], claim: Claim | None) -> frozenset[str]:
    """Return the operations that a claim is about.

    Of a command that reads and writes a claim of durability is about its writes alone; of one that moves data of files, too, no
    claim is about what went through sockets.
    """
    if any(way in SIDES.values() for way in directions.values()):
        directions = {name: way for name, way in directions.items() if way not in SOCKETS.values()}
    if claim is not None and claim.durability is not None and any(way is not Direction.READ for way in directions.values()):
        return frozenset(name for name, way in directions.items() if way is not Direction.READ)
    return frozenset(directions)


def measures(
    values: Mapping[str, float], operations: Mapping[str, tuple[Direction, bool]], how: tuple[Tier | None, Claim | None]
) -> tuple[Measure, ...]:
    """One measure for each operation, with the claim that is made of it, by the caller or by default; none where not judged."""
    presumed, claim = how
    found = []
    for operation, (direction, judged) in operations.items():
        figure = next((name for name in FIGURES if f"{operation}.{name}" in values), None)
        if figure is not None:
            tier = Tier.CLIENT_CACHE if operation.startswith("cached_") else presumed
            wanted = fitting(claim or default_claim(direction, tier), direction) if judged else Claim()
            found.append(Measure(workload=WORKLOAD, operation=operation, figure=figure, claim=wanted))
    return tuple(found)


def default_claim(direction: Direction, tier: Tier | None) -> Claim:
    """Return what people take such a number for."""
    if direction is Direction.READ:
        return Claim(tier=tier or Tier.DEVICE)
    return Claim(durability=Durability.STABLE_MEDIA) if direction is Direction.WRITE else Claim()


def fitting(claim: Claim, direction: Direction) -> Claim:
    """Return the parts of a claim that can be made of a direction: reads are on no media, only reads come from a cache."""
    return replace(claim, durability=None) if direction is Direction.READ else claim


def operations(values: Mapping[str, float]) -> tuple[str, ...]:
    """Return the operations that figures are told of, in their order."""
    return tuple(dict.fromkeys(name.rpartition(".")[0] for name in values))


REQUESTS = ("transaction", "request", "response", "iteration")
"""How the names of operations begin that a server answers: no rule of storage speaks of them."""


def direction_of(operation: str) -> Direction:
    """Return which way an operation moves data, by its name; what moves none that is known works on metadata."""
    if operation.startswith(REQUESTS):
        return Direction.REQUEST
    if operation == GROW:
        return Direction.WRITE
    if operation in SOCKETS:
        return SOCKETS[operation]
    return next((direction for side, direction in reversed(SIDES.items()) if side in operation), Direction.METADATA)

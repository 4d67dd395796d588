"""A target as a workload has it that works beside the server's protocol: on the path alone, or on the server's storage alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.records.experiment import WorkSide
from assay.records.place import Endpoint, EndpointKind, Place, Server, ServerNode
from assay.records.run import Run

OFFERED: Mapping[WorkSide, EndpointKind] = {WorkSide.PATH: EndpointKind.SOCKET, WorkSide.SERVER: EndpointKind.DIRECTORY}
"""What a workload gets on each side that is not the client's."""
LINE = "line"
"""In a place: the process of the line between its ends."""


def line_of(place: Place) -> int | None:
    """Return the process of the line that a target has between its ends; None where it has none."""
    pid = place.private.get(LINE)
    return int(pid) if isinstance(pid, str) else None


def offered(side: WorkSide, endpoint: EndpointKind) -> EndpointKind:
    """Return what a workload on this side gets of a target that offers such an endpoint to clients."""
    return OFFERED.get(side, endpoint)


def place_at(place: Place, side: WorkSide) -> Place:
    """Return the place as this side has it.

    The path has both ends and no storage. The server's side has the storage, and neither a server nor a path before it.
    """
    if side is WorkSide.CLIENT:
        return place
    if side is WorkSide.SERVER:
        return replace(place, server=None, private={name: value for name, value in place.private.items() if name != LINE})
    address = next(iter(place.server.addresses), "") if place.server else ""
    return replace(
        place,
        kind=EndpointKind.SOCKET,
        address=address,
        devices=(),
        backing_files=(),
        limits=(),
        filesystem=None,
        storage=None,
        server=Server(nodes=(ServerNode(host=place.host, address=address),)),
    )


def endpoint_at(place: Place, side: WorkSide) -> Endpoint:
    """Return what every client gets on a side that is not the client's."""
    seen = place_at(place, side)
    return Endpoint(kind=seen.kind, address=seen.address)


def run_at(run: Run, side: WorkSide) -> Run:
    """Return the run as rules about a phase on this side see it."""
    return run if side is WorkSide.CLIENT else replace(run, places=tuple(place_at(place, side) for place in run.places))

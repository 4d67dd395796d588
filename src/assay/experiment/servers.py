"""Whether a load fits the directory server that it is for: what a server cannot do is told before anything is made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from assay.catalogue import Target, Workload
from assay.experiment.factors import MOST_CHECKED, variants
from assay.experiment.parts import PartSpec
from assay.records import EndpointKind, Factor, Value
from assay.toml_document import Document, Point

OF_DIRECTORIES = "ldap"
"""The engine that loads a directory server."""
RUNNING = "running"


def servers_fit(
    document: Document, systems: Mapping[str, PartSpec], loads: Mapping[str, PartSpec], factors: tuple[Factor, ...]
) -> None:
    """A load asks no directory server for what it cannot do, with no level."""
    servers = [(part.name, knobs) for part in systems.values() if _is_server(part) for knobs in variants(part, factors)]
    for load in loads.values():
        plug = load.plug
        if not isinstance(plug, Workload) or plug.engine != OF_DIRECTORIES or not load.settings.complete:
            continue
        right = [knobs for knobs in variants(load, factors) if not plug.check(knobs)]
        each = itertools.islice(itertools.product(right, servers), MOST_CHECKED)
        found = [(name, text) for knobs, (name, server) in each for text in beyond_server(plug, knobs, server)]
        for name, (seen, wanted) in dict.fromkeys(found):
            document.wrong(load.at, f"{seen}, in workload {load.name!r} on target {name!r}", wanted, Point.KEY)


def _is_server(part: PartSpec) -> bool:
    return isinstance(part.plug, Target) and part.plug.endpoint is EndpointKind.URL and part.settings.complete


def beyond_server(plug: Workload, knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield what a load wants of a directory server with these knobs and does not get, and what is expected instead."""
    starts_tls = server.get("transport") == "starttls" or server.get("starttls") is True
    depth, state = knobs.get("depth"), server.get("state", RUNNING)
    if starts_tls and isinstance(depth, int) and depth > 1:
        yield f"depth = {depth} with StartTLS", "depth = 1, or TLS from the first byte"
    if state != RUNNING:
        yield f"a server with state = {state}", f"state = {RUNNING}; a server that is stopped is filled by ldap_import"
    if server.get("write") is False and not plug.only_reads(knobs):
        yield "writes in mix on a server that is only read", "write = true: they go below an entry that Assay makes"

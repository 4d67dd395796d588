"""Where the time of a phase went, in a line for the load and one for its server."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.evidence import time_ladder
from assay.evidence.time_ladder import TimeLadder
from assay.records import Observations, Phase

LEAST_SHARE, MOST_PARTS = 0.02, 4
"""Of the parts of the time those that are shown."""


def lines(phase: Phase, seen: Observations) -> Iterator[tuple[str, str]]:
    """Yield `spent` with what threads of the load did, how busy devices were and the limit; `server` with what its threads did.

    Nothing where too few looks were taken.
    """
    seen = seen.on_all()
    load, server = (time_ladder.of_phase(phase, seen, group) for group in (time_ladder.LOAD, time_ladder.SERVER))
    if load is not None:
        busy = [f"{device} busy {measures.percent(share)}" for device, share in time_ladder.busy(phase, seen)]
        limit = time_ladder.limit(load, server)
        yield "spent", "; ".join((shares(load), *busy, *([f"limit: {limit}"] if limit else ())))
    if server is not None:
        yield "server", shares(server)


def shares(found: TimeLadder) -> str:
    """Return the largest parts of a time."""
    parts = [part for part in found.parts if part.share >= LEAST_SHARE] or found.parts[:1]
    return ", ".join(time_ladder.told(part) for part in parts[:MOST_PARTS])

"""How long answers took against how long a flush of the device takes: an answer that waits for a flush takes at least as long."""

from __future__ import annotations

from assay import measures
from assay.catalogue import TrialCase
from assay.evidence import ladder
from assay.measures import latency
from assay.records import Direction
from assay.units import Unit


def faster_than_flush(case: TrialCase, device: str, share: float) -> str | None:
    """Say that half of the requests were answered within this share of a flush; None where they were not, or it is unknown."""
    seen = (case.everywhere or case.observations).on(*case.phase.load_hosts)
    took = latency.percentile(latency.merged(seen, case.phase.name, case.measure.operation), 0.5)
    flush_ns = mean_flush_ns(case, device)
    if case.direction is not Direction.REQUEST or took is None or flush_ns is None or took >= share * flush_ns:
        return None
    answer, flush = (measures.with_unit(one, Unit.NANOSECONDS) for one in (took, flush_ns))
    return (
        f"Half of the changes were answered within {answer}, and a flush of {device} takes {flush}: they cannot all have waited."
    )


def mean_flush_ns(case: TrialCase, device: str) -> float | None:
    """The mean time that a device took for a flush under the clock; None where it did none, or nobody counted."""
    edges = (case.phase.start_ns, case.phase.end_ns)
    every = [
        next(case.observations.over_time(case.phase.name, "block", metric, f"device:{device}"), None)
        for metric in ("flushes", "flush_ticks")
    ]
    count, ticks = (None if one is None else ladder.rise(one, *edges) for one in every)
    return ticks * 1e6 / count if count and ticks is not None else None

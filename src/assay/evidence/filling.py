"""How full the file system was when a trial began."""

from __future__ import annotations

from assay.records import Observations

FREE = "filesystem.free_share"
"""The fact: which share an ordinary user could still take before the trial, from statvfs(3)."""


def used_share(observations: Observations) -> float | None:
    """The share of the file system that was taken before the trial (0..1); None where it is not known."""
    free = observations.fact(FREE)
    try:
        return None if free is None else 1 - float(free)
    except ValueError:
        return None

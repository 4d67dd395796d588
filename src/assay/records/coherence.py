"""What the engine `coherence` says: what a reader at one mount saw of what a writer did at another mount of the same server."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class CoherenceStep:
    """What became of the tries of one step."""

    tries: int
    unprepared: int
    """Tries whose set-up the reader did not see within the limit: nothing was tried then."""
    seen: int
    never: int
    """Tries that the reader did not see within the limit."""
    stale: int
    """Old content at the reader's first open after the writer's close."""
    granted_twice: int
    """Locks that both ends held at the same time."""
    expected: int
    """Updates that both ends made."""
    lost: int
    """Updates that the file does not have."""
    resolution_p50_ns: int
    """Between the last look that did not show it and the first one that did."""
    resolution_max_ns: int
    refused_errno: int | None = None
    refused: str | None = None
    """Why the file system does not do this step."""


@dataclass(frozen=True, kw_only=True)
class CoherenceEnd:
    """All steps of the reader."""

    limit_ns: int
    """How long it looked for each."""
    steps: Mapping[str, CoherenceStep]

"""What the report is handed besides Results: curves over the number of objects in plain numbers, and tables in words."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records import Scaled


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Time per operation of one run over the number of objects that exist, with the clients active at each point.

    The sequences have equal lengths. Points with fewer active than all clients are drawn hollow.
    """

    run: str
    """`0007/1`."""
    workload: str
    operation: str
    objects: tuple[float, ...]
    time_per_operation_ns: tuple[float, ...]
    active_clients: tuple[int, ...]
    clients: int


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A table of the analysis as it is shown."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Data of pictures that come from the analysis and are not part of Results."""

    curves: tuple[Curve, ...] = ()
    tables: tuple[Listed, ...] = ()
    scaled: tuple[Scaled, ...] = ()
    command: str | None = None
    """The command line that made the experiment run, for the reader who wants to do it again."""

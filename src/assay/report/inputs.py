"""What the report is handed besides Results: curves over the number of objects in plain numbers, and tables in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.records import Value


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
class Ceiling:
    """The rate at which all there is of a resource is used up, with its interval; `said`: `the 20 MB/s written to loop0`."""

    said: str
    rate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """A rate over a number of clients: the law that was fitted, what one alone does, and what bounds it."""

    measure: str
    factor: str
    """What is counted: `clients`."""
    within: Mapping[str, Value]
    """The levels of the other factors."""
    unit: str
    law: str | None
    """In words; None where none was fitted."""
    fitted: tuple[tuple[float, float, float, float], ...]
    """Number, low, value, high of the law with its band."""
    alone: float | None
    ceilings: tuple[Ceiling, ...]
    """The lowest first."""
    used: Mapping[int, Mapping[str, float]]
    """Number -> what there is of a resource, in words -> share that was used of it."""


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

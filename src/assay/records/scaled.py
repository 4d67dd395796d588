"""A rate over a number of clients as it is drawn: the analysis makes it, the report lays it out."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass
from assay.records.experiment import Value


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
    """In words; None where too few numbers were measured for one."""
    fitted: tuple[tuple[float, float, float, float], ...]
    """Number, low, value, high of the law with its 95 % band."""
    alone: float | None
    """The rate of one alone; None where that was not measured."""
    ceilings: tuple[Ceiling, ...]
    """The lowest first."""
    used: Mapping[int, Mapping[str, float]]
    """Number -> what there is of a resource, in words -> share that was used of it."""

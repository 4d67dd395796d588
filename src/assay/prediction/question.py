"""What `assay predict` is asked: a production load, the platforms that were measured, and how much the machine to be has."""

from __future__ import annotations

from collections.abc import Mapping

from assay.analysis.resources import PROCESSORS
from assay.frozen import dataclass
from assay.prediction.demand import Demand
from assay.statistics.queueing import Demands

Range = tuple[float, float, float]
"""Low, middle and high of a 90 % interval."""


@dataclass(frozen=True, kw_only=True)
class Holdout:
    """A mix that took no part in the fit: what it was predicted to use, and what it did."""

    mix: str
    predicted: Range
    """Units/s."""
    observed: float
    trials: int

    @property
    def is_covered(self) -> bool:
        """Whether what was seen lies within the interval."""
        return self.predicted[0] <= self.observed <= self.predicted[2]


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A machine in the laboratory: what its operations use of one resource."""

    source: str
    demand: Demand
    trial_rates: tuple[float, ...]
    """Mean operations/s of the fitted trials, by operation as the demand has them."""
    holdouts: tuple[Holdout, ...] = ()
    most_used: float = 0.0
    """Units/s that the busiest of all its trials used."""

    @property
    def found(self) -> Demands:
        """The demands; only platforms that have them are made."""
        assert isinstance(self.demand.found, Demands)
        return self.demand.found


@dataclass(frozen=True, kw_only=True)
class Production:
    """What production does: operations/s of each busy hour, or how busy its machine is."""

    operations: Mapping[str, tuple[float, ...]]
    used: tuple[float, float] | None
    """Share of all its CPUs, from and to."""
    cpus: int
    """Of the machine that is so busy."""
    hours: tuple[str, ...] = ()
    """The names of the hours, where a table has them."""
    busiest: int | None = None
    """So many of the hours count, those in which most of a resource is used; None: all."""
    mix: Mapping[str, float] | None = None
    """Operation -> share of all, where no more than that is known beside `used`."""


@dataclass(frozen=True, kw_only=True)
class MachineCapacity:
    """How much of a resource the machine to be has."""

    resource: str
    amount: Range
    """Units/s with the interval in which it was measured; where it was told, one number."""
    amount_text: str
    """`2 CPUs`, `50 MB/s`."""
    of: str = ""
    """What the amount is of: `read from the device`; empty where the amount says it."""
    servers: int = 1
    """So many work beside each other on one queue."""
    platform: Platform | None = None
    """What operations use of it; None where only a multiplier is known."""

    @property
    def text(self) -> str:
        """`2 CPUs`, `50 MB/s read from the device`."""
        return f"{self.amount_text} {self.of}".strip()

    @property
    def counts_cpus(self) -> bool:
        """Whether it counts CPUs."""
        return self.resource in PROCESSORS


@dataclass(frozen=True, kw_only=True)
class Question:
    """The whole file."""

    title: str
    question: str
    production: Production
    old: Platform | None
    """What operations use of the CPUs of today's machine."""
    multiplier: tuple[float, float] | None
    capacities: tuple[MachineCapacity, ...]
    """Processors first, where there are any."""
    speed: float
    """What one processor does against one of the laboratory's (of the old machine's, where a multiplier was told)."""

    @property
    def new(self) -> Platform | None:
        """What operations use of the first capacity; None where nothing was measured."""
        return self.capacities[0].platform if self.capacities else None

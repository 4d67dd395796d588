"""A chain as its user describes it: parts in the order in which the data passes them, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.sizing.speeds import Speed


class Layout(StrEnum):
    """How disks share the data."""

    NONE = "none"
    RAID0 = "raid0"
    RAID10 = "raid10"
    RAID5 = "raid5"
    RAID6 = "raid6"


@dataclass(frozen=True, kw_only=True)
class Price:
    """What something costs, in one currency."""

    amount: float
    currency: str


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What somebody measured of the whole part; None where nobody did."""

    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    ops_per_s: float | None = None
    source: str = "the file"


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Another speed that a part could have."""

    speed: Speed
    layout: Layout
    standby: int
    price: Price | None


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of the chain."""

    name: str
    speed: Speed
    layout: Layout = Layout.NONE
    standby: int = 0
    """Units that carry only when another one fails."""
    measured: Measured = Measured()
    price: Price | None = None
    upgrades: tuple[Upgrade, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is asked of the chain, a second."""

    read_bytes_per_s: float = 0.0
    """In sequence."""
    write_bytes_per_s: float = 0.0
    read_ops_per_s: float = 0.0
    """At random."""
    write_ops_per_s: float = 0.0
    operation_bytes: float = 0.0
    """Size of a random operation."""
    ldap_ops_per_s: float | None = None
    """The directory operations that the random ones come from, where they come from some."""

    @property
    def reading(self) -> float:
        """Bytes/s read in sequence and at random."""
        return self.read_bytes_per_s + self.read_ops_per_s * self.operation_bytes

    @property
    def writing(self) -> float:
        """Bytes/s written in sequence and at random."""
        return self.write_bytes_per_s + self.write_ops_per_s * self.operation_bytes


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What `assay size` is asked."""

    title: str
    question: str
    load: Load
    parts: tuple[Part, ...]

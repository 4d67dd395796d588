"""What a published claim says, once it is read: figures, links, comparisons, and what nobody understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from assay.published.digits import Interval, Printed
from assay.published.vocabulary import BASES, Kind, Role
from assay.published.wires import Wire


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One printed quantity in the base unit of its kind, and what it can have been."""

    kind: Kind
    text: str
    """As it is printed."""
    start: int
    end: int
    value: Fraction
    """Of a range the lower one; of a limit the limit."""
    interval: Interval
    unit: Fraction
    """Size of its printed unit in base units."""
    roles: frozenset[Role] = frozenset()
    """What the words beside it say of it: read, write, random, ..."""
    clause: int = 0
    ends: tuple[Printed, Printed] | None = None
    """Of a range its two ends, in base units."""
    limit: Role | None = None
    """UNDER or ABOVE where the text says so."""

    @property
    def base(self) -> str:
        """`bytes/s`, `s`, ...; empty for a bare number."""
        return BASES[self.kind]

    @property
    def told(self) -> str:
        """`1-2 GB/s (read)`, for people."""
        said = [role.value for role in TOLD if role in self.roles]
        return f"{self.text} ({', '.join(said)})" if said else self.text


TOLD = (Role.RANDOM, Role.SEQUENTIAL, Role.READ, Role.WRITE, Role.STEADY, Role.INSIDE, Role.OUTSIDE)
"""Roles of words that are told with a figure."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two figures held against each other; the second is the base, except in a change (`from A to B`)."""

    first: Figure
    second: Figure
    is_change: bool = False


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A piece of the claim that was not understood, with the column (from 1) where it begins, and why."""

    text: str
    column: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim that was read."""

    text: str
    figures: tuple[Figure, ...]
    wires: tuple[Wire, ...]
    comparisons: tuple[Comparison, ...]
    roles: frozenset[Role]
    """What all its words do."""
    quoted: tuple[Quoted, ...]
    assumed: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = field(default=())
    """Where in the text the understood parts stand."""

    def of(self, *kinds: Kind) -> tuple[Figure, ...]:
        """The figures of these kinds, in the order of the text."""
        return tuple(figure for figure in self.figures if figure.kind in kinds)

    def only(self, kind: Kind) -> Figure | None:
        """The figure of this kind, where there is exactly one."""
        found = self.of(kind)
        return found[0] if len(found) == 1 else None

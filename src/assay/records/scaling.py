"""What a curve over a number of clients, threads or requests says: answers as values, and what its picture shows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass
from assay.records.estimates import Estimate
from assay.records.experiment import Value
from assay.records.judgement import VerdictState


class CapacitySource(StrEnum):
    """Who says how much there is of a resource."""

    COUNTED = "counted"
    """The host, of its CPUs."""
    LIMIT = "limit"
    """A limit that a target declares for a device."""
    EXPERIMENT = "experiment"
    """The [limits] of the file."""
    LINK = "link"
    """The speed of the way to a server."""
    PATH = "path"
    """The stated rate of an emulated path."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """How much there is of a resource."""

    resource: str
    """`device_read`, as in `analysis.resources`."""
    amount: float
    source: CapacitySource
    name: str = ""
    """The device, link or path that is limited."""
    text: str = ""
    """The amount as the file has it: `10 Gbit/s`."""


class ScalingKind(StrEnum):
    """The question about a curve over a number of clients, threads or requests."""

    LAW = "law"
    """How it grows, and where it peaks."""
    BREAK_EVEN = "break-even"
    """Where one arm stops being better than the other."""
    SATURATION = "saturation"
    """Where a share of a resource is used up."""
    KNEE = "knee"
    """Where what one alone does, times their number, meets what a resource allows."""
    OBJECTIVE = "objective"
    """Up to where a required bound is kept."""


class Shape(StrEnum):
    """The answer of a curve, within the numbers that were measured."""

    PEAK = "peak"
    IRREGULAR = "irregular"
    """No law fits."""
    PLATEAU = "plateau"
    PROPORTIONAL = "proportional"
    FALLING = "falling"
    FLATTENING = "flattening"
    CROSSES = "crosses"
    """A level or the other arm, at a number with an interval."""
    CROSSES_BY_MEANS = "crosses by means"
    """Near a number, which noise alone can do."""
    CROSSES_OFTEN = "crosses often"
    ORDER_KEPT = "order kept"
    ORDER_KEPT_BY_MEANS = "order kept by means"
    """Not beyond noise at some numbers."""
    INDISTINCT = "not distinguishable"
    FULL_FROM_START = "full from start"
    PERHAPS_FULL = "perhaps full"
    """By the interval, not by the mean."""
    NOT_FULL = "not full"
    ON_CREDIT = "on credit"
    """More passed than the limit allows, so it was not in force."""
    KNEE = "knee"
    KNEE_BELOW_RANGE = "knee below range"
    KNEE_BEYOND_RANGE = "knee beyond range"
    HELD_BACK = "held back"
    """By something that is no resource that is known."""
    MORE_THAN_ALONE = "more than alone"
    """So many do more than so many times what one alone does: no knee follows."""
    KEPT = "kept"
    """A bound, at every number."""
    NOT_KEPT = "not kept"
    """At none."""
    KEPT_AT_SOME = "kept at some"


class LawName(StrEnum):
    """The laws of throughput over concurrency."""

    LINEAR = "linear"
    CLIPPED = "clipped"
    AMDAHL = "amdahl"
    USL = "usl"


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A law that was fitted to a curve."""

    law: LawName
    contention: float
    coherency: float


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a rate grows from the lowest to the highest number."""

    fit: Fit
    times: float
    """The rate at the highest number over that at the lowest."""
    bend: float | None = None
    """From where on it is flat, of a plateau."""


@dataclass(frozen=True, kw_only=True)
class ArmOrder:
    """Which of two arms is above the other."""

    candidate: Value
    baseline: Value
    compared: str
    """The factor whose levels they are."""
    above: bool | None = None
    """Whether the candidate is above: beyond the crossing where there is one, else everywhere."""
    unsure: tuple[float, ...] = ()
    """Numbers at which noise could be all of it."""
    crossings: int = 0


@dataclass(frozen=True, kw_only=True)
class Use:
    """How far a resource is used."""

    share: float
    """The largest mean share at any number, unless the shape is about another one."""
    capacity: Capacity | None = None
    """None where the measure is itself a share."""
    others: float | None = None
    """The share that other programs had besides, at the number with the highest rate; None where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Knee:
    """Where what one alone does meets the bound of a resource, and what the curve does there."""

    estimate: Estimate
    bound: float
    """The rate at which all of the resource is used."""
    unit: str
    number: int | None = None
    """That is held back, or does more than so many alone."""
    rate: float | None = None
    least: float | None = None
    """The rate of that number, and what the resources let through at the least."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One answer about a measure over a count."""

    kind: ScalingKind
    shape: Shape
    measure: str
    factor: str
    """What is counted: `clients`."""
    within: Mapping[str, Value]
    """The levels of the other factors."""
    at: Estimate | None
    """The count of the peak, the break-even or the saturation; None where there is none in the measured range."""
    lowest: float
    highest: float
    """The measured range."""
    near: float | None = None
    """The count of a crossing by the means."""
    open_low: bool = False
    open_high: bool = False
    """Whether the interval of the count goes on below or above the measured range."""
    growth: Growth | None = None
    order: ArmOrder | None = None
    use: Use | None = None
    knee: Knee | None = None
    requirement: str = ""
    """That is kept, as the file has it."""
    verdict: VerdictState | None = None
    """The worst of the cells that it rests on; None where they were not judged."""


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The rate at which all there is of a resource is used up, with its interval."""

    capacity: Capacity
    rate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """A rate over a number of clients as it is drawn: the law that was fitted, what one alone does, and what bounds it."""

    measure: str
    factor: str
    """What is counted: `clients`."""
    within: Mapping[str, Value]
    """The levels of the other factors."""
    unit: str
    fit: Fit | None
    """None where too few numbers were measured for a law."""
    fitted: tuple[tuple[float, float, float, float], ...]
    """Number, low, value, high of the law with its 95 % band."""
    alone: float | None
    """The rate of one alone; None where that was not measured."""
    ceilings: tuple[Ceiling, ...]
    """The lowest first."""
    used: Mapping[int, tuple[tuple[Capacity, float], ...]]
    """Number -> the share that was used of each resource."""

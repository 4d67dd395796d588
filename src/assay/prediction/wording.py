"""A prediction in words: the answer first, then what it stands on, in sentences and rows of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from assay.analysis.resources import RESOURCES
from assay.prediction.demand import Demand, DemandGroup
from assay.prediction.predict import BUSY, Prediction, ResourceUse
from assay.prediction.question import Holdout, Platform, Range
from assay.records import Estimate
from assay.statistics.queueing import Demands
from assay.units import MOST_SHARE, Unit, counted, digits, human
from assay.units import percent as in_general

USE_HEAD = ("resource", "capacity", "used", "90 % interval", "times the service time", "machines")
DEMAND_HEAD = ("platform", "resource", "operation", "one uses", "90 % interval", "times the old")
HOLDOUT_HEAD = ("platform", "resource", "held-out mix", "predicted", "90 % interval", "observed", "within")

ARM_HEAD = ("arm", "resource", "operation", "each uses", "90 % interval", "a sum of operations?")
BOUND_HEAD = ("mix", "measured", "no more than", "90 % interval", "because of")

NEXT_TO_NOTHING = 0.0005
"""Fewer bytes or requests an operation are none: what is left of a fit."""
NOT_THESE = 0.5
"""A mix that is off by more than this share says that what is used has little to do with these operations."""
EXACT = 0.0001
"""A sum of operations that is off by less than this share is told without the figure."""


def answer(found: Prediction) -> str:
    """Return the first paragraph: how busy, what saturates first, what that does to response times, how many machines."""
    return " ".join((_busy(found), *_first(found), *_slow(found), _machines(found), *_trusted(found)))


def _busy(found: Prediction) -> str:
    use = found.first
    low, middle, high = map(percent, use.utilisation)
    kind = "" if found.question.multiplier else "90 % interval "  # of what the file says, all is in the range
    when = f", in its busiest hour{'s' if len(use.hours) > 1 else ''} {', '.join(use.hours)}" if use.hours else ""
    if use.capacity.counts_cpus:
        return f"Production will keep {middle} of {use.capacity.text} busy ({kind}{low} to {high}){when}."
    return f"Production will use {middle} of {use.capacity.text} ({kind}{low} to {high}){when}."


def percent(share: float) -> str:
    """`56 %`; a share of what there is, three digits."""
    return in_general(share) if share > MOST_SHARE else f"{digits(round(share * 100, 6), trimmed=True)} %"


def _first(found: Prediction) -> Iterator[str]:
    further = [use for use in found.uses if use is not found.first]
    if not further:
        return
    times = found.first.times
    more = f" at {digits(times, trimmed=True)} times this load" if math.isfinite(times) else ""
    rest = ", ".join(f"{percent(use.utilisation[1])} of {use.capacity.text}" for use in further)
    yield f"This resource saturates first{more}. Further resources: {rest}."
    if found.rivals:
        rivals = ", ".join(use.capacity.text for use in found.rivals)
        yield f"By the intervals another resource may saturate first: {rivals}."


def _slow(found: Prediction) -> Iterator[str]:
    low, middle, high = found.utilisation
    wait = "requests queue: each takes"
    if low >= 1:
        yield "The load exceeds the capacity: the machine does not carry it."
    elif middle >= 1:
        waits = f"; {wait} {digits(found.slowdown[0], trimmed=True)} times its service time (M/M/m)" if low > BUSY else ""
        yield f"The load exceeds the capacity: the machine does not carry it. The lower end is {percent(low)}{waits}."
    elif high >= 1:
        if middle > BUSY:
            likely, least = (digits(one, trimmed=True) for one in (found.slowdown[1], found.slowdown[0]))
            yield f"Above 70 % {wait} {likely} times its service time (M/M/m), {least} at the lower end."
        yield "At the upper end the machine does not carry the load."
    elif high > BUSY:
        which = "Above 70 %" if middle > BUSY else "At the upper end, above 70 %,"
        yield f"{which} {wait} {_range(found.slowdown)} times its service time (M/M/m)."


def _range(one: Range) -> str:
    low, middle, high = (digits(each, trimmed=True) if math.isfinite(each) else "unbounded" for each in one)
    return f"{middle} ({low} to {high})"


def _machines(found: Prediction) -> str:
    likely, most = found.servers
    if likely is None or most is None:
        return "No number of machines keeps the utilisation below 70 %."
    more = f", {most} at the upper end" if most > likely else ""
    return f"Utilisation of 70 % or less takes {counted(likely, 'such machine')}{more}."


def _trusted(found: Prediction) -> Iterator[str]:
    if found.question.new is None:
        return
    held = [one for _, one in found.holdouts]
    mixes = len({one.mix for one in held})
    if not held:
        yield "Not validated: no mix was held out."
    elif found.is_validated:
        yield f"Validated: {counted(mixes, 'held-out mix')} within the prediction."
    else:
        missed = sum(not one.is_covered for one in held)
        yield f"NOT validated: {missed} of {len(held)} held-out mixes outside the prediction."


def use_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Return every resource whose capacity is known; none where there is only one."""
    return tuple(map(_of_use, found.uses)) if len(found.uses) > 1 else ()


def _of_use(use: ResourceUse) -> tuple[str, ...]:
    low, middle, high = map(percent, use.utilisation)
    likely, most = ("-" if count is None else str(count) for count in use.servers)
    machines = likely if likely == most else f"{likely} to {most}"
    return (
        RESOURCES[use.capacity.resource].words,
        use.capacity.amount_text,
        middle,
        f"{low} to {high}",
        _range(use.slowdown),
        machines,
    )


def demand_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Return what one operation takes of each resource, on each platform."""
    return tuple(row for name, platform in _platforms(found) for row in _of_platform(name, platform, found))


def _of_platform(name: str, platform: Platform, found: Prediction) -> Iterator[tuple[str, ...]]:
    resource = RESOURCES[platform.demand.resource].words
    against = found.multipliers if name == "new" and platform is found.question.new else {}
    for operation, estimate in platform.demand.estimates.items():
        times = against.get(operation)
        yield (name, resource, operation, each(estimate), interval(estimate), _range(times) if times else "-")
    background = platform.demand.background
    if background is not None:
        low, value, high = (
            in_rate(one or 0.0, platform.demand.unit) for one in (background.low, background.value, background.high)
        )
        yield (name, resource, "background", value, f"{low} to {high}", "-")


def holdout_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Return every mix that was held out, in what it used a second."""
    return tuple((name, *_held(platform, one)) for name, platform in _platforms(found) for one in platform.holdouts)


def _held(platform: Platform, one: Holdout) -> tuple[str, ...]:
    low, middle, high, observed = (in_rate(value, platform.demand.unit) for value in (*one.predicted, one.observed))
    resource = RESOURCES[platform.demand.resource].words
    return (resource, one.mix, middle, f"{low} to {high}", observed, "yes" if one.is_covered else "NO")


def _platforms(found: Prediction) -> Iterator[tuple[str, Platform]]:
    if found.question.old is not None:
        yield "old", found.question.old
    for use in found.uses:
        if use.capacity.platform is not None:
            yield "new", use.capacity.platform


def in_rate(value: float, unit: str) -> str:
    """Return what is used a second: busy CPUs or devices, bytes/s, requests/s."""
    if unit == "bytes":
        return human(value, Unit.BYTES_PER_S)
    return f"{digits(value, trimmed=True)} busy" if unit.endswith("seconds") else human(value, Unit.PER_S)


def each(one: Estimate) -> str:
    """Return what one operation uses, in the unit of its resource."""
    return in_unit(one.value, one.unit)


def interval(one: Estimate) -> str:
    """Return both ends of an interval in words."""
    return "-" if one.low is None or one.high is None else f"{in_unit(one.low, one.unit)} to {in_unit(one.high, one.unit)}"


def in_unit(value: float, unit: str) -> str:
    """Times as times, bytes as bytes, everything else as a number with its unit."""
    if unit.endswith("seconds"):
        return human(value * 1e9, Unit.NANOSECONDS)
    if abs(value) < NEXT_TO_NOTHING:
        return "0"
    number = digits(value, trimmed=True)
    return human(value, Unit.BYTES) if unit == "bytes" else f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def linear(one: Demand) -> str:
    """Return whether use is the sum over operations, in words."""
    if isinstance(one.found, str):
        return one.found.value
    idle = "; background not separable" if RESOURCES[one.resource].idles and not one.found.has_background else ""
    if one.found.misfit is None:
        return f"not checked{idle}"
    off = f"{human(one.found.misfit, Unit.SHARE, 2)} off" if one.found.misfit >= EXACT else "less than 0.01 % off"
    return f"{'yes' if one.found.is_linear else 'NO'}, {off}{idle}"


# ---------------------------------------------------------------------------------------- demands by arm


def arm_rows(found: Sequence[DemandGroup]) -> tuple[tuple[str, ...], ...]:
    """Return what one operation of each kind uses of each resource."""
    return tuple(row for group in found for one in group.demands for row in _of_demand(group, one))


def _of_demand(group: DemandGroup, one: Demand) -> Iterator[tuple[str, ...]]:
    resource = RESOURCES[one.resource].words
    if not isinstance(one.found, Demands) or (one.found.misfit or 0.0) > NOT_THESE:
        yield (group.name, resource, ", ".join(one.operations), "-", "-", linear(one))
        return
    for name, estimate in one.estimates.items():
        yield (group.name, resource, name, each(estimate), interval(estimate), linear(one))


def bound_rows(found: Sequence[DemandGroup]) -> tuple[tuple[str, ...], ...]:
    """Return the rates that cannot be exceeded."""
    return tuple(
        (
            bound.mix,
            human(bound.measured, Unit.PER_S),
            human(bound.at_most.value, Unit.PER_S),
            f"{human(bound.at_most.low or 0.0, Unit.PER_S)} to {human(bound.at_most.high or 0.0, Unit.PER_S)}",
            bound.because,
        )
        for group in found
        for bound in group.bounds
    )


def tables(found: Sequence[DemandGroup]) -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]:
    """Title, head and rows of what there is to say; none where the experiment varies no mix."""
    every = (
        ("Resource use of one operation", ARM_HEAD, arm_rows(found)),
        ("Rate limits by resource", BOUND_HEAD, bound_rows(found)),
    )
    return tuple(one for one in every if one[2])

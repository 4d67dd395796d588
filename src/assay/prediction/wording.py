"""A prediction in words: the answer first, then what it stands on, in sentences and rows of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.analysis.resources import RESOURCES
from assay.prediction.demand import Demand
from assay.prediction.predict import BUSY, Prediction, ResourceUse
from assay.prediction.question import Holdout, Platform, Range
from assay.records import Estimate
from assay.units import Unit, human

USE_HEAD = ("resource", "there is", "used", "90 % interval", "times the service time", "machines")
DEMAND_HEAD = ("platform", "resource", "operation", "one uses", "90 % interval", "times the old one")
HOLDOUT_HEAD = ("platform", "resource", "mix that was held out", "predicted", "90 % interval", "observed", "met")

NEXT_TO_NOTHING = 0.0005
"""Fewer bytes or requests an operation are none: what is left of a fit."""
EXACT = 0.0001
"""A sum of operations that is off by less than this share is told without the figure."""


def answer(found: Prediction) -> str:
    """The first paragraph: how busy, what saturates first, what that does to response times, how many machines."""
    return " ".join((_busy(found), *_first(found), *_slow(found), _machines(found), *_trusted(found)))


def _busy(found: Prediction) -> str:
    use = found.first
    low, middle, high = map(percent, use.utilisation)
    kind = "" if found.question.multiplier else "90 % interval "  # of what the file says, all is in the range
    when = f", in its busiest hour{'s' if len(use.hours) > 1 else ''} {', '.join(use.hours)}" if use.hours else ""
    if use.capacity.is_processors:
        return f"Production will keep {middle} of {use.capacity.said} busy ({kind}{low} to {high}){when}."
    return f"Production will use {middle} of {use.capacity.said} ({kind}{low} to {high}){when}."


def percent(share: float) -> str:
    """`56 %`; a share of what there is, three digits."""
    return f"{round(share * 100, 6):.3g} %"


def _first(found: Prediction) -> Iterator[str]:
    others = [use for use in found.uses if use is not found.first]
    if not others:
        return
    times = found.first.times
    more = f" at {times:.3g} times this load" if math.isfinite(times) else ""
    rest = ", ".join(f"{percent(use.utilisation[1])} of {use.capacity.said}" for use in others)
    yield f"That saturates first{more}; the others: {rest}."
    if found.rivals:
        yield f"Which is first is not certain: {', '.join(use.capacity.said for use in found.rivals)} may be, by the intervals."


def _slow(found: Prediction) -> Iterator[str]:
    low, middle, high = found.utilisation
    wait = "where requests wait for each other: one takes"
    if low >= 1:
        yield "More is asked than there is: it is not carried at all."
    elif middle >= 1:
        waits = f", {wait} {found.slowdown[0]:.3g} times its service time (M/M/m)" if low > BUSY else ""
        yield f"More is asked than there is, so it is not carried; its lower end is at {percent(low)}{waits}."
    elif high >= 1:
        if middle > BUSY:
            likely, least = f"{found.slowdown[1]:.3g} times its service time (M/M/m)", f"{found.slowdown[0]:.3g} at the lower end"
            yield f"Above 70 %, {wait} {likely}, {least}."
        yield "At the upper end it is not carried at all."
    elif high > BUSY:
        which = "Above 70 %" if middle > BUSY else "Its upper end is above 70 %"
        yield f"{which}, {wait} {_range(found.slowdown)} times its service time (M/M/m)."


def _range(one: Range) -> str:
    low, middle, high = (f"{each:.3g}" if math.isfinite(each) else "endless" for each in one)
    return f"{middle} ({low} to {high})"


def _machines(found: Prediction) -> str:
    likely, most = found.servers
    if likely is None or most is None:
        return "No number of machines can be told that keeps below 70 %."
    more = f", {most} at the upper end" if most > likely else ""
    return f"To stay at 70 % or below takes {likely} such machine{'s' if likely > 1 else ''}{more}."


def _trusted(found: Prediction) -> Iterator[str]:
    if found.question.new is None:
        return
    held = [one for _, one in found.holdouts]
    mixes = len({one.mix for one in held})
    if not held:
        yield "Not validated: no mix was held out."
    elif found.is_validated:
        yield f"Validated: {'a mix' if mixes == 1 else f'{mixes} mixes'} held out of the fit used what was predicted."
    else:
        missed = sum(not one.is_covered for one in held)
        yield f"NOT validated: {missed} of {len(held)} mixes held out of the fit did not use what was predicted."


def use_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Every resource whose capacity is known; none where there is only one."""
    return tuple(map(_of_use, found.uses)) if len(found.uses) > 1 else ()


def _of_use(use: ResourceUse) -> tuple[str, ...]:
    low, middle, high = map(percent, use.utilisation)
    likely, most = ("-" if count is None else str(count) for count in use.servers)
    machines = likely if likely == most else f"{likely} to {most}"
    resource = RESOURCES[use.capacity.resource].said
    return (
        resource,
        use.capacity.said.removesuffix(resource).strip(),
        middle,
        f"{low} to {high}",
        _range(use.slowdown),
        machines,
    )


def demand_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """What one operation takes of each resource, on each platform."""
    return tuple(row for name, platform in _platforms(found) for row in _of_platform(name, platform, found))


def _of_platform(name: str, platform: Platform, found: Prediction) -> Iterator[tuple[str, ...]]:
    said = RESOURCES[platform.demand.resource].said
    against = found.multipliers if name == "new" and platform is found.question.new else {}
    for operation, estimate in platform.demand.estimates.items():
        times = against.get(operation)
        yield (name, said, operation, each(estimate), interval(estimate), _range(times) if times else "-")
    background = platform.demand.background
    if background is not None:
        low, value, high = (
            in_rate(one or 0.0, platform.demand.unit) for one in (background.low, background.value, background.high)
        )
        yield (name, said, "with no operation", value, f"{low} to {high}", "-")


def holdout_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Every mix that was held out, in what it used a second."""
    return tuple((name, *_held(platform, one)) for name, platform in _platforms(found) for one in platform.holdouts)


def _held(platform: Platform, one: Holdout) -> tuple[str, ...]:
    low, middle, high, observed = (in_rate(value, platform.demand.unit) for value in (*one.predicted, one.observed))
    said = RESOURCES[platform.demand.resource].said
    return (said, one.mix, middle, f"{low} to {high}", observed, "yes" if one.is_covered else "NO")


def _platforms(found: Prediction) -> Iterator[tuple[str, Platform]]:
    if found.question.old is not None:
        yield "old", found.question.old
    for use in found.uses:
        if use.capacity.platform is not None:
            yield "new", use.capacity.platform


def in_rate(value: float, unit: str) -> str:
    """What is used a second: busy processors or devices, bytes/s, requests/s."""
    if unit == "bytes":
        return human(value, Unit.BYTES_PER_S)
    return f"{value:.3g} busy" if unit.endswith("seconds") else human(value, Unit.PER_S)


def each(one: Estimate) -> str:
    """What one operation uses, in the unit of its resource."""
    return in_unit(one.value, one.unit)


def interval(one: Estimate) -> str:
    """From and to."""
    return "-" if one.low is None or one.high is None else f"{in_unit(one.low, one.unit)} to {in_unit(one.high, one.unit)}"


def in_unit(value: float, unit: str) -> str:
    """Times as times, bytes as bytes, everything else as a number with its unit."""
    if unit.endswith("seconds"):
        return human(value * 1e9, Unit.NANOSECONDS)
    if abs(value) < NEXT_TO_NOTHING:
        return "0"
    number = f"{value:.3g}"
    return human(value, Unit.BYTES) if unit == "bytes" else f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def linear(one: Demand) -> str:
    """Whether use is the sum over operations, in words."""
    if isinstance(one.found, str):
        return one.found.value
    idle = "; no background told apart" if RESOURCES[one.resource].idles and not one.found.has_background else ""
    if one.found.misfit is None:
        return f"not checked{idle}"
    off = f"{one.found.misfit * 100:.2g} % off" if one.found.misfit >= EXACT else "to less than 0.01 %"
    return f"{'yes' if one.found.is_linear else 'NO'}, {off}{idle}"

"""A prediction in words: the answer first, then what it stands on, in sentences and rows of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.analysis.demand import RESOURCES, Demand
from assay.analysis.prediction import BUSY, Holdout, Platform, Prediction, Range
from assay.records import Estimate
from assay.units import Unit, human

DEMAND_HEAD = ("platform", "operation", "core-time of one", "90 % interval", "times the old one")
HOLDOUT_HEAD = ("platform", "mix that was held out", "predicted", "90 % interval", "observed", "met")


def answer(found: Prediction) -> str:
    """The first paragraph: how busy, what that does to response times, how many machines."""
    return " ".join((_busy(found), *_slow(found), _machines(found), *_trusted(found)))


def _busy(found: Prediction) -> str:
    low, middle, high = (f"{round(one * 100, 6):.3g} %" for one in found.utilisation)
    of = f"{found.question.processors} processor{'s' if found.question.processors > 1 else ''}"
    kind = "" if found.question.multiplier else "90 % interval "  # of what the file says, all is in the range
    return f"Production will keep {middle} of {of} busy ({kind}{low} to {high})."


def _slow(found: Prediction) -> Iterator[str]:
    busy = [one for one in found.utilisation if one > BUSY]
    if busy:
        which = "Above 70 %" if len(busy) > 1 else "Its upper end is above 70 %"
        yield f"{which}, where requests wait for each other: one takes {_range(found.slowdown)} times its service time (M/M/m)."
    if found.utilisation[2] >= 1:
        yield "At 100 % it is not carried at all." if found.utilisation[1] >= 1 else "At the upper end it is not carried at all."


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
    held = found.question.new.holdouts
    if not held:
        yield "Not validated: no mix was held out."
    elif found.is_validated:
        yield f"Validated: {'a mix' if len(held) == 1 else f'{len(held)} mixes'} held out of the fit used what was predicted."
    else:
        missed = sum(not one.is_met for one in held)
        yield f"NOT validated: {missed} of {len(held)} mixes held out of the fit did not use what was predicted."


def demand_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """What one operation takes, on each platform."""
    return tuple(
        row for name, platform in _platforms(found) for row in _of_platform(name, platform, found if name == "new" else None)
    )


def _of_platform(name: str, platform: Platform, found: Prediction | None) -> Iterator[tuple[str, ...]]:
    for operation, estimate in platform.demand.estimates.items():
        times = found.multipliers.get(operation) if found else None
        yield (name, operation, each(estimate), interval(estimate), _range(times) if times else "-")
    background = platform.demand.background
    if background is not None:
        yield (name, "with no operation", f"{background.value:.3g} busy", f"{background.low:.3g} to {background.high:.3g}", "-")


def holdout_rows(found: Prediction) -> tuple[tuple[str, ...], ...]:
    """Every mix that was held out, in processors that were busy."""
    return tuple((name, *_held(one)) for name, platform in _platforms(found) for one in platform.holdouts)


def _held(one: Holdout) -> tuple[str, ...]:
    low, middle, high = one.predicted
    return (one.mix, f"{middle:.3g}", f"{low:.3g} to {high:.3g}", f"{one.observed:.3g}", "yes" if one.is_met else "NO")


def _platforms(found: Prediction) -> Iterator[tuple[str, Platform]]:
    for name, platform in (("old", found.question.old), ("new", found.question.new)):
        if platform is not None:
            yield name, platform


def each(one: Estimate) -> str:
    """What one operation uses, in the unit of its resource."""
    return in_unit(one.value, one.unit)


def interval(one: Estimate) -> str:
    """From and to."""
    return "-" if one.low is None or one.high is None else f"{in_unit(one.low, one.unit)} to {in_unit(one.high, one.unit)}"


def in_unit(value: float, unit: str) -> str:
    """Times as times, bytes as bytes, everything else as a number with its unit."""
    if unit == "core-seconds":
        return human(value * 1e9, Unit.NANOSECONDS)
    return human(value, Unit.BYTES) if unit == "bytes" else f"{value:.3g} {unit}"


def linear(one: Demand) -> str:
    """Whether use is the sum over operations, in words."""
    if isinstance(one.found, str):
        return one.found.value
    idle = "; no background told apart" if RESOURCES[one.resource].idles and not one.found.has_background else ""
    if one.found.misfit is None:
        return f"not checked{idle}"
    return f"{'yes' if one.found.is_linear else 'NO'}, {one.found.misfit * 100:.2g} % off{idle}"

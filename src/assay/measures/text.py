"""Figures in words, and levels of factors in the unit of the knob that they set: `2 s`, where the schedule has 2000000000."""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Mapping

from assay import catalogue, units
from assay.catalogue import Knob
from assay.errors import UsageError
from assay.records import MACHINE, Estimate, Experiment, Value
from assay.units import HUGE, Unit, human, percent

WIDE = 10.0
"""High over low from which on an interval bears no more than two digits of each."""
TINY = 1e-6
"""A ratio below this is given with its exponent."""


def with_unit(value: float, unit: str) -> str:
    """`4.10 GB/s`, `7,410/s`, `3.20 ms`: three significant digits, decimal prefixes (MB is 10^6 bytes)."""
    return percent(value) if unit == Unit.SHARE else human(value, Unit(unit))


MOST_TIMES = 1000
"""A difference that only more than this many times would show is none that anybody looks for."""


def in_bytes(count: float) -> str:
    """`268 MB`."""
    return with_unit(count, Unit.BYTES)


def difference(share: float | None) -> str:
    """Give a relative difference, `8 %`, `150 times` or `over 1,000 times`; empty where none is known."""
    if share is None or not math.isfinite(share):
        return ""
    if share < 1:
        return percent(share)
    return f"{float(f'{1 + share:.2g}'):,g} times" if share < MOST_TIMES else f"over {MOST_TIMES:,} times"


def digits(ratio: Estimate) -> tuple[str, str, str]:
    """Ratio, low and high with as many decimals as the interval bears: two, three where it is narrow.

    Where the ends are so far apart that one of them needs more decimals than the other has digits, two digits of each.
    """
    ends = [end for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    if ratio.low is not None and ratio.high is not None and ratio.high > WIDE * ratio.low > 0:
        value, low, high = (two_digits(end) for end in (ratio.value, ratio.low, ratio.high))
        return value, low, high
    places = decimals(min(ends), max(ends) - min(ends) if ratio.low is not None else 1.0)
    value, low, high = (decimal(end, places) for end in (ratio.value, ratio.low, ratio.high))
    return value, low, high


def two_digits(value: float) -> str:
    """`0.052`, `1.6`, `30`, `1,200`; very large and very small ones with their exponent."""
    if value >= HUGE or 0 < value < TINY:
        return f"{value:.1e}"
    places = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{places}f}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def decimal(value: float | None, places: int) -> str:
    """The number with so many decimals, two at most from 2 on; empty where there is none."""
    if value is None:
        return ""
    return f"{value:,.{min(places, 2) if value >= 2 else places}f}" if value < HUGE else f"{value:.1e}"


def decimals(smallest: float, width: float) -> int:
    """Digits behind the point: two significant ones of the smallest end at least."""
    if smallest >= 10:
        return 1 if smallest < 100 else 0
    if 0 < smallest < 0.1:
        return min(6, 1 - math.floor(math.log10(smallest)))
    return 3 if width < 0.03 else 2


def unit_of(experiment: Experiment, path: str) -> Unit:
    """Give the unit of the knob that a factor sets; none where it sets no knob with a unit."""
    knob = knob_of(experiment, path)
    return knob.unit if knob is not None else Unit.NONE


def knob_of(experiment: Experiment, path: str) -> Knob | None:
    """Give the knob that a factor sets; None where it sets none."""
    name, _, knob = path.partition(".")
    if any(one.name == name for one in experiment.paths):
        return next((one for one in catalogue.path_knobs() if one.name == knob), None)
    if name == MACHINE and experiment.machine is not None:
        return next((one for one in catalogue.MACHINE if one.name == knob), None)
    workload = next((one.kind for one in experiment.workloads if one.name == name), None)
    target = next((one.kind for one in experiment.targets if one.name == name), None)
    return _knob("targets" if workload is None else "workloads", workload or target or "", knob)


@functools.cache
def _knob(group: str, kind: str, name: str) -> Knob | None:
    """Give a knob by its name; none of a kind that this version does not know."""
    try:
        known = catalogue.find("workloads", kind).knobs if group == "workloads" else catalogue.find("targets", kind).knobs
    except UsageError:
        return None
    knobs = (*known, *catalogue.TIMING) if group == "workloads" else known
    return next((one for one in knobs if one.name == name), None)


def command_line(experiment: Experiment, path: str, value: tuple[Value, ...]) -> str | None:
    """Give a level that is a command line as a shell takes it: `dd if=f bs=4k`; None of any other."""
    knob = knob_of(experiment, path)
    return shlex.join(map(str, value)) if value and knob is not None and knob.is_command else None


def quantity(experiment: Experiment, path: str, level: Value) -> str | None:
    """Give a level that is a quantity with its unit; None of any other."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level < 0:
        return None
    unit = unit_of(experiment, path)
    if unit in (Unit.NONE, Unit.COUNT) or not (unit is Unit.SHARE or isinstance(level, int)):
        return None
    return units.format(level, unit)


def name_of(experiment: Experiment, path: str, value: Value) -> str:
    """Give the name that the file has for a level; empty where it has none."""
    return next((one.name_of(value) for one in experiment.factors if one.path == path), "")


def level(experiment: Experiment, path: str, value: Value) -> str:
    """Give one level of a factor for a sentence: its name, `on`, `1,000`, `2 s`."""
    if name := name_of(experiment, path, value):
        return name
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return command_line(experiment, path, value) or ", ".join(level(experiment, path, item) for item in value)
    return quantity(experiment, path, value) or (f"{value:,}" if isinstance(value, int) else str(value))


def levels(experiment: Experiment, values: Mapping[str, Value]) -> str:
    """Give a combination of levels: the bare name of the target first, `factor = level` for the rest."""
    order = sorted(values, key=lambda path: path != "target")
    texts = {path: level(experiment, path, values[path]) for path in order}
    return ", ".join(text if path == "target" else f"{path} = {text}" for path, text in texts.items())


def word(experiment: Experiment, path: str, value: Value) -> str:
    """Give one level as it is typed: its name, `true`, `1000`, `2 s`, `a+b`, `dd if=f`."""
    if name := name_of(experiment, path, value):
        return name
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return command_line(experiment, path, value) or "+".join(word(experiment, path, item) for item in value)
    return quantity(experiment, path, value) or str(value)

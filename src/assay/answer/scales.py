"""Figures as people read them: one scale for all numbers of a chart, three significant figures, units written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from assay import measures, units
from assay.frozen import dataclass
from assay.records import Estimate
from assay.units import Unit

DASH = "–"
NARROW = "\u202f"
"""Narrow no-break space: between a number and its unit."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How figures of one unit are shown: divided by `divisor`, followed by `label`."""

    divisor: float
    label: str


_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"), (6e10, "min")),
    "bytes": ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "bytes/s": ((1, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")),
    "1/s": ((1, "/s"),),
    "share": ((0.01, "%"),),
    "count": ((1, ""),),
}


def scale_for(unit: str, values: Iterable[float]) -> Scale:
    """The scale in which the largest of the values has at least one digit before the point."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    steps = _STEPS.get(unit, ((1.0, unit),))
    fitting = [step for step in steps if step[0] <= largest] or [steps[0]]
    return Scale(divisor=fitting[-1][0], label=fitting[-1][1])


def number(value: float) -> str:
    """Three significant figures, thousands separated, no exponent between 0.001 and 10^15."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = abs(value)
    if size < 0.001 or size >= 1e15:
        return f"{value:.2e}"
    return units.digits(value, padded=True)


def in_scale(value: float | None, scale: Scale) -> str:
    """The number alone, in this scale; a dash where there is none."""
    return DASH if value is None else number(value / scale.divisor)


def show(value: float | None, unit: str) -> str:
    """The number with its unit as the terminal writes it; a dash where there is none."""
    if value is None:
        return DASH
    known = unit in list(Unit) and unit != Unit.NONE
    return measures.with_unit(value, unit).replace(" ", NARROW) if known else number(value) + after(unit)


def after(label: str) -> str:
    """What follows a number: its unit, behind a narrow space but for `/s`."""
    return label if label in ("", "/s") else f"{NARROW}{label}"


def axis_title(label: str) -> str:
    """A unit as it stands alone at an axis: `/s` says little there."""
    return "per second" if label == "/s" else label


def times(unit: str) -> str:
    """The unit of an estimate; a ratio is so many times the baseline."""
    return "times" if unit == "ratio" else unit


def show_range(low: float | None, high: float | None, unit: str) -> str:
    """An interval in one scale; one-sided where one end is missing; empty where both are."""
    if low is None and high is None:
        return ""
    scale = scale_for(unit, [value for value in (low, high) if value is not None])
    tail = after(scale.label)
    if low is None:
        return f"at most {in_scale(high, scale)}{tail}"
    if high is None:
        return f"at least {in_scale(low, scale)}{tail}"
    return f"{in_scale(low, scale)} to {in_scale(high, scale)}{tail}"


def show_interval(one: Estimate) -> str:
    """The interval of what was measured, and the range of what is true where runs have bounds; empty where there is neither."""
    unit = one.unit.replace("ratio", "")
    return "; ".join(part for part in (show_range(one.low, one.high, unit), show_truth(one)) if part)


def show_truth(one: Estimate) -> str:
    """`true value 9,940/s to 16,700/s`, of a ratio by the worst case of both arms; empty where no run has a bound."""
    found = one.range
    if found is None:
        return ""
    if one.unit != "ratio":
        return f"true value {show_range(found.low, found.high, found.unit) or 'unknown'}"
    _, low, high = measures.digits(replace(one, low=found.low, high=found.high))
    between = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else "unknown"
    return f"true ratio {between}"


def share(value: float) -> str:
    """A share of 0..1 in percent; tiny shares are said to be under a tenth of a percent, never rounded to nothing."""
    return f"<{NARROW}0.1{NARROW}%" if 0 < value < 0.001 else measures.percent(value).replace(" ", NARROW)

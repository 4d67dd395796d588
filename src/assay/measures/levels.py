"""Levels of factors as texts, in the unit of the knob that the factor sets: `2 s`, where the schedule has 2000000000."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from assay import catalogue, units
from assay.errors import UsageError
from assay.records import Experiment, Value
from assay.units import Unit


def unit_of(experiment: Experiment, path: str) -> Unit:
    """Give the unit of the knob that a factor sets; none where it sets no knob with a unit."""
    name, _, knob = path.partition(".")
    workload = next((one.kind for one in experiment.workloads if one.name == name), None)
    target = next((one.kind for one in experiment.targets if one.name == name), None)
    return _unit("targets" if workload is None else "workloads", workload or target or "", knob)


@functools.cache
def _unit(group: str, kind: str, knob: str) -> Unit:
    """Give the unit of a knob; none of a kind that this version does not know."""
    try:
        known = catalogue.find("workloads", kind).knobs if group == "workloads" else catalogue.find("targets", kind).knobs
    except UsageError:
        return Unit.NONE
    knobs = (*known, *catalogue.TIMING) if group == "workloads" else known
    return next((one.unit for one in knobs if one.name == knob), Unit.NONE)


def quantity(experiment: Experiment, path: str, level: Value) -> str | None:
    """Give a level that is a quantity with its unit; None of any other."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level < 0:
        return None
    unit = unit_of(experiment, path)
    if unit in (Unit.NONE, Unit.COUNT) or not (unit is Unit.SHARE or isinstance(level, int)):
        return None
    return units.format(level, unit)


def level(experiment: Experiment, path: str, value: Value) -> str:
    """Give one level of a factor for a sentence: `on`, `1,000`, `2 s`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(level(experiment, path, item) for item in value)
    return quantity(experiment, path, value) or (f"{value:,}" if isinstance(value, int) else str(value))


def levels(experiment: Experiment, values: Mapping[str, Value]) -> str:
    """Give a combination of levels: the bare name of the target first, `factor = level` for the rest."""
    order = sorted(values, key=lambda path: path != "target")
    texts = {path: level(experiment, path, values[path]) for path in order}
    return ", ".join(text if path == "target" else f"{path} = {text}" for path, text in texts.items())


def word(experiment: Experiment, path: str, value: Value) -> str:
    """Give one level as it is typed: `True`, `1000`, `2 s`, `a+b`."""
    if isinstance(value, tuple):
        return "+".join(word(experiment, path, item) for item in value)
    return quantity(experiment, path, value) or str(value)

"""Levels that are quantities, told in the unit of the knob that they set: `2 s`, where the schedule has 2000000000."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from assay import catalogue, units
from assay.errors import UsageError
from assay.records import Comparison, Experiment, Value
from assay.units import Unit

Told = Callable[[str, Value], Value]
"""A factor's path and one of its levels -> the level as it is told."""


class Whole(int):
    """A whole quantity that is a number to count and draw with, and a text with its unit wherever it is printed."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        """The text, whatever digits were asked for."""
        return self.text


class Share(float):
    """A share that is a number to count and draw with, and a text in percent wherever it is printed."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        """The text, whatever digits were asked for."""
        return self.text


def telling(experiment: Experiment) -> Told:
    """How the levels of an experiment's factors are told; those of factors that set no knob with a unit stay as they are."""
    known = units_of(experiment)

    def told(path: str, level: Value) -> Value:
        return in_unit(level, known[path]) if path in known else level

    return told


def units_of(experiment: Experiment) -> Mapping[str, Unit]:
    """Path of a factor -> the unit of the knob that it names, where there is one."""
    found: dict[str, Unit] = {}
    for factor in experiment.factors:
        name, _, knob = factor.path.partition(".")
        unit = next((one.unit for one in knobs_of(experiment, name) if one.name == knob), Unit.NONE)
        if unit not in (Unit.NONE, Unit.COUNT):
            found[factor.path] = unit
    return found


def knobs_of(experiment: Experiment, name: str) -> tuple[catalogue.Knob, ...]:
    """The knobs of the target or workload of this name; none where this version does not know its kind."""
    workload = next((one.kind for one in experiment.workloads if one.name == name), None)
    target = next((one.kind for one in experiment.targets if one.name == name), None)
    try:
        if workload is not None:
            return (*catalogue.find("workloads", workload).knobs, *catalogue.TIMING)
        return catalogue.find("targets", target).knobs if target is not None else ()
    except UsageError:
        return ()


def in_unit(level: Value, unit: Unit) -> Value:
    """The level with its text; what is no quantity stays as it is."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level < 0:
        return level
    if unit is not Unit.SHARE and not isinstance(level, int):
        return level
    made = Share(level) if unit is Unit.SHARE else Whole(level)
    made.text = units.format(level, unit)
    return made


def compared(one: Comparison, told: Told) -> Comparison:
    """A comparison with its levels told."""
    return replace(
        one,
        baseline=told(one.factor, one.baseline),
        candidate=told(one.factor, one.candidate),
        within={path: told(path, level) for path, level in one.within.items()},
    )

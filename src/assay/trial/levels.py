"""Applies the levels of a trial to what the experiment file names: which target, which workloads, with which knobs.

Pure. A level of a manual or free factor changes nothing here: a person has changed it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from assay.errors import UsageError
from assay.records import Experiment, TargetSpec, Trial, Value, WorkloadSpec


def target_of(experiment: Experiment, levels: Mapping[str, Value]) -> TargetSpec:
    """The target of a trial with its knobs. Raises UsageError where it is not in the file."""
    wanted = levels.get("target", experiment.targets[0].name if experiment.targets else None)
    for spec in experiment.targets:
        if spec.name == wanted:
            return dataclasses.replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
    names = ", ".join(spec.name for spec in experiment.targets) or "none"
    raise UsageError(f"found target {wanted!r}; expected one of the file's: {names}")


def workloads_of(experiment: Experiment, levels: Mapping[str, Value]) -> tuple[WorkloadSpec, ...]:
    """The workloads of a trial in file order: all, or the one that is its level. Raises UsageError for a strange one."""
    wanted = levels.get("workload")
    chosen = tuple(
        dataclasses.replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
        for spec in experiment.workloads
        if wanted in (None, spec.name)
    )
    if not chosen:
        names = ", ".join(spec.name for spec in experiment.workloads) or "none"
        raise UsageError(f"found workload {wanted!r}; expected one of the file's: {names}")
    return chosen


def clients_of(trial: Trial, spec: WorkloadSpec) -> int:
    """How many clients a workload has in this trial: the factor `clients`, else its own knob, else one."""
    count = trial.levels.get("clients", spec.knobs.get("clients", 1))
    if not isinstance(count, int) or count < 1:
        raise UsageError(f"found clients = {count!r}; expected a whole number from 1")
    return count


def whole(knobs: Mapping[str, Value], name: str) -> int | None:
    """A knob that is a whole number, None where it is not set."""
    found = knobs.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _changed(name: str, knobs: Mapping[str, Value], levels: Mapping[str, Value]) -> dict[str, Value]:
    prefix = f"{name}."
    return {**knobs, **{path.removeprefix(prefix): level for path, level in levels.items() if path.startswith(prefix)}}

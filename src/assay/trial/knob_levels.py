"""The values that a knob takes in an experiment, and where the experiment's file has each of them."""

from __future__ import annotations

from collections.abc import Iterator

from assay.records import Experiment, TargetSpec, Value, WorkloadSpec

At = tuple[str | int, ...]
"""Keys and indices from the top of the file."""


def table_of(part: WorkloadSpec | TargetSpec) -> At:
    """Return where the file has a workload or target."""
    return ("workloads" if isinstance(part, WorkloadSpec) else "targets", part.name)


def levels(experiment: Experiment, part: WorkloadSpec | TargetSpec, knob: str) -> Iterator[tuple[Value, At]]:
    """Yield each value of a knob of a workload or target, with its place."""
    path = f"{part.name}.{knob}"
    varied = next((factor.levels for factor in experiment.factors if factor.path == path), None)
    if varied is None:
        yield part.knobs.get(knob), (*table_of(part), *knob.split("."))
        return
    yield from ((level, ("factors", path, number)) for number, level in enumerate(varied))

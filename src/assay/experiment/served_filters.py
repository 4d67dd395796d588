"""Filters that no index of a directory server serves, said before anything is run: each such search reads every entry."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from assay import catalogue
from assay.records import Experiment, PlanNote, TargetSpec, Value, WorkloadSpec
from assay.settings import filter_indexes

LOAD, INDEXES = "ldap_load", "indexes"
KNOBS = ("filter", "searches", "scope")


def notes(experiment: Experiment) -> tuple[PlanNote, ...]:
    """One note for each load whose filter, at some level, some server of the lab has no index for."""
    loads = [spec for spec in experiment.workloads if spec.kind == LOAD]
    servers = [
        spec for spec in experiment.targets if any(knob.name == INDEXES for knob in catalogue.find("targets", spec.kind).knobs)
    ]
    return tuple(
        PlanNote(subject=f"{load.name}.filter", text=f"no index serves {', '.join(lacking)}: each such search reads every entry")
        for load in loads
        if (lacking := dict.fromkeys(name for server in servers for name in _lacking(experiment, load, server)))
    )


def _lacking(experiment: Experiment, load: WorkloadSpec, server: TargetSpec) -> Iterator[str]:
    default = next(knob.default for knob in catalogue.find("targets", server.kind).knobs if knob.name == INDEXES)
    wanted = [
        dict(zip(KNOBS, values, strict=True))
        for values in itertools.product(*(_levels(experiment, load, name) for name in KNOBS))
    ]
    for given, values in itertools.product(_levels(experiment, server, INDEXES), wanted):
        words = (given if isinstance(given, tuple) else None) or (default if isinstance(default, tuple) else ())
        known = filter_indexes.indexes("; ".join(str(word).replace(":", " ").replace(",", " ") for word in words))
        for one in filter_indexes.filters(values):
            yield from filter_indexes.unserved(one, known)


def _levels(experiment: Experiment, spec: WorkloadSpec | TargetSpec, name: str) -> tuple[Value, ...]:
    """The levels of a knob: of the factor, else what the file sets, else None."""
    factor = next((one for one in experiment.factors if one.path == f"{spec.name}.{name}"), None)
    return tuple(factor.levels) if factor else (spec.knobs.get(name),)

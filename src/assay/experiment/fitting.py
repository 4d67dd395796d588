"""What the parts of an experiment file must be to each other: events to phases, the memory of workloads that share a group."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from assay import units
from assay.catalogue import Order, Target, Workload
from assay.experiment.factors import MOST_CHECKED, variants
from assay.experiment.parts import Part
from assay.records import Endpoint, Factor, Value
from assay.toml_document import Document, one_of
from assay.units import Unit


def events_fit(document: Document, workloads: Mapping[str, Part], factors: tuple[Factor, ...]) -> None:
    """Each event is of a phase that its workload has with every level: else it never happens, or in some arms only."""
    for part in workloads.values():
        events = tuple(_events(document, part.name))
        if not events or not part.settings.complete or not isinstance(part.plug, Workload):
            continue
        plug = part.plug
        each = [_phases(part.name, plug, knobs) for knobs in variants(part, factors) if not plug.check(knobs)]
        always = tuple(name for name in (each[0] if each else ()) if all(name in names for names in each))
        for index, phase in events if each else ():
            if phase not in always:
                every = " with every level" if any(phase in names for names in each) else ""
                at = (*part.at, "events", index, "phase")
                found = f"an event of phase {phase!r}, which workload {part.name!r} does not have{every}"
                document.wrong(at, found, one_of(always, phase))


def _events(document: Document, workload: str) -> Iterator[tuple[int, str]]:
    """The phase of each event as written, with its index."""
    tables = document.values.get("workloads")
    table = tables.get(workload) if isinstance(tables, dict) else None
    events = table.get("events") if isinstance(table, dict) else None
    for index, item in enumerate(events if isinstance(events, list) else ()):
        if isinstance(item, dict) and isinstance(item.get("phase"), str) and item["phase"]:
            yield index, item["phase"]


def _phases(name: str, plug: Workload, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """The names of the phases that one client would go through; nothing is done."""
    order = Order(workload=name, knobs=knobs, endpoints=(Endpoint(kind=plug.accepts[0], address="/"),), seed=0)
    return tuple(plan.name for plan in plug.phases(order))


def writes_fit(document: Document, systems: Mapping[str, Part], loads: Mapping[str, Part], factors: tuple[Factor, ...]) -> None:
    """On a target that is only read no workload writes, with no level."""
    kept = [part.name for part in systems.values() if isinstance(part.plug, Target) and part.plug.read_only]
    for load in loads.values() if kept else ():
        if not load.settings.complete or not isinstance(load.plug, Workload):
            continue
        if not all(load.plug.only_reads(knobs) for knobs in variants(load, factors)):
            found = f"workload {load.name!r}, which writes, on target {kept[0]!r}, which is only read"
            document.wrong((*load.at, "kind"), found, "a workload that only reads there, or another target")


def memory_fits(document: Document, workloads: Mapping[str, Part], factors: tuple[Factor, ...]) -> None:
    """Workloads that run in one trial share one control group, so they have one limit, whatever the levels."""
    if any(factor.path == "workload" for factor in factors) or not all(part.settings.complete for part in workloads.values()):
        return
    own = [factor for factor in factors if factor.path in {f"{name}.memory" for name in workloads} and factor.levels]
    for levels in itertools.islice(itertools.product(*(factor.levels for factor in own)), MOST_CHECKED):
        varied = dict(zip((factor.path for factor in own), levels, strict=True))
        limits = {name: varied.get(f"{name}.memory", part.settings.values.get("memory")) for name, part in workloads.items()}
        if len(set(limits.values())) > 1:
            found = ", ".join(f"{name}.memory = {_memory(limit)}" for name, limit in limits.items())
            document.wrong(
                _where(document, workloads, own),
                f"{found} in one trial",
                "the same memory for all workloads, whose clients share a group; or make `workload` a factor",
            )
            return


def _where(document: Document, workloads: Mapping[str, Part], own: list[Factor]) -> tuple[str | int, ...]:
    """The factor that sets the limit, else the last place where one is written."""
    if own:
        return ("factors", own[-1].path)
    return [at for part in workloads.values() if (at := (*part.at, "memory")) in document.places][-1]


def _memory(limit: Value) -> str:
    return units.format(limit, Unit.BYTES) if isinstance(limit, int) else "no limit"

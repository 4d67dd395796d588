"""Whether the parts of an experiment file fit each other: events to phases, memory to groups, factors to the design."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay import units
from assay.catalogue import Target, Workload
from assay.experiment import design
from assay.experiment.event_times import planned
from assay.experiment.factors import Scene, stands_on, variants
from assay.experiment.parts import PartSpec
from assay.experiment.shape import FileShape
from assay.records import (
    ON,
    Change,
    DesignKind,
    EndpointKind,
    Experiment,
    Factor,
    TargetSpec,
    Value,
    WorkloadSpec,
    load_hosts,
)
from assay.settings.knobs import MOST_CHECKED
from assay.toml_document import Document, Path, Point, one_of
from assay.units import Unit


def events_fit(document: Document, workloads: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
    """Each event is of a phase that its workload has with every level: else it never happens, or in some arms only."""
    for part in workloads.values():
        events = tuple(_events(document, part.name))
        if not events or not part.settings.complete or not isinstance(part.plug, Workload):
            continue
        plug = part.plug
        each = [
            tuple(plan.name for plan in planned(part.name, plug, knobs))
            for knobs in variants(part, factors)
            if not plug.check(knobs)
        ]
        always = tuple(name for name in (each[0] if each else ()) if all(name in names for names in each))
        for index, phase in events if each else ():
            if phase not in always:
                every = " with every level" if any(phase in names for names in each) else ""
                at = (*part.at, "events", index, "phase")
                found = f"an event of phase {phase!r}, which workload {part.name!r} does not have{every}"
                document.wrong(at, found, one_of(always, phase))


def _events(document: Document, workload: str) -> Iterator[tuple[int, str]]:
    """Yield the phase of each event as written, with its index."""
    tables = document.values.get("workloads")
    table = tables.get(workload) if isinstance(tables, dict) else None
    events = table.get("events") if isinstance(table, dict) else None
    for index, item in enumerate(events if isinstance(events, list) else ()):
        if isinstance(item, dict) and isinstance(item.get("phase"), str) and item["phase"]:
            yield index, item["phase"]


def writes_fit(
    document: Document, systems: Mapping[str, PartSpec], loads: Mapping[str, PartSpec], factors: tuple[Factor, ...]
) -> None:
    """On a target that is only read no workload writes, with no level."""
    kept = [part.name for part in systems.values() if isinstance(part.plug, Target) and part.plug.read_only]
    for load in loads.values() if kept else ():
        if not load.settings.complete or not isinstance(load.plug, Workload):
            continue
        if not all(load.plug.only_reads(knobs) for knobs in variants(load, factors)):
            found = f"workload {load.name!r}, which writes, on target {kept[0]!r}, which is only read"
            document.wrong((*load.at, "kind"), found, "a workload that only reads there, or another target")


def mounts_fit(document: Document, scene: Scene, systems: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
    """A workload of clients with a mount each has as many clients, on one host, and targets that mount for each."""
    levels = next((factor.levels for factor in factors if factor.path == "clients"), None)
    for load in scene.workloads.values():
        if not isinstance(load.plug, Workload) or not load.plug.mounts or not isinstance(load.spec, WorkloadSpec):
            continue
        wanted = load.plug.mounts
        hosts = load_hosts(scene.hosts, load.spec.hosts.get("load", ()))
        if strange := [level for level in (levels or (len(hosts),)) if level != wanted]:
            found = f"clients = {strange[0]} for workload {load.name!r}"
            document.wrong(load.at, found, f"clients = [{wanted}] below [factors]: each has a mount of its own", Point.KEY)
        if len(hosts) > 1:
            document.wrong(load.at, f"workload {load.name!r} on {len(hosts)} hosts", "both mounts on one host", Point.KEY)
        for part in (one for one in systems.values() if isinstance(one.plug, Target)):
            if (wrong := _no_two_clients(part, factors)) is not None:
                document.wrong((*load.at, "kind"), f"workload {load.name!r} on target {part.name!r}, {wrong[0]}", wrong[1])


def _no_two_clients(part: PartSpec, factors: tuple[Factor, ...]) -> tuple[str, str] | None:
    """Return why two clients on one host do not see each other's changes as two hosts would, and what is expected instead."""
    assert isinstance(part.plug, Target)
    if not all(map(part.plug.mounts_each, variants(part, factors))):
        return "which has one mount for all clients", "a target that mounts for each client, such as nfs_ganesha"
    return next(filter(None, map(part.plug.one_client, variants(part, factors))), None)


def beneath_fits(document: Document, systems: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
    """A target stands on another one of the file that offers a directory on the same host, and none on itself."""
    for part in systems.values():
        at = next((one for one in (("factors", f"{part.name}.{ON}"), (*part.at, ON)) if one in document.places), part.at)
        for name in dict.fromkeys(stands_on(part, factors)):
            lower = systems.get(name)
            others = tuple(one for one in systems if one != part.name)
            if lower is None:
                document.wrong(at, f"on = {name!r} of target {part.name!r}", one_of(others, name) if others else "a target")
            elif part.name in _everything_below(lower, systems, factors):
                document.wrong(at, f"on = {name!r} of target {part.name!r}, which is on {part.name!r} itself", "no circle")
            elif _no_directory(lower):
                found = f"on = {name!r} of target {part.name!r}, and {name!r} offers no directory"
                document.wrong(at, found, "a target that offers a directory, such as kind = loopfs")
            elif isinstance(lower.spec, TargetSpec) and isinstance(part.spec, TargetSpec) and lower.spec.host != part.spec.host:
                found = f"target {part.name!r} on host {part.spec.host}, and {name!r} on {lower.spec.host}"
                document.wrong(at, found, "both on one host: a server's data are where it is")


def _no_directory(part: PartSpec) -> bool:
    return isinstance(part.plug, Target) and part.plug.endpoint is not EndpointKind.DIRECTORY


def _everything_below(part: PartSpec, systems: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> set[str]:
    """Return a target and all that it stands on."""
    found, waiting = set[str](), [part.name]
    while waiting:
        name = waiting.pop()
        if name not in found and name in systems:
            found.add(name)
            waiting += stands_on(systems[name], factors)
    return found


def keys_fit(
    document: Document, systems: Mapping[str, PartSpec], loads: Mapping[str, PartSpec], factors: tuple[Factor, ...]
) -> None:
    """A load asks for no more entries than the smallest population of a target has, with no level."""
    people = [
        (int(str(knobs["entries"])), part.name)
        for part in systems.values()
        for knobs in (variants(part, factors) if part.settings.complete else ())
        if knobs.get("entries") and not knobs.get("ldif")
    ]
    for load in loads.values() if people else ():
        wanted = [knobs.get("population") for knobs in (variants(load, factors) if load.settings.complete else ())]
        most = max((one for one in wanted if isinstance(one, int)), default=0)
        if most > min(people)[0]:
            found = f"population = {most:,} of workload {load.name!r}"
            document.wrong(load.at, found, f"at most the {min(people)[0]:,} entries of target {min(people)[1]!r}", Point.KEY)


def memory_fits(document: Document, workloads: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
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


def _where(document: Document, workloads: Mapping[str, PartSpec], own: list[Factor]) -> tuple[str | int, ...]:
    """Return the factor that sets the limit, else the last place where one is written."""
    if own:
        return ("factors", own[-1].path)
    return [at for part in workloads.values() if (at := (*part.at, "memory")) in document.places][-1]


def _memory(limit: Value) -> str:
    return units.format(limit, Unit.BYTES) if isinstance(limit, int) else "no limit"


TWO_LEVELS = frozenset({DesignKind.FRACTIONAL, DesignKind.SCREENING})
NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII"}
Reason = tuple[Path, str, str, Point]


@dataclass(frozen=True, kw_only=True)
class Designed:
    """The design of a file as far as it can be had: None of both where there is none, or where it was refused."""

    kind: DesignKind | None = None
    combinations: int | None = None


def fits(document: Document, shape: FileShape, factors: Sequence[Factor]) -> Designed:
    """Note everything that speaks against the design."""
    if shape.design in (None, DesignKind.DUET):
        if shape.resolution is not None:
            document.wrong(("resolution",), f"resolution = {shape.resolution} without a design", 'design = "fractional" with it')
        return Designed()
    assert shape.design is not None
    several = design.varying(factors)
    found = [*against(shape, shape.design, factors), *too_few_or_many(shape, shape.design, several)]
    for at, seen, wanted, point in found:
        document.wrong(at, seen, wanted, point)
    if found:
        return Designed()
    experiment = Experiment(
        title="",
        question="",
        targets=(),
        workloads=(),
        factors=tuple(factors),
        measures=(),
        design=shape.design,
        resolution=shape.resolution,
    )
    return Designed(kind=shape.design, combinations=len(design.combinations(experiment, factors)))


def against(shape: FileShape, kind: DesignKind, factors: Sequence[Factor]) -> Iterator[Reason]:
    """Yield what speaks against single factors, and against keys beside the design."""
    if shape.compare is not None and kind is not DesignKind.FULL:
        wanted = 'no compare, or design = "full": in no other design two levels meet under all conditions'
        yield ("compare",), f'compare = {shape.compare!r} with design = "{kind.value}"', wanted, Point.VALUE
    if shape.resolution is not None and kind is not DesignKind.FRACTIONAL:
        found = f'resolution = {shape.resolution} with design = "{kind.value}"'
        yield ("resolution",), found, 'design = "fractional" with it', Point.VALUE
    for factor in factors:
        at, levels = ("factors", factor.path), len(factor.levels)
        if factor.change is Change.MANUAL:
            wanted = "factors that change by themselves: what a person changes cannot be mixed within a block"
            yield at, f"factor {factor.path!r}, changed by hand, in a design", wanted, Point.KEY
        if factor.path == "workload":
            yield at, "factor 'workload' in a design", "another factor: each workload has measures of its own", Point.KEY
        if kind in TWO_LEVELS and levels > 2:
            wanted = 'two levels, the farthest apart that are of interest; design = "full" and "one-at-a-time" take more'
            yield at, f"{levels} levels of {factor.path!r} in a {kind.value} design", wanted, Point.KEY


def too_few_or_many(shape: FileShape, kind: DesignKind, several: Sequence[Factor]) -> Iterator[Reason]:
    """Yield what speaks against the number of factors that vary."""
    count, at = len(several), ("design",)
    found = f'{count} {"factor" if count == 1 else "factors"} with two levels or more for design = "{kind.value}"'
    full = f'; design = "full" has {2**count} combinations' if 1 < count < design.FEWEST + 2 else ""
    if kind not in TWO_LEVELS and count < 2:
        yield at, found, "at least 2; a single factor is compared (`compare`)", Point.VALUE
    if kind is DesignKind.SCREENING and not design.FEWEST_SCREENED <= count <= design.MOST_SCREENED:
        yield at, found, f"from {design.FEWEST_SCREENED} to {design.MOST_SCREENED}{full}", Point.VALUE
    if kind is not DesignKind.FRACTIONAL:
        return
    if not design.FEWEST <= count <= design.MOST:
        more = f'; design = "screening" takes up to {design.MOST_SCREENED}' if count > design.MOST else full
        yield at, found, f"from {design.FEWEST} to {design.MOST}{more}", Point.VALUE
    elif design.smallest(count, shape.resolution or design.DEFAULT_RESOLUTION) is None:
        resolution = NUMERALS[shape.resolution or design.DEFAULT_RESOLUTION]
        best = max(one.resolution for one in design.fractions_of(count))
        wanted = f'resolution = {best} at most, or design = "full" ({2**count} combinations)'
        yield at, f"a fraction of {count} factors with resolution {resolution}", wanted, Point.VALUE

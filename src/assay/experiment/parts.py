"""Targets and workloads of an experiment file, as the catalogue knows them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay import catalogue
from assay.catalogue import PLACEMENT, TIMING, Knob, Target, Workload
from assay.experiment import events as timed
from assay.experiment import named_hosts
from assay.experiment.knobs import Settings, declared, flat, settings
from assay.experiment.shape import FileShape
from assay.machine import server_nodes
from assay.records import Event, HostSpec, MachineSpec, PathSpec, TargetSpec, WorkloadSpec, WorkSide
from assay.records.layers import offered
from assay.records.price import EXAMPLE, Price, price_of
from assay.toml_document import Document, Path, Point, one_of, shown

RESERVED = ("target", "workload", "clients", "hosts")
"""Paths of factors that are no knobs; nothing else may have these names."""
_NAME = re.compile(r"[^\s:,=/@{}\"']+")


@dataclass(frozen=True, kw_only=True)
class PartSpec:
    """A target, workload or path of the file, or its machines, with what is declared of it."""

    name: str
    at: Path
    knobs: Mapping[str, Knob]
    settings: Settings
    spec: TargetSpec | WorkloadSpec | PathSpec | MachineSpec
    plug: Target | Workload | None
    """None of a path and of the machines."""
    events: Mapping[int, Event] = field(default_factory=dict)
    """Those of a workload that are right, by their place in the list."""


Varied = Callable[[str], frozenset[str]]
"""Name of a part -> the knobs of it that factors set."""


def targets(document: Document, shape: FileShape, known: tuple[HostSpec, ...], varied: Varied) -> dict[str, PartSpec]:
    """Return every target of the file whose kind exists."""
    parts: dict[str, PartSpec] = {}
    for name, table in shape.targets.items():
        at = ("targets", name)
        check_name(document, at, name)
        plug = _target(document, at, table)
        host = named_hosts.one(document, (*at, "host"), table.get("host", named_hosts.LOCAL), known)
        if plug is not None:
            knobs = declared(plug.knobs)
            own = _without(table, "kind", "host", "price")
            chosen = settings(document, at, knobs, own, varied(name))
            nodes = _node_hosts(document, at, own, known)
            price = _price(document, at, table)
            spec = TargetSpec(name=name, kind=plug.name, knobs={**chosen.values, **nodes}, host=host, price=price)
            parts[name] = PartSpec(name=name, at=at, knobs=knobs, settings=chosen, spec=spec, plug=plug)
    return parts


def _price(document: Document, at: Path, table: Mapping[str, object]) -> Price | None:
    if "price" not in table:
        return None
    found = price_of(table["price"])
    if found is None:
        document.wrong((*at, "price"), shown(table["price"]), EXAMPLE)
    return found


def workloads(document: Document, shape: FileShape, known: tuple[HostSpec, ...], varied: Varied) -> dict[str, PartSpec]:
    """Return every workload of the file whose kind exists."""
    parts: dict[str, PartSpec] = {}
    for name, table in shape.workloads.items():
        at = ("workloads", name)
        check_name(document, at, name)
        if "." in name:
            document.wrong(at, f"workload {name!r}", "a name without a dot: measures are WORKLOAD.OPERATION.FIGURE", Point.KEY)
        if name in shape.targets:
            document.wrong(
                at, f"workload {name!r}, which is also a target", "another name: paths of knobs begin with it", Point.KEY
            )
        plug = _workload(document, at, table)
        roles = named_hosts.roles(document, (*at, "hosts"), table.get("hosts", {}), known)
        events = timed.events(document, (*at, "events"), table.get("events", []), known, tuple(shape.paths))
        side = _side(document, at, table)
        if plug is not None:
            knobs = declared((*PLACEMENT, *plug.knobs, *TIMING))
            chosen = settings(document, at, knobs, _without(table, "kind", "hosts", "events", "side"), varied(name))
            timely = tuple(events.values())
            spec = WorkloadSpec(name=name, kind=plug.name, knobs=chosen.values, hosts=roles, events=timely, side=side)
            parts[name] = PartSpec(name=name, at=at, knobs=knobs, settings=chosen, spec=spec, plug=plug, events=events)
    return parts


def _side(document: Document, at: Path, table: Mapping[str, object]) -> WorkSide:
    """Where a workload works; beside the client's side both ends are on the target's host."""
    found = table.get("side", WorkSide.CLIENT.value)
    if found not in tuple(WorkSide):
        document.wrong((*at, "side"), f"side {shown(found)}", one_of(tuple(one.value for one in WorkSide), str(found)))
        return WorkSide.CLIENT
    side = WorkSide(str(found))
    if side is not WorkSide.CLIENT and table.get("hosts"):
        document.wrong(
            (*at, "hosts"), f"hosts with side = {side}", "no hosts: such a workload is on the target's host", Point.KEY
        )
    return side


def _node_hosts(document: Document, at: Path, table: Mapping[str, object], known: tuple[HostSpec, ...]) -> dict[str, str]:
    """Return the hosts of a server's further nodes: each is one of `[hosts]`, a group where it has one member."""
    named = ((name, path, raw) for name, path, raw in flat(table, at) if server_nodes.names_host(name) and isinstance(raw, str))
    return {name: named_hosts.one(document, path, raw, known) for name, path, raw in named}


def endpoints_fit(document: Document, systems: Mapping[str, PartSpec], loads: Mapping[str, PartSpec]) -> None:
    """Every workload must accept what every target offers on its side."""
    for load, system in itertools.product(loads.values(), systems.values()):
        if (*load.at, "side") in document.wrong_at:
            continue
        if isinstance(load.plug, Workload) and isinstance(system.plug, Target) and isinstance(load.spec, WorkloadSpec):
            _endpoint_fits(document, (load, load.plug, load.spec.side), (system, system.plug))


def _endpoint_fits(document: Document, load: tuple[PartSpec, Workload, WorkSide], system: tuple[PartSpec, Target]) -> None:
    part, workload, side = load
    what, target = f"workload {part.name!r} on target {system[0].name!r}", system[1]
    accepts = " or ".join(kind.value for kind in workload.accepts)
    if side not in target.sides:
        document.wrong((*part.at, "side"), f"side = {side} of {what}", "a target that starts a file server, as nfs_ganesha does")
        return
    kind = offered(side, target.endpoint)
    if kind in workload.accepts:
        return
    if side is WorkSide.CLIENT:
        document.wrong((*part.at, "kind"), f"{what}, which offers a {kind.value}", f"a target that offers {accepts}")
    else:
        document.wrong((*part.at, "kind"), f"{what} with side = {side}, which is a {kind.value}", f"a side that is a {accepts}")


def _without(table: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in table.items() if key not in keys}


def check_name(document: Document, at: Path, name: str) -> None:
    """Note a name that paths of knobs cannot begin with."""
    if name in RESERVED:
        document.wrong(at, f"the reserved name {name!r}", f"another name than {', '.join(RESERVED)}", Point.KEY)
    elif not _NAME.fullmatch(name):
        document.wrong(at, f"the name {name!r}", "a name without spaces, quotes and : , = / @ { }", Point.KEY)


def _kind(document: Document, at: Path, table: Mapping[str, object], known: tuple[str, ...]) -> str | None:
    kind = table.get("kind")
    if kind is None:
        document.wrong(at, "no 'kind'", f"a line kind = ...: {one_of(known)}", Point.KEY)
    elif not isinstance(kind, str) or kind not in known:
        document.wrong((*at, "kind"), f"kind {shown(kind)}", one_of(known, str(kind)))
    else:
        return kind
    return None


def _target(document: Document, at: Path, table: Mapping[str, object]) -> Target | None:
    kind = _kind(document, at, table, catalogue.names("targets"))
    return None if kind is None else catalogue.find("targets", kind)


def _workload(document: Document, at: Path, table: Mapping[str, object]) -> Workload | None:
    kind = _kind(document, at, table, catalogue.names("workloads"))
    return None if kind is None else catalogue.find("workloads", kind)

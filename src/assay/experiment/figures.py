"""Measures, claims and requirements of an experiment file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.catalogue import Workload
from assay.experiment import named_hosts
from assay.experiment.factors import Scene, variants
from assay.experiment.shape import FileShape
from assay.measures import observed
from assay.measures.figures import FIGURES, OBSERVED, figure_kind
from assay.records import Claim, Factor, HostSpec, Measure, ObserveSpec, Requirement, RequirementKind
from assay.toml_document import Document, Path, Point, one_of
from assay.units import EXAMPLES, Refusal, Unit, attempt

_UNITS: tuple[tuple[str, Unit], ...] = (
    ("bytes_per_s", Unit.BYTES_PER_S),
    ("_per_s", Unit.PER_S),
    ("_ns", Unit.NANOSECONDS),
    ("_share", Unit.SHARE),
    ("bytes", Unit.BYTES),
)
_BOUND = re.compile(r"\s*(<=|>=|not worse than)\s*(.+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What measures can be about: the operations of each workload with their default figures, the hosts, their commands."""

    operations: Mapping[str, Mapping[str, str]]
    hosts: tuple[HostSpec, ...]
    lacks: Mapping[str, Mapping[str, str]]
    """Workload -> the figures that it gives with none of its levels, and why."""
    observe: tuple[ObserveSpec, ...] = ()

    def commands(self, host: str) -> Mapping[str, Unit]:
        """The figures that commands of `[observe]` give of a host, with their units."""
        return {figure: unit for spec in self.observe if host in spec.hosts for figure, unit in observed.figures(spec).items()}


def known(scene: Scene, factors: tuple[Factor, ...], observe: tuple[ObserveSpec, ...]) -> Known:
    """Return the operations that each workload reports for at least one combination of its levels and numbers of clients."""
    operations: dict[str, Mapping[str, str]] = {}
    lacks: dict[str, Mapping[str, str]] = {}
    counts = next((factor.levels for factor in factors if factor.path == "clients"), (max(1, len(scene.hosts)),))
    for name, part in scene.workloads.items():
        if part.settings.complete and isinstance(part.plug, Workload):
            reported: dict[str, str] = {}
            for knobs, clients in itertools.product(variants(part, factors), counts):
                reported.update(part.plug.operations({**knobs, "clients": clients}))
            operations[name] = reported
            every = [part.plug.lacks(knobs) for knobs in variants(part, factors)]
            common = set.intersection(*(set(one) for one in every)) if every else set()
            lacks[name] = {figure: every[0][figure] for figure in common}
    return Known(operations=operations, lacks=lacks, hosts=scene.hosts, observe=observe)


def unit_of(measure: Measure) -> Unit:
    """Return the unit of a figure; of an external tool's own the one that its name ends with. Counts have none."""
    kind = figure_kind(measure.figure)
    if kind is not None or measure.unit is not None:
        return kind.unit if kind else Unit(measure.unit or Unit.NONE)
    return next((unit for end, unit in _UNITS if measure.figure.endswith(end)), Unit.COUNT)


def measures(document: Document, shape: FileShape, scene: Known) -> tuple[Measure, ...]:
    """Return the named measures, or each operation's default figure where none is named; then those that only `require` names."""
    found: dict[str, Measure] = {}
    for name in (*shape.measures, *_left_out(document, shape)):
        measure, written = _measure(document, ("measures", name), name, scene), shape.measures.get(name)
        if measure is not None and written is not None:
            found[name] = replace(measure, claim=Claim(**dict(written.claim)), summary=written.summary, primary=written.primary)
    if not shape.measures:
        defaults = (
            Measure(workload=workload, operation=operation, figure=figure)
            for workload, operations in scene.operations.items()
            for operation, figure in operations.items()
        )
        found.update({measure.name: measure for measure in defaults})
    for name in shape.require:
        if name not in found and name not in shape.measures:
            measure = _measure(document, ("require", name), name, scene)
            if measure is not None:
                found[name] = measure
    return tuple(found.values())


def _left_out(document: Document, shape: FileShape) -> tuple[str, ...]:
    """Return measures whose tables are wrong: their names are checked all the same."""
    tables = document.values.get("measures")
    return tuple(name for name in tables if name not in shape.measures) if isinstance(tables, dict) else ()


def _measure(document: Document, at: Path, name: str, scene: Known) -> Measure | None:
    workload, operation, figure = (*name.split(".", 2), "", "")[:3]
    if not figure:
        document.wrong(at, f"measure {name!r}", "WORKLOAD.OPERATION.FIGURE, in quotes", Point.KEY)
        return None
    if workload not in document_workloads(document):
        document.wrong(
            at, f"measure {name!r} of workload {workload!r}", one_of(document_workloads(document), workload), Point.KEY
        )
        return None
    if workload not in scene.operations:
        return None
    if operation not in scene.operations[workload]:
        wanted = one_of(scene.operations[workload], operation)
        document.wrong(at, f"operation {operation!r} in measure {name!r}", f"{wanted} (what {workload!r} reports)", Point.KEY)
        return None
    if not _figure_exists(document, at, figure, scene, scene.operations[workload][operation]):
        return None
    if why := scene.lacks[workload].get(figure):
        document.wrong(at, f"figure {figure!r} of {workload!r}, whose {why}", "a figure that it gives, or a parser", Point.KEY)
        return None
    host, sign, metric = figure.removeprefix("@").partition(observed.INFIX)
    unit = scene.commands(host).get(f"{observed.LAYER}.{metric}") if sign else None
    return Measure(workload=workload, operation=operation, figure=figure, unit=unit)


def document_workloads(document: Document) -> tuple[str, ...]:
    """Return names of the workloads as written, right or wrong."""
    tables = document.values.get("workloads", {})
    return tuple(tables) if isinstance(tables, dict) else ()


def _figure_exists(document: Document, at: Path, figure: str, scene: Known, own: str) -> bool:
    """Return whether the figure exists: observed on a host, computed by `measures`, or the workload's own."""
    if figure.startswith("@"):
        refusal = None if _refused_before(document, figure, scene) else _observed(figure, scene)
    elif figure in FIGURES or figure == own:
        refusal = None
    else:
        refusal = Refusal(found=f"figure {figure!r}", expected=one_of(sorted({*FIGURES, own}), figure))
    if refusal is not None:
        document.wrong(at, refusal.found, refusal.expected, Point.KEY)
    return refusal is None


def _refused_before(document: Document, figure: str, scene: Known) -> bool:
    """Return whether the figure is one of a command whose table was refused, so that it is not known what it gives."""
    _, command, metric = figure.partition(observed.INFIX)
    tables, name = document.values.get("observe"), metric.partition(".")[0]
    return bool(command) and isinstance(tables, dict) and name in tables and all(spec.name != name for spec in scene.observe)


def _observed(figure: str, scene: Known) -> Refusal | None:
    """Return what is wrong with `@HOST.FIGURE`."""
    host, command, metric = figure[1:].partition(observed.INFIX)
    if not command:
        host, _, metric = host.rpartition(".")
    group = named_hosts.members(scene.hosts, host)
    if group != (host,):
        wanted = f"one host of it: {group[0]} to {group[-1]}" if group else one_of(named_hosts.names(scene.hosts), host)
        return Refusal(found=f"host {host!r} in figure {figure!r}", expected=wanted)
    name = f"{observed.LAYER}.{metric}" if command else metric
    figures = {**OBSERVED, **scene.commands(host)}
    if name not in figures:
        return Refusal(found=f"figure {name!r}, observed on a host", expected=one_of(figures, name))
    return None


def requirements(document: Document, shape: FileShape, found: tuple[Measure, ...]) -> tuple[Requirement, ...]:
    """Return every requirement whose measure exists and whose bound has the measure's unit."""
    by_name = {measure.name: measure for measure in found}
    result = []
    for name, texts in shape.require.items():
        if not texts:
            document.wrong(("require", name), "an empty list", 'at least one requirement such as "<= 50 ms"')
        for index, text in enumerate(texts if name in by_name else ()):
            requirement = _requirement(by_name[name], text)
            if isinstance(requirement, Refusal):
                document.wrong(("require", name, index), requirement.found, requirement.expected)
            else:
                result.append(requirement)
    return tuple(result)


def _requirement(measure: Measure, text: str) -> Requirement | Refusal:
    match = _BOUND.fullmatch(text)
    unit = unit_of(measure)
    if match is None:
        return Refusal(found=f"requirement {text!r}", expected=f'"<= X", ">= X" ({EXAMPLES[unit]}) or "not worse than 5 %"')
    kind = RequirementKind(match[1])
    bound = attempt(match[2], Unit.SHARE if kind is RequirementKind.NOT_WORSE_THAN else unit)
    if isinstance(bound, Refusal):
        return Refusal(found=f"{bound.found} in requirement {text!r}", expected=bound.expected)
    return Requirement(measure=measure.name, kind=kind, bound=float(bound), text=text.strip())

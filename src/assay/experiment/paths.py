"""Paths of an experiment file: `[paths.NAME]`, which targets use them, and the events that change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue import Target, path_knobs
from assay.experiment.factors import Scene, measured, variants
from assay.experiment.knobs import declared, settings
from assay.experiment.parts import PartSpec, Varied, check_name
from assay.experiment.shape import FileShape
from assay.records import Factor, PathSpec
from assay.settings.paths import mistakes
from assay.toml_document import Document, Path, Point, one_of

MPTCP = "mptcp"
"""The knob of workloads that can use several paths at once."""


def paths(document: Document, shape: FileShape, varied: Varied) -> dict[str, PartSpec]:
    """Return every path of the file, after all that is wrong with its keys was noted."""
    parts: dict[str, PartSpec] = {}
    knobs = declared(path_knobs())
    for name, table in shape.paths.items():
        at = ("paths", name)
        check_name(document, at, name)
        if name in shape.targets or name in shape.workloads:
            document.wrong(at, f"path {name!r}, which is also a target or a workload", "another name", Point.KEY)
        chosen = settings(document, at, knobs, table, varied(name))
        spec = PathSpec(name=name, knobs=chosen.values)
        part = PartSpec(name=name, at=at, knobs=knobs, settings=chosen, spec=spec, plug=None)
        parts[name] = part
    return parts


def paths_fit(document: Document, scene: Scene, factors: tuple[Factor, ...]) -> None:
    """Each path can be made with every level, each target uses paths that are there, and events change paths that are used."""
    for part in scene.paths.values():
        _makeable(document, part, factors)
    used: list[tuple[str, ...]] = []
    for part in scene.targets.values():
        if isinstance(part.plug, Target):
            _known(document, part, part.plug, tuple(scene.paths), factors)
            used += [part.plug.paths(knobs) for knobs in variants(part, factors)]
    _changed(document, scene.workloads, set(scene.paths).intersection(*_of_measured(scene, factors)))
    if any(len(one) > 1 for one in used):
        _joined(document, scene.workloads, factors)


def _of_measured(scene: Scene, factors: tuple[Factor, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each target that trials are about, with each level: those that others only stand on have none."""
    for part in measured(scene.targets, factors).values():
        if isinstance(part.plug, Target):
            yield from (part.plug.paths(knobs) for knobs in variants(part, factors))


def _joined(document: Document, workloads: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
    """Note workloads that leave every path but the first one idle: only connections by MPTCP use several."""
    for part in workloads.values():
        if MPTCP in part.knobs and part.settings.complete and not any(knobs.get(MPTCP) for knobs in variants(part, factors)):
            found = f"workload {part.name!r} without mptcp over several paths"
            document.wrong(part.at, found, "mptcp = true: all other connections use the first path alone", Point.KEY)


def _changed(document: Document, workloads: Mapping[str, PartSpec], always: set[str]) -> None:
    """Note events on paths that a target does not use with some level: there they could not happen."""
    for part in workloads.values():
        for index, event in part.events.items():
            if event.action.of_path and event.on not in always:
                found = f"an event on path {event.on!r}, which not every target uses with every level"
                wanted = f'through = "{event.on}" in each target that is measured'
                others = f", or a path that all use: {one_of(sorted(always))}" if always else ""
                document.wrong((*part.at, "events", index, "on"), found, f"{wanted}{others}")


def _makeable(document: Document, part: PartSpec, factors: tuple[Factor, ...]) -> None:
    if not part.settings.complete:
        return
    wrong = {one.key: one for knobs in variants(part, factors) for one in mistakes(knobs)}
    for one in wrong.values():
        own, factor = (*part.at, *one.key.split(".")), ("factors", f"{part.name}.{one.key}")
        at: Path = factor if factor in document.places else own if own in document.places else part.at
        document.wrong(at, f"{one.found} for path {part.name!r}", one.expected, Point.VALUE if at != part.at else Point.KEY)


def _known(document: Document, part: PartSpec, plug: Target, known: tuple[str, ...], factors: tuple[Factor, ...]) -> None:
    strange = dict.fromkeys(name for knobs in variants(part, factors) for name in plug.paths(knobs) if name not in known)
    for name in strange:
        at = next((one for one in _places(part) if one in document.places), part.at)
        wanted = one_of(known, name) if known else f"a table [paths.{name}] with rate, delay, loss or queue"
        document.wrong(at, f"path {name!r} of target {part.name!r}", wanted)


def _places(part: PartSpec) -> Iterator[Path]:
    for knob in ("through", "paths"):
        yield ("factors", f"{part.name}.{knob}")
        yield (*part.at, knob)

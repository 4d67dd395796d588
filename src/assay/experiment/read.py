"""The experiment file: TOML in, an Experiment out, or every mistake at once with its line and column.

Three steps, each over what the former left valid: syntax (the recoverable parser of `_core`), shape (`shape`, pydantic),
and what the catalogue and the rest of the file say of each value (`parts`, `factors`, `figures`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay import catalogue
from assay.errors import InputErrors, UsageError
from assay.experiment import consistency, duet, figures, parts, servers, top_level, watched
from assay.experiment import factors as varying
from assay.experiment import paths as ways
from assay.experiment import soak as soaks
from assay.experiment.digest import digest
from assay.experiment.event_times import event_times_fit
from assay.experiment.factors import Scene
from assay.experiment.hosts import hosts as machines
from assay.experiment.hosts import with_ports
from assay.experiment.machine import machine, machine_fits, used
from assay.experiment.shape import FileShape, check
from assay.experiment.target_events import target_events_fit
from assay.records import Experiment, Factor, Pairs, PathSpec, TargetSpec, Value, WorkloadSpec
from assay.toml_document import Document, load

FIO_JOB = re.compile(r"(?m)^(rw|readwrite|ioengine)\s*=\s*[a-z]\w*\s*$")
"""A line of fio that no TOML file has: a word without quotes."""
_TABLES = ("targets", "workloads", "paths", "factors")


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a control shows: with the levels `fail` the rule must fail the measure, with `passes` it must pass it."""

    rule: str
    measure: str
    fail: Mapping[str, Value]
    passes: Mapping[str, Value]
    needs: tuple[str, ...]
    blind: tuple[str, ...] = ()
    """Observers that are left out where the lie is table."""
    says: str = "fail"
    """What the rule must say of the lie: fail or unverified."""
    anytime: bool = False
    """Whether its verdicts hang neither on the speed nor on the quiet of the machine, so that tests run it beside others."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Name -> text of the files that the experiment reads; `{files}` in its text is their directory."""


@dataclass(frozen=True, kw_only=True)
class FileDraft:
    """What is valid in a file, and the document with the mistakes in the rest."""

    document: Document
    experiment: Experiment

    @property
    def doubtful(self) -> frozenset[str]:
        """The targets, workloads and paths with mistakes, and the targets that use such a path at any level."""
        spec, wrong = self.experiment, {str(at[1]) for at in self.document.wrong_at if len(at) > 1 and at[0] in _TABLES}
        names = [*(one.name for one in spec.targets), *(one.name for one in spec.workloads), *(one.name for one in spec.paths)]
        found = {name for name in names if name in wrong or any(one.startswith(f"{name}.") for one in wrong)}
        sound = {path.name for path in spec.paths} - found
        return frozenset(found | {one.name for one in spec.targets if not sound.issuperset(_used_paths(one, spec.factors))})


def read(path: Path) -> Experiment:
    """Return the experiment of a file. Raises UsageError where it cannot be read, InputErrors with every mistake in it."""
    return finished(draft(path))


def parse(text: str, file: str) -> Experiment:
    """Return the experiment of a text; `file` is its name in messages. Raises InputErrors with every mistake."""
    return finished(_drafted(text, file))


def draft(path: Path) -> FileDraft:
    """Return what a file has, mistakes included. Raises UsageError where it cannot be read, InputErrors where it is no TOML."""
    return _drafted(_text(path), str(path))


def finished(found: FileDraft) -> Experiment:
    """Return the experiment of a draft. Raises InputErrors with every mistake in it."""
    found.document.refuse_if_wrong()
    return replace(found.experiment, digest=digest(found.experiment))


def _drafted(text: str, file: str) -> FileDraft:
    document = _loaded(text, file)
    document.refuse_other_kinds("targets")
    shape = check(document, FileShape, document.values)
    if not isinstance(shape, FileShape):
        shape = _valid_part(document)
    return FileDraft(document=document, experiment=_assemble(document, shape))


def _loaded(text: str, file: str) -> Document:
    """Read the text; where it is a job file of fio, say so in place of a list of its lines that are no TOML."""
    try:
        return load(text, file)
    except InputErrors as error:
        if FIO_JOB.search(text) is None:
            raise
        raise UsageError(f"{file}: this is a job file of fio. Use: assay stat -- fio {file}") from error


def _used_paths(target: TargetSpec, factors: tuple[Factor, ...]) -> Iterator[str]:
    used = catalogue.find("targets", target.kind).paths
    yield from used(target.knobs)
    for factor in factors:
        name, _, knob = factor.path.partition(".")
        if name == target.name:
            yield from (path for level in factor.levels for path in used({**target.knobs, knob: level}))


def control(path: Path) -> Control | None:
    """Return the `[control]` table of a file, None where there is none. Raises InputErrors, UsageError."""
    document = load(_text(path), str(path))
    shape = check(document, FileShape, document.values)
    document.refuse_if_wrong()
    if not isinstance(shape, FileShape) or shape.control is None:
        return None
    scene, _ = _scene(document, shape)
    table = shape.control
    fail = varying.chosen(document, ("control", "fail"), table.fail, scene)
    passes = varying.chosen(document, ("control", "pass"), table.pass_, scene)
    document.refuse_if_wrong()
    return Control(
        rule=table.rule,
        measure=table.measure,
        fail=fail,
        passes=passes,
        needs=tuple(table.needs),
        blind=tuple(table.blind),
        says=table.says,
        anytime=table.anytime,
        files=table.files,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"found {path} ({error.strerror}); expected an experiment file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"found {path}, which is no text in UTF-8 (byte {error.start}); expected an experiment file") from error


def _valid_part(document: Document) -> FileShape:
    """Return the shape of what is valid, so that the rest of the file is checked too: wrong tables and keys are left out."""
    valid = dict(_LEAST)
    for key, value in document.values.items():
        if _fits(key, value):
            valid[key] = value
        elif isinstance(value, dict):
            valid[key] = {name: item for name, item in value.items() if _fits(key, {name: item})} or _LEAST.get(key, {})
    return FileShape.model_validate({key: value for key, value in valid.items() if _fits(key, value)})


def _fits(key: str, value: object) -> bool:
    return check(Document(file="", values={}, places={}), FileShape, {**_LEAST, key: value}) is not None


_LEAST: Mapping[str, object] = {"title": "?", "targets": {"?": {}}, "workloads": {"?": {}}}
"""The smallest thing with the shape of an experiment."""


def _scene(document: Document, shape: FileShape) -> tuple[Scene, tuple[Factor, ...]]:
    """Hosts, targets, workloads, and the factors over them."""
    hosts = machines(document, shape.hosts)

    def varied(name: str) -> frozenset[str]:
        return varying.varied(shape.factors, name)

    scene = Scene(
        targets=parts.targets(document, shape, hosts, varied) if "?" not in shape.targets else {},
        workloads=parts.workloads(document, shape, hosts, varied) if "?" not in shape.workloads else {},
        hosts=hosts,
        paths=ways.paths(document, shape, varied),
        machine=machine(document, shape, hosts, varied),
    )
    return scene, varying.factors(document, shape.factors, scene)


def _fit(document: Document, scene: Scene, factors: tuple[Factor, ...]) -> None:
    """Note what does not go together."""
    consistency.beneath_fits(document, scene.targets, factors)
    upper = varying.measured(scene.targets, factors)
    parts.endpoints_fit(document, upper, scene.workloads)
    varying.knobs_fit(document, scene.workloads, factors)
    ways.paths_fit(document, scene, factors)
    machine_fits(document, scene.machine, factors)
    consistency.events_fit(document, scene.workloads, factors)
    target_events_fit(document, scene, factors)
    event_times_fit(document, scene.workloads, factors)
    consistency.writes_fit(document, upper, scene.workloads, factors)
    consistency.mounts_fit(document, scene, upper, factors)
    consistency.keys_fit(document, scene.targets, scene.workloads, factors)
    servers.servers_fit(document, scene.targets, scene.workloads, factors)
    consistency.memory_fits(document, scene.workloads, factors)


def _assemble(document: Document, shape: FileShape) -> Experiment:
    shape = soaks.timed(document, shape)
    scene, factors = _scene(document, shape)
    scene = soaks.within_pieces(shape, scene)
    _fit(document, scene, factors)
    observe = watched.specs(document, shape.observe, scene.hosts)
    measures = figures.measures(document, shape, figures.known(scene, factors, observe))
    soaked = soaks.soak(document, shape, factors)
    soaks.measurable(document, soaked, measures)
    repeats = top_level.repeats(document, shape) if soaked is None else soaked.pieces
    designed = consistency.fits(document, shape, factors)
    slices = duet.slices(document, shape, scene, factors)
    top_level.count_trials(document, factors, designed, repeats, slices)
    limits = top_level.limits(document, shape.limits, scene.hosts)
    compare, pairs = _compared(document, shape, factors)
    return Experiment(
        title=shape.title,
        question=shape.question,
        targets=tuple(part.spec for part in scene.targets.values() if isinstance(part.spec, TargetSpec)),
        workloads=tuple(part.spec for part in scene.workloads.values() if isinstance(part.spec, WorkloadSpec)),
        factors=factors,
        measures=measures,
        requirements=figures.requirements(document, shape, measures),
        compare=compare,
        pairs=pairs,
        design=designed.kind,
        resolution=shape.resolution,
        slices=slices,
        matters_share=top_level.matters(document, shape.matters),
        bound_factor=shape.bound_factor,
        repeats=repeats,
        budget_ns=top_level.budget(document, shape.budget),
        seed=shape.seed,
        hosts=with_ports(scene.hosts, limits),
        limits=limits,
        implied=top_level.implied(document, shape.implied),
        observers=top_level.observers(document, shape.observers),
        observe=observe,
        paths=tuple(part.spec for part in scene.paths.values() if isinstance(part.spec, PathSpec)),
        soak=soaked,
        machine=used(scene.machine, factors),
    )


def _compared(document: Document, shape: FileShape, factors: tuple[Factor, ...]) -> tuple[str | None, Pairs]:
    """Return the compared factor, and which of its levels are held against each other; every pair needs such a factor."""
    compare = varying.compared(document, shape.compare, shape.factors, factors)
    if shape.pairs is Pairs.ALL and compare is None:
        wanted = 'compare = "FACTOR", a factor with at least two levels, with it'
        document.wrong(("pairs",), 'pairs = "all" without a compared factor', wanted)
    return compare, shape.pairs

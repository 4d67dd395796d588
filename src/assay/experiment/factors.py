"""Factors of an experiment file: which paths can vary, and their levels in base units."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.catalogue import Workload
from assay.experiment.knobs import lookup, resolve
from assay.experiment.parts import RESERVED, PartSpec
from assay.experiment.shape import FactorShape, check
from assay.machine import server_nodes
from assay.records import MACHINE, ON, Change, Factor, HostSpec, Value, WorkloadSpec, load_hosts
from assay.settings.knobs import variants as combined
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal

NAME, VALUE = "name", "value"
EXAMPLE = 'a level, or { name = "a word for it", value = the level }'

WRONG = object()
"""Stands for a level whose table was refused, so that the places of the others stay."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What factors can be about."""

    targets: Mapping[str, PartSpec]
    workloads: Mapping[str, PartSpec]
    hosts: tuple[HostSpec, ...]
    paths: Mapping[str, PartSpec] = field(default_factory=dict)
    machine: PartSpec | None = None


Resolver = Callable[[object], Value | Refusal]


def varied(paths: Mapping[str, object], part: str) -> frozenset[str]:
    """Return the knobs of a part that factors set, by the paths of the factors."""
    return frozenset(path[len(part) + 1 :] for path in paths if path.startswith(f"{part}."))


def factors(document: Document, raw: Mapping[str, object], scene: Scene) -> tuple[Factor, ...]:
    """Return every factor of the file, and the implied one: several targets are compared where the file does not say so."""
    found = [factor for path, value in raw.items() if (factor := _factor(document, path, value, scene)) is not None]
    upper = tuple(name for name in scene.targets if name not in below(scene.targets, found))
    if "target" not in raw and len(upper) > 1:
        found.insert(0, Factor(path="target", levels=upper))
    by_hand = [factor for factor in found if factor.change is Change.MANUAL]
    for factor in by_hand[1:]:
        document.wrong(
            ("factors", factor.path),
            f'a second factor with change = "manual" ({factor.path!r} beside {by_hand[0].path!r})',
            "at most one: make one factor whose levels are the combinations",
            Point.KEY,
        )
    return tuple(found)


def below(targets: Mapping[str, PartSpec], found: Sequence[Factor]) -> frozenset[str]:
    """Return the targets that others stand on with some level: where the file does not name them, they are not measured."""
    return frozenset(name for part in targets.values() for name in stands_on(part, found))


def measured(targets: Mapping[str, PartSpec], found: Sequence[Factor]) -> dict[str, PartSpec]:
    """Return the targets that trials are about: without those that others only stand on."""
    named = next((one.levels for one in found if one.path == "target"), ())
    lower = below(targets, found).difference(map(str, named))
    return {name: part for name, part in targets.items() if name not in lower}


def stands_on(part: PartSpec, found: Sequence[Factor]) -> tuple[str, ...]:
    """Return the targets that a target stands on, with each level of its knob `on`."""
    levels = next((one.levels for one in found if one.path == f"{part.name}.{ON}"), (part.settings.values.get(ON),))
    return tuple(level for level in levels if isinstance(level, str) and level)


def compared(document: Document, named: str | None, raw: Mapping[str, object], found: tuple[Factor, ...]) -> str | None:
    """Return the factor whose levels are compared: the named one, else the only one with more than one level.

    Nothing is said of a factor whose levels were refused.
    """
    several = [factor.path for factor in found if len(factor.levels) > 1]
    if named is None:
        return several[0] if len(several) == 1 else None
    written = raw.get(named)
    listed = written.get("levels") if isinstance(written, dict) else written
    if named in several or (isinstance(listed, list) and len(listed) > 1):
        return named
    if named not in (factor.path for factor in found):
        document.wrong(("compare",), f"compare = {named!r}", "a factor: " + one_of((factor.path for factor in found), named))
    else:
        document.wrong(("compare",), f"compare = {named!r}, which has one level", "a factor with at least two levels")
    return named


def _factor(document: Document, path: str, raw: object, scene: Scene) -> Factor | None:
    at: Path = ("factors", path)
    table = raw if isinstance(raw, dict) else {"levels": raw}
    if isinstance(raw, dict) and "levels" not in raw:
        document.wrong(
            at,
            f"factor {path!r} without 'levels'",
            f'a list, or a table with levels; a path with dots in quotes: "{_dotted(path, raw)}" = [...]',
            Point.KEY,
        )
        return None
    level_at = (*at, "levels") if isinstance(raw, dict) else at
    if not isinstance(table["levels"], list) or not table["levels"]:
        document.wrong(level_at, f"{shown(table['levels'])} for factor {path!r}", "a list of at least one level")
        return None
    shape = check(document, FactorShape, table, at)
    if not isinstance(shape, FactorShape):
        return None
    resolver = _resolver(path, shape.change, scene)
    if isinstance(resolver, Refusal):
        document.wrong(at, resolver.found, resolver.expected, Point.KEY)
        return None
    if shape.returns and shape.change is Change.AUTOMATIC:
        document.wrong((*at, "returns"), f"returns = {shape.returns} for an automatic factor", 'change = "manual" with it')
    bare, given = _split(document, level_at, shape.levels)
    levels = _levels(document, level_at, bare, resolver)
    names = given if len(levels) == len(bare) and any(given) else ()
    if shape.baseline is not None:
        wanted = levels[names.index(shape.baseline)] if shape.baseline in names else resolver(shape.baseline)
        first = _from_baseline(document, (*at, "baseline"), levels, wanted)
        names = tuple(names[levels.index(one)] for one in first) if names else ()
        levels = first
    return Factor(path=path, levels=levels, change=shape.change, returns=shape.returns, names=names)


def _dotted(path: str, raw: Mapping[str, object]) -> str:
    return ".".join([path, *itertools.islice(raw, 1)])


def _levels(document: Document, at: Path, raw: list[object], resolver: Resolver) -> tuple[Value, ...]:
    levels: list[Value] = []
    for index, item in enumerate(raw):
        if item is WRONG:
            continue
        value = resolver(item)
        if isinstance(value, Refusal) and isinstance(item, str) and not isinstance(resolver([item]), Refusal):
            known = (one for one in raw if one is not WRONG)
            lists = json.dumps([one if isinstance(one, list) else [one] for one in known], ensure_ascii=False)
            document.wrong(at, f"the level {shown(item)}, which is no list", f"a list of options for each level: write {lists}")
            return ()
        if isinstance(value, Refusal):
            document.wrong((*at, index), value.found, value.expected)
        elif any(value == other and type(value) is type(other) for other in levels):
            document.wrong((*at, index), f"the level {shown(item)} twice", "each level once; `repeats` sets the repeats")
        else:
            levels.append(value)
    return tuple(levels)


def _split(document: Document, at: Path, raw: Sequence[object]) -> tuple[list[object], tuple[str, ...]]:
    """Return the levels without their names, and the name of each; empty where it has none. Every mistake is noted."""
    levels: list[object] = []
    names: list[str] = []
    for index, item in enumerate(raw):
        if not isinstance(item, dict):
            levels.append(item)
            names.append("")
        elif _is_named(document, (*at, index), item):
            levels.append(item[VALUE])
            names.append(_name(document, (*at, index, NAME), item[NAME], names))
        else:
            levels.append(WRONG)
            names.append("")
    return levels, tuple(names)


def _is_named(document: Document, at: Path, item: dict[str, object]) -> bool:
    """Whether a table has both keys and no other."""
    if item.keys() == {NAME, VALUE}:
        return True
    keys = ", ".join(item) or "no key"
    document.wrong(at, f"a level with {keys}", EXAMPLE)
    return False


def _name(document: Document, at: Path, name: object, before: Sequence[str]) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        document.wrong(at, f"{shown(name)} for the name of a level", "a text of at least one letter, on one line")
        return ""
    if name in before:
        document.wrong(at, f"the name {shown(name)} twice", "another name for each level", Point.VALUE)
    return name


def _from_baseline(document: Document, at: Path, levels: tuple[Value, ...], named: Value | Refusal) -> tuple[Value, ...]:
    """Return the levels with the named one in front: the first level is the baseline."""
    if isinstance(named, Refusal):
        document.wrong(at, named.found, named.expected)
    elif named not in levels:
        document.wrong(at, f"baseline = {shown(named)}", "one of the factor's levels")
    else:
        return (named, *(level for level in levels if level != named))
    return levels


def _resolver(path: str, change: Change, scene: Scene) -> Resolver | Refusal:
    """Return how the levels of a factor are read, or why there is no such factor."""
    reserved: dict[str, Resolver] = {
        "target": _name_of(tuple(scene.targets)),
        "workload": _name_of(tuple(scene.workloads)),
        "clients": _count,
        "hosts": _hosts_of(scene),
    }
    if path in reserved:
        return reserved[path]
    parts = {**scene.targets, **scene.workloads, **scene.paths} | ({MACHINE: scene.machine} if scene.machine else {})
    owner = max((name for name in parts if path.startswith(f"{name}.")), key=len, default=None)
    if owner is not None:
        knob = lookup(parts[owner].knobs, path[len(owner) + 1 :])
        if knob is not None and server_nodes.names_host(path[len(owner) + 1 :]):
            return _name_of(tuple(host.name for host in scene.hosts if host.via != "snmp"))
        if knob is not None:
            return lambda raw: resolve(knob, raw)
        return Refusal(
            found=f"factor {path!r}", expected="a knob of it: " + one_of(sorted(parts[owner].knobs), path[len(owner) + 1 :])
        )
    if change is Change.MANUAL and "." not in path:
        return _scalar
    known = [*RESERVED, *(f"{name}.KNOB" for name in parts)]
    return Refusal(found=f"factor {path!r}", expected=f'{one_of(known, path)}; or any name with change = "manual"')


def _name_of(names: tuple[str, ...]) -> Resolver:
    def read(raw: object) -> Value | Refusal:
        return raw if isinstance(raw, str) and raw in names else Refusal(found=shown(raw), expected=one_of(names, str(raw)))

    return read


def _count(raw: object) -> Value | Refusal:
    if isinstance(raw, int) and not isinstance(raw, bool) and 1 <= raw <= 100_000:
        return raw
    return Refusal(found=f"{shown(raw)} clients", expected="a whole number of clients from 1 to 100,000")


def _hosts_of(scene: Scene) -> Resolver:
    """Read numbers of load hosts: the first so many of each workload's, so no more than any of them has."""
    specs = [part.spec for part in scene.workloads.values() if isinstance(part.spec, WorkloadSpec)]
    counts = {spec.name: len(load_hosts(scene.hosts, spec.hosts.get("load", ()))) for spec in specs}
    fewest = min(counts, key=lambda name: counts[name], default=None)
    most = len(load_hosts(scene.hosts, ())) if fewest is None else counts[fewest]

    def read(raw: object) -> Value | Refusal:
        if isinstance(raw, int) and not isinstance(raw, bool) and 1 <= raw <= most:
            return raw
        limit = f" to {most}, the load hosts of workload {fewest!r}" if fewest else ""
        return Refusal(found=f"{shown(raw)} for 'hosts'", expected=f"a whole number of load hosts from 1{limit}")

    return read


def _scalar(raw: object) -> Value | Refusal:
    if isinstance(raw, str | int | float):
        return raw
    return Refusal(found=shown(raw), expected="a text or a number: the name of a state set by hand")


def variants(part: PartSpec, found: tuple[Factor, ...]) -> Iterator[Mapping[str, Value]]:
    """Return the knobs of a part for every combination of the levels that vary them."""
    return combined(part.name, part.settings.values, found)


def knobs_fit(document: Document, workloads: Mapping[str, PartSpec], found: tuple[Factor, ...]) -> None:
    """What each workload itself finds wrong between its knobs, for every combination of levels."""
    for part in workloads.values():
        if not part.settings.complete or not isinstance(part.plug, Workload):
            continue
        texts = dict.fromkeys(text for knobs in variants(part, found) for text in part.plug.check(knobs))
        for text in texts:
            seen, _, wanted = text.removeprefix("found ").partition("; expected ")
            document.wrong(part.at, seen, wanted or "knobs that fit each other", Point.KEY)


def chosen(document: Document, at: Path, raw: Mapping[str, object], scene: Scene) -> dict[str, Value]:
    """Return one level for each path, as a control names them."""
    levels: dict[str, Value] = {}
    for path, item in raw.items():
        resolver = _resolver(path, Change.AUTOMATIC, scene)
        value = resolver if isinstance(resolver, Refusal) else resolver(item)
        if isinstance(value, Refusal):
            document.wrong((*at, path), value.found, value.expected)
        else:
            levels[path] = value
    return levels

"""Events that are done to targets: each fits the target of every trial, or one that it stands on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay import catalogue
from assay.catalogue import Target
from assay.experiment.factors import Scene, measured, stands_on, variants
from assay.experiment.parts import PartSpec
from assay.records import Action, Event, Factor
from assay.toml_document import Document, Path, one_of

WHY = {
    Action.KILL: "no server that the lab started",
    Action.STOP: "no server that the lab started",
    Action.POWER: "no power that can be cut: the lab cuts that of a disk of its own, never below a file system of yours",
    Action.FILL: "no file system that the lab made: it never fills yours",
}
INSTEAD = {
    Action.KILL: "a target whose server the lab starts",
    Action.STOP: "a target whose server the lab starts",
    Action.POWER: "kind = crash_disk, or a target on one",
    Action.FILL: "kind = crash_disk or loopfs, or a target on one",
}


def target_events_fit(document: Document, scene: Scene, factors: tuple[Factor, ...]) -> None:
    """Note each event that could not happen in some trial: there its dip would be missing, and nobody would know why."""
    named = next((factor.levels for factor in factors if factor.path == "target"), None)
    every = measured(scene.targets, factors)
    uppermost = every if named is None else {name: part for name, part in every.items() if name in named}
    for part in scene.workloads.values():
        for index, event in part.events.items():
            if not event.action.of_target:
                continue
            at = (*part.at, "events", index)
            if event.on and event.on not in scene.targets:
                document.wrong((*at, "on"), f"an event on target {event.on!r}", one_of(tuple(scene.targets), event.on))
                continue
            chains = {name: [*_chains(target, scene.targets, factors)] for name, target in uppermost.items()}
            without = [name for name, each in chains.items() if not all(_fits(event, chain) for chain in each)]
            if without:
                _refuse(document, at, event, without)
                continue
            unsuited = (one for each in chains.values() for chain in each for one in _unsuited(event, chain, factors))
            for name, (why, instead) in dict.fromkeys(unsuited):
                document.wrong((*at, "action"), f"an event {event.action.value!r} on target {name!r}, which {why}", instead)


def _chains(target: PartSpec, targets: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> Iterator[tuple[PartSpec, ...]]:
    """Yield the target with what it stands on, for each level of what it stands on."""
    lower = [targets[name] for name in stands_on(target, factors) if name in targets and name != target.name]
    if not lower:
        yield (target,)
    for one in lower:
        rest = {name: part for name, part in targets.items() if name != target.name}
        yield from ((target, *chain) for chain in _chains(one, rest, factors))


def _fits(event: Event, chain: tuple[PartSpec, ...]) -> bool:
    return any(event.on in ("", one.name) and isinstance(one.plug, Target) and event.action in one.plug.events for one in chain)


def _unsuited(event: Event, chain: tuple[PartSpec, ...], factors: tuple[Factor, ...]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each target that is lost for good with some levels. A cut of the power kills all servers on the disk."""
    hit = next(number for number, one in enumerate(chain) if _fits(event, (one,)))
    for one in chain[: hit + 1] if event.action is Action.POWER else chain[hit : hit + 1]:
        killed = one.plug.events.get(Action.KILL) if isinstance(one.plug, Target) and one.settings.complete else None
        if killed is not None and event.action in (Action.KILL, Action.POWER):
            found = map(killed.unsuited, variants(one, factors))
            yield from ((one.name, why) for why in found if why)


def _refuse(document: Document, at: Path, event: Event, without: Sequence[str]) -> None:
    """Note an event once, with every target that cannot have it."""
    named = ", ".join(map(repr, without))
    words = "targets {}, which have" if len(without) > 1 else "target {}, which has"
    found = f"an event {event.action.value!r} on {words.format(named)} {WHY[event.action]}"
    if event.on and [event.on] != list(without):
        found = f"an event {event.action.value!r} on target {event.on!r}, which is not below {named} or cannot have it"
    document.wrong((*at, "action"), found, f"{INSTEAD[event.action]}; kinds that can: {', '.join(_kinds(event.action))}")


def _kinds(action: Action) -> tuple[str, ...]:
    return tuple(name for name in catalogue.names("targets") if action in catalogue.find("targets", name).events)

"""`design = "duet"`: both levels are prepared at once, and their phases take turns in slices of seconds.

What disturbs the machine for longer than a slice then meets both levels alike, and a preparation is paid once for many slices.
Slices of one preparation are no independent repeats, so an interval stands on the means of preparations.

Reference: L. Bulej, V. Horký, P. Tůma and others, Duet benchmarking: improving measurement accuracy in the cloud, ICPE 2020,
100-107 (doi:10.1145/3358960.3379132). There both programs run at the same time and share the disturbance; here they take turns,
since two loads on one device would measure each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay import catalogue
from assay.catalogue import Target, Workload
from assay.experiment.factors import Scene
from assay.experiment.shape import FileShape
from assay.records import MACHINE, Change, DesignKind, Factor
from assay.toml_document import Document, Path, Point

DEFAULT_SLICES = 10
LEAST_S, MOST_S = 0.2, 60.0
"""How long a slice may be: shorter ones have fewer than two looks of most observers, longer ones are trials."""
DURATION = "duration"


def slices(document: Document, shape: FileShape, scene: Scene, factors: Sequence[Factor]) -> int | None:
    """Return how many slices each level has in a preparation; None of an experiment that is no duet.

    Notes in the document what does not fit.
    """
    if shape.design is not DesignKind.DUET:
        if shape.slices is not None:
            document.wrong(("slices",), f"slices = {shape.slices} without a duet", 'design = "duet" with it', Point.KEY)
        return None
    _schedule(document, shape)
    _factors(document, factors)
    _parts(document, scene)
    return DEFAULT_SLICES if shape.slices is None else shape.slices


def _schedule(document: Document, shape: FileShape) -> None:
    """Note what ends a schedule otherwise."""
    for key, given in (("budget", shape.budget), ("soak", shape.soak)):
        if given is not None:
            document.wrong((key,), f"{key} in a duet", "a number of preparations, repeats = 5", Point.KEY)
    if shape.repeats is not None and (isinstance(shape.repeats, bool) or not isinstance(shape.repeats, int)):
        document.wrong(("repeats",), f"repeats = {shape.repeats!r} in a duet", "a number of preparations from 1, such as 5")


def _factors(document: Document, factors: Sequence[Factor]) -> None:
    """Note factors of which two levels cannot be had side by side."""
    several = [factor for factor in factors if len(factor.levels) > 1]
    if len(several) != 1 or len(several[0].levels) != 2:
        found = ", ".join(f"{len(one.levels)} levels of {one.path}" for one in several) or "no factor that varies"
        document.wrong(("design",), f"{found} in a duet", "one factor with two levels")
    for factor in several:
        at: Path = ("factors", factor.path)
        if factor.change is Change.MANUAL:
            document.wrong(
                at, f"factor {factor.path!r}, changed by hand, in a duet", "a factor that changes by itself", Point.KEY
            )
        elif factor.path == "workload" or factor.path.startswith(f"{MACHINE}."):
            wanted = "a factor of a target or of a workload: both levels are in force at once"
            document.wrong(at, f"factor {factor.path!r} in a duet", wanted, Point.KEY)


def _parts(document: Document, scene: Scene) -> None:
    """Note targets that are not made twice at once, and loads that cannot go on where they ended."""
    for name, part in scene.targets.items():
        if isinstance(part.plug, Target) and not part.plug.side_by_side:
            found = f"target {name} of kind {part.plug.name} in a duet"
            document.wrong(
                part.at, found, f"a target of which two are made side by side: {', '.join(_side_by_side())}", Point.KEY
            )
    if len(scene.workloads) > 1:
        document.wrong(("workloads",), f"{len(scene.workloads)} workloads in a duet", "one: its phases take turns", Point.KEY)
    for name, part in scene.workloads.items():
        knobs = part.settings.values
        if part.events:
            document.wrong((*part.at, "events"), f"events of workload {name} in a duet", "none: slices are short", Point.KEY)
        if not isinstance(part.plug, Workload) or not part.settings.complete or part.plug.check(knobs):
            continue
        if (why := part.plug.again(knobs)) is not None:
            document.wrong(part.at, f"workload {name} in a duet: {why}", "a load that finds the same in each slice", Point.KEY)
        _length(document, (*part.at, DURATION), knobs, part.knobs)


def _side_by_side() -> list[str]:
    """The kinds of targets of which two are prepared at once."""
    return [name for name in catalogue.names("targets") if catalogue.find("targets", name).side_by_side]


def _length(document: Document, at: Path, knobs: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Note a slice that has no length, or one that is none."""
    if DURATION not in known:
        return
    length = knobs.get(DURATION)
    wanted = f'the length of a slice: {DURATION} = "2 s", from {LEAST_S:g} s to {MOST_S:g} s'
    if not isinstance(length, int):
        document.wrong(at, f"no {DURATION} in a duet", wanted)
    elif not LEAST_S <= length / 1e9 <= MOST_S:
        document.wrong(at, f"{DURATION} = {length / 1e9:g} s in a duet", wanted)

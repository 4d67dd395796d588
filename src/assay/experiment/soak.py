"""`[soak]`: a load for hours, in pieces; what stops it before its time is over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assay import catalogue
from assay.catalogue import Workload
from assay.experiment.event_times import length_ns, planned
from assay.experiment.factors import Scene
from assay.experiment.parts import PartSpec
from assay.experiment.shape import FileShape, SoakShape
from assay.records import Factor, Measure, SoakSpec, Value, WorkloadSpec
from assay.toml_document import Document, Point, one_of
from assay.units import Refusal, Unit, attempt

KERNEL, VERIFICATION = "kernel error", "verification"
RATE = re.compile(r"rate\s*<\s*(?P<share>.+)")
WORDS = (KERNEL, VERIFICATION, "rate < 50 %")
RATES = ("ops_per_s", "bytes_per_s")
DURATION = "duration"
OWN_END = (DURATION, "schedule")
"""Knobs by which a workload would end at another time than its piece."""


def soak(document: Document, shape: FileShape, factors: tuple[Factor, ...]) -> SoakSpec | None:
    """Return the soak of a file, after all that is wrong with it was noted; None without one."""
    if shape.soak is None:
        return None
    if shape.repeats is not None:
        document.wrong(("repeats",), "repeats with [soak]", "one of them: the pieces are the repeats", Point.KEY)
    for factor in factors:
        if len(factor.levels) > 1:
            document.wrong(("factors", factor.path), f"{len(factor.levels)} levels with [soak]", "one level: a soak has one load")
    times = [_time(document, name, getattr(shape.soak, name)) for name in (DURATION, "piece")]
    share = _stop_rules(document, shape.soak)
    duration_ns, piece_ns = times
    if duration_ns is None or piece_ns is None:
        return None
    if piece_ns > duration_ns:
        document.wrong(("soak", "piece"), f"piece = {shape.soak.piece!r}", f"at most the duration, {shape.soak.duration}")
    return SoakSpec(
        duration_ns=duration_ns,
        piece_ns=piece_ns,
        kernel_error=KERNEL in shape.soak.stop_on,
        verification=VERIFICATION in shape.soak.stop_on,
        least_rate_share=share,
    )


def _time(document: Document, name: str, text: str) -> int | None:
    found = attempt(text, Unit.NANOSECONDS)
    if isinstance(found, Refusal):
        document.wrong(("soak", name), found.found, found.expected)
        return None
    if found <= 0:
        document.wrong(("soak", name), f"{name} = {text!r}", "a time above 0")
        return None
    return int(found)


def _stop_rules(document: Document, shape: SoakShape) -> float | None:
    """Return the share of the rate below which it stops; None where rates do not matter."""
    share: float | None = None
    for index, text in enumerate(shape.stop_on):
        match = RATE.fullmatch(text.strip())
        found = attempt(match["share"], Unit.SHARE) if match else None
        if isinstance(found, float | int) and not isinstance(found, bool) and 0 < found < 1:
            share = max(share or 0.0, float(found))  # of several the one that stops first
        elif text not in (KERNEL, VERIFICATION):
            document.wrong(("soak", "stop_on", index), f"stop_on {text!r}", one_of(WORDS, text))
    return share


def timed(document: Document, shape: FileShape) -> FileShape:
    """Return the file with workloads that last one piece, where they have a time limit; with [soak] they name none themselves."""
    if shape.soak is None or isinstance(attempt(shape.soak.piece, Unit.NANOSECONDS), Refusal):
        return shape
    tables = dict(shape.workloads)
    for name, table in shape.workloads.items():
        kind = table.get("kind")
        known = isinstance(kind, str) and kind in catalogue.names("workloads")
        if not known or all(knob.name != DURATION for knob in catalogue.find("workloads", str(kind)).knobs):
            continue
        own = [key for key in OWN_END if key in table]
        for key in own:
            document.wrong(("workloads", name, key), f"{key} with [soak]", "none: each piece lasts [soak] piece", Point.KEY)
        if not own:
            tables[name] = {**table, DURATION: shape.soak.piece}
    return shape.model_copy(update={"workloads": tables})


def within_pieces(shape: FileShape, scene: Scene) -> Scene:
    """Return the parts with phases that last one piece all together: those with a time limit share it, whichever workload's."""
    piece = attempt(shape.soak.piece, Unit.NANOSECONDS) if shape.soak is not None else 0
    counts = {name: _timed_phases(part) for name, part in scene.workloads.items()}
    if isinstance(piece, Refusal) or not piece or sum(counts.values()) < 2:
        return scene
    share_ns = int(piece) // sum(counts.values())
    lasting = {name: _lasting(part, share_ns) if counts[name] else part for name, part in scene.workloads.items()}
    return replace(scene, workloads=lasting)


def _timed_phases(part: PartSpec) -> int:
    """How many phases of a workload end by their time limit, so that its knob `duration` counts for each of them."""
    plug, knobs = part.plug, part.settings.values
    if not part.settings.complete or not isinstance(plug, Workload) or DURATION not in part.knobs or plug.check(knobs):
        return 0
    return sum(length_ns(plan) is not None for plan in planned(part.name, plug, knobs))


def _lasting(part: PartSpec, duration_ns: int) -> PartSpec:
    knobs: Mapping[str, Value] = {**part.settings.values, DURATION: duration_ns}
    spec = replace(part.spec, knobs=knobs) if isinstance(part.spec, WorkloadSpec) else part.spec
    return replace(part, settings=replace(part.settings, values=knobs), spec=spec)


def measurable(document: Document, spec: SoakSpec | None, measures: tuple[Measure, ...]) -> None:
    """Note a stop rule on rates where no rate is measured."""
    if spec is not None and spec.least_rate_share is not None and not any(one.figure in RATES for one in measures):
        document.wrong(
            ("soak", "stop_on"), "a stop rule on the rate, and no rate is measured", "a measure ops_per_s or bytes_per_s"
        )

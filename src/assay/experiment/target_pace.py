"""How fast a trial's target can be by its file alone: limits of it and of what it stands on, and the way to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from assay import catalogue
from assay.catalogue import Pace, path_knobs, resolved
from assay.records import ON, Experiment, TargetSpec, Value, WorkloadSpec
from assay.settings import paths
from assay.settings.paths import PathWay

LOCAL = Pace(read_bytes_per_s=1e9, write_bytes_per_s=500e6, read_ops_per_s=10e3, write_ops_per_s=5e3, cpus=os.cpu_count() or 1)
"""A local solid-state disk: where it is slower, the first trials tell."""
RATES = tuple(field.name for field in fields(Pace) if field.name.endswith("_per_s"))
REQUEST_S, SERVED_BYTES_PER_S = 3e-4, 250e6
"""What an operation takes through a client's mount and a server, beside the way between them, and how fast bytes pass."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A target, or one of those that it stands on, with its knobs at the levels of a trial."""

    spec: TargetSpec
    knobs: Mapping[str, Value]

    @property
    def plug(self) -> catalogue.Target:
        """What is known of its kind."""
        return catalogue.find("targets", self.spec.kind)


def layers_of(experiment: Experiment, spec: TargetSpec | None, levels: Mapping[str, Value]) -> tuple[Layer, ...]:
    """Return a target and all that it stands on, itself first; nothing without a target."""
    named, found = {one.name: one for one in experiment.targets}, list[Layer]()
    while spec is not None and all(one.spec is not spec for one in found):
        found.append(Layer(spec=spec, knobs=changed(spec, levels)))
        spec = named.get(str(found[-1].knobs.get(ON)))
    return tuple(found)


def changed(spec: TargetSpec | WorkloadSpec, levels: Mapping[str, Value]) -> dict[str, Value]:
    """Return the knobs of a part with those that these levels set."""
    start = f"{spec.name}."
    return {**spec.knobs, **{path.removeprefix(start): value for path, value in levels.items() if path.startswith(start)}}


def pace(experiment: Experiment, layers: tuple[Layer, ...], levels: Mapping[str, Value]) -> Pace:
    """Return the pace of a target: the least of its layers' limits and of its paths' rates; each operation waits for its server.

    A limited device serves one request after the other.
    """
    found = LOCAL
    for one in layers:
        limits = {name: float(limit) for name in RATES if isinstance(limit := one.knobs.get(f"limit.{name}"), int)}
        found = replace(found, **{name: min(limit, getattr(found, name)) for name, limit in limits.items()})
    wait_s = sum(REQUEST_S for one in layers if one.plug.mounts_each(one.knobs))
    if wait_s:
        slower = {name: min(SERVED_BYTES_PER_S, getattr(found, name)) for name in RATES if "bytes" in name}
        found = replace(found, **slower)
    for there, back in (ways for one in layers for ways in _ways(experiment, one, levels)):
        wait_s += (there[0].delay_ns + back[0].delay_ns) / 1e9
        found = replace(
            found,
            write_bytes_per_s=min(found.write_bytes_per_s, _together(there)),
            read_bytes_per_s=min(found.read_bytes_per_s, _together(back)),
        )
    return replace(
        found,
        wait_s=wait_s,
        exchange_times=max((one.plug.exchange_times(one.knobs) for one in layers), default=1.0),
        read_ops_per_s=1 / (1 / found.read_ops_per_s + wait_s),
        write_ops_per_s=1 / (1 / found.write_ops_per_s + wait_s),
    )


def _ways(
    experiment: Experiment, one: Layer, levels: Mapping[str, Value]
) -> Iterator[tuple[tuple[PathWay, ...], tuple[PathWay, ...]]]:
    """Yield both directions of the paths that a target uses beside each other, if any."""
    used = one.plug.paths(one.knobs)
    specs = [spec for name in used for spec in experiment.paths if spec.name == name]
    if specs:
        knobs = [
            resolved(path_knobs(), {name: levels.get(f"{spec.name}.{name}", value) for name, value in spec.knobs.items()})
            for spec in specs
        ]
        there, back = (tuple(paths.way(one, name) for one in knobs) for name in paths.WAYS)
        yield there, back


def _together(ways: tuple[PathWay, ...]) -> float:
    rates = [way.rate_bytes_per_s for way in ways]
    return float("inf") if None in rates else float(sum(rate for rate in rates if rate is not None))

"""What the hosts of an experiment have against it, each thing with its place in the file; touches, changes nothing.

Targets with mistakes of their own have no setting here: of these only what their kind needs of a host is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay import catalogue
from assay.catalogue import Host, Mounts, Setting
from assay.errors import Obstacle
from assay.machine import files
from assay.records import CacheState, Experiment, TargetSpec, Value, WorkloadSpec
from assay.settings.knobs import variants
from assay.trial import ends, machine_settings, memory_files, placement
from assay.trial.knob_levels import levels, table_of


def obstacles(
    experiment: Experiment,
    hosts: Mapping[str, Host],
    load: Mapping[str, Sequence[Host]],
    settings: Mapping[str, Sequence[Setting]],
) -> tuple[Obstacle, ...]:
    """All of them: `hosts` are those that are here, `load` has the hosts of each workload's load.

    `settings` has each target as the file has it, and with each level of its factors.
    """
    used = [spec for spec in experiment.used_targets() if spec.host in hosts]
    return tuple(
        dict.fromkeys(
            (
                *placement.obstacles(load, experiment, [hosts[spec.host] for spec in used]),
                *ends.obstacles(load, experiment, hosts),
                *memory_files.obstacles(load, experiment),
                *machine_settings.obstacles(
                    experiment, hosts, [host.name for each in load.values() for host in each] + [one.host for one in used]
                ),
                *(one for host in hosts.values() for one in unknown_limits(host, experiment)),
                *cold_in_memory(hosts, experiment),
                *(one for spec in used for one in of_target(spec, hosts[spec.host], settings.get(spec.name, ()))),
            )
        )
    )


def of_target(spec: TargetSpec, host: Host, settings: Sequence[Setting]) -> Iterator[Obstacle]:
    """What a host has against a target; without a setting what its kind lacks there."""
    plug = catalogue.find("targets", spec.kind)
    every = (text for setting in settings for text in plug.check(host, setting)) if settings else plug.lacks(host, spec.knobs)
    found = dict.fromkeys(every)
    yield from (Obstacle(at=table_of(spec), text=f"target {spec.name}: {text}") for text in found)


def needed_bytes(experiment: Experiment, doubtful: frozenset[str] = frozenset()) -> int:
    """Space that the workloads of a trial need at most, with whatever levels; of doubtful ones none.

    All workloads are in each trial, unless they are the levels of a factor.
    """
    named = next((factor.levels for factor in experiment.factors if factor.path == "workload"), None)
    used = [spec for spec in experiment.workloads if spec.name not in doubtful and (named is None or spec.name in named)]
    each = [_most_bytes(experiment, spec) for spec in used]
    return sum(each) if named is None else max(each, default=0)


def _most_bytes(experiment: Experiment, spec: WorkloadSpec) -> int:
    """Space that a workload needs with those of its levels that need most, with as many clients as any trial has."""
    workload = catalogue.find("workloads", spec.kind)
    counts = next((factor.levels for factor in experiment.factors if factor.path == "clients"), ())
    clients = max((count for count in counts if isinstance(count, int)), default=experiment.clients(spec))
    plain = {"clients": clients, **catalogue.resolved(workload.knobs, spec.knobs)}
    return max(map(workload.space, variants(spec.name, plain, experiment.factors)))


def cold_in_memory(hosts: Mapping[str, Host], experiment: Experiment) -> tuple[Obstacle, ...]:
    """What is wrong with cold caches of a target whose files are in memory alone."""
    caches: set[Value] = set()
    for spec in experiment.workloads:
        knobs = catalogue.resolved(catalogue.find("workloads", spec.kind).knobs, spec.knobs)
        caches.update(level for level, _ in levels(experiment, replace(spec, knobs=knobs), "cache"))
    if CacheState.COLD not in caches:
        return ()
    paths = [
        (target.name, str(path), at, hosts[target.host])
        for target in experiment.used_targets()
        if target.host in hosts
        for path, at in levels(experiment, target, "path")
        if path and catalogue.find("targets", target.kind).mounts is not Mounts.HOST  # its path may have placeholders
    ]
    found = ((name, path, at, files.in_memory(host, path)) for name, path, at, host in paths)
    return tuple(
        Obstacle(
            at=at,
            text=f"target {name}: {path} is on {kind}, which stores files in the page cache only, so cache = cold is impossible. "
            "Use a directory on a disk, or another cache.",
        )
        for name, path, at, kind in found
        if kind
    )


BLOCK, NETWORK = "/sys/class/block", "/sys/class/net"


def unknown_limits(host: Host, experiment: Experiment) -> Iterator[Obstacle]:
    """What is wrong with the names of `[limits]` on this host; those of other hosts are theirs to judge. Changes nothing.

    A loop device need not be there yet: a target may make it.
    """
    for limit in experiment.limits:
        name = limit.removeprefix(f"{host.name}.")
        if name == limit or name.startswith("loop"):
            continue
        if not any(name in host.list(place) for place in (BLOCK, NETWORK)):
            disks = [disk for disk in host.list(BLOCK) if not disk.startswith(("loop", "ram"))]
            there = ", ".join((*disks, *host.list(NETWORK))) or "none"
            text = f'found limit "{limit}"; expected a block device or a network interface of {host.name}: {there}'
            yield Obstacle(at=("limits", limit), text=text)

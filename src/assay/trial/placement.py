"""Where the processes of a trial run: on which CPUs, and in which control group with how much memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Host, Undo
from assay.errors import Obstacle, RefusedError, UsageError
from assay.machine import cgroups
from assay.machine.cpus import allowed_cpus, cpus, ranges, spread
from assay.records import Experiment, Value
from assay.trial.knob_levels import levels


@dataclass(frozen=True, kw_only=True)
class Cgroup:
    """The groups that each process of a trial has to enter, and the memory that they allow it."""

    paths: tuple[str, ...]
    memory_bytes: int | None = None


def place(host: Host, undo: Undo, trial_id: str, memory_bytes: int | None, group: str | None = None) -> Cgroup | None:
    """The control groups for the processes of one trial; None where they may stay where they are.

    `group` is the one that a target made for its clients (Place.private["cgroup"]): on v2 the memory limit goes there, for a
    process is in one group only. Raises RefusedError where the limit may not be set.
    """
    if memory_bytes is None:
        return None if group is None else Cgroup(paths=(group,))
    where = cgroups.hierarchy(host, "memory")
    if where is None:
        raise RefusedError("no memory control group on this host. Remove the knob `memory`.")
    shared = group is not None and where.version == 2
    path = group if shared and group is not None else cgroups.make_group(host, undo, where, f"trial-{trial_id}")
    cgroups.limit_memory(host, path, where.version, memory_bytes)
    paths = (path,) if shared or group is None else (group, path)
    return Cgroup(paths=paths, memory_bytes=memory_bytes)


def enter(host: Host, cgroup: Cgroup, pid: int) -> None:
    """Put a process, and all that it starts from now on, into the groups. Raises RefusedError."""
    for path in cgroup.paths:
        cgroups.put(host, f"{path}/cgroup.procs", str(pid))


def leave(undo: Undo, cgroup: Cgroup) -> None:
    """Remove the groups; processes that are left in them go to the parent group."""
    for path in reversed(cgroup.paths):
        undo.undo("cgroup", path=path)


SAME, DIFFERENT = "same", "different"
"""Levels of the knob `placement`: both ends on one CPU, or each on a CPU of its own."""


@dataclass(frozen=True, kw_only=True)
class Pins:
    """The CPUs of the clients of a workload on each host, and of its servers; a host that is not there leaves them all."""

    load: Mapping[str, tuple[int, ...]]
    server: tuple[int, ...] | None = None


def pins(load: Sequence[Host], server: Host, knobs: Mapping[str, Value]) -> Pins:
    """The CPUs for the knobs `cpus`, `server_cpus` and `placement` on these hosts. Raises UsageError, RefusedError."""
    wanted, own = knobs.get("cpus"), cpus(server, knobs.get("server_cpus"))
    how, names = knobs.get("placement"), {host.name for host in load}
    if how not in (SAME, DIFFERENT):
        found = {host.name: cpus(host, wanted) for host in load}
        return Pins(load={name: numbers for name, numbers in found.items() if numbers is not None}, server=own)
    first = {host.name: cpus(host, 1) or () for host in load}
    if how == SAME:
        if names != {server.name}:
            raise UsageError(
                f"found placement = {SAME} with ends on {', '.join(sorted(names | {server.name}))}; expected one host"
            )
        return Pins(load=first, server=first[server.name])
    if server.name not in names:
        return Pins(load=first, server=cpus(server, 1))
    allowed = allowed_cpus(server)
    if len(allowed) < 2:
        raise UsageError(
            f"found placement = {DIFFERENT}; expected {SAME} or none: {server.name} allows CPU {ranges(allowed)} alone"
        )
    both = spread(server, allowed, 2)
    return Pins(load={**first, server.name: both[:1]}, server=both[1:])


def obstacles(hosts: Mapping[str, Sequence[Host]], experiment: Experiment, servers: Sequence[Host] = ()) -> tuple[Obstacle, ...]:
    """What hosts have against the CPUs of any workload, at any level, for its load and its servers; changes nothing."""
    found: list[Obstacle] = []
    for spec in experiment.workloads:
        every = [
            (knob, level, at) for knob in ("cpus", "server_cpus", "placement") for level, at in levels(experiment, spec, knob)
        ]
        for knob, level, at in every:
            for host in servers or hosts[spec.name][:1]:
                try:
                    pins(hosts[spec.name], host, {**spec.knobs, knob: level})
                except (UsageError, RefusedError) as error:
                    found.append(Obstacle(at=at, text=f"workload {spec.name}: {error}"))
    return tuple(dict.fromkeys(found))

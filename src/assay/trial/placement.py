"""Where the processes of a trial run: on which CPUs, and in which control group with how much memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Host, Undo
from assay.errors import RefusedError, UsageError
from assay.machine import cgroups
from assay.records import Experiment, Value, WorkloadSpec


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
    _limit(host, path, where.version, memory_bytes)
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


def _limit(host: Host, path: str, version: int, memory_bytes: int) -> None:
    if version == 2:
        cgroups.put(host, f"{path}/memory.max", str(memory_bytes))
        # Without this, pages would go to swap and the limit would be none.
        if host.exists(f"{path}/memory.swap.max"):
            cgroups.put(host, f"{path}/memory.swap.max", "0")
        return
    cgroups.put(host, f"{path}/memory.limit_in_bytes", str(memory_bytes))
    if host.exists(f"{path}/memory.memsw.limit_in_bytes"):
        cgroups.put(host, f"{path}/memory.memsw.limit_in_bytes", str(memory_bytes))


def cpus(host: Host, wanted: Value) -> tuple[int, ...] | None:
    """The CPU numbers for the knob `cpus`: a list as it is, a count as that many, a thread of each core first.

    None where the knob is not set. Raises UsageError for CPUs that this host does not let us use.
    """
    if wanted is None:
        return None
    allowed = _allowed(host)
    if isinstance(wanted, int):
        return _spread(host, allowed, wanted)
    numbers = tuple(int(str(item)) for item in wanted) if isinstance(wanted, Sequence) and not isinstance(wanted, str) else ()
    strange = [number for number in numbers if number not in allowed]
    if strange or not numbers:
        raise UsageError(
            f"found cpus = {_written(wanted)}; expected numbers among {_ranges(allowed)}, the CPUs allowed on {host.name}"
        )
    return numbers


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
    allowed = _allowed(server)
    if len(allowed) < 2:
        raise UsageError(
            f"found placement = {DIFFERENT}; expected {SAME} or none: {server.name} allows CPU {_ranges(allowed)} alone"
        )
    both = _spread(server, allowed, 2)
    return Pins(load={**first, server.name: both[:1]}, server=both[1:])


def mistakes(hosts: Mapping[str, Sequence[Host]], experiment: Experiment, servers: Sequence[Host] = ()) -> tuple[str, ...]:
    """What is wrong with the CPUs of any workload, at any level, on the hosts of its load and its servers; changes nothing."""
    found: list[str] = []
    for spec in experiment.workloads:
        every = [
            (spec.knobs, knob, level)
            for knob in ("cpus", "server_cpus", "placement")
            for level in _levels(experiment, spec, knob)
        ]
        for knobs, knob, level in every:
            for host in servers or hosts[spec.name][:1]:
                try:
                    pins(hosts[spec.name], host, {**knobs, knob: level})
                except (UsageError, RefusedError) as error:
                    found.append(f"workload {spec.name}: {error}")
    return tuple(dict.fromkeys(found))


def _levels(experiment: Experiment, spec: WorkloadSpec, knob: str) -> Sequence[Value]:
    """The levels of a knob in an experiment."""
    varied = next((factor.levels for factor in experiment.factors if factor.path == f"{spec.name}.{knob}"), None)
    return (spec.knobs.get(knob),) if varied is None else varied


def siblings(host: Host, numbers: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """For each CPU which others share its core: facts that say whether two clients were on one core."""
    return tuple((f"cpu.{number}.siblings", ",".join(map(str, _threads(host, number)))) for number in numbers)


def _written(wanted: Value) -> str:
    """The knob as it stands in the file."""
    return f"[{', '.join(map(str, wanted))}]" if isinstance(wanted, tuple) else str(wanted)


def _spread(host: Host, allowed: Sequence[int], count: int) -> tuple[int, ...]:
    if not 1 <= count <= len(allowed):
        raise UsageError(f"found cpus = {count}; expected 1 to {len(allowed)}: {host.name} allows {_ranges(allowed)}")
    rank = {number: sorted(_threads(host, number)).index(number) for number in allowed}
    return tuple(sorted(sorted(allowed, key=lambda number: (rank[number], number))[:count]))


def _threads(host: Host, number: int) -> tuple[int, ...]:
    try:
        text = host.read(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
    except OSError:
        return (number,)
    return tuple(parse_ranges(text)) or (number,)


def _allowed(host: Host) -> tuple[int, ...]:
    for line in host.read("/proc/self/status").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return tuple(parse_ranges(line.partition(":")[2]))
    raise RefusedError("no Cpus_allowed_list in /proc/self/status. Remove the knob `cpus`.")


def parse_ranges(text: str) -> Iterator[int]:
    """The numbers in the kernel's list format: `0-2,5`."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _ranges(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))

"""Where the processes of a trial run: on which CPUs, and in which control group with how much memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Host, Undo
from assay.errors import RefusedError, UsageError
from assay.machine import cgroups
from assay.records import Experiment, Value


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


def mistakes(hosts: Mapping[str, Sequence[Host]], experiment: Experiment) -> tuple[str, ...]:
    """What is wrong with the knob `cpus` of any workload, at any level, on the hosts of its load; changes nothing."""
    found: list[str] = []
    for spec in experiment.workloads:
        path = f"{spec.name}.cpus"
        varied = next((factor.levels for factor in experiment.factors if factor.path == path), None)
        for wanted in (spec.knobs.get("cpus"),) if varied is None else varied:
            for host in hosts[spec.name]:
                try:
                    cpus(host, wanted)
                except (UsageError, RefusedError) as error:
                    found.append(f"workload {spec.name}: {error}")
    return tuple(dict.fromkeys(found))


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

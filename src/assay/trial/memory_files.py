"""Files of a load in memory: the directory that each load host is given for them, and what stands against it there.

What a client's program reads and writes is then on no disk of the client. The directory is in the ledger before it is made.
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Iterator, Mapping, Sequence

from assay import catalogue
from assay.catalogue import Host
from assay.errors import Obstacle
from assay.machine import external_commands, files, ownership
from assay.records import Experiment, WorkloadSpec
from assay.settings.knobs import in_bytes, variants
from assay.trial.fleet import each
from assay.trial.quiet import meminfo
from assay.trial.site import PlacedWorkload

PARENT = "/dev/shm"  # noqa: S108 - the file system in memory that POSIX shared memory has (shm_overview(7))
SPARED = 4
"""Of the memory that is available one byte in so many is left to the programs."""


def path(load: PlacedWorkload) -> str:
    """Return the path of a fresh directory; empty for a load that holds nothing in memory."""
    return posixpath.join(PARENT, ownership.fresh_name()) if load.workload.memory(load.spec.knobs) else ""


def make(load: PlacedWorkload, directory: str) -> None:
    """Make the directory on each load host."""
    if directory:
        marker = secrets.token_hex(8)
        each(load.stations, lambda one: ownership.make_directory(one.host, one.undo, directory, marker))


def remove(load: PlacedWorkload, directory: str) -> None:
    """Remove it with everything in it."""
    if directory:
        each(load.stations, lambda one: one.undo.undo("directory", path=directory))


def obstacles(load: Mapping[str, Sequence[Host]], experiment: Experiment) -> Iterator[Obstacle]:
    """Yield what the load hosts have against such files, and the programs that they lack."""
    for spec in experiment.workloads:
        workload = catalogue.find("workloads", spec.kind)
        knobs = {"clients": _most_clients(experiment, spec), **catalogue.resolved(workload.knobs, spec.knobs)}
        every = [one for one in variants(spec.name, knobs, experiment.factors) if not workload.check(one)]
        tools = tuple(dict.fromkeys(tool for one in every for tool in workload.tools(one)))
        needed = max((workload.memory(one) for one in every), default=0)
        for host in load.get(spec.name, ()):
            lacking = (*external_commands.missing(host, tools), *_no_memory(host, needed))
            yield from (Obstacle(at=("workloads", spec.name), text=f"workload {spec.name}: {text}") for text in lacking)


def _most_clients(experiment: Experiment, spec: WorkloadSpec) -> int:
    counts = next((factor.levels for factor in experiment.factors if factor.path == "clients"), ())
    return max((count for count in counts if isinstance(count, int)), default=experiment.clients(spec))


def _no_memory(host: Host, needed: int) -> Iterator[str]:
    """Yield why a host cannot hold so many bytes of files in memory."""
    if not needed:
        return
    if not host.exists(PARENT) or files.in_memory(host, PARENT) is None:
        yield f"{PARENT} on {host.name}: no file system in memory. Mount a tmpfs there."
        return
    available = meminfo(host).get("MemAvailable", 0)
    if needed > available - available // SPARED:
        yield (
            f"needs {in_bytes(needed)} of memory on {host.name} for its files, {in_bytes(available)} available. "
            "Use fewer or smaller files."
        )

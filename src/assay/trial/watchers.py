"""The samplers of a phase on all hosts, and the flushes that end it: what is done everywhere at the same time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError, LostHostError
from assay.hosts.thread_files import watched
from assay.machine import server, service
from assay.machine.process_stat import stat_fields
from assay.records import Direction, Edge, Endpoint, EndpointKind, ServerNode, Subject
from assay.records.layers import line_of
from assay.sampler import Sampler, Seen, looking
from assay.trial.bench import Bench, Job, whole
from assay.trial.fleet import Station, each
from assay.trial.performed import EndsDrain

CPU_TIMES = slice(11, 15)
"""utime, stime, cutime and cstime among the fields of /proc/PID/stat after the command's name (proc_pid_stat(5))."""
TICK_NS = 10_000_000
"""Linux shows these times to programs in hundredths of a second (USER_HZ)."""
SPARED_NS = 80_000_000
"""A phase that ends within this time loses nothing to programs beside it."""


class Watchers:
    """The samplers of a phase, one a host; all look at the same time."""

    def __init__(self, bench: Bench, job: Job) -> None:
        every_ns = whole(job.spec.knobs, "look_every")
        self._stations = (*bench.fleet.stations, *bench.fleet.watched)
        self._open = contextlib.ExitStack()
        self._all = {
            one.name: Sampler(
                self._open.enter_context(watched(one.host)), looking(one.observers, every_ns), _subject(bench, job, one)
            )
            for one in self._stations
        }
        self._mounts = {one: _programs(bench, job, one) for one in bench.fleet.load}
        self._spent: dict[Edge, dict[str, int]] = {}

    def begin(self) -> None:
        """Start what has to run beside the phase."""
        for station in self._stations:
            self._all[station.name].begin(station.undo)

    def edge(self, edge: Edge) -> None:
        """Every observer of every host looks now."""
        each(self._stations, lambda one: self._all[one.name].edge(edge))
        self._spent[edge] = {one.name: _cpu_ns(one, nodes) for one, nodes in self._mounts.items() if nodes}

    def mounts_cpu_ns(self) -> dict[str, int]:
        """Host -> CPU time of the programs of the clients' mounts there, from the arming to the end of the drain."""
        before, after = (self._spent.get(edge, {}) for edge in (Edge.ARMED, Edge.DRAINED))
        return {name: max(0, after[name] - spent) for name, spent in before.items() if name in after}

    def start(self, start_ns: int) -> None:
        """Begin to poll; what runs beside the phase spares its first moments, so that a short one loses nothing to it."""
        span_ns = max(0, start_ns - time.monotonic_ns()) + SPARED_NS
        for sampler in self._all.values():
            sampler.spare(span_ns)
            sampler.start()

    def stop(self) -> None:
        """End the polling and what ran beside the phase."""
        with self._open:
            each(self._stations, lambda one: self._all[one.name].stop())

    def seen(self, phase: str, t0_of: Callable[[str], int]) -> dict[str, Seen]:
        """Host -> what it all means; `t0_of` gives T0 by a host's clock."""
        return {name: sampler.seen(phase, t0_of(name)) for name, sampler in self._all.items()}


def _subject(bench: Bench, job: Job, station: Station) -> Subject:
    """What the observers of a host look at: the clients there, the data that they name, and what of the target is there."""
    place, clients = bench.seen_from(job, station), bench.fleet.clients_on(station, len(job.endpoints))
    return Subject(
        pids=bench.dialogue.crew.pids_on(station.name),
        serving=() if bench.fleet.clients is None else bench.dialogue.crew.pids_on(station.name, bench.fleet.clients),
        paths=job.part_of(bench.fleet, station).data_files,
        backing_files=place.backing_files,
        directory=place.directory,
        devices=place.devices,
        tapes=(place.tape,) if place.tape else (),
        box=bench.place.box if station is bench.fleet.target else None,
        cgroups=bench.cgroups.get(station.name, ()),
        endpoints=tuple(job.endpoints[client].address for client in clients),
        server=bench.place.server.on(station.name) if bench.place.server else (),
        line=line_of(bench.place) if station is bench.fleet.target else None,
        notebook=_notebook(station),
        reaches=bench.place.server.addresses if bench.place.server and clients and line_of(bench.place) is None else (),
    )


def _programs(bench: Bench, job: Job, station: Station) -> tuple[ServerNode, ...]:
    """The programs that are the mounts of the clients on a host, each once: FUSE clients of a server of ours."""
    ends = (job.endpoints[client] for client in bench.fleet.clients_on(station, len(job.endpoints)))
    known = [end.details for end in ends if end.details.get("token") and end.details.get("client")]
    return tuple(ServerNode(pid_file=path) for path in dict.fromkeys(f"{one['client']}/{service.PID}" for one in known))


def _cpu_ns(station: Station, programs: tuple[ServerNode, ...]) -> int:
    """The CPU time of programs and of all that they started, in steps of 10 ms; what has ended counts at its parent."""
    ticks = 0
    for pid in server.pids(station.host, programs):
        with contextlib.suppress(OSError, AssayError):
            ticks += sum(map(int, stat_fields(station.host, pid)[CPU_TIMES]))
    return ticks * TICK_NS


def _notebook(station: Station) -> str | None:
    """The notebook, in which the scratch of this machine lies; None on a far host, and where nothing is kept."""
    return str(Path(station.scratch).parent) if station.scratch and not station.host.far else None


def drains(bench: Bench, job: Job) -> dict[str, EndsDrain]:
    """Host -> how long it took to flush what the phase changed there; nothing where the phase changed nothing.

    Both ends of a server begin together, on one host or on several. After the slowest client the target is flushed again, since
    what a client held back reaches it only then: its time ends when both ends are clean. A host that was lost is left out.
    """
    changes = {Direction.WRITE, Direction.METADATA} & set(job.plan.directions.values())
    fleet = bench.fleet
    if not changes or not job.plan.is_drained:
        return {station.name: EndsDrain() for station in fleet.stations}
    bench.progress(job, "draining")
    began_ns = time.monotonic_ns()
    found = each(fleet.stations, lambda one: _both_ends(bench, job, one))
    behind = fleet.is_spread or any(one.clients_ns is not None for one in found.values())
    if behind and fleet.target.host.lost() is None and _flush(fleet.target, bench.place.directory) is not None:
        took_ns = time.monotonic_ns() - began_ns
        last = found[fleet.target.name]
        found[fleet.target.name] = replace(last, took_ns=took_ns, server_ns=took_ns)
    return found


def _mounts(bench: Bench, job: Job, station: Station) -> tuple[Endpoint, ...]:
    """The clients of a server on the target's host whose directory is not the server's own: each mount once."""
    if bench.place.server is None or station is not bench.fleet.target:
        return ()
    clients = (job.endpoints[client] for client in bench.fleet.clients_on(station, len(job.endpoints)))
    found = {one.address: one for one in clients if one.kind is EndpointKind.DIRECTORY}
    return tuple(one for path, one in found.items() if path != bench.place.directory)


def _both_ends(bench: Bench, job: Job, station: Station) -> EndsDrain:
    directory, mounts = bench.seen_from(job, station).directory, _mounts(bench, job, station)
    if not mounts:
        return EndsDrain(took_ns=_flush(station, directory))
    from concurrent.futures import ThreadPoolExecutor  # only where there are two ends on one host

    began_ns = time.monotonic_ns()
    with ThreadPoolExecutor(len(mounts) + 1, thread_name_prefix="drain") as pool:
        own = pool.submit(_flush, station, directory)
        every = [one.result() for one in [pool.submit(_flush_client, bench, station, end) for end in mounts]]
        known = [one for one in every if one is not None]
        server_ns = own.result()
    return EndsDrain(
        took_ns=time.monotonic_ns() - began_ns,
        clients_ns=max((took_ns for took_ns, _ in known), default=None),
        server_ns=server_ns,
        sent_until_ns=began_ns if any(was_sending for _, was_sending in known) else None,
    )


def _flush_client(bench: Bench, station: Station, end: Endpoint) -> tuple[int, bool] | None:
    """What the kernel holds back of a client, then what its own program does, and whether that was at it already."""
    began_ns = time.monotonic_ns()
    if _flush(station, end.address) is None:
        return None
    done_ns_ago = bench.target.flush(station.host, end)
    return time.monotonic_ns() - began_ns - (done_ns_ago or 0), done_ns_ago is not None


def _flush(station: Station, directory: str | None) -> int | None:
    calls = station.host.syscalls
    if calls is None or directory is None or station.host.lost() is not None:
        return None
    with contextlib.suppress(LostHostError):
        return calls.syncfs(directory)
    return None

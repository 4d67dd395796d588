"""The samplers of a phase on all hosts, and the flushes that end it: what is done everywhere at the same time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from assay.errors import LostHostError
from assay.records import Direction, Edge, Place, Subject
from assay.sampler import Sampler, Seen, looking
from assay.trial.bench import Bench, Job, whole
from assay.trial.fleet import Station, each


class Watchers:
    """The samplers of a phase, one a host; all look at the same time."""

    def __init__(self, bench: Bench, job: Job) -> None:
        every_ns = whole(job.spec.knobs, "look_every")
        self._stations = (*bench.fleet.stations, *bench.fleet.watched)
        self._all = {
            one.name: Sampler(one.host, looking(one.observers, every_ns), _subject(bench, job, one)) for one in self._stations
        }

    def begin(self) -> None:
        """Start what has to run beside the phase."""
        for station in self._stations:
            self._all[station.name].begin(station.undo)

    def edge(self, edge: Edge) -> None:
        """Every observer of every host looks now."""
        each(self._stations, lambda one: self._all[one.name].edge(edge))

    def start(self) -> None:
        """Begin to poll."""
        for sampler in self._all.values():
            sampler.start()

    def stop(self) -> None:
        """End the polling and what ran beside the phase."""
        each(self._stations, lambda one: self._all[one.name].stop())

    def seen(self, phase: str, t0_of: Callable[[str], int]) -> dict[str, Seen]:
        """Host -> what it all means; `t0_of` gives T0 by a host's clock."""
        return {name: sampler.seen(phase, t0_of(name)) for name, sampler in self._all.items()}


def _subject(bench: Bench, job: Job, station: Station) -> Subject:
    """What the observers of a host look at: the clients there, the data that they name, and what of the target is there."""
    place, clients = bench.seen_from(job, station), bench.fleet.clients_on(station, len(job.endpoints))
    return Subject(
        pids=bench.dialogue.crew.pids_on(station.name),
        paths=job.part_of(bench.fleet, station).data_files,
        backing_files=place.backing_files,
        directory=place.directory,
        devices=place.devices,
        box=bench.place.box if station is bench.fleet.target else None,
        cgroups=bench.cgroups.get(station.name, ()),
        endpoints=tuple(job.endpoints[client].address for client in clients),
        server=bench.place.server.on(station.name) if bench.place.server else (),
        line=_line(bench.place) if station is bench.fleet.target else None,
        reaches=bench.place.server.addresses if bench.place.server and clients and _line(bench.place) is None else (),
    )


def _line(place: Place) -> int | None:
    """The process of the line that the target has between its ends."""
    pid = place.private.get("line")
    return int(pid) if isinstance(pid, str) else None


def drains(bench: Bench, job: Job) -> dict[str, int | None]:
    """Host -> how long it took to flush the file system there, where the phase changed something; None where it was not done.

    The clients' hosts and the target's begin together. After the slowest client the target is flushed again, since what a client
    held back reaches it only then: its time ends when both ends are clean. A host that was lost is left out.
    """
    changes = {Direction.WRITE, Direction.METADATA} & set(job.plan.directions.values())
    fleet = bench.fleet
    if not changes or not job.plan.is_drained:
        return {station.name: None for station in fleet.stations}
    bench.progress(job, "draining")
    began_ns = time.monotonic_ns()
    found = each(fleet.stations, lambda one: _flush(one, bench.seen_from(job, one)))
    if fleet.is_spread and fleet.target.host.lost() is None and _flush(fleet.target, bench.place) is not None:
        found[fleet.target.name] = time.monotonic_ns() - began_ns
    return found


def _flush(station: Station, place: Place) -> int | None:
    calls = station.host.syscalls
    if calls is None or place.directory is None or station.host.lost() is not None:
        return None
    with contextlib.suppress(LostHostError):
        return calls.syncfs(place.directory)
    return None

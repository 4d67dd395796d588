"""The hosts of a trial: what the lab has on each of them, and which client is where.

A station is a host with what the lab brought there. The target is on one of them; client i of a workload is on load station
i mod n, so that the clients of a small number spread over all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from assay.catalogue import Host, Observer, Undo
from assay.records import Endpoint, PhasePlan, Place, Server

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Station:
    """A host as the lab works on it."""

    host: Host
    undo: Undo
    """Where what is changed on this host is written down first."""
    scratch: str
    """A private directory of the experiment there."""
    engine: str
    """How the load engine is started there."""
    observers: tuple[Observer, ...] = ()
    """Those that can look at this host."""

    @property
    def name(self) -> str:
        """The host's name in the experiment."""
        return self.host.name


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The stations of one workload in one trial."""

    target: Station
    load: tuple[Station, ...]
    clients: int | None = None
    """How many clients the load has; those after them are servers, on the target's station. None: all are the load."""
    beside: tuple[Station, ...] = ()
    """Further ones that only give evidence: nodes of the server on hosts of their own."""
    watched: tuple[Station, ...] = ()
    """Devices that answer SNMP: their counters are read, and nothing else concerns them."""

    def of(self, client: int) -> Station:
        """The station that a client is on."""
        return self.target if self.clients is not None and client >= self.clients else self.load[client % len(self.load)]

    def clients_on(self, station: Station, count: int) -> tuple[int, ...]:
        """Which of so many clients are on a station."""
        return tuple(client for client in range(count) if self.of(client) is station)

    @property
    def stations(self) -> tuple[Station, ...]:
        """All of them, each once, those of the load first."""
        return tuple({one.name: one for one in (*self.load, self.target, *self.beside)}.values())

    @property
    def is_spread(self) -> bool:
        """Whether more than one host takes part."""
        return len(self.stations) > 1


def each(stations: Sequence[Station], act: Callable[[Station], Found], at_once: int | None = None) -> dict[str, Found]:
    """What `act` gives of every station, of all (or so many) at the same time. An error is raised when all have ended."""
    if not stations:
        return {}
    if len(stations) == 1:
        return {stations[0].name: act(stations[0])}
    from concurrent.futures import ThreadPoolExecutor  # only where there are several hosts

    with ThreadPoolExecutor(at_once or len(stations), thread_name_prefix="station") as pool:
        begun = {station.name: pool.submit(act, station) for station in stations}
    return {name: one.result() for name, one in begun.items()}


def seen_from(place: Place, station: Station, endpoints: Sequence[Endpoint]) -> Place:
    """The place as another host sees it: what the endpoints of its clients name, else the data of the server's nodes there.

    On the target's own host it is the place. A host with neither has nothing of it: no path of the target's host is a path there.
    """
    if station.name == place.host:
        return place
    first = next(iter(endpoints), None)
    nodes = place.server.on(station.name) if place.server else ()
    return replace(
        place,
        host=station.name,
        kind=first.kind if first else place.kind,
        address=first.address if first else "",
        devices=(),
        backing_files=(),
        limits=(),
        filesystem=None,
        private={},
        server=Server(nodes=nodes) if nodes else None,
        storage=None if first else next((path for node in nodes for path in node.data), None),
    )


def part_of(plan: PhasePlan, clients: Sequence[int]) -> PhasePlan:
    """The plan with the settings and the data files of these clients alone; files that no client names belong to all."""
    if len(clients) == len(plan.settings):
        return plan
    named = [_paths(settings) for settings in plan.settings]
    own = {path for client in clients for path in named[client]}
    strange = {path for paths in named for path in paths} - own
    return replace(
        plan,
        settings=tuple(plan.settings[client] for client in clients),
        data_files=tuple(path for path in plan.data_files if path not in strange) if clients else (),
    )


def _paths(settings: Mapping[str, object]) -> tuple[str, ...]:
    regions = settings.get("regions")
    rows = regions if isinstance(regions, list | tuple) else ()
    return tuple(str(row["path"]) for row in rows if isinstance(row, Mapping) and "path" in row)

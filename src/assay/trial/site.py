"""Where a trial takes place: its workloads with their hosts, the prepared target, what each client is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from assay.catalogue import SNMP, Setting, Target, Workload, system_of
from assay.errors import TrialError, UsageError
from assay.machine import net_namespaces, ownership
from assay.machine.net_namespaces import NETWORK
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Experiment, Place, TargetSpec, Value, WorkloadSpec, WorkSide
from assay.records.layers import endpoint_at
from assay.trial import placement
from assay.trial.deeds import Layer
from assay.trial.fleet import Fleet, Station, each, seen_from

AT_ONCE = 8
"""Hosts that come to a target at the same time: an sshd refuses more than ten that have not logged in (MaxStartups)."""


@dataclass(frozen=True, kw_only=True)
class PlacedWorkload:
    """A workload of this trial with its knobs, how many clients it has, and where they are."""

    workload: Workload
    spec: WorkloadSpec
    clients: int
    stations: tuple[Station, ...]
    cpus: Mapping[str, tuple[int, ...]]
    """Host -> the CPUs of its clients; a host that is not there leaves them all."""
    far: Station
    """The station of its servers: the target's."""
    servers: int = 0
    server_cpus: tuple[int, ...] | None = None
    """The CPUs of its servers; None leaves them all."""

    def on(self, client: int) -> Station:
        """The station of a client; servers come after the load."""
        return self.far if client >= self.clients else self.stations[client % len(self.stations)]

    @property
    def everyone(self) -> tuple[Station, ...]:
        """The station of each client, servers included."""
        return tuple(self.on(client) for client in range(self.clients + self.servers))


@dataclass(kw_only=True)
class Site:
    """The prepared target, and what has to be undone of it."""

    target: Target
    station: Station
    setting: Setting
    place: Place
    attached: dict[tuple[int, str], Endpoint] = field(default_factory=dict)
    """Client and host -> what that client is given there."""
    cgroups: dict[str, placement.Cgroup] = field(default_factory=dict)
    """Host -> the groups of the clients there."""
    below: Site | None = None
    """The target that this one stands on."""

    named: tuple[str, ...] = ()
    """Hosts that the experiment watches by commands or figures, whatever else they are."""

    @property
    def offered(self) -> Place:
        """The place as a target has it that stands on this one: at the mount of a server, not at the server's own data."""
        end = self.attached.get((0, self.station.name))
        return self.place if end is None else replace(self.place, address=end.address)

    def renew(self) -> Mapping[str, str]:
        """Look again which devices it is on, from below; return each former one with the one that took its place."""
        new = dict(self.below.renew()) if self.below is not None else {}
        seen = tuple(new.get(device, device) for device in self.place.devices)
        self.place = replace(self.place, devices=seen)
        own = self.target.devices(self.station.host, self.place)
        new |= {old: one for old, one in zip(seen, own, strict=False) if old != one}
        self.place = replace(self.place, devices=own)
        return new

    def fleet(self, load: PlacedWorkload, stations: Mapping[str, Station]) -> Fleet:
        """Who is where for a workload."""
        nodes = self.place.server.nodes if self.place.server else ()
        names = dict.fromkeys((*(node.host for node in nodes), *self.named))
        beside = tuple(stations[name] for name in names if name in stations)
        watched = tuple(one for one in stations.values() if system_of(one.host) == SNMP)
        return Fleet(target=self.station, load=load.stations, clients=load.clients, beside=beside, watched=watched)

    def layers(self) -> tuple[Layer, ...]:
        """The target, and those below it."""
        own = Layer(target=self.target, host=self.station.host, setting=self.setting, place=self.place)
        return (own, *(self.below.layers() if self.below is not None else ()))

    def endpoints(self, load: PlacedWorkload) -> tuple[Endpoint, ...]:
        """What the clients of a workload are given."""
        if load.spec.side is not WorkSide.CLIENT:
            return (endpoint_at(self.place, load.spec.side),) * load.clients
        return tuple(self.attached[client, load.on(client).name] for client in range(load.clients))

    def inside(self, load: PlacedWorkload) -> Callable[[int], tuple[str, ...]]:
        """The words before the engine of a client: those that lead into the namespace of its role, where the target has them.

        On the server's side there are none: its data are in the lab's own tree of directories.
        """
        if load.spec.side is WorkSide.SERVER:
            return lambda client: ()

        def before(client: int) -> tuple[str, ...]:
            namespace = self.place.private.get(f"{NETWORK}{'server' if client >= load.clients else 'load'}")
            return () if namespace is None else net_namespaces.inside(str(namespace))

        return before


def attach(site: Site, loads: Iterable[PlacedWorkload]) -> None:
    """Give every client of the target what it uses, on its own host, once; some hosts at the same time."""
    wanted: dict[str, dict[int, Station]] = {}
    for load in (one for one in loads if one.spec.side is WorkSide.CLIENT):
        for client in range(load.clients):
            station = load.on(client)
            wanted.setdefault(station.name, {})[client] = station
    stations = tuple(next(iter(clients.values())) for clients in wanted.values())
    each(stations, lambda one: _attach(site, one, wanted[one.name]), AT_ONCE)


def _attach(site: Site, station: Station, clients: Iterable[int]) -> None:
    for client in clients:
        found = site.target.attach(station.host, setting_on(site, station), site.place, client)
        site.attached[client, station.name] = found
        _see(site, station, found)
        if site.place.server is None and station is site.station and found.kind is site.place.kind is EndpointKind.DIRECTORY:
            _settle(site, found)


def _settle(site: Site, end: Endpoint) -> None:
    """Take the file system of a client's own directory for that of the place, where they are not the same.

    Without a server nothing but the client's directory has its data: a mount at it leads elsewhere than the target's directory.
    """
    host, place = site.station.host, site.place
    if end.address == place.address:
        return
    own = mount_of(host, end.address)
    if own.point != mount_of(host, place.address).point:
        site.place = replace(place, devices=stack(host, end.address), filesystem=own.filesystem)


def setting_on(site: Site, station: Station) -> Setting:
    """What the target is given on a client's host: scratch and ledger of that host."""
    return replace(site.setting, scratch=station.scratch, undo=station.undo)


def _see(site: Site, station: Station, endpoint: Endpoint) -> None:
    """Raise TrialError where a client's host does not see the target's own directory or file."""
    if station is site.station or endpoint.kind not in (EndpointKind.DIRECTORY, EndpointKind.FILE):
        return
    marker = site.place.private.get("marker")
    marked = endpoint.kind is EndpointKind.DIRECTORY and endpoint.address == site.place.address and isinstance(marker, str)
    if station.host.exists(endpoint.address) and (not marked or ownership.is_ours(station.host, endpoint.address, str(marker))):
        return
    raise TrialError(
        f"host {station.name} does not see {endpoint.address} of target {site.setting.name} on host {site.station.name}. "
        "Mount it there under the same path, or use kind = commands with `attach`."
    )


def place_on(site: Site, station: Station) -> Place:
    """The place as a host sees it."""
    given = [endpoint for (_, name), endpoint in site.attached.items() if name == station.name]
    return seen_from(site.place, station, given)


def target_of(experiment: Experiment, levels: Mapping[str, Value]) -> TargetSpec:
    """The target of a trial with its knobs. Raises UsageError where it is not in the file."""
    wanted = levels.get("target", experiment.first_target.name if experiment.first_target else None)
    return named_target(experiment, levels, wanted)


def named_target(experiment: Experiment, levels: Mapping[str, Value], wanted: Value) -> TargetSpec:
    """A target of this name with its knobs in a trial. Raises UsageError where it is not in the file."""
    for spec in experiment.targets:
        if spec.name == wanted:
            return replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
    names = ", ".join(spec.name for spec in experiment.targets) or "none"
    raise UsageError(f"found target {wanted!r}; expected one of the file's: {names}")


def paths_of(experiment: Experiment, levels: Mapping[str, Value]) -> dict[str, Mapping[str, Value]]:
    """The paths of a trial with their knobs."""
    return {spec.name: _changed(spec.name, spec.knobs, levels) for spec in experiment.paths}


def workloads_of(experiment: Experiment, levels: Mapping[str, Value]) -> tuple[WorkloadSpec, ...]:
    """The workloads of a trial in file order: all, or the one that is its level. Raises UsageError for a strange one."""
    wanted = levels.get("workload")
    chosen = tuple(
        replace(spec, knobs=_changed(spec.name, spec.knobs, levels))
        for spec in experiment.workloads
        if wanted in (None, spec.name)
    )
    if not chosen:
        names = ", ".join(spec.name for spec in experiment.workloads) or "none"
        raise UsageError(f"found workload {wanted!r}; expected one of the file's: {names}")
    return chosen


def _changed(name: str, knobs: Mapping[str, Value], levels: Mapping[str, Value]) -> dict[str, Value]:
    prefix = f"{name}."
    return {**knobs, **{path.removeprefix(prefix): level for path, level in levels.items() if path.startswith(prefix)}}

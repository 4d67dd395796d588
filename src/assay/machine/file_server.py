"""The life of a file server of our own, whichever software it is: started in a namespace, mounted by clients, proved, undone.

A target brings a `FileSoftware`: what differs between servers. All else is the same for each: a directory of its own below the
scratch of the experiment, two network namespaces that a veth pair or a path joins, the server sealed in one of them, and a mount
of each client in the other. The data are in that directory, or on another target (`on`).
"""

from __future__ import annotations

import contextlib
import posixpath
import secrets
from collections.abc import Callable, Mapping

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target
from assay.errors import AssayError, TrialError, UsageError, refuse
from assay.frozen import dataclass
from assay.machine import external_commands, files, mounted, network_pair, ownership, server, server_events, service
from assay.machine.mounted import MountPlan
from assay.machine.net_namespaces import NETWORK
from assay.machine.network_pair import NetworkPair
from assay.machine.service import Program, Service
from assay.machine.stack import mount_of, stack
from assay.records import ON, Endpoint, EndpointKind, Place, Server, ServerNode, Value, WorkSide
from assay.settings.knobs import names

PROGRAMS = ("put", "get")
"""Knobs that name the client programs of a transfer, and details of an endpoint that have them."""
KNOBS = (
    Knob(name=ON, kind=KnobKind.TEXT, help="target whose directory holds the server's data; default: the experiment's scratch"),
    *network_pair.KNOBS,
    *service.LIMITS,
    *(
        Knob(name=name, kind=KnobKind.TEXTS, default=(), is_command=True, help=f"client program of transfer for {name}")
        for name in PROGRAMS
    ),
)
ALIKE = ("filesystem", "below", "mount.options", "mount.holds_back")
"""Facts of the mount below the data that do not name a trial's own directory."""
GUESS_S = 1.5


@dataclass(frozen=True, kw_only=True)
class FileInstance:
    """One server of ours: where it is, what it serves, how it is reached, what was asked of it."""

    directory: str
    data: str
    address: str
    load: str
    """The file of the clients' network namespace."""
    knobs: Mapping[str, Value]

    def path(self, *names: str) -> str:
        """A path in its directory."""
        return posixpath.join(self.directory, *names)


@dataclass(frozen=True, kw_only=True)
class FileSoftware:
    """What differs between file servers."""

    name: str
    """As records and failures name it: `sshd`, `ganesha.nfsd`."""
    tools: Callable[[Mapping[str, Value]], tuple[str, ...]]
    """The programs that it needs with these knobs."""
    ports: tuple[int, ...]
    """All of them are listened on when it is ready."""
    configure: Callable[[Host, FileInstance], None]
    """Write its configuration, its keys, and what a client needs."""
    program: Callable[[Host, FileInstance], tuple[str, ...]]
    """The server in the foreground."""
    mount: Callable[[Host, FileInstance, str, str], MountPlan]
    """How a client mounts it: (host, instance, the mount point, a word that no other mount has)."""
    settings: Callable[[Host, FileInstance], tuple[tuple[str, str, str], ...]]
    """Each setting that decides durability or speed, read back from the running server: (knob, wanted, found)."""
    version: Callable[[Host, FileInstance], str]
    setup: Callable[[FileInstance], str] = lambda instance: ""
    """Lines of sh before the server: mounts that it alone sees."""
    lacks: Callable[[Host, Mapping[str, Value]], tuple[str, ...]] = lambda host, knobs: ()
    """What this host lacks beside the tools."""
    check: Callable[[Host, Setting], tuple[str, ...]] = lambda host, setting: ()
    """What is wrong with the knobs."""
    ready: Callable[[Host, FileInstance], bool] = lambda host, instance: True
    """Whether a server that listens on all its ports serves: its storage has joined, its volume is there."""
    patience_s: float = service.START_S
    """How long it may take until it serves."""
    proof: Callable[[Host, FileInstance, MountPlan, str], str] = lambda host, instance, plan, point: mounted.prove(
        host, plan, point, instance.data
    )
    """Prove the mount at a point and return what an fsync through it does; raises TrialError. Default: the data are files."""
    kernel: mounted.KernelClient | None = None
    """The client that a kernel may have for it: such a mount needs no FUSE."""
    keeps_files: bool = True
    """Whether each file is in the server's data under its own name; else it is compared through the mount."""
    mounts: bool = True
    """Whether its clients mount it; otherwise no FUSE is needed, and there is nothing to unmount."""


DATA = "data"
"""In the details of an endpoint: where the server keeps files under their own names."""


@dataclass(frozen=True, kw_only=True)
class BegunServer:
    """A server that was started: the namespaces, the service, its directories, and its settings as they were read back."""

    pair: NetworkPair
    service: Service
    folders: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]


def target(name: str, software: FileSoftware, *knobs: Knob) -> Target:
    """Return the target of a file server with these knobs of its own; a client that needs more replaces what it does itself."""
    return Target(
        name=name,
        knobs=(*KNOBS, *knobs),
        endpoint=EndpointKind.DIRECTORY,
        check=lambda host, setting: check(software, host, setting),
        lacks=lambda host, knobs: lacks(software, host, knobs),
        prepare=lambda host, setting: prepare(software, host, setting),
        attach=lambda host, setting, place, client: attach(software, host, setting, place, client),
        detach=detach if software.mounts else lambda host, setting, endpoint: None,
        drop_caches=drop_caches,
        facts=facts,
        teardown=lambda host, setting, place: teardown(software, host, setting, place),
        seconds=lambda knobs: (0.0, GUESS_S),
        paths=network_pair.used,
        mounts=Mounts.LAB,
        sides=tuple(WorkSide),
        mounts_each=lambda knobs: software.mounts,
        events=server_events.events(software.name, software.ports),
    )


def check(software: FileSoftware, host: Host, setting: Setting) -> tuple[str, ...]:
    """Return everything that is wrong, before anything is made."""
    found = [
        *lacks(software, host, setting.knobs),
        *network_pair.mistakes(host, setting),
        *software.check(host, setting),
    ]
    if where := parent_of_data(setting):
        found += files.mistakes(host, where, setting.needs_bytes)
    return tuple(found)


def lacks(software: FileSoftware, host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for the server and its clients."""
    tools = (*network_pair.TOOLS, *software.tools(knobs), *client_programs(knobs))
    in_kernel = software.kernel is not None and software.kernel.used(host, knobs) == mounted.KERNEL
    return (
        *external_commands.missing(host, tools),
        *software.lacks(host, knobs),
        *(mounted.no_fuse(host) if software.mounts and not in_kernel else ()),
    )


def prepare(software: FileSoftware, host: Host, setting: Setting) -> Place:
    """Start the server fresh. Raises UsageError with all mistakes, TrialError where it does not come up as its knobs say."""
    refuse(check(software, host, setting))
    folders: list[str] = []
    pair: NetworkPair | None = None
    made: Service | None = None
    try:
        folders.extend(ownership.fresh_directory(host, setting.undo, parent) for parent in parents(setting))
        pair = network_pair.make(host, setting)
        instance = _instance(host, setting, folders, pair)
        software.configure(host, instance)
        host.run(["sync", "-f", "--", instance.data])  # its directories outlive a cut of the power
        made, settings = _start(software, host, setting, instance, pair)
        begun = BegunServer(pair=pair, service=made, folders=tuple(folders), settings=settings)
        return _place(host, setting, instance, begun)
    except BaseException:
        _take_away(host, setting, made, pair.private if pair else {}, folders)
        raise


def parents(setting: Setting) -> tuple[str, ...]:
    """Return below which directories a server has one of its own; its data are in the last. Raises UsageError."""
    data = parent_of_data(setting)
    if data is None:
        raise UsageError(f"found on = {setting.knobs[ON]!r}; expected the target to stand on it")
    return tuple(dict.fromkeys((setting.scratch, data)))


def parent_of_data(setting: Setting) -> str | None:
    """Return below which directory the data go; None where that is on a target which is not there before a trial."""
    if not setting.knobs.get(ON):
        return setting.scratch
    return setting.beneath.address if setting.beneath else None


def _instance(host: Host, setting: Setting, folders: list[str], pair: NetworkPair) -> FileInstance:
    data = posixpath.join(folders[-1], "data")
    host.run(["mkdir", "--", data])
    return FileInstance(directory=folders[0], data=data, address=pair.address, load=pair.load, knobs=setting.knobs)


def _start(
    software: FileSoftware, host: Host, setting: Setting, instance: FileInstance, pair: NetworkPair
) -> tuple[Service, tuple[tuple[str, str], ...]]:
    """Start it, wait until it listens, and hold every setting against what the running server has."""
    cpus, memory = service.limits_of(host, setting.knobs)
    program = Program(
        name=software.name,
        argv=software.program(host, instance),
        directory=instance.directory,
        cpus=cpus,
        memory_bytes=memory,
        network=pair.server,
        sealed=True,
        setup=software.setup(instance),
        is_accounted=True,
    )
    made = service.install(host, setting.undo, program, f"{software.name}-{setting.trial.id if setting.trial else 0}")
    try:
        service.start(
            host,
            instance.directory,
            software.name,
            lambda: service.listens(host, instance.directory, software.ports) and software.ready(host, instance),
            software.patience_s,
        )
        settings = [*service.in_force(host, made, program)]
        for knob, wanted, found in software.settings(host, instance):
            service.require(knob, wanted, found)
            settings.append((knob, found))
    except BaseException:
        service.remove(setting.undo, made)
        raise
    return made, (*settings, ("software", software.version(host, instance)))


def _place(host: Host, setting: Setting, instance: FileInstance, begun: BegunServer) -> Place:
    private: dict[str, Value] = {
        **begun.pair.private,
        "directory": instance.directory,
        "folders": begun.folders,
        "groups": begun.service.groups,
        "family": begun.service.token,
        "settings": begun.settings,
    }
    node = ServerNode(
        host=host.name,
        pid_file=begun.service.pid_file,
        cgroup=begun.service.account,
        data=(instance.data,),
        address=instance.address,
    )
    below = setting.beneath
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=instance.data,
        devices=below.devices if below else stack(host, instance.data),
        backing_files=below.backing_files if below else (),
        limits=below.limits if below else (),
        filesystem=mount_of(host, instance.data).filesystem,
        private=private,
        server=Server(nodes=(node, *(below.server.nodes if below and below.server else ()))),
        storage=below.storage if below and below.server else instance.data,
    )


def attach(software: FileSoftware, host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount the server for one client and prove it. Raises UsageError on another host, TrialError where it is no mount of it."""
    return attached(software, host, setting, instance_of(host, setting, place), client)


def attached(software: FileSoftware, host: Host, setting: Setting, instance: FileInstance, client: int) -> Endpoint:
    """Mount the server for one client in the instance's network namespace, and prove it. Raises TrialError."""
    directory = instance.path(f"{mounted.CLIENT}{client}")
    host.run(["mkdir", "--", directory])
    point, word = posixpath.join(directory, mounted.POINT), f"assay-{secrets.token_hex(6)}"
    plan = software.mount(host, instance, point, word)
    made = mounted.begin(
        host, setting.undo, plan, directory, instance.load, lambda found: software.proof(host, instance, plan, found)
    )
    more = {name: value for name, value in reached(instance).items() if software.keeps_files or name != DATA}
    return Endpoint(kind=EndpointKind.DIRECTORY, address=point, details={**mounted.kept(made), **more})


def reached(instance: FileInstance) -> dict[str, Value]:
    """What a client's own program needs to reach the server, and where the server keeps what it is given."""
    programs = {name: instance.knobs[name] for name in PROGRAMS if instance.knobs.get(name)}
    return {**programs, "server.address": instance.address, DATA: instance.data, "instance": instance.directory}


def client_programs(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the client programs of a transfer that the knobs of a target name."""
    return external_commands.programs(names(knobs, name) for name in PROGRAMS if knobs.get(name))


def instance_of(host: Host, setting: Setting, place: Place) -> FileInstance:
    """Return the server of a place, for a client of it. Raises UsageError on another host."""
    if host.name != place.host:
        raise UsageError(f"found load on host {host.name}; expected {place.host}: the clients' namespace is there")
    return FileInstance(
        directory=str(place.private["directory"]),
        data=place.address,
        address=next(node.address or "" for node in (place.server.nodes if place.server else ())),
        load=str(place.private[f"{NETWORK}load"]),
        knobs=setting.knobs,
    )


def detach(host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Unmount one client."""
    mounted.leave(host, setting.undo, endpoint.address, endpoint.details)


def drop_caches(host: Host, place: Place) -> None:
    """Flush the server's data and give their pages back, also those of a server that it stands on.

    The pages of the clients' mounts are given back with their files.
    """
    nodes = place.server.on(host.name) if place.server else ()
    for path in dict.fromkeys((place.address, *(path for node in nodes for path in node.data))):
        files.drop_files(host, path, place.filesystem)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return every setting as the running server has it, the way to it, the mounts, and the file system of its data.

    Raises TrialError where a client's mount is not there any more: what it did then was not done by the server.
    """
    found = [*setting_facts(place)]
    found += server.facts(host, place.server, str(place.private[f"{NETWORK}load"]))
    found += network_pair.facts(host, place)
    found += mounted.facts(host, str(place.private["directory"]))
    return (*found, *(pair for pair in files.mount_facts(host, place.address, place.devices) if pair[0] in ALIKE))


def setting_facts(place: Place) -> tuple[tuple[str, str], ...]:
    """Return every setting as it was read back from the running server."""
    pairs = place.private["settings"]
    rows = pairs if isinstance(pairs, tuple) else ()
    return tuple((f"setting.{pair[0]}", str(pair[1])) for pair in rows if isinstance(pair, tuple))


def teardown(software: FileSoftware, host: Host, setting: Setting, place: Place) -> None:
    """End the server, its namespaces, and remove its directories."""
    private = place.private
    directory = str(private["directory"])
    with contextlib.suppress(TrialError):
        service.stop(host, directory, software.name)
    made = Service(name=software.name, directory=directory, token=str(private["family"]), groups=names(private, "groups"))
    _take_away(host, setting, made, private, list(names(private, "folders")))


def _take_away(host: Host, setting: Setting, made: Service | None, private: Mapping[str, Value], folders: list[str]) -> None:
    """Undo what was set up, the latest first."""
    if made is not None:
        service.remove(setting.undo, made)
    if private:
        with contextlib.suppress(AssayError):
            network_pair.part(host, setting.undo, private)
    for folder in reversed(folders):
        setting.undo.undo("directory", path=folder)

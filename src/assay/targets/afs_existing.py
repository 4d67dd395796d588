"""A volume of an AFS cell that runs already, mounted by the kernel (kAFS).

Assay works in a marked directory of its own below the volume's root, and removes it afterwards. All mounts of one host are one
client, with one cache. So the mount is proved before any client: what was written and flushed is read over the wire once more,
by a mount that was made anew, and the kernel's counters must show its bytes both ways.
"""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target
from assay.errors import AssayError, RefusedError, TrialError, refuse
from assay.evidence import mount_texts
from assay.machine import afs_clients, afs_files, files, mounted, ownership, server, server_nodes, service
from assay.machine.mounted import MountPlan
from assay.records import Endpoint, EndpointKind, Place, Value
from assay.settings.knobs import choice, text

OWN_NETWORK = "/proc/self/ns/net"
"""The network of the lab: an existing cell is reached as this machine reaches it."""
CONTROL = "control"
"""In the target's directory: the mount that proves the volume, and keeps it mounted."""


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with these knobs on this host."""
    found = [*lacks(host, setting.knobs), *server_nodes.mistakes(setting.knobs)]
    found += [
        f"found {name} {setting.knobs[name]!r}; expected a name of AFS, without spaces and without '%', '#' or ':'"
        for name in ("cell", "volume")
        if not afs_clients.NAME.fullmatch(text(setting.knobs, name))
    ]
    return tuple(found)


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps this host from mounting."""
    rights = () if host.is_root() else ("mounting needs root. Run as root, or mount it yourself and use kind = directory.",)
    return (*afs_clients.lacks(host, knobs), *rights)


def prepare(host: Host, setting: Setting) -> Place:
    """Mount the volume, prove it, and make a directory of its own there. Raises UsageError, TrialError."""
    refuse(check(host, setting))
    directory = ownership.fresh_directory(host, setting.undo, setting.scratch)
    private: dict[str, Value] = {"directory": directory}
    try:
        if address := text(setting.knobs, "address"):
            afs_clients.add_cell(host, OWN_NETWORK, text(setting.knobs, "cell"), address.replace(" ", ""))
        written = _proved(host, setting, posixpath.join(directory, "proof"))
        end = _mount(host, setting, posixpath.join(directory, CONTROL))
        private |= {f"{CONTROL}.{name}": value for name, value in end.details.items()} | {CONTROL: end.address}
        _read_back(host, end.address, written)
        seen = afs_clients.encryption(host, OWN_NETWORK)
        if (wanted := text(setting.knobs, "encryption")) != afs_clients.ANY:
            service.require("encryption", wanted, seen)
        name = ownership.fresh_name()
        data = posixpath.join(end.address, name)
        ownership.make_directory(host, setting.undo, data, name.removeprefix(ownership.PREFIX))
        private |= {"name": name, "data": data, "encryption": seen}
        return _place(host, setting, private)
    except BaseException:
        _take_away(host, setting, private)
        raise


def _proved(host: Host, setting: Setting, directory: str) -> tuple[str, str]:
    """Write through a mount, see its bytes go to the server, and unmount; return the file's name and its words."""
    end = _mount(host, setting, directory)
    before = _count(host, "to_server_bytes")
    path, word = mounted.write_probe(host, end.address)
    sent = _count(host, "to_server_bytes") - before
    mounted.leave(host, setting.undo, end.address, end.details)
    host.run(["rm", "-rf", "--", directory])
    if sent < len(word):
        raise TrialError(
            f"the mount at {end.address}: {sent} of {len(word)} bytes were sent to a server of AFS when fsync returned"
        )
    return posixpath.basename(path), word


def _read_back(host: Host, point: str, written: tuple[str, str]) -> None:
    """Read over the wire what was written through the mount before this one. Raises TrialError."""
    name, word = written
    path, before = posixpath.join(point, name), _count(host, "from_server_bytes")
    found = host.run(["cat", "--", path], timeout_s=mounted.PATIENCE_S, check=False).stdout
    read = _count(host, "from_server_bytes") - before
    host.run(["rm", "-f", "--", path], timeout_s=mounted.PATIENCE_S)
    if found != word or read < len(word):
        raise TrialError(f"the mount at {point} does not show what was written before it was made anew ({read} bytes were read)")


def _count(host: Host, name: str) -> int:
    path = posixpath.join(OWN_NETWORK.removesuffix("ns/net"), afs_files.STATS)
    return mount_texts.afs_client(host.read(path), path)[name]


def _plan(setting: Setting, point: str) -> MountPlan:
    knobs = setting.knobs
    return afs_clients.plan(text(knobs, "cell"), text(knobs, "volume"), text(knobs, "mount_options"), point)


def _mount(host: Host, setting: Setting, directory: str) -> Endpoint:
    """Mount the volume in a new directory; the mount table alone tells that it is one."""
    host.run(["mkdir", "--", directory])
    plan = _plan(setting, posixpath.join(directory, mounted.POINT))
    made = mounted.begin(host, setting.undo, plan, directory, OWN_NETWORK, lambda found: _checked(host, plan, found))
    return Endpoint(kind=EndpointKind.DIRECTORY, address=made.point, details=mounted.kept(made))


def _checked(host: Host, plan: MountPlan, point: str) -> str:
    mounted.check(host, plan.filesystem, point)
    return f"at least {mounted.IN_MEMORY}"


def _place(host: Host, setting: Setting, private: dict[str, Value]) -> Place:
    knobs = setting.knobs

    def filled(name: str) -> tuple[str, ...]:
        value = knobs.get(name)
        return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),) if value else ()

    named = any(knobs.get(f"{server_nodes.FIRST}{name}") for name in server_nodes.PROCESSES)
    first = text(knobs, "address").partition(",")[0]
    behind = server_nodes.declared(host, {**knobs, f"{server_nodes.FIRST}address": first}, filled) if named else None
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=str(private["data"]),
        filesystem=afs_clients.FILESYSTEM,
        private=private,
        server=behind,
    )


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount the volume for one client, and give it the lab's directory there."""
    end = _mount(host, setting, posixpath.join(str(place.private["directory"]), f"{mounted.CLIENT}{client}"))
    return replace(end, address=posixpath.join(end.address, str(place.private["name"])))


def detach(host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Unmount one client."""
    mounted.leave(host, setting.undo, posixpath.dirname(endpoint.address), endpoint.details)


def drop_caches(host: Host, place: Place) -> None:
    """Drop the pages of the server's data where they are named and on this host. Raises RefusedError where they are not."""
    afs_clients.refuse_disk_cache(host)
    named = [path for node in (place.server.nodes if place.server else ()) for path in node.data if node.host == host.name]
    if not named:
        raise RefusedError("the caches of a cell that runs already are not ours. Name its data (server.data), or use unchanged.")
    for path in named:
        files.drop_files(host, path, None)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the mounts of the clients, and how they send. Raises TrialError where a mount is not there any more."""
    found = (*server.facts(host, place.server), *mounted.facts(host, str(place.private["directory"])))
    seen = afs_clients.encryption(host, OWN_NETWORK) or str(place.private["encryption"])
    return (*found, *((("clients.encryption", seen),) if seen else ()))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the lab's directory on the server, unmount, and remove the mount points."""
    _take_away(host, setting, place.private)


def _take_away(host: Host, setting: Setting, private: Mapping[str, Value]) -> None:
    """Undo what was set up, the latest first."""
    if "data" in private:
        setting.undo.undo("directory", path=str(private["data"]))
    if CONTROL in private:
        details = {name.removeprefix(f"{CONTROL}."): value for name, value in private.items() if name.startswith(f"{CONTROL}.")}
        with contextlib.suppress(AssayError):
            mounted.leave(host, setting.undo, str(private[CONTROL]), details)
    setting.undo.undo("directory", path=str(private["directory"]))


TARGET = Target(
    name="afs_existing",
    knobs=(
        Knob(name="cell", kind=KnobKind.TEXT, required=True, help="name of the cell"),
        Knob(name="volume", kind=KnobKind.TEXT, required=True, help="name of the volume, for example root.cell"),
        Knob(
            name="address",
            kind=KnobKind.TEXT,
            help="IP addresses of the servers of volume locations; default: as the kernel finds them",
        ),
        choice("encryption", "what the connections must have", afs_clients.ANY, afs_clients.CLEAR, afs_clients.FCRYPT),
        afs_clients.MOUNT_OPTIONS,
        *(knob for knob in server_nodes.KNOBS if knob.name != f"{server_nodes.FIRST}{server_nodes.ADDRESS}"),
    ),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=attach,
    detach=detach,
    drop_caches=drop_caches,
    facts=facts,
    teardown=teardown,
    mounts=Mounts.LAB,
    mounts_each=lambda knobs: True,
    one_client=lambda knobs: afs_clients.ONE,
)

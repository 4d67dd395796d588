"""An NFS server that runs already: each client mounts its export by the kernel, or by a client of Assay (FUSE).

Assay works in a marked directory of its own below the export, and removes it afterwards. A mount of its own shows what the server
has: a client's mount counts only when that one sees what was written through it.
"""

from __future__ import annotations

import contextlib
import posixpath
import secrets
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target
from assay.errors import AssayError, RefusedError, refuse
from assay.machine import files, mounted, nfs_clients, ownership, server, server_nodes
from assay.machine.mounted import MountPlan
from assay.records import Endpoint, EndpointKind, Place, Value

OWN_NETWORK = "/proc/self/ns/net"
"""The network of the lab: an existing server is reached as this machine reaches it."""
CONTROL = "control"
"""In the target's directory: the mount of its own."""


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with these knobs on this host."""
    found = [*lacks(host, setting.knobs), *server_nodes.mistakes(setting.knobs)]
    if not str(setting.knobs["export"]).startswith("/"):
        found.append(f"found export {setting.knobs['export']!r}; expected the path of an export, which begins with /")
    return tuple(found)


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps this host from mounting."""
    found = [*nfs_clients.mistakes(host, knobs)]
    if not host.is_root():
        found.append("mounting needs root. Run as root, or mount it yourself and use kind = directory.")
    if nfs_clients.IN_KERNEL.used(host, knobs) == nfs_clients.FUSE:
        found += mounted.no_fuse(host)
    return tuple(found)


def prepare(host: Host, setting: Setting) -> Place:
    """Mount the export for the lab itself and make a directory of its own there. Raises UsageError, TrialError."""
    refuse(check(host, setting))
    directory = ownership.fresh_directory(host, setting.undo, setting.scratch)
    private: dict[str, Value] = {"directory": directory}
    try:
        end = _mount(host, setting, posixpath.join(directory, CONTROL), check_only=True)
        private |= {f"{CONTROL}.{name}": value for name, value in end.details.items()} | {CONTROL: end.address}
        name = ownership.fresh_name()
        data = posixpath.join(end.address, name)
        ownership.make_directory(host, setting.undo, data, name.removeprefix(ownership.PREFIX))
        private |= {"name": name, "data": data}
        return _place(host, setting, private)
    except BaseException:
        _take_away(host, setting, private)
        raise


def _place(host: Host, setting: Setting, private: dict[str, Value]) -> Place:
    knobs = setting.knobs

    def filled(name: str) -> tuple[str, ...]:
        value = knobs.get(name)
        return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),) if value else ()

    behind = server_nodes.declared(host, {**knobs, f"{server_nodes.FIRST}address": knobs["address"]}, filled)
    named = any(knobs.get(f"{server_nodes.FIRST}{name}") for name in server_nodes.PROCESSES)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=str(private["data"]),
        filesystem=str(private[f"{CONTROL}.filesystem"]),
        private=private,
        server=behind if named else None,
    )


def _mount(host: Host, setting: Setting, directory: str, *, check_only: bool = False, data: str = "") -> Endpoint:
    """Mount the export in a new directory; prove it by the lab's own mount of it, or by the mount table alone for that one."""
    host.run(["mkdir", "--", directory])
    knobs = {**setting.knobs, "attribute_cache": 0} if check_only else setting.knobs
    point, word = posixpath.join(directory, mounted.POINT), f"assay-{secrets.token_hex(6)}"
    plan = nfs_clients.plan(host, knobs, (str(knobs["address"]), str(knobs["export"])), point, word)
    made = mounted.begin(host, setting.undo, plan, directory, OWN_NETWORK, lambda found: _proof(host, plan, found, data))
    return Endpoint(kind=EndpointKind.DIRECTORY, address=point, details=mounted.kept(made))


def _proof(host: Host, plan: MountPlan, point: str, data: str) -> str:
    if not data:
        mounted.check(host, plan.filesystem, point)
        return ""
    found = mounted.prove(host, plan, point, data, posixpath.basename(data))
    return mounted.NOT_YET if found == mounted.NOT_YET else f"at least {mounted.IN_MEMORY}"


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount the export for one client, and give it the lab's directory there. Raises TrialError where it is no mount of it."""
    data = str(place.private["data"])
    end = _mount(host, setting, posixpath.join(str(place.private["directory"]), f"{mounted.CLIENT}{client}"), data=data)
    return replace(end, address=posixpath.join(end.address, posixpath.basename(data)))


def detach(host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Unmount one client."""
    mounted.leave(host, setting.undo, posixpath.dirname(endpoint.address), endpoint.details)


def drop_caches(host: Host, place: Place) -> None:
    """Drop the pages of the server's data where they are named and on this host. Raises RefusedError where they are not."""
    named = [path for node in (place.server.nodes if place.server else ()) for path in node.data if node.host == host.name]
    if not named:
        raise RefusedError(
            "the caches of a server that runs already are not ours. Name its data (server.data), or use unchanged."
        )
    for path in named:
        files.drop_files(host, path, None)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the mounts of the clients. Raises TrialError where one is not there any more."""
    return (*server.facts(host, place.server), *mounted.facts(host, str(place.private["directory"])))


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
    name="nfs_existing",
    knobs=(
        Knob(name="address", kind=KnobKind.TEXT, required=True, help="IP address of the server"),
        Knob(name="export", kind=KnobKind.TEXT, required=True, help="path of the export, for example /srv/data"),
        *nfs_clients.KNOBS,
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
    one_client=nfs_clients.one_client,
)

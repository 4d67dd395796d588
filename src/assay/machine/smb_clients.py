"""A client's mount of an SMB server: by the kernel, or by rclone where the kernel has no client.

The kernel mounts as mount.cifs does by default, with what the knobs add. Each client has a connection of its own (nosharesock in
mount.cifs(8)), and so a cache of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Setting
from assay.machine import external_commands, file_server, rclone_client
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mount_options import MountOptions
from assay.machine.mounted import AUTO, KERNEL, KernelClient, MountPlan, in_own_kernel
from assay.records import Endpoint, Place, Value
from assay.settings.knobs import choice, text

SHARE = "data"
RCLONE = "rclone"
IN_KERNEL = KernelClient(filesystem="cifs", helper="/sbin/mount.cifs", package="cifs-utils", otherwise=RCLONE)
RCLONE_TIMES = 6.0
"""Requests of rclone where sshfs makes one, of files that are made, looked at and removed: 16, 9 and 13 over a path of 1 ms
each way, of 500 files."""
VERSIONS = ("default", "2.0", "2.1", "3.0", "3.1.1")
OPTIONS = MountOptions(
    numbers=frozenset(("rsize", "wsize", "bsize", "actimeo", "acregmax", "acdirmax", "echo_interval", "max_channels", "esize")),
    words={"cache": ("none", "strict", "loose")},
    own={
        "vers": "version",
        **dict.fromkeys(("guest", "user", "username", "password", "credentials", "port", "nosharesock", "sharesock"), ""),
    },
)
"""Options of mount.cifs(8) whose values are known beforehand, and those that are Assay's."""
KNOBS = (
    choice("client", "what mounts it: the kernel, or rclone (FUSE); auto: the kernel where it can", AUTO, KERNEL, RCLONE),
    choice(
        "version",
        "version of SMB of the kernel's client; default: the highest that mount.cifs and the server agree on",
        *VERSIONS,
    ),
    Knob(name="mount_options", kind=KnobKind.TEXT, help="further options of the kernel's client, as for mount.cifs -o"),
)
"""Knobs of every target that SMB clients mount."""


def mistakes(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps the clients from mounting."""
    more = text(knobs, "mount_options")
    if IN_KERNEL.used(host, knobs) == RCLONE:
        idle = [f"found {name} with client = {RCLONE}; it is the kernel's" for name in _of_kernel(knobs)]
        return (*external_commands.missing(host, rclone_client.TOOLS), *idle)
    return (*IN_KERNEL.mistakes(host, knobs), *OPTIONS.mistakes(more))


def _of_kernel(knobs: Mapping[str, Value]) -> Iterator[str]:
    if text(knobs, "mount_options"):
        yield "mount_options"
    if text(knobs, "version") not in ("", "default"):
        yield "version"


def plan(host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the kernel's client, or rclone."""
    if IN_KERNEL.used(host, instance.knobs) == RCLONE:
        return rclone_client.mount(instance, point, word, SHARE)
    source = f"//{instance.address}/{SHARE}"
    version, more = str(instance.knobs["version"]), text(instance.knobs, "mount_options")
    # With a connection of its own each client has a cache of its own (nosharesock in mount.cifs(8)).
    options = ("guest", "nosharesock", *([] if version == "default" else [f"vers={version}"]), *([more] if more else []))
    argv = ("mount", "-t", "cifs", "-o", ",".join(options), source, point)
    return MountPlan(name="mount.cifs", argv=argv, filesystem="cifs", source=source, stays=False)


def exchange_times(knobs: Mapping[str, Value]) -> float:
    """Return how many requests the client makes where a simple one makes one. Plans know this machine's kernel alone."""
    client = knobs.get("client", AUTO)
    rclone = client == RCLONE or (client == AUTO and not in_own_kernel(IN_KERNEL.filesystem))
    return RCLONE_TIMES if rclone else 1.0


def configure(host: Host, instance: FileInstance) -> None:
    """Write what rclone needs to reach the server."""
    rclone_client.configure(host, instance, {"type": "smb", "host": instance.address, "user": "guest"})


def attach(software: FileSoftware, host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount for one client."""
    end = file_server.attach(software, host, setting, place, client)
    if end.details["filesystem"] != rclone_client.FILESYSTEM:
        return end
    instance = file_server.instance_of(host, setting, place)
    return replace(end, details={**end.details, **rclone_client.details(instance, end.address, SHARE)})


def flush(host: Host, endpoint: Endpoint) -> int | None:
    """Wait for a client that sends files after their close."""
    return rclone_client.flush(host, endpoint) if endpoint.details["filesystem"] == rclone_client.FILESYSTEM else None

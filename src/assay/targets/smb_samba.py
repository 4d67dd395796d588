"""A fresh SMB server (Samba) in a network namespace; each client mounts it by the kernel, or by rclone.

Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Setting
from assay.machine import external_commands, file_server, rclone_client
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mount_options import MountOptions
from assay.machine.mounted import AUTO, KERNEL, KernelClient, MountPlan
from assay.records import Endpoint, Place, Value
from assay.settings.knobs import choice, switch, text

DAEMON, SHARE = "smbd", "data"
PORT = 445
RCLONE = "rclone"
IN_KERNEL = KernelClient(filesystem="cifs", helper="/sbin/mount.cifs", package="cifs-utils", otherwise=RCLONE)
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
SWITCHES = ("strict_sync", "sync_always")
FOLDERS = {"private dir": "private", "state directory": "state", "cache directory": "cache", "pid directory": "run"}
SOCKETS = {"lock directory": "/run/samba/lock", "ncalrpc dir": "/run/samba/ncalrpc"}
"""Sockets lie below them, whose paths have at most 107 bytes (unix(7)), however long that of the scratch directory is."""
SETUP = f"mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p -m 755 {' '.join(SOCKETS.values())} || exit 1"
# Samba uses no interface without broadcasts, which those of the line are; the server is alone in its namespace.
CONFIG = """[global]
  server role = standalone server
  disable netbios = yes
  smb ports = {port}
{folders}
  map to guest = Bad User
  guest account = root
  server min protocol = SMB2
  load printers = no
[{share}]
  path = {data}
  read only = no
  guest ok = yes
  force user = root
  strict sync = {strict_sync}
  sync always = {sync_always}
"""


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
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


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration with one share, all folders of the server in its own directory."""
    host.run(["mkdir", "--", *(instance.path(name) for name in FOLDERS.values())])
    folders = {name: instance.path(folder) for name, folder in FOLDERS.items()} | SOCKETS
    values = {"port": PORT, "data": instance.data}
    switches = {name: _word(instance.knobs[name]) for name in SWITCHES}
    host.write(instance.path("smb.conf"), CONFIG.format(folders=_lines(folders), share=SHARE, **values, **switches))
    rclone_client.configure(host, instance, {"type": "smb", "host": instance.address, "user": "guest"})


def _lines(folders: Mapping[str, str]) -> str:
    return "\n".join(f"  {name} = {path}" for name, path in folders.items())


def _word(value: Value) -> str:
    return "yes" if value else "no"


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground."""
    return (DAEMON, "-F", "--no-process-group", "--debug-stdout", "-s", instance.path("smb.conf"))


def mount(host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the kernel's client, or rclone."""
    if IN_KERNEL.used(host, instance.knobs) == RCLONE:
        return rclone_client.mount(instance, point, word, SHARE)
    source = f"//{instance.address}/{SHARE}"
    version, more = str(instance.knobs["version"]), text(instance.knobs, "mount_options")
    # With a connection of its own each client has a cache of its own (nosharesock in mount.cifs(8)).
    options = ("guest", "nosharesock", *([] if version == "default" else [f"vers={version}"]), *([more] if more else []))
    argv = ("mount", "-t", "cifs", "-o", ",".join(options), source, point)
    return MountPlan(name="mount.cifs", argv=argv, filesystem="cifs", source=source, stays=False)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return the switches of the share as Samba reads them, and which client is used."""
    used = IN_KERNEL.used(host, instance.knobs)
    read = ((name, _word(instance.knobs[name]), _parameter(host, instance, name.replace("_", " "))) for name in SWITCHES)
    return (*read, ("client", used, used))


def _parameter(host: Host, instance: FileInstance, name: str) -> str:
    argv = ("testparm", "-s", f"--section-name={SHARE}", f"--parameter-name={name}", instance.path("smb.conf"))
    return host.run(argv, check=False).stdout.strip().lower() or "not shown"


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the server."""
    match = re.search(r"Version (\S+)", host.run([DAEMON, "-V"], check=False).stdout)
    return f"Samba {match[1]}" if match else "Samba"


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount for one client."""
    end = file_server.attach(SOFTWARE, host, setting, place, client)
    if end.details["filesystem"] != rclone_client.FILESYSTEM:
        return end
    instance = file_server.instance_of(host, setting, place)
    return replace(end, details={**end.details, **rclone_client.details(instance, end.address, SHARE)})


def flush(host: Host, endpoint: Endpoint) -> int | None:
    """Wait for a client that sends files after their close."""
    return rclone_client.flush(host, endpoint) if endpoint.details["filesystem"] == rclone_client.FILESYSTEM else None


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, "testparm"),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=lambda instance: SETUP,
    lacks=lacks,
    kernel=IN_KERNEL,
)
SERVED = file_server.target(
    "smb_samba",
    SOFTWARE,
    choice("client", "what mounts it: the kernel, or rclone (FUSE); auto: the kernel where it can", AUTO, KERNEL, RCLONE),
    choice(
        "version",
        "version of SMB of the kernel's client; default: the highest that mount.cifs and the server agree on",
        *VERSIONS,
    ),
    Knob(name="mount_options", kind=KnobKind.TEXT, help="further options of the kernel's client, as for mount.cifs -o"),
    replace(switch("strict_sync", "a client's flush reaches the server's storage (strict sync)"), default=True),
    switch("sync_always", "each write is flushed before it is answered (sync always)"),
)
TARGET = replace(SERVED, attach=attach, flush=flush)

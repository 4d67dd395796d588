"""A fresh NBD server (qemu-storage-daemon) in a network namespace, and its disk with a file system at the clients.

The client is nbdfuse: it shows the disk as a file (FUSE), on which a loop device and the file system lie. It does not connect
again to a server that was killed; with `reconnect` QEMU's driver for NBD is between both, which does.
The image is written in full for each trial, in the experiment's scratch directory or on the target that `on` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Unit
from assay.machine import disk_client
from assay.machine.disk_client import DIRECT, QEMU
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.machine.power import CLIENT, HONOURED, IGNORED
from assay.records import Action, Value
from assay.settings.knobs import choice

PORT, EXPORT = 10809, "disk"
RECONNECT = "reconnect"
NS_PER_S = 1_000_000_000


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground."""
    knobs = instance.knobs
    direct, ignores = knobs["server_cache"] == DIRECT, knobs["flush"] == IGNORED
    disk = (
        f"driver=file,node-name=file,filename={_value(disk_client.image_of(instance))}"
        f",cache.direct={'on' if direct else 'off'},cache.no-flush={'on' if ignores else 'off'}"
    )
    return (
        QEMU,
        *("--blockdev", disk),
        *("--nbd-server", f"addr.type=inet,addr.host={instance.address},addr.port={PORT}"),
        *("--export", f"type=nbd,id=nbd,node-name=file,name={EXPORT},writable=on"),
    )


def mount(_host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the client, with QEMU's driver for NBD where it is to wait for a lost server."""
    wait_ns = instance.knobs.get(RECONNECT)
    if not isinstance(wait_ns, int):
        return disk_client.plan(point, word, f"nbd://{instance.address}:{PORT}/{EXPORT}")
    server = f"server.type=inet,server.host={instance.address},server.port={PORT},export={EXPORT}"
    driver = f"driver=nbd,{server},reconnect-delay={-(-wait_ns // NS_PER_S)}"
    return disk_client.plan(point, word, *disk_client.bridge(driver))


def _lost(knobs: Mapping[str, Value]) -> tuple[str, str] | None:
    """A client that does not connect again measures nothing after a kill: neither a time of recovery nor what was kept."""
    if knobs.get(RECONNECT) is not None:
        return None
    return "has a client that does not connect again", f'{RECONNECT} = "60 s" in its table: the time that its client waits'


def _value(path: str) -> str:
    """Return a path as qemu takes it among options: commas are doubled."""
    return path.replace(",", ",,")


SOFTWARE = FileSoftware(
    name=QEMU,
    tools=lambda knobs: (QEMU, CLIENT, *disk_client.tools(knobs)),
    ports=(PORT,),
    configure=disk_client.configure,
    program=program,
    mount=mount,
    settings=lambda host, instance: (
        ("server_cache", str(instance.knobs["server_cache"]), disk_client.cache_found(host, instance)),
    ),
    version=lambda host, instance: disk_client.versions(host),
    check=disk_client.check,
)
SERVED = disk_client.target(
    "nbd",
    SOFTWARE,
    choice("flush", "whether the server flushes its image when a client asks for it", HONOURED, IGNORED),
    Knob(
        name=RECONNECT,
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        low=NS_PER_S,
        help="how long the client waits for a lost server",
    ),
    flush=lambda knobs: str(knobs["flush"]),
)
KILL = SERVED.events[Action.KILL]
TARGET = replace(SERVED, events={**SERVED.events, Action.KILL: replace(KILL, unsuited=_lost)})

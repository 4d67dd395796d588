"""A fresh NBD server (qemu-storage-daemon) in a network namespace, and its disk with a file system at the clients.

The client is nbdfuse: it shows the disk as a file (FUSE), on which a loop device and the file system lie.
The image is written in full for each trial, in the experiment's scratch directory or on the target that `on` names.
"""

from __future__ import annotations

from assay.catalogue import Host
from assay.machine import disk_client
from assay.machine.disk_client import DIRECT, QEMU
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.power import CLIENT, HONOURED, IGNORED
from assay.settings.knobs import choice

PORT, EXPORT = 10809, "disk"


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


def _value(path: str) -> str:
    """Return a path as qemu takes it among options: commas are doubled."""
    return path.replace(",", ",,")


SOFTWARE = FileSoftware(
    name=QEMU,
    tools=lambda knobs: (QEMU, CLIENT, *disk_client.tools(knobs)),
    ports=(PORT,),
    configure=disk_client.configure,
    program=program,
    mount=lambda host, instance, point, word: disk_client.plan(point, word, f"nbd://{instance.address}:{PORT}/{EXPORT}"),
    settings=lambda host, instance: (
        ("server_cache", str(instance.knobs["server_cache"]), disk_client.cache_found(host, instance)),
    ),
    version=lambda host, instance: disk_client.versions(host),
    check=disk_client.check,
)
TARGET = disk_client.target(
    "nbd",
    SOFTWARE,
    choice("flush", "whether the server flushes its image when a client asks for it", HONOURED, IGNORED),
    flush=lambda knobs: str(knobs["flush"]),
)

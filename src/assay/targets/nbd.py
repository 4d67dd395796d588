"""A fresh NBD server (qemu-storage-daemon) in a network namespace, and its disk with a file system at the clients.

The client is nbdfuse: it shows the disk as a file (FUSE), on which a loop device and the file system lie.
The image is written in full for each trial, in the experiment's scratch directory or on the target that `on` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Setting
from assay.errors import TrialError
from assay.machine import disk_client, file_server, server, service
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import IN_MEMORY, REACHED, MountPlan
from assay.records import Endpoint, Place, ServerNode, Value
from assay.settings.knobs import choice

DAEMON, CLIENT = "qemu-storage-daemon", "nbdfuse"
PORT, EXPORT, FILE = 10809, "disk", "nbd"
DIRECT, PAGE_CACHE = "direct", "page_cache"
HONOURED, IGNORED = "honoured", "ignored"
O_DIRECT = 0o40000
"""Of the flags in /proc/PID/fdinfo (x86 and most others; proc_pid_fdinfo(5) gives them in octal)."""


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground."""
    knobs = instance.knobs
    direct, ignores = knobs["server_cache"] == DIRECT, knobs["flush"] == IGNORED
    disk = (
        f"driver=file,node-name=file,filename={_value(disk_client.image_of(instance))}"
        f",cache.direct={'on' if direct else 'off'},cache.no-flush={'on' if ignores else 'off'}"
    )
    return (
        DAEMON,
        *("--blockdev", disk),
        *("--nbd-server", f"addr.type=inet,addr.host={instance.address},addr.port={PORT}"),
        *("--export", f"type=nbd,id=nbd,node-name=file,name={EXPORT},writable=on"),
    )


def _value(path: str) -> str:
    """Return a path as qemu takes it among options: commas are doubled."""
    return path.replace(",", ",,")


def mount(_host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the client, which shows the server's disk as a file."""
    argv = (CLIENT, "-o", f"fsname={word}", point, f"nbd://{instance.address}:{PORT}/{EXPORT}")
    return MountPlan(name=CLIENT, argv=argv, filesystem=f"fuse.{CLIENT}", source=word, file=FILE)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return how the running server has its image open."""
    wanted = str(instance.knobs["server_cache"])
    node = ServerNode(pid_file=instance.path("pid"))
    stored = disk_client.image_of(instance)
    flags = [
        int(match[1], 8)
        for pid in server.pids(host, (node,))
        for name in host.list(f"/proc/{pid}/fd")
        if _leads_to(host, f"/proc/{pid}/fd/{name}", stored)
        and (match := re.search(r"^flags:\s*(\d+)", _text(host, f"/proc/{pid}/fdinfo/{name}"), re.MULTILINE))
    ]
    found = (DIRECT if all(one & O_DIRECT for one in flags) else PAGE_CACHE) if flags else "not open"
    return (("server_cache", wanted, found),)


def _leads_to(host: Host, link: str, path: str) -> bool:
    try:
        return host.real_path(link) == path
    except OSError:
        return False


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Give a client the disk; what a flush does at the server is held against the knob. Raises TrialError."""
    end = disk_client.attach(SOFTWARE, host, setting, place, client)
    seen, flush = end.details.get("fsync"), setting.knobs["flush"]
    if seen in (REACHED, IN_MEMORY) and setting.knobs["server_cache"] == PAGE_CACHE:
        try:
            service.require("flush", str(flush), HONOURED if seen == REACHED else IGNORED)
        except TrialError:
            disk_client.detach(host, setting, end)
            raise
    return end


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of both ends."""
    server_end = host.run([DAEMON, "--version"]).stdout.partition("\n")[0].removeprefix("qemu-storage-daemon version ").strip()
    return f"QEMU {server_end}, {host.run([CLIENT, '--version'], check=False).stdout.strip()}"


def seconds(knobs: Mapping[str, Value]) -> tuple[float, float]:
    """Guess how long a trial takes for it: its image is written in full. A size that a factor sets may not be known yet."""
    size = knobs.get("size")
    return 0.0, file_server.GUESS_S + (size if isinstance(size, int) else 0) / 200e6


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, CLIENT),
    ports=(PORT,),
    configure=disk_client.configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    check=disk_client.check,
)
SERVED = file_server.target(
    "nbd",
    SOFTWARE,
    *disk_client.KNOBS,
    choice("server_cache", "how the server writes its image: past the page cache, or into it", DIRECT, PAGE_CACHE),
    choice("flush", "whether the server flushes its image when a client asks for it", HONOURED, IGNORED),
)
TARGET = replace(
    SERVED, attach=attach, detach=disk_client.detach, facts=disk_client.facts, seconds=seconds, mounts_each=lambda knobs: False
)

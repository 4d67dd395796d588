"""A kernel's mount of an AFS volume (kAFS): its cell, its encryption as the connections have it, and what keeps it from mounting.

One kernel has one client of a cell in each network namespace: all mounts of a volume there have one cache, and one connection.
With a key of rxrpc for the cell the kernel encrypts everything it sends (rxkad: fcrypt); without one it sends in the clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind
from assay.errors import RefusedError
from assay.machine import mounted
from assay.machine.afs_files import OWN
from assay.machine.mount_options import MountOptions
from assay.machine.mounted import KERNEL, KernelClient, MountPlan
from assay.records import Value
from assay.settings.knobs import text

FILESYSTEM = "afs"
CACHES = "/proc/fs/fscache/caches"
IN_KERNEL = KernelClient(filesystem=FILESYSTEM, helper="", package="", otherwise=KERNEL)
CLEAR, FCRYPT, ANY = "clear", "fcrypt", "any"
NAME = re.compile(r"[A-Za-z0-9._-]{1,256}")
"""A cell or a volume; mount(8) takes `%CELL:VOLUME`."""
OPTIONS = MountOptions(
    numbers=frozenset(),
    words={"flock": ("local", "openafs", "strict", "write")},
    own={"source": "", "dyn": "", "autocell": ""},
)
"""Options of mount.afs whose values are known beforehand, and those that are Assay's."""
MOUNT_OPTIONS = Knob(
    name="mount_options", kind=KnobKind.TEXT, help="further options of the kernel's client, such as flock=openafs"
)
ABSENT = (
    f"{mounted.FILESYSTEMS} has no {FILESYSTEM}: this kernel has no AFS client (modprobe kafs). Load it; "
    "the guest of `make long` has it."
)
OTHER = (
    f"{OWN} does not exist: the AFS client of this kernel is that of OpenAFS, which holds files back after their close. "
    "Unload it and load kafs."
)
ONE = (
    "whose two mounts are one client of AFS: all mounts of one network namespace have one cache",
    "a target afs_openafs without `through`, where each client has a namespace of its own",
)
"""Why two clients on one host are one, and what to use instead."""
ADD = 'grep -qw -e "$1" /proc/self/net/afs/cells || echo "add $1 $2" > /proc/self/net/afs/cells'


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps this kernel from mounting, and options that cannot be meant."""
    if not mounted.in_kernel(host, FILESYSTEM):
        return (ABSENT,)
    return (*(() if host.exists(f"{OWN}/cells") else (OTHER,)), *OPTIONS.mistakes(text(knobs, "mount_options")))


def plan(cell: str, volume: str, more: str, point: str) -> MountPlan:
    """Return the mount of a volume, which may be written (%)."""
    source = f"%{cell}:{volume}"
    options = ("-o", more) if more else ()
    return MountPlan(
        name="mount", argv=("mount", "-t", FILESYSTEM, *options, source, point), filesystem=FILESYSTEM, source=source, stays=False
    )


def add_cell(host: Host, namespace: str, cell: str, addresses: str) -> None:
    """Tell the kernel of a cell in a network namespace. Raises TrialError."""
    host.run(["nsenter", f"--net={namespace}", "--", "sh", "-c", ADD, "sh", cell, addresses])


def encryption(host: Host, namespace: str) -> str:
    """Return how the kernel sends to file servers from a network namespace, by its connections; empty without one."""
    table = host.run(["nsenter", f"--net={namespace}", "--", "cat", "/proc/self/net/rxrpc/conns"], check=False).stdout
    return " and ".join(sorted({FCRYPT if int(key, 16) else CLEAR for key in keys(table)}))


def keys(table: str) -> Iterator[str]:
    """Yield the key of each connection of a client to a file server (service 1); 00000000 is none."""
    rows = [line.split() for line in table.splitlines()]
    heads = rows[0] if rows else []
    if not {"SvID", "End", "Key"} <= set(heads):
        return
    service, end, key = (heads.index(name) for name in ("SvID", "End", "Key"))
    for row in rows[1:]:
        if len(row) == len(heads) and row[service] == "1" and row[end] == "Clt":
            yield row[key]


def caches(host: Host) -> tuple[str, ...]:
    """Return the names of the caches on this client's disk (fscache): there a file may be after it left the memory.

    A mount of AFS makes an entry of a cache that is not there (state -).
    """
    try:
        rows = host.read(CACHES).splitlines()[2:]
    except OSError:
        return ()
    return tuple(match[1] for row in rows if (match := re.search(r"\s[^-\s] (\S+)$", row)))


def refuse_disk_cache(host: Host) -> None:
    """Raise RefusedError where the kernel's clients have a cache on a disk."""
    if found := caches(host):
        raise RefusedError(
            f"the kernel keeps files of network clients on a disk of this machine (fscache: {', '.join(found)}); end cachefilesd."
        )

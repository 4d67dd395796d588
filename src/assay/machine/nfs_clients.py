"""A client's mount of an NFSv3 server: by the kernel, or by assay-nfs (FUSE over libnfs) where the kernel has no client.

Two clients of one kernel have one cache unless they ask for their own (nosharecache in nfs(5)): each would see at once what the
other one did, and read what the other one has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.catalogue import Host, Unit
from assay.machine.mounted import AUTO, KERNEL, KernelClient, MountPlan
from assay.records import Value
from assay.settings.knobs import choice, integer, quantity

CLIENT = Path(__file__).parent.parent / "bin" / "assay-nfs"
FUSE = "fuse"
IN_KERNEL = KernelClient(filesystem="nfs", helper="/sbin/mount.nfs", package="nfs-common", otherwise=FUSE)
KNOBS = (
    choice("client", "what mounts it: the kernel, or assay-nfs (FUSE); auto: the kernel where it can", AUTO, KERNEL, FUSE),
    quantity("attribute_cache", "how long a client may keep attributes and names", Unit.NANOSECONDS, 0, (0, None)),
)
"""Knobs of every target that NFS clients mount."""


def mistakes(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps the clients from mounting."""
    if IN_KERNEL.used(host, knobs) == FUSE and not host.exists(str(CLIENT)):
        return (f"assay-nfs: not found at {CLIENT}. Install libnfs-dev, libfuse3-dev and gcc, and run `make clients`.",)
    return IN_KERNEL.mistakes(host, knobs)


def plan(host: Host, knobs: Mapping[str, Value], source: tuple[str, str], point: str, word: str, ports: str = "") -> MountPlan:
    """Return the mount of a source (address, path), by assay-nfs under a name of its own in the mount table.

    `ports` are further options of the kernel's client: the ports of a server that no rpcbind is asked for.
    """
    seconds = integer(knobs, "attribute_cache") / 1e9
    address, path = source
    if IN_KERNEL.used(host, knobs) == FUSE:
        argv = (str(CLIENT), f"nfs://{address}{path}", point, f"{seconds:g}", f"fsname={word},subtype=assay-nfs,allow_other")
        return MountPlan(name="assay-nfs", argv=argv, filesystem="fuse.assay-nfs", source=word)
    cache = "noac" if not seconds else f"acregmin={seconds:g},acregmax={seconds:g},acdirmin={seconds:g},acdirmax={seconds:g}"
    options = f"vers=3,tcp,nolock,nosharecache,{ports}{cache}"
    words = ("mount", "-t", "nfs", "-o", options, f"{address}:{path}", point)
    return MountPlan(name="mount.nfs", argv=words, filesystem="nfs", source=f"{address}:{path}", stays=False)

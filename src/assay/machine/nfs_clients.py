"""A client's mount of an NFS server: by the kernel, or by assay-nfs (FUSE over libnfs) where the kernel has no client.

The kernel mounts as mount.nfs does by default, with what the knobs add. Two clients of one kernel have one cache unless they ask
for their own (nosharecache in nfs(5)): each would see at once what the other one did, and read what the other one has read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.catalogue import Host, Knob, KnobKind, Unit
from assay.machine.mount_options import MountOptions
from assay.machine.mounted import AUTO, KERNEL, KernelClient, MountPlan
from assay.records import Value
from assay.settings.knobs import choice, integer, quantity, text

CLIENT = Path(__file__).parent.parent / "bin" / "assay-nfs"
FUSE = "fuse"
IN_KERNEL = KernelClient(filesystem="nfs", helper="/sbin/mount.nfs", package="nfs-common", otherwise=FUSE)
VERSIONS = ("default", "3", "4", "4.0", "4.1", "4.2")
KNOBS = (
    choice("client", "what mounts it: the kernel, or assay-nfs (FUSE); auto: the kernel where it can", AUTO, KERNEL, FUSE),
    choice(
        "version", "version of NFS of the kernel's client; default: the highest that mount.nfs and the server agree on", *VERSIONS
    ),
    Knob(name="mount_options", kind=KnobKind.TEXT, help="further options of the kernel's client, as for mount.nfs -o"),
    quantity(
        "attribute_cache",
        "how long a client may keep attributes and names; default: as mount.nfs",
        Unit.NANOSECONDS,
        None,
        (0, None),
    ),
)
"""Knobs of every target that NFS clients mount."""
OPTIONS = MountOptions(
    numbers=frozenset(
        (
            *("rsize", "wsize", "bsize", "timeo", "retrans", "retry", "nconnect", "max_connect", "minorversion", "namlen"),
            *("acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo"),
        )
    ),
    words={"lookupcache": ("all", "none", "pos", "positive"), "local_lock": ("all", "flock", "posix", "none")},
    own={
        "vers": "version",
        "nfsvers": "version",
        "v3": "version",
        "v4": "version",
        "v4.1": "version",
        "v4.2": "version",
        **dict.fromkeys(("port", "mountport", "addr", "clientaddr", "nosharecache", "sharecache", "bg", "fg"), ""),
    },
)
"""Options of nfs(5) whose values are known beforehand, and those that are Assay's."""
ATTRIBUTES = ("acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "noac", "ac")
ONE = (
    "whose server takes both mounts of the kernel for one client of NFSv4 and recalls no delegation between them",
    'version = "3", or client = "fuse"',
)
SECOND_NS = 1_000_000_000


def mistakes(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps the clients from mounting."""
    if IN_KERNEL.used(host, knobs) == FUSE:
        absent = f"assay-nfs: not found at {CLIENT}. Install libnfs-dev, libfuse3-dev and gcc, and run `make clients`."
        return (*(() if host.exists(str(CLIENT)) else (absent,)), *_of_kernel(knobs))
    return (*IN_KERNEL.mistakes(host, knobs), *_wrong_options(knobs))


def _of_kernel(knobs: Mapping[str, Value]) -> Iterator[str]:
    """Yield the knobs that only the kernel's client has, and that assay-nfs would pass by in silence."""
    if text(knobs, "version") not in ("", "default", "3"):
        yield f"found version {knobs['version']} with client = {FUSE}; expected 3, the only one of assay-nfs"
    if text(knobs, "mount_options"):
        yield f"found mount_options with client = {FUSE}; they are those of the kernel's client"


def _wrong_options(knobs: Mapping[str, Value]) -> Iterator[str]:
    yield from OPTIONS.mistakes(text(knobs, "mount_options"))
    kept_ns = knobs.get("attribute_cache")
    if isinstance(kept_ns, int) and kept_ns % SECOND_NS:
        yield f"found attribute_cache of {kept_ns / SECOND_NS:g} s; the kernel's client takes whole seconds (nfs(5))"
    twice = [word for word in OPTIONS.names(text(knobs, "mount_options")) if word in ATTRIBUTES]
    if kept_ns is not None and twice:
        yield f"found attribute_cache and mount_options with {twice[0]}; expected one of them"


def plan(host: Host, knobs: Mapping[str, Value], source: tuple[str, str], point: str, word: str, needed: str = "") -> MountPlan:
    """Return the mount of a source (address, path), by assay-nfs under a name of its own in the mount table.

    `needed` are options that the server needs of the kernel's client: its ports where no rpcbind is asked for them.
    """
    kept_ns = knobs.get("attribute_cache")
    address, path = source
    if IN_KERNEL.used(host, knobs) == FUSE:
        seconds = integer(knobs, "attribute_cache") / SECOND_NS
        argv = (str(CLIENT), f"nfs://{address}{path}", point, f"{seconds:g}", f"fsname={word},subtype=assay-nfs,allow_other")
        return MountPlan(name="assay-nfs", argv=argv, filesystem="fuse.assay-nfs", source=word)
    version = text(knobs, "version") or "default"
    options = [
        *([] if version == "default" else [f"vers={version}"]),
        "nosharecache",
        *filter(None, (needed, text(knobs, "mount_options"), _attributes(kept_ns))),
    ]
    words = ("mount", "-t", "nfs", "-o", ",".join(options), f"{address}:{path}", point)
    return MountPlan(name="mount.nfs", argv=words, filesystem="nfs", source=f"{address}:{path}", stays=False)


def one_client(knobs: Mapping[str, Value]) -> tuple[str, str] | None:
    """Return why a server of NFSv4 takes all mounts of the kernel on one host for one client, which have one name and lease.

    Then a delegation of one mount is not recalled for what the other one writes, whatever nosharecache says.
    """
    return ONE if text(knobs, "version") != "3" and text(knobs, "client") != FUSE else None


def _attributes(kept_ns: Value) -> str:
    """Return how long attributes are kept. With 0 they are asked for each time; `noac` would make each write wait, too."""
    if not isinstance(kept_ns, int):
        return ""
    return f"actimeo={kept_ns // SECOND_NS}" if kept_ns else "actimeo=0,lookupcache=none"

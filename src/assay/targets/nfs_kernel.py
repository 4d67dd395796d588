"""A fresh NFS server of the kernel (knfsd) in a network namespace; each client mounts it by the kernel, or by a client of Assay.

The server's threads are the kernel's. They serve this namespace alone, and end with the mount of their control files, which only
the server's own processes have: a server of yours on this machine keeps its threads, exports and ports. The threads are moved
into the server's control group, so that their I/O and CPU time are counted.
Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Setting
from assay.errors import RefusedError
from assay.machine import cgroups, file_server, mounted, nfs_clients, service
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Place, Value
from assay.settings.knobs import choice, switch

DAEMON = "rpc.mountd"
PORT, MOUNT_PORT = 2049, 20048
CONTROL = "/proc/fs/nfsd"
ETAB = "/var/lib/nfs/etab"
NAME = "nfsd"
"""What the kernel calls them."""
GRACE_S = 10
"""The shortest time in which a new server of NFSv4 lets clients claim their older locks alone; then it serves new ones."""
END_OF_GRACE = f"echo Y > {CONTROL}/v4_end_grace 2>/dev/null || sleep {GRACE_S + 1}"
"""In a namespace without nfsdcld the kernel refuses to end it at once, and nothing tells that it is over."""
SYNC, ASYNC = "sync", "async"
SETUP = """mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p -m 755 /run/rpcbind /var/run/rpcbind || exit 1
mount -t tmpfs tmpfs /var/lib/nfs && mkdir -p /var/lib/nfs/sm /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs || exit 1
: > /var/lib/nfs/etab && : > /var/lib/nfs/rmtab || exit 1
rpcbind -f -w -h {address} &
until [ -S /run/rpcbind.sock ]; do kill -0 "$!" || exit 1; sleep 0.01; done
mount -t nfsd nfsd {control} || exit 1
exportfs -i -o {options} {export} || exit 1
rpc.nfsd --host {address} --no-udp --no-nfs-version {other} --grace-time {grace} --lease-time {grace} {threads} || exit 1
{end_of_grace}
"""
"""All that it writes is seen by itself alone.

Only the version in use is offered: beside NFSv3 the kernel starts lockd, whose own grace period keeps NFSv4 waiting.
"""


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps this kernel from serving, and the clients from mounting."""
    if not mounted.in_kernel(host, NAME):
        return (f"{mounted.FILESYSTEMS} has no {NAME}: {ABSENT}",)
    old = () if is_old(knobs) or nfs_clients.IN_KERNEL.used(host, knobs) == mounted.KERNEL else (OLD,)
    return (*old, *nfs_clients.mistakes(host, knobs))


OLD = "assay-nfs speaks NFSv3 alone. Set version = 3, or use client = kernel."
ABSENT = "this kernel has no NFS server (modprobe nfsd). Load it, or use nfs_ganesha; the guest of `make long` has it."


def program(_host: Host, _instance: FileInstance) -> tuple[str, ...]:
    """Return mountd in the foreground: it answers the kernel's questions about exports, and NFSv3 mounts."""
    return (DAEMON, "--foreground", "--port", str(MOUNT_PORT))


def setup(instance: FileInstance) -> str:
    """Return the lines that export the data and start the threads."""
    return SETUP.format(
        address=shlex.quote(instance.address),
        control=CONTROL,
        options=",".join(options(instance.knobs)),
        export=shlex.quote(f"*:{instance.data}"),
        grace=GRACE_S,
        end_of_grace="" if is_old(instance.knobs) else END_OF_GRACE,
        other=4 if is_old(instance.knobs) else 3,
        threads=instance.knobs["threads"],
    )


def options(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the options of the export (exports(5)); it is the root of NFSv4."""
    gathers = "wdelay" if knobs["gather"] else "no_wdelay"
    return ("rw", str(knobs["export"]), gathers, "no_root_squash", "no_subtree_check", "insecure", "fsid=0")


def mount(host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the kernel's client, or assay-nfs."""
    old = is_old(instance.knobs)
    needed = f"tcp,port={PORT}" + (f",nolock,mountport={MOUNT_PORT}" if old else "")
    return nfs_clients.plan(host, instance.knobs, (instance.address, instance.data if old else "/"), point, word, needed)


def is_old(knobs: Mapping[str, Value]) -> bool:
    """Return whether NFSv3 is used."""
    return knobs.get("version") == "3"


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return which client is used, the export as the server has it, and its number of threads."""
    used = nfs_clients.IN_KERNEL.used(host, instance.knobs)
    root = f"/proc/{service.pid_of(host, instance.directory)}/root"
    exported = exported_options(host.read(f"{root}{ETAB}"))
    wanted = str(instance.knobs["export"])
    other = ASYNC if wanted == SYNC else SYNC
    gathers = "yes" if "wdelay" in exported else "no"
    return (
        ("client", used, used),
        ("export", wanted, wanted if wanted in exported else other if other in exported else "unknown"),
        ("gather", "yes" if instance.knobs["gather"] else "no", gathers),
        ("threads", str(instance.knobs["threads"]), host.read(f"{root}{CONTROL}/threads").strip()),
    )


def exported_options(etab: str) -> frozenset[str]:
    """Return the options of the one export of a table of mountd; empty where it has none."""
    match = re.search(r"\(([^()]*)\)\s*$", etab, re.MULTILINE)
    return frozenset(match[1].split(",")) if match else frozenset()


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the kernel, which is the server."""
    return f"knfsd of Linux {host.read('/proc/sys/kernel/osrelease').strip()}"


def prepare(host: Host, setting: Setting) -> Place:
    """Start the server, and have its threads counted as the server's processes."""
    before = threads(host)
    place = SERVED.prepare(host, setting)
    group = place.server.nodes[0].cgroup if place.server else None
    own = [pid for pid in threads(host) if pid not in before]
    # More: another server was started meanwhile, whose threads are not ours to move.
    is_sure = len(own) == setting.knobs["threads"]
    for pid in own if group and is_sure else ():
        with contextlib.suppress(OSError, RefusedError):  # then the server's storage reads are not known
            cgroups.put(host, posixpath.join(str(group), "cgroup.procs"), pid)
    return place


def threads(host: Host) -> tuple[str, ...]:
    """Return the kernel's threads that serve NFS on this machine."""
    return tuple(pid for pid in host.list("/proc") if pid.isdigit() and _name(host, pid) == NAME)


def _name(host: Host, pid: str) -> str:
    try:
        return host.read(f"/proc/{pid}/comm").strip()
    except OSError:
        return ""


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, "rpc.nfsd", "exportfs", "rpcbind"),
    ports=(PORT, MOUNT_PORT),
    configure=lambda host, instance: None,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=setup,
    lacks=lacks,
    kernel=nfs_clients.IN_KERNEL,
)
SERVED = file_server.target(
    "nfs_kernel",
    SOFTWARE,
    choice("export", "whether the server answers a COMMIT and a stable write after it has stored them (exports(5))", SYNC, ASYNC),
    replace(switch("gather", "a stable write waits a little for the next one (wdelay)"), default=True),
    Knob(name="threads", kind=KnobKind.INTEGER, low=1, high=1024, default=8, help="threads of the kernel that serve"),
    *nfs_clients.KNOBS,
)
TARGET = replace(
    SERVED,
    prepare=prepare,
    events={},
    one_client=nfs_clients.one_client,
    seconds=lambda knobs: (0.0, file_server.GUESS_S + (0 if is_old(knobs) else GRACE_S)),
)

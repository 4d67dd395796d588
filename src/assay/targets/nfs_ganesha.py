"""A fresh NFS server (NFS-Ganesha, NFSv3) in a network namespace; each client mounts it by the kernel, or by a client of Assay.

Without a client in the kernel, assay-nfs does it (FUSE over libnfs, `make clients`). Close and fsync send a COMMIT in both.
Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from assay.catalogue import Host, Setting, Unit
from assay.machine import file_server
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import AUTO, KERNEL, KernelClient, MountPlan
from assay.settings.knobs import choice, integer, quantity

DAEMON, CLIENT = "ganesha.nfsd", Path(__file__).parent.parent / "bin" / "assay-nfs"
PORT, MOUNT_PORT = 2049, 20048
FUSE = "fuse"
IN_KERNEL = KernelClient(filesystem="nfs", helper="/sbin/mount.nfs", package="nfs-common", otherwise=FUSE)
CONFIG = """NFS_CORE_PARAM {{
  Protocols = 3; NFS_Port = {port}; MNT_Port = {mount_port}; Bind_addr = {address};
  Enable_NLM = false; Enable_RQUOTA = false;
}}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSv4 {{ RecoveryRoot = {recovery}; }}
EXPORT {{
  Export_Id = 1; Path = {data}; Pseudo = /data; Access_Type = RW; Squash = No_Root_Squash;
  Protocols = 3; Transports = TCP; SecType = sys; PrivilegedPort = false;
  FSAL {{ Name = VFS; }}
}}
"""
SETUP = """mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p -m 755 /run/rpcbind /run/ganesha /var/run/ganesha || exit 1
rpcbind -f -w -h {address} &
until [ -S /run/rpcbind.sock ]; do kill -0 "$!" || exit 1; sleep 0.01; done"""
"""rpcbind has its socket below /run: this one is seen by this server alone."""


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what keeps the clients from mounting."""
    if IN_KERNEL.used(host, setting.knobs) == FUSE and not host.exists(str(CLIENT)):
        return (f"assay-nfs: not found at {CLIENT}. Install libnfs-dev, libfuse3-dev and gcc, and run `make clients`.",)
    return IN_KERNEL.mistakes(host, setting.knobs)


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration with one export."""
    recovery = instance.path("recovery")
    host.run(["mkdir", "--", recovery])
    values = {"address": instance.address, "data": instance.data, "recovery": recovery, "port": PORT, "mount_port": MOUNT_PORT}
    host.write(instance.path("ganesha.conf"), CONFIG.format(**values))


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground; its messages go to its log."""
    return (DAEMON, "-F", "-p", instance.path("ganesha.pid"), "-f", instance.path("ganesha.conf"), "-L", "STDERR")


def setup(instance: FileInstance) -> str:
    """Return the lines that start rpcbind, without which NFSv3 does not start."""
    return SETUP.format(address=shlex.quote(instance.address))


def mount(host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the kernel's client, or assay-nfs under a name of its own in the mount table."""
    seconds = integer(instance.knobs, "attribute_cache") / 1e9
    if IN_KERNEL.used(host, instance.knobs) == FUSE:
        argv = (
            str(CLIENT),
            f"nfs://{instance.address}{instance.data}",
            point,
            f"{seconds:g}",
            f"fsname={word},subtype=assay-nfs,allow_other",
        )
        return MountPlan(name="assay-nfs", argv=argv, filesystem="fuse.assay-nfs", source=word)
    source = f"{instance.address}:{instance.data}"
    cache = "noac" if not seconds else f"acregmin={seconds:g},acregmax={seconds:g},acdirmin={seconds:g},acdirmax={seconds:g}"
    options = f"vers=3,tcp,nolock,mountport={MOUNT_PORT},port={PORT},{cache}"
    words = ("mount", "-t", "nfs", "-o", options, source, point)
    return MountPlan(name="mount.nfs", argv=words, filesystem="nfs", source=source, stays=False)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return which client is used."""
    used = IN_KERNEL.used(host, instance.knobs)
    return (("client", used, used),)


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the server."""
    done = host.run([DAEMON, "-v"], check=False)
    match = re.search(r"V?(\d+\.\d+\S*)", done.stdout + done.stderr)
    return f"NFS-Ganesha {match[1]}" if match else "NFS-Ganesha"


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, "rpcbind"),
    ports=(PORT, MOUNT_PORT),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=setup,
    check=check,
)
TARGET = file_server.target(
    "nfs_ganesha",
    SOFTWARE,
    choice("client", "what mounts it: the kernel, or assay-nfs (FUSE); auto: the kernel where it can", AUTO, KERNEL, FUSE),
    quantity("attribute_cache", "how long a client may keep attributes and names", Unit.NANOSECONDS, 0, (0, None)),
)

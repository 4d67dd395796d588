"""A fresh NFS server (NFS-Ganesha, NFSv3) in a network namespace; each client mounts it by the kernel, or by a client of Assay.

Without a client in the kernel, assay-nfs does it (FUSE over libnfs, `make clients`). Close and fsync send a COMMIT in both.
Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from assay.catalogue import Host
from assay.machine import file_server, nfs_clients
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Value

DAEMON = "ganesha.nfsd"
PORT, MOUNT_PORT = 2049, 20048
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


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps the clients from mounting."""
    version = str(knobs.get("version") or "default")
    offered = (
        () if version in ("default", "3") else (f"found version {version}; expected 3, the only one that this server offers",)
    )
    return (*nfs_clients.mistakes(host, knobs), *offered)


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
    """Return the kernel's client, or assay-nfs."""
    source = (instance.address, instance.data)
    return nfs_clients.plan(host, instance.knobs, source, point, word, f"vers=3,tcp,nolock,mountport={MOUNT_PORT},port={PORT}")


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return which client is used."""
    used = nfs_clients.IN_KERNEL.used(host, instance.knobs)
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
    lacks=lacks,
    kernel=nfs_clients.IN_KERNEL,
)
TARGET = file_server.target("nfs_ganesha", SOFTWARE, *nfs_clients.KNOBS)

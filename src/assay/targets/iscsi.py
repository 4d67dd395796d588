"""A fresh iSCSI server (tgt) in a network namespace, and its disk with a file system at the clients.

The client needs no module of the kernel: QEMU's driver (libiscsi) speaks iSCSI, and nbdfuse shows its disk as a file (FUSE).
The image is written in full for each trial, in the experiment's scratch directory or on the target that `on` names.
"""

from __future__ import annotations

from assay.catalogue import Host
from assay.machine import disk_client, external_commands, scsi_session
from assay.machine.disk_client import DIRECT, QEMU
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.power import CLIENT
from assay.machine.scsi_session import OFF, ON
from assay.settings.knobs import choice

DAEMON, ADMIN = "tgtd", "tgtadm"
PORT, SETUP_PORT = 3260, 3259
NAME, LUN = "iqn.2001-04.com.example:disk", 1
SERVE, DISK = "serve", "disk"
"""In the server's directory: the script that starts it, and a link to its image, which needs no quoting."""
CACHING_PAGE = "8:0:18:{flags}:0:0xff:0xff:0:0:0xff:0xff:0xff:0xff:0x80:0x14:0:0:0:0:0:0"
"""The caching page of tgt as it is made for each disk; its first byte has WCE (0x04) and DISC (0x10)."""
SCRIPT = """#!/bin/sh
# tgtd with a control socket of its own. It opens the port of the clients last, so that nobody finds half of it.
TGT_IPC_SOCKET=control; export TGT_IPC_SOCKET
{daemon} -f --iscsi portal={address}:{setup_port} &
server=$!
admin() {{
  {admin} --lld iscsi "$@" || {{ kill -KILL "$server"; exit 1; }}
}}
until {admin} --lld iscsi --mode system --op show >/dev/null 2>&1; do
  sleep 0.02
  kill -0 "$server" || exit 1
done
admin --mode target --op new --tid 1 --targetname {name}
admin --mode logicalunit --op new --tid 1 --lun {lun} --backing-store {disk} --bstype rdwr {flags}
admin --mode logicalunit --op update --tid 1 --lun {lun} --params mode_page={page}
admin --mode target --op bind --tid 1 --initiator-address ALL
admin --mode portal --op new --params portal={address}:{port}
wait "$server"
"""


def configure(host: Host, instance: FileInstance) -> None:
    """Write the disk, and the script that starts the server and gives it the disk."""
    disk_client.configure(host, instance)
    host.run(["ln", "-s", "--", disk_client.image_of(instance), instance.path(DISK)])
    text = SCRIPT.format(
        daemon=DAEMON,
        admin=ADMIN,
        address=instance.address,
        setup_port=SETUP_PORT,
        port=PORT,
        name=NAME,
        lun=LUN,
        disk=DISK,
        flags="--bsoflags direct" if instance.knobs["server_cache"] == DIRECT else "",
        page=CACHING_PAGE.format(flags="0x14" if instance.knobs["write_cache"] == ON else "0x10"),
    )
    host.write(instance.path(SERVE), text)


def _driver(portal: str) -> str:
    return f"driver=iscsi,transport=tcp,portal={portal},target={NAME},lun={LUN}"


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return how the running server has its image open, and what its disk says of its write cache."""
    cache = scsi_session.write_cache(host, instance.load, (instance.address, PORT), NAME, LUN)
    return (
        ("server_cache", str(instance.knobs["server_cache"]), disk_client.cache_found(host, instance)),
        ("write_cache", str(instance.knobs["write_cache"]), cache),
    )


def no_driver(host: Host) -> tuple[str, ...]:
    """Return whether QEMU lacks its driver for iSCSI, as QEMU itself says; nothing listens where it is sent to."""
    if external_commands.location(host, QEMU) is None:
        return ()
    done = host.run([QEMU, "--blockdev", f"{_driver('127.0.0.1:1')},node-name={DISK}"], check=False, timeout_s=10.0)
    return (f"{QEMU} has no driver iscsi. Install qemu-block-extra.",) if "Unknown driver" in done.stderr else ()


def version(host: Host, _instance: FileInstance) -> str:
    """Return the versions of server and client."""
    return f"tgt {host.run([ADMIN, '--version'], check=False).stdout.strip()}, {disk_client.versions(host)}"


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, ADMIN, QEMU, CLIENT, *scsi_session.TOOLS, *disk_client.tools(knobs)),
    ports=(PORT,),
    configure=configure,
    program=lambda host, instance: ("/bin/sh", instance.path(SERVE)),
    mount=lambda host, instance, point, word: disk_client.plan(
        point, word, *disk_client.bridge(_driver(f"{instance.address}:{PORT}"))
    ),
    settings=settings,
    version=version,
    lacks=lambda host, knobs: no_driver(host),
    check=disk_client.check,
)
TARGET = disk_client.target(
    "iscsi",
    SOFTWARE,
    choice("write_cache", "whether the disk may acknowledge a write before it is on stable media (WCE)", ON, OFF),
)

"""A fresh SMB server (Samba) in a network namespace; each client mounts it by the kernel, or by rclone.

Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host
from assay.machine import file_server, smb_clients
from assay.machine.file_server import FileInstance, FileSoftware
from assay.records import Value
from assay.settings.knobs import switch

DAEMON = "smbd"
PORT = 445
SWITCHES = ("strict_sync", "sync_always")
FOLDERS = {"private dir": "private", "state directory": "state", "cache directory": "cache", "pid directory": "run"}
SOCKETS = {"lock directory": "/run/samba/lock", "ncalrpc dir": "/run/samba/ncalrpc"}
"""Sockets lie below them, whose paths have at most 107 bytes (unix(7)), however long that of the scratch directory is."""
SETUP = f"mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p -m 755 {' '.join(SOCKETS.values())} || exit 1"
# Samba uses no interface without broadcasts, which those of the line are; the server is alone in its namespace.
CONFIG = """[global]
  server role = standalone server
  disable netbios = yes
  smb ports = {port}
{folders}
  map to guest = Bad User
  guest account = root
  server min protocol = SMB2
  load printers = no
[{share}]
  path = {data}
  read only = no
  guest ok = yes
  force user = root
  strict sync = {strict_sync}
  sync always = {sync_always}
"""


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration with one share, all folders of the server in its own directory."""
    host.run(["mkdir", "--", *(instance.path(name) for name in FOLDERS.values())])
    folders = {name: instance.path(folder) for name, folder in FOLDERS.items()} | SOCKETS
    values = {"port": PORT, "data": instance.data}
    switches = {name: _word(instance.knobs[name]) for name in SWITCHES}
    host.write(instance.path("smb.conf"), CONFIG.format(folders=_lines(folders), share=smb_clients.SHARE, **values, **switches))
    smb_clients.configure(host, instance)


def _lines(folders: Mapping[str, str]) -> str:
    return "\n".join(f"  {name} = {path}" for name, path in folders.items())


def _word(value: Value) -> str:
    return "yes" if value else "no"


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground."""
    return (DAEMON, "-F", "--no-process-group", "--debug-stdout", "-s", instance.path("smb.conf"))


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return the switches of the share as Samba reads them, and which client is used."""
    used = smb_clients.IN_KERNEL.used(host, instance.knobs)
    read = ((name, _word(instance.knobs[name]), _parameter(host, instance, name.replace("_", " "))) for name in SWITCHES)
    return (*read, ("client", used, used))


def _parameter(host: Host, instance: FileInstance, name: str) -> str:
    argv = ("testparm", "-s", f"--section-name={smb_clients.SHARE}", f"--parameter-name={name}", instance.path("smb.conf"))
    return host.run(argv, check=False).stdout.strip().lower() or "not shown"


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the server."""
    match = re.search(r"Version (\S+)", host.run([DAEMON, "-V"], check=False).stdout)
    return f"Samba {match[1]}" if match else "Samba"


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, "testparm"),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=smb_clients.plan,
    settings=settings,
    version=version,
    setup=lambda instance: SETUP,
    lacks=smb_clients.mistakes,
    kernel=smb_clients.IN_KERNEL,
)
SERVED = file_server.target(
    "smb_samba",
    SOFTWARE,
    *smb_clients.KNOBS,
    replace(switch("strict_sync", "a client's flush reaches the server's storage (strict sync)"), default=True),
    switch("sync_always", "each write is flushed before it is answered (sync always)"),
)
TARGET = replace(
    SERVED,
    attach=lambda host, setting, place, client: smb_clients.attach(SOFTWARE, host, setting, place, client),
    flush=smb_clients.flush,
    exchange_times=smb_clients.exchange_times,
)

"""A fresh AFS cell (OpenAFS) in a network namespace: its own servers, one volume; each client mounts it by the kernel (kAFS).

The cell has a server of each kind: protection, volume location, volumes and files. The volume is writable by everyone; it is made
with the cell and goes with it. Without `through` each client has a network namespace of its own, so it is a client of its own
to the server, with a cache of its own; with it all clients are one.
Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import base64
import posixpath
import re
import secrets
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from assay.catalogue import Host, Setting
from assay.errors import AssayError
from assay.machine import afs_clients, afs_files, afs_ticket, file_server, mounted, net_namespaces, network_pair, service
from assay.machine.afs_clients import CLEAR, FCRYPT
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.machine.net_namespaces import NETWORK
from assay.records import Endpoint, Place, Value
from assay.settings.knobs import choice, integer, number, text

CELL, VOLUME, PARTITION = "assay.example", "assay", "a"
SERVERS = "/usr/lib/openafs"
DAEMON = "fileserver"
TOOLS = ("vos", "chroot", "hostname", "sed", "grep")
CONFIG, STATE, LOGS = "etc", "var", "logs"
"""In the directory of the server: what it sees as /etc/openafs, /var/lib/openafs and /var/log/openafs."""
SCRIPT, SERVED, ROOT = "cell", "served", "root"
ENCRYPTION = "encryption"
"""In a client's directory: how its kernel sent when it was mounted."""
OWN_NETWORK = "network"
"""In an endpoint: the process that keeps a namespace of its own; 0 without one."""
SYNC = ("onclose", "always", "never")
ADMINISTRATORS, ANYONE = r"\xff\xff\xff\x34", r"\xff\xff\xff\x9b"
"""In the list of rights of a volume's root: the groups -204 and -101."""
STARTS = """#!/bin/sh
# A cell in a root of its own: the host's, with the partition /vicepa and other files of OpenAFS.
hostname server || exit 1
mount -t tmpfs tmpfs {root} || exit 1
for each in /*; do
  if [ -L "$each" ]; then cp -P "$each" {root}/; elif [ -d "$each" ]; then
    mkdir "{root}$each" && mount --rbind "$each" "{root}$each" || exit 1
  fi
done
mkdir {root}/vicepa && mount --bind {data} {root}/vicepa || exit 1
for pair in {folders}; do mount --bind "{directory}/${{pair%%:*}}" "{root}${{pair#*:}}" || exit 1; done
for name in hosts resolv.conf; do mount --bind {directory}/$name {root}/etc/$name || exit 1; done
inside() {{ chroot {root} "$@"; }}
until_done() {{ echo "waits: $*"; until "$@" >/dev/null 2>&1; do kill -0 "$!" || exit 1; sleep 0.1; done; }}
inside {servers}/ptserver &
inside {servers}/vlserver &
until_done inside vos listvldb -noauth
inside {servers}/volserver &
inside {servers}/{daemon} -p {threads} -sync {sync} &
until_done inside vos partinfo {address} {partition} -noauth
until_done sh -c 'chroot {root} vos listaddrs -noauth | grep -q .'
inside vos create {address} {partition} {volume} -maxquota 0 -noauth || exit 1
inside vos dump -id {volume} -file {directory}/dump -noauth || exit 1
LC_ALL=C sed -i 's/{administrators}/{anyone}/' {directory}/dump
inside vos restore {address} {partition} {volume} -file {directory}/dump -overwrite full -noauth || exit 1
inside vos examine {volume} -noauth > {directory}/{served}.part && mv {directory}/{served}.part {directory}/{served} || exit 1
wait "$!"
"""
"""The file server begins after the server of volume locations: it makes itself known there, and tries again after minutes."""


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for the servers, and what keeps the kernel from mounting."""
    absent = () if host.exists(posixpath.join(SERVERS, DAEMON)) else (f"{SERVERS}/{DAEMON}: not found. {INSTALL}",)
    return (*absent, *afs_clients.lacks(host, knobs))


PATIENCE_S = 240.0
"""Four servers, one after the other, and six commands of their own."""
INSTALL = "Install openafs-fileserver and openafs-dbserver."


def tools(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the programs that these knobs need."""
    return (*TOOLS, *(afs_ticket.TOOLS if knobs["encryption"] == FCRYPT else ()))


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration of the cell, and the script that starts it."""
    folders = {CONFIG: "/etc/openafs", STATE: "/var/lib/openafs", LOGS: "/var/log/openafs"}
    made = [*folders, f"{CONFIG}/server", f"{STATE}/local", f"{STATE}/db", ROOT]
    host.run(["mkdir", "--", *(instance.path(name) for name in made)])
    for folder in (CONFIG, f"{CONFIG}/server"):
        host.write(instance.path(folder, "ThisCell"), f"{CELL}\n")
        host.write(instance.path(folder, "CellServDB"), f">{CELL} #\n{instance.address} #server\n")
    host.write(instance.path(CONFIG, "server", "UserList"), "admin\n")
    host.write(instance.path(STATE, "local", "NetInfo"), f"{instance.address}\n")
    for path in ((CONFIG, "server", "NoAuth"), (STATE, "local", "NoAuth"), ("resolv.conf",)):
        host.write(instance.path(*path), "")
    host.write(instance.path("hosts"), f"127.0.0.1 localhost\n{instance.address} server.{CELL} server\n")
    host.write(posixpath.join(instance.data, "AlwaysAttach"), "")
    if instance.knobs["encryption"] == FCRYPT:
        _write_keys(host, instance)
    host.write(instance.path(SCRIPT), script(instance, folders))


def script(instance: FileInstance, folders: Mapping[str, str]) -> str:
    """Return the lines that start the cell."""
    return STARTS.format(
        root=shlex.quote(instance.path(ROOT)),
        data=shlex.quote(instance.data),
        directory=shlex.quote(instance.directory),
        folders=" ".join(f"{own}:{seen}" for own, seen in folders.items()),
        servers=SERVERS,
        daemon=DAEMON,
        threads=integer(instance.knobs, "threads"),
        sync=instance.knobs["sync"],
        address=instance.address,
        partition=PARTITION,
        volume=VOLUME,
        administrators=ADMINISTRATORS,
        anyone=ANYONE,
        served=SERVED,
    )


def _write_keys(host: Host, instance: FileInstance) -> None:
    """Give the servers a key, and keep what clients need: a key of the session, and a ticket that the servers can read."""
    server, session = (afs_ticket.odd(secrets.token_bytes(afs_ticket.BLOCK)) for _ in ("server", "session"))
    path, content = instance.path(CONFIG, "server", "KeyFile"), base64.b64encode(afs_ticket.key_file(server)).decode()
    host.run(["sh", "-c", 'umask 077; base64 -d > "$1"', "sh", path], input_text=content)
    now = int(time.time())
    ticket = afs_ticket.encrypted(host, server, afs_ticket.plain_ticket("user", CELL, session, now))
    payload = afs_ticket.kernel_key(ticket, session, now)
    host.write(instance.path("payload"), base64.b64encode(payload).decode())


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the script under a host name of its own."""
    return ("unshare", "--uts", "--", "/bin/sh", instance.path(SCRIPT))


def ready(host: Host, instance: FileInstance) -> bool:
    """Return whether the volume is there."""
    return host.exists(instance.path(SERVED))


def mount(_host: Host, instance: FileInstance, point: str, _word: str) -> MountPlan:
    """Return the kernel's client."""
    return afs_clients.plan(CELL, VOLUME, text(instance.knobs, "mount_options"), point)


def proof(host: Host, instance: FileInstance, plan: MountPlan, point: str) -> str:
    """Find in the server's pieces what was written through a mount."""
    return mounted.prove_within(host, plan, point, instance.data)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return what the file server says of its own command line."""
    begun = re.search(r"File server starting \((.*)\)", host.read(instance.path(LOGS, "FileLog")))
    words = begun[1].split() if begun else []
    found = {name: words[words.index(f"-{name}") + 1] if f"-{name}" in words else "unknown" for name in ("p", "sync")}
    return (("sync", str(instance.knobs["sync"]), found["sync"]), ("threads", str(instance.knobs["threads"]), found["p"]))


def version(host: Host, instance: FileInstance) -> str:
    """Return the version of the servers, as one of them logs it."""
    match = re.search(r"OpenAFS (\d\S*)", host.read(instance.path(LOGS, "VLLog")))
    return f"OpenAFS {match[1]}" if match else "OpenAFS"


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount for one client, in a network namespace of its own unless a path leads through one. Raises TrialError."""
    instance = file_server.instance_of(host, setting, place)
    pid = 0 if client == 0 or is_one_client(setting.knobs) else _network(host, setting, place, client)
    own = replace(instance, load=net_namespaces.file_of(pid)) if pid else instance
    try:
        afs_clients.add_cell(host, own.load, CELL, own.address)
        if setting.knobs["encryption"] == FCRYPT:
            payload = base64.b64decode(host.read(instance.path("payload")))
            afs_ticket.give(host, net_namespaces.inside(own.load), CELL, payload)
        end = file_server.attached(SOFTWARE, host, setting, own, client)
        seen = afs_clients.encryption(host, own.load)
        service.require("encryption", str(setting.knobs["encryption"]), seen)
    except BaseException:
        if pid:
            net_namespaces.release(host, setting.undo, pid)
        raise
    for name, word in ((afs_files.SPACE, own.load.split("/")[2]), (ENCRYPTION, seen)):
        host.write(posixpath.join(str(end.details["client"]), name), word)
    return replace(end, details={**end.details, OWN_NETWORK: str(pid)})


def _network(host: Host, setting: Setting, place: Place, client: int) -> int:
    """Make a network namespace for one more client, joined with the server's. Raises TrialError."""
    pid = net_namespaces.keep(host, setting.undo)
    try:
        server = int(str(place.private[f"{NETWORK}server"]).split("/")[2])
        network_pair.join_another(host, pid, server, client)
    except BaseException:
        net_namespaces.release(host, setting.undo, pid)
        raise
    return pid


def detach(host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Unmount one client, and end its namespace."""
    try:
        file_server.detach(host, setting, endpoint)
    finally:
        if pid := int(str(endpoint.details.get(OWN_NETWORK, "0"))):
            with suppress(AssayError):
                net_namespaces.release(host, setting.undo, pid)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return what every server's facts are, and how the clients' connections were encrypted."""
    directory = str(place.private["directory"])
    clients = [posixpath.join(directory, name) for name in host.list(directory) if name.startswith(mounted.CLIENT)]
    seen = dict.fromkeys(host.read(posixpath.join(client, ENCRYPTION)) for client in clients)
    return (*file_server.facts(host, place), *((("clients.encryption", " and ".join(seen)),) if seen else ()))


def drop_caches(host: Host, place: Place) -> None:
    """Drop the pages of both ends. Raises RefusedError where the client has a cache on its disk, which nobody drops."""
    afs_clients.refuse_disk_cache(host)
    file_server.drop_caches(host, place)


def is_one_client(knobs: Mapping[str, Value]) -> bool:
    """Return whether all clients are in one network namespace: behind a path there is one."""
    return bool(network_pair.used(knobs))


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=tools,
    ports=(),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    lacks=lacks,
    ready=ready,
    patience_s=PATIENCE_S,
    proof=proof,
    kernel=afs_clients.IN_KERNEL,
    keeps_files=False,
)
SERVED_BY = file_server.target(
    "afs_openafs",
    SOFTWARE,
    choice(
        "encryption", "what the kernel sends: in the clear, or encrypted with a ticket of the cell (rxkad, fcrypt)", CLEAR, FCRYPT
    ),
    choice("sync", "when the file server stores for good what it has taken (fileserver -sync)", *SYNC),
    number("threads", "threads of the file server (fileserver -p)", 16, (6, 16384)),
    afs_clients.MOUNT_OPTIONS,
)
TARGET = replace(
    SERVED_BY,
    attach=attach,
    detach=detach,
    facts=facts,
    drop_caches=drop_caches,
    one_client=lambda knobs: afs_clients.ONE if is_one_client(knobs) else None,
    seconds=lambda knobs: (0.0, 10.0),
)

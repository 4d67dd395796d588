"""A fresh GlusterFS volume (one glusterd, several bricks) in a network namespace; each client mounts it by glusterfs (FUSE).

All bricks are on this machine and in one namespace; a client writes every copy itself, over the path where there is one.
Their data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path before them.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Setting, Unit
from assay.machine import file_server, mounted
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Value
from assay.settings.knobs import integer, number, quantity, switch

DAEMON, CLI, CLIENT = "glusterd", "gluster", "glusterfs"
VOLUME, PORT = "data", 24007
STATE, LOGS = "/var/lib/glusterd", "/var/log/glusterfs"
"""Directories of the package; the server has its own in their place."""
CREATED = "created"
"""In the server's directory: the volume is there and started."""
CLIENT_CACHES = ("write-behind", "quick-read", "read-ahead", "io-cache", "stat-prefetch", "open-behind")
"""Translators of a client that keep data or attributes (options performance.NAME)."""
SETUP = """mount -t proc proc /proc || exit 1
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/gluster || exit 1
mount --bind {directory}/state {state} && mount --bind {directory}/logs {logs} || exit 1
mount --bind {directory}/resolv.conf /etc/resolv.conf || exit 1
(until {cli} pool list >/dev/null 2>&1; do sleep 0.1; done
{volume}
: > {directory}/created) &"""
"""The command line reaches glusterd by a socket below /run. Without a name server no look-up waits for one.

The processes of Gluster name their threads through /proc/self, which must be that of their own process namespace."""
GUESS_S = 15.0


def check(_host: Host, setting: Setting) -> tuple[str, ...]:
    """Return copies that the bricks cannot hold."""
    copies, bricks = integer(setting.knobs, "copies"), integer(setting.knobs, "bricks")
    return (f"found {bricks} bricks with copies = {copies}; expected a multiple of copies",) if bricks % copies else ()


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is missing of the server's package."""
    return tuple(f"{path}: not found. Install glusterfs-server." for path in (STATE, LOGS) if not host.exists(path))


def configure(host: Host, instance: FileInstance) -> None:
    """Make the directories of the server and of its bricks."""
    host.run(["mkdir", "--", instance.path("state"), instance.path("logs"), *_bricks(instance)])
    host.write(instance.path("resolv.conf"), "")


def _bricks(instance: FileInstance) -> tuple[str, ...]:
    return tuple(posixpath.join(instance.data, f"brick-{place}") for place in range(integer(instance.knobs, "bricks")))


def _options(instance: FileInstance) -> tuple[tuple[str, str], ...]:
    """Return the options of the volume: the knobs that differ from Gluster's own defaults, and those that are read back."""
    caches = "on" if instance.knobs["client_caches"] else "off"
    durable = "on" if instance.knobs["ensure_durability"] else "off"
    own = (("performance.md-cache-timeout", "0"),) if caches == "off" else ()
    return (*((f"performance.{name}", caches) for name in CLIENT_CACHES), *own, ("cluster.ensure-durability", durable))


def setup(instance: FileInstance) -> str:
    """Return the lines that make and start the volume as soon as glusterd answers."""
    copies = integer(instance.knobs, "copies")
    replicated = ("replica", str(copies)) if copies > 1 else ()
    where = (f"{instance.address}:{brick}" for brick in _bricks(instance))
    cli = (CLI, "--mode=script")
    steps = (
        (*cli, "volume", "create", VOLUME, *replicated, "transport", "tcp", *where, "force"),
        *((*cli, "volume", "set", VOLUME, *option) for option in _options(instance)),
        (*cli, "volume", "start", VOLUME),
    )
    volume = "\n".join(f"{shlex.join(step)} || exit 1" for step in steps)
    return SETUP.format(directory=shlex.quote(instance.directory), state=STATE, logs=LOGS, cli=shlex.join(cli), volume=volume)


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the daemon in the foreground; it starts a process for each brick."""
    return (DAEMON, "--no-daemon", "--pid-file", instance.path("glusterd.pid"), "--log-file", instance.path("glusterd.log"))


def ready(host: Host, instance: FileInstance) -> bool:
    """Return whether the volume is started."""
    return host.exists(instance.path(CREATED))


def mount(_host: Host, instance: FileInstance, point: str, _word: str) -> MountPlan:
    """Return the client."""
    seconds = integer(instance.knobs, "attribute_cache") / 1e9
    directory = posixpath.dirname(point)
    argv = (
        *(CLIENT, "--no-daemon", f"--volfile-server={instance.address}", f"--volfile-id=/{VOLUME}"),
        *(f"--{name}-timeout={seconds:g}" for name in ("attribute", "entry", "negative")),
        *(("--direct-io-mode=enable",) if instance.knobs["direct_io_mode"] else ()),
        *(f"--log-file={directory}/client.log", f"--pid-file={directory}/client.pid", point),
    )
    return MountPlan(name=CLIENT, argv=argv, filesystem="fuse.glusterfs", source=f"{instance.address}:/{VOLUME}")


def proof(host: Host, instance: FileInstance, plan: MountPlan, point: str) -> str:
    """Prove the mount by the bricks."""
    return mounted.prove_within(host, plan, point, instance.data)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return the options of the running volume, its copies and its bricks."""
    outer = host.read(instance.path("pid")).strip()  # unshare: its child is the first process of the namespace
    first = host.read(f"/proc/{outer}/task/{outer}/children").split()[0]
    inside = ("nsenter", "--mount", "--net", "--pid", "-t", first, "--", CLI, "--mode=script")
    listed = host.run([*inside, "volume", "get", VOLUME, "all"], timeout_s=60.0).stdout
    found = {words[0]: words[1] for line in listed.splitlines() if len(words := line.split()) > 1}
    about = host.run([*inside, "volume", "info", VOLUME], timeout_s=60.0).stdout
    bricks = str(len(re.findall(r"^Brick\d+:", about, re.MULTILINE)))
    copies = match[1] if (match := re.search(r"Number of Bricks: \d+ x (\d+) =", about)) else "1"
    rows = [(name, wanted, found.get(name, "not shown")) for name, wanted in _options(instance)]
    return (
        ("bricks", str(integer(instance.knobs, "bricks")), bricks),
        ("copies", str(integer(instance.knobs, "copies")), copies),
        *rows,
    )


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the server."""
    match = re.search(r"glusterfs (\S+)", host.run([DAEMON, "--version"], check=False).stdout)
    return f"GlusterFS {match[1]}" if match else "GlusterFS"


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, CLI, CLIENT, "grep"),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=setup,
    lacks=lacks,
    check=check,
    ready=ready,
    proof=proof,
    keeps_files=False,
)
SERVED = file_server.target(
    "gluster",
    SOFTWARE,
    number("bricks", "bricks, each with a directory and a process of its own", 3, (1, 32)),
    number("copies", "copies of each file, on as many bricks (replica); 1: each file is on one brick", 3, (1, 9)),
    replace(switch("ensure_durability", "a client's copies are flushed before a change is noted as done"), default=True),
    replace(switch("client_caches", "a client keeps data and attributes, and writes behind (performance.*)"), default=True),
    switch("direct_io_mode", "the kernel of a client keeps no data of files (direct-io-mode)"),
    quantity("attribute_cache", "how long a client may keep attributes and names", Unit.NANOSECONDS, 1_000_000_000, (0, None)),
)
TARGET = replace(SERVED, seconds=lambda knobs: (0.0, GUESS_S))

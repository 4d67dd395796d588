"""A fresh ZFS pool (zfs-fuse) on an image written in full, with the cache of ZFS itself (ARC) dropped before a cold phase.

ZFS keeps data in a cache of its own, which no cold file and no O_DIRECT passes. So it is made cold by an export and an import.
The image is in the experiment's scratch directory, or on the target that `on` names. All clients share the pool's mount.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import secrets
import time
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target, Unit
from assay.errors import AssayError, TrialError, refuse
from assay.machine import external_commands, file_server, files, image, mounted, ownership, service
from assay.machine.service import Program, Service
from assay.machine.stack import stack
from assay.records import ON, Endpoint, EndpointKind, Place, Server, ServerNode, Value
from assay.settings.knobs import choice, integer, names, quantity, switch

DAEMON = "zfs-fuse"
TOOLS = (DAEMON, "zpool", "zfs", "pgrep", "mount", "umount", "dd")
SOCKET = "/run/zfs/zfs_socket"
"""Where zpool and zfs reach the daemon; its place is fixed, so one daemon runs at a time."""
IMAGE = "pool.img"
LEAST_BYTES, USABLE = 128 * image.MIB, 0.8
DRAINED = "assay:drained"
"""A property of ours, as users may set them."""
RUNNING = ("pgrep", "-x", "--runstates", "DRST", DAEMON)
"""Whether a daemon runs; one that has ended and that nobody has waited for does not count."""
TIDY = f"{' '.join(RUNNING)} >/dev/null || rm -f -- {SOCKET}"
SHOWN = ("compression", "primarycache", "recordsize", "atime", "checksum", "copies")
"""Properties of the file system that are read back."""
BYTES_PER_S, GUESS_S = 200e6, 4.0


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return everything that is wrong, before anything is made."""
    size = integer(setting.knobs, "size")
    found = [*lacks(host, setting.knobs), *image.size_mistakes(size, LEAST_BYTES, "ZFS", int(setting.needs_bytes / USABLE))]
    if host.run([*RUNNING], check=False).status == 0:
        found.append(f"{DAEMON} runs already on {host.name}, and only one can. End it.")
    if where := file_server.parent_of_data(setting):
        found += image.no_room(host, where, size)
    return tuple(found)


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for a pool."""
    root = () if host.is_root() else ("a pool needs root. Run as root.",)
    return (*external_commands.missing(host, TOOLS), *root, *mounted.no_fuse(host))


def prepare(host: Host, setting: Setting) -> Place:
    """Write the image, start the daemon, make the pool and prove it. Raises UsageError with all mistakes, TrialError."""
    refuse(check(host, setting))
    private: dict[str, Value] = {"folders": (), "pool": f"assay{secrets.token_hex(4)}"}
    try:
        for parent in file_server.parents(setting):
            private["folders"] = (*names(private, "folders"), ownership.fresh_directory(host, setting.undo, parent))
        folders = names(private, "folders")
        private |= {"directory": folders[0], "image": posixpath.join(folders[-1], IMAGE)}
        private["point"] = posixpath.join(folders[0], mounted.POINT)
        image.write(host, str(private["image"]), integer(setting.knobs, "size"), "written")
        _begin(host, setting, private)
        return _place(host, setting, private)
    except BaseException:
        _take_away(setting, private)
        raise


def _begin(host: Host, setting: Setting, private: dict[str, Value]) -> None:
    """Start the daemon, then the pool with its properties, each read back, and prove that it keeps what is written."""
    knobs, directory, pool, point = setting.knobs, *(str(private[name]) for name in ("directory", "pool", "point"))
    host.run(["mkdir", "--", point])
    setting.undo.add("command", argv=json.dumps(["/bin/sh", "-c", TIDY]))
    private["tidy"] = True
    setting.undo.add("mount", path=point, device=pool)
    argv = [DAEMON, "--no-daemon", "--no-kstat-mount", "--pidfile", posixpath.join(directory, "zfs-fuse.pid")]
    argv += ["--max-arc-size", str(integer(knobs, "arc") // image.MIB)]
    argv += [] if knobs["page_cache"] else ["--disable-page-cache"]
    argv += [] if knobs["block_cache"] else ["--disable-block-cache"]
    cpus, memory = service.limits_of(host, knobs)
    program = Program(name=DAEMON, argv=tuple(argv), directory=directory, cpus=cpus, memory_bytes=memory)
    made = service.install(host, setting.undo, program, f"{DAEMON}-{setting.trial.id if setting.trial else 0}")
    private |= {"family": made.token, "groups": made.groups}
    service.start(host, directory, DAEMON, lambda: host.run(["zpool", "list"], check=False).status == 0)
    properties = {name: str(knobs[name]) for name in ("compression", "primarycache")}
    properties["atime"] = "on" if knobs["atime"] else "off"
    options = [word for name, value in properties.items() for word in ("-O", f"{name}={value}")]
    host.run(
        ["zpool", "create", "-f", "-o", "cachefile=none", *options, "-m", point, pool, str(private["image"])], timeout_s=60.0
    )
    for name, wanted in properties.items():
        service.require(name, wanted, dict(_properties(host, pool)).get(name, "not shown"))
    _prove(host, private)
    private["settings"] = (*service.in_force(host, made, program), *_properties(host, pool))


def _properties(host: Host, pool: str) -> tuple[tuple[str, str], ...]:
    argv = ["zfs", "get", "-H", "-o", "property,value", ",".join(SHOWN), pool]
    rows = (line.split("\t") for line in host.run(argv, timeout_s=60.0).stdout.splitlines())
    return tuple((row[0], row[1]) for row in rows if len(row) > 1)


def _prove(host: Host, private: Mapping[str, Value]) -> None:
    """Write, give the pool back and take it again: what is there then was stored in the image. Raises TrialError."""
    path, word = mounted.write_probe(host, str(private["point"]))
    _again(host, private)
    if not host.exists(path) or host.read(path) != word:
        raise TrialError(f"the pool at {private['point']} does not keep what is written: it is no pool on {private['image']}")
    host.run(["rm", "--", path], timeout_s=mounted.PATIENCE_S)


def _export(host: Host, pool: str) -> None:
    """Give the pool back. A new mount namespace, or a program that looks at it, holds it for a moment. Raises TrialError."""
    deadline = time.monotonic() + mounted.PATIENCE_S
    while time.monotonic() < deadline:
        if host.run(["zpool", "export", pool], check=False, timeout_s=60.0).status == 0:
            return
        time.sleep(mounted.STEP_S)
    host.run(["zpool", "export", pool], timeout_s=60.0)


def _again(host: Host, private: Mapping[str, Value]) -> None:
    """Export the pool, drop the pages of its image, import it: the cache of ZFS and that below it are empty."""
    pool, point, stored = (str(private[name]) for name in ("pool", "point", "image"))
    _export(host, pool)
    if host.syscalls is not None:
        host.syscalls.drop_file(stored)
    host.run(["zpool", "import", "-d", posixpath.dirname(stored), "-o", "cachefile=none", pool], timeout_s=60.0)
    if not mounted.becomes(lambda: (found := mounted.mounted(host, point)) is not None and found.source == pool):
        raise TrialError(f"{point}: the pool is not mounted there after its import")


def _place(host: Host, setting: Setting, private: dict[str, Value]) -> Place:
    below, stored, point = setting.beneath, str(private["image"]), str(private["point"])
    node = ServerNode(host=host.name, pid_file=posixpath.join(str(private["directory"]), service.PID), data=(stored,))
    found = mounted.mounted(host, point)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=point,
        devices=below.devices if below else stack(host, posixpath.dirname(stored)),
        backing_files=(stored, *(below.backing_files if below else ())),
        limits=below.limits if below else (),
        filesystem=found.filesystem if found else None,
        private=private,
        server=Server(nodes=(node,)),
        storage=posixpath.dirname(stored),
    )


def drop_caches(host: Host, place: Place) -> None:
    """Export and import the pool, with the pages of its image dropped between."""
    _again(host, place.private)


def flush(host: Host, endpoint: Endpoint) -> None:
    """Have the pool write all that it holds back: syncfs does not reach it, a property is set with its next transaction group.

    Source: dsl_sync_task, which waits for the group (txg_wait_synced).
    """
    found = mounted.mounted(host, endpoint.address)
    if found is not None:
        host.run(["zfs", "set", f"{DRAINED}={time.monotonic_ns()}", found.source], timeout_s=60.0)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the properties that were read back, and the file system below the image. Raises TrialError without the pool."""
    found = mounted.mounted(host, place.address)
    if found is None or found.source != place.private["pool"]:
        raise TrialError(f"{place.address}: the pool is not mounted there any more. The figures are not those of ZFS.")
    below = files.mount_facts(host, posixpath.dirname(str(place.private["image"])), place.devices)
    return (*file_server.setting_facts(place), *((f"image.{key}", value) for key, value in below if key == "filesystem"))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Give the pool back, end the daemon, remove the image."""
    with contextlib.suppress(AssayError):
        host.run(["zpool", "export", "-f", str(place.private["pool"])], check=False, timeout_s=60.0)
    _take_away(setting, place.private)


def _take_away(setting: Setting, private: Mapping[str, Value]) -> None:
    """Undo what was set up, the latest first."""
    if "family" in private:
        made = Service(
            name=DAEMON, directory=str(private["directory"]), token=str(private["family"]), groups=names(private, "groups")
        )
        service.remove(setting.undo, made)
    if "point" in private:
        setting.undo.undo("mount", path=str(private["point"]))
    if private.get("tidy"):
        setting.undo.undo("command", argv=json.dumps(["/bin/sh", "-c", TIDY]))
    for folder in reversed(names(private, "folders")):
        setting.undo.undo("directory", path=folder)


def seconds(knobs: Mapping[str, Value]) -> tuple[float, float]:
    """Guess how long a trial takes for it: its image is written in full. A size that a factor sets may not be known yet."""
    size = knobs.get("size")
    return 0.0, GUESS_S + (size if isinstance(size, int) else 0) / BYTES_PER_S


TARGET = Target(
    name="zfs",
    knobs=(
        Knob(
            name=ON, kind=KnobKind.TEXT, help="target whose directory holds the pool's image; default: the experiment's scratch"
        ),
        *service.LIMITS,
        Knob(
            name="size", kind=KnobKind.QUANTITY, unit=Unit.BYTES, required=True, low=LEAST_BYTES, help="size of the pool's image"
        ),
        choice("compression", "compression of data: off is honest for compressible loads", "off", "on", "lzjb", "gzip", "zle"),
        choice("primarycache", "what ZFS keeps in its cache (ARC)", "all", "metadata", "none"),
        quantity("arc", "largest size of that cache", Unit.BYTES, 128 * image.MIB, (16 * image.MIB, None)),
        Knob(name="atime", kind=KnobKind.SWITCH, default=True, help="each read sets the file's access time"),
        switch("page_cache", "the kernel keeps pages of the files as well"),
        switch("block_cache", "the kernel keeps pages of the image as well"),
    ),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    lacks=lacks,
    prepare=prepare,
    drop_caches=drop_caches,
    flush=flush,
    facts=facts,
    teardown=teardown,
    mounts=Mounts.LAB,
    seconds=seconds,
)

"""A disk with a volatile cache whose power events can cut, and a new file system on it for each trial.

What is written stays in the disk's cache (nbdkit) until a flush comes; a cut of the power (`action = "power"`) takes the cache
away. Other targets stand on it (`on`). `flush = "ignored"` makes it a disk that answers flushes without doing them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target, TargetEvent, Unit
from assay.errors import TrialError, refuse
from assay.machine import external_commands, filling, image, mounted, ownership, power, server, service
from assay.machine.filesystems import FILESYSTEMS, features, make
from assay.machine.power import HONOURED, IGNORED, CrashDisk
from assay.machine.stack import mount_of, stack
from assay.records import Action, EndpointKind, Place, ServerNode, Value
from assay.settings.knobs import choice, integer, names

USABLE = 0.9
"""Share of a new file system that files can fill."""
WORK = "work"
KINDS = tuple(name for name in FILESYSTEMS if name != "btrfs")
ALONE = {"xfs": ("nouuid",)}
"""Mount options: a former life of the disk, which programs may still hold, has the same file system with the same UUID."""
GUESS_S = 1.5


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with these knobs on this host."""
    kind, size = FILESYSTEMS[str(setting.knobs["filesystem"])], integer(setting.knobs, "size")
    found = [*lacks(host, setting.knobs), *image.no_room(host, setting.scratch, size)]
    found += image.size_mistakes(size, kind.smallest_bytes, kind.name, int(setting.needs_bytes / USABLE))
    return tuple(found)


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks."""
    found = [*external_commands.missing(host, (*power.TOOLS, *FILESYSTEMS[str(knobs["filesystem"])].tools))]
    if host.far:
        found.append(f"found host {host.name}; expected this machine: the lab cuts the power of its own disk")
    elif not host.is_root():
        found.append("attaching and mounting need root. Run as root.")
    return (*found, *mounted.no_fuse(host))


def prepare(host: Host, setting: Setting) -> Place:
    """Make the image and the file system, and give the disk power. Raises UsageError with all mistakes, TrialError."""
    refuse(check(host, setting))
    directory = ownership.fresh_directory(host, setting.undo, setting.scratch)
    disk = _disk(directory, setting.knobs)
    try:
        image.write(host, disk.image, integer(setting.knobs, "size"), "sparse")
        make(host, FILESYSTEMS[disk.filesystem], disk.image, names(setting.knobs, "mkfs_options"))
        return _powered(host, setting, disk)
    except BaseException:
        setting.undo.undo("directory", path=directory)
        raise


def _disk(directory: str, knobs: Mapping[str, Value]) -> CrashDisk:
    kind = FILESYSTEMS[str(knobs["filesystem"])]
    options = ",".join((*kind.mount_options, *ALONE.get(kind.name, ()), *names(knobs, "mount_options")))
    return CrashDisk(directory=directory, filesystem=kind.name, options=options, flush=str(knobs["flush"]))


def _powered(host: Host, setting: Setting, disk: CrashDisk) -> Place:
    """Give it power for a moment, so that the directory for the work is on stable media, and then as its knobs say."""
    life = power.on(host, setting.undo, disk, 0, HONOURED)
    try:
        work = posixpath.join(disk.point, WORK)
        host.run(["mkdir", "--", work])
        host.run(["sync", "-f", "--", work])
        if disk.flush == IGNORED:
            power.off(host, setting.undo, disk)
            life = power.on(host, setting.undo, disk, 1)
        service.require("flush", disk.flush, found_flush(host, disk))
    except BaseException:
        power.off(host, setting.undo, disk)
        raise
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=work,
        devices=_devices(host, disk, life.loop),
        backing_files=(disk.image,),
        filesystem=disk.filesystem,
        private={"directory": disk.directory, "options": disk.options, "flush": disk.flush, "image": disk.image},
    )


def found_flush(host: Host, disk: CrashDisk) -> str:
    """Return what the running disk does with flushes, as its own arguments say. Raises TrialError where it has no power."""
    pid_file = posixpath.join(power.life_of(host, disk).directory(disk), service.PID)
    for pid in server.pids(host, (ServerNode(pid_file=pid_file),)):
        words = host.read(f"/proc/{pid}/cmdline").split("\0")
        if words[0].endswith(power.DAEMON):
            return next((name for name, mode in power.CACHE.items() if f"cache={mode}" in words), "unknown")
    raise TrialError(f"{disk.image}: the disk has no power")


def _devices(host: Host, disk: CrashDisk, loop: str) -> tuple[str, ...]:
    return (loop, *stack(host, disk.image))


def devices(host: Host, place: Place) -> tuple[str, ...]:
    """Return the loop device of its present life, and what is below its image: after a cut it comes back on another one."""
    disk = disk_of(place)
    return _devices(host, disk, power.life_of(host, disk).loop)


def disk_of(place: Place) -> CrashDisk:
    """Return the disk of a place."""
    private = place.private
    return CrashDisk(
        directory=str(private["directory"]),
        filesystem=str(place.filesystem),
        options=str(private["options"]),
        flush=str(private["flush"]),
    )


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return what the disk does with flushes, the features of the file system, and its options."""
    disk = disk_of(place)
    own = features(host, FILESYSTEMS[disk.filesystem], f"/dev/{power.life_of(host, disk).loop}")
    options = ",".join(mount_of(host, place.address).options)
    return (("disk.flush", found_flush(host, disk)), ("disk.cache", "volatile"), *own, ("mount.options", options))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Unmount, detach, end its programs, remove the image."""
    power.off(host, setting.undo, disk_of(place))
    setting.undo.undo("directory", path=disk_of(place).directory)


TARGET = Target(
    name="crash_disk",
    knobs=(
        Knob(name="size", kind=KnobKind.QUANTITY, unit=Unit.BYTES, required=True, low=8 * image.MIB, help="size of the disk"),
        choice("filesystem", "file system on it", *KINDS),
        choice("flush", "whether the disk does what a flush asks for", HONOURED, IGNORED),
        Knob(name="mkfs_options", kind=KnobKind.TEXTS, default=(), is_command=True, help="further arguments of mkfs"),
        Knob(name="mount_options", kind=KnobKind.TEXTS, default=(), help="options of mount -o"),
    ),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    lacks=lacks,
    prepare=prepare,
    drop_caches=lambda host, place: power.remount(host, disk_of(place)),
    facts=facts,
    teardown=teardown,
    mounts=Mounts.LAB,
    devices=devices,
    seconds=lambda knobs: (0.0, GUESS_S),
    events={
        Action.POWER: TargetEvent(
            do=lambda host, setting, place: power.cut(host, disk_of(place)),
            back=lambda host, setting, place: power.back(host, setting.undo, disk_of(place)),
            untested="sectors torn in the middle, a controller with a battery, the memory of the machine that the load is on",
        ),
        Action.FILL: filling.EVENT,
    },
)

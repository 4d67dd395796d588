"""A new file system for each trial on an image written in full, with proven direct I/O and an optional speed limit.

The image is created once per experiment. `direct_io` avoids double caching; `limit` makes it a disk of known speed.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target, Undo, Unit
from assay.errors import AssayError, BusyError, refuse
from assay.machine import cgroups, external_commands, filling, image, namespaces, ownership
from assay.machine.filesystems import FILESYSTEMS, PATIENCE_S, features, lives_on, make, mount, unmount
from assay.machine.stack import device_number, device_stack, mount_of
from assay.records import Action, EndpointKind, Place, Value
from assay.settings.knobs import choice, integer, names

USABLE = 0.9
"""Share of a new file system that files can fill; its tables, log and reserve use the rest."""
TOOLS = ("losetup", "mount", "umount", "dd", "filefrag")


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with these knobs on this host."""
    kind, size = FILESYSTEMS[str(setting.knobs["filesystem"])], integer(setting.knobs, "size")
    written = not host.exists(_image(setting)) and setting.knobs.get("image") != "sparse"
    found = [*lacks(host, setting.knobs), *image.no_room(host, _base(setting), size if written else 0)]
    return (*found, *image.size_mistakes(size, kind.smallest_bytes, kind.name, int(setting.needs_bytes / USABLE)))


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for a file system of this kind, and for its throttle."""
    kind = FILESYSTEMS.get(str(knobs["filesystem"]))
    found = [*external_commands.missing(host, (*TOOLS, *(kind.tools if kind else ())))]
    if not host.is_root():
        found.append("attaching and mounting need root. Run as root, or use kind = directory.")
    return (*found, *filter(None, [cgroups.throttle_obstacle(host) if cgroups.rates_of(knobs) else None]))


def install(host: Host, setting: Setting) -> None:
    """Write the image in full if it does not exist. Raises UsageError with all mistakes of `check`."""
    path = _image(setting)
    if host.exists(path):
        return
    refuse(check(host, setting))
    ownership.make_directory(host, setting.undo, posixpath.dirname(path), _identity(setting))
    image.write(host, path, integer(setting.knobs, "size"), "sparse" if setting.knobs.get("image") == "sparse" else "written")


def prepare(host: Host, setting: Setting) -> Place:
    """Attach, create, mount and limit; if a step fails, undo the earlier ones."""
    install(host, setting)
    path = host.real_path(_image(setting))
    point = posixpath.join(posixpath.dirname(path), "mount")
    loop = image.attach(host, setting.undo, path, direct_io="on" if setting.knobs.get("direct_io", True) else "off")
    private: dict[str, Value] = {"image": path, "loop": loop, "mount": point, "number": device_number(host, loop)}
    try:
        return _furnish(host, setting, private)
    except BaseException:
        with contextlib.suppress(AssayError):
            _release(setting.undo, private)
        raise


def _furnish(host: Host, setting: Setting, private: dict[str, Value]) -> Place:
    knobs, loop, path, point = setting.knobs, str(private["loop"]), str(private["image"]), str(private["mount"])
    kind, rates = FILESYSTEMS[str(knobs["filesystem"])], cgroups.rates_of(knobs)
    make(host, kind, f"/dev/{loop}", names(knobs, "mkfs_options"))
    if knobs.get("image") != "sparse":
        image.settle(host, path)
    # The user's options come last and override ours.
    private["options"] = ",".join((*kind.mount_options, *names(knobs, "mount_options")))
    host.run(["mkdir", "-p", "--", point])
    setting.undo.add("mount", path=point, device=f"/dev/{loop}")
    mount(host, kind.name, str(private["options"]), f"/dev/{loop}", point)
    work = posixpath.join(point, "work")
    host.run(["mkdir", "--", work])
    host.write(posixpath.join(work, ownership.MARKER), _identity(setting))
    if rates:
        label = f"trial-{setting.trial.id}" if setting.trial else setting.name
        private["cgroup"] = cgroups.throttle(host, setting.undo, str(private["number"]), rates, label)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=work,
        devices=device_stack(host, loop),
        backing_files=(path,),
        limits=cgroups.throttle_limits(loop, rates, f"{setting.name}.limit"),
        filesystem=kind.name,
        private=private,
    )


def drop_caches(host: Host, place: Place) -> None:
    """Unmount, drop the image from the page cache, mount again: nothing of the file system stays in memory.

    Raises BusyError if a process has a file open there, or another mount namespace holds the file system.
    """
    kind, point, device = FILESYSTEMS[str(place.filesystem)], str(place.private["mount"]), f"/dev/{place.private['loop']}"
    unmount(host, point)
    kept = namespaces.release(host, device, lambda: not lives_on(host, kind, device), PATIENCE_S)
    if host.syscalls is not None:
        host.syscalls.drop_file(str(place.private["image"]))
    mount(host, kind.name, str(place.private["options"]), device, point)
    if kept is not None:
        raise BusyError(f"{point} cannot be made cold.{namespaces.held_by(kept)} End that process.")


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return features of the file system, active options, and the proofs of direct I/O and of a fully written image."""
    loop, path = str(place.private["loop"]), str(place.private["image"])
    found = [("image.filesystem", mount_of(host, path).filesystem), ("loop.direct_io", str(int(image.direct_io(host, loop))))]
    if host.syscalls is not None:
        host.syscalls.syncfs(place.address)  # btrfs writes the features that the mount adds with its first commit
        extents = host.syscalls.fiemap(path)
        found.append(("image.unwritten_bytes", str(extents.unwritten_bytes + extents.hole_bytes)))
    found += features(host, FILESYSTEMS[str(place.filesystem)], f"/dev/{loop}")
    found.append(("mount.options", ",".join(mount_of(host, place.address).options)))
    found += [(f"limit.{one.direction.value}", f"{one.bytes_per_s} bytes/s {one.ops_per_s} ops/s") for one in place.limits]
    return tuple(found)


def teardown(_host: Host, setting: Setting, place: Place) -> None:
    """Remove the limit, unmount, detach; the image stays for the next trial."""
    _release(setting.undo, place.private)


def _release(undo: Undo, private: Mapping[str, Value]) -> None:
    for _ in cgroups.RATES:
        undo.undo("throttle", device=str(private["number"]))
    undo.undo("mount", path=str(private["mount"]))
    undo.undo("loop", image=str(private["image"]))
    if private.get("cgroup"):
        undo.undo("cgroup", path=str(private["cgroup"]))


def remove(_host: Host, setting: Setting) -> None:
    """Remove the image."""
    setting.undo.undo("directory", path=posixpath.dirname(_image(setting)))


def _base(setting: Setting) -> str:
    return str(setting.knobs.get("scratch") or setting.scratch)


def _identity(setting: Setting) -> str:
    """Return an identity for all trials of this target in this experiment; the scratch directory makes it unique."""
    words = (setting.scratch, setting.name, *("beside",) * setting.beside)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def _image(setting: Setting) -> str:
    name = f"{setting.knobs['size']}-{setting.knobs.get('image') or 'written'}.img"
    return posixpath.join(_base(setting), ownership.PREFIX + _identity(setting), name)


GUESS_IMAGE_BYTES_PER_S, GUESS_MAKE_S = 200e6, 0.6


def seconds(knobs: Mapping[str, Value]) -> tuple[float, float]:
    """Estimate: the image at 200 MB/s; attaching, mkfs, mount and undoing."""
    return (integer(knobs, "size") / GUESS_IMAGE_BYTES_PER_S if knobs.get("image") != "sparse" else 0.0), GUESS_MAKE_S


TARGET = Target(
    name="loopfs",
    knobs=(
        Knob(name="filesystem", kind=KnobKind.CHOICE, choices=tuple(FILESYSTEMS), required=True, help="type of the file system"),
        Knob(name="size", kind=KnobKind.QUANTITY, unit=Unit.BYTES, required=True, low=8 * image.MIB, help="size of the image"),
        Knob(name="mount_options", kind=KnobKind.TEXTS, default=(), help="options of mount -o"),
        Knob(name="mkfs_options", kind=KnobKind.TEXTS, default=(), is_command=True, help="further arguments of mkfs"),
        Knob(name="direct_io", kind=KnobKind.SWITCH, default=True, help="the loop device bypasses the page cache of its image"),
        choice("image", "sparse gives wrong results; for controls", "written", "sparse"),
        Knob(name="scratch", kind=KnobKind.PATH, help="directory for the image; default: the experiment's scratch"),
        *cgroups.THROTTLE_KNOBS,
    ),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    lacks=lacks,
    install=install,
    prepare=prepare,
    drop_caches=drop_caches,
    facts=facts,
    teardown=teardown,
    mounts=Mounts.LAB,
    remove=remove,
    side_by_side=True,
    events={Action.FILL: filling.EVENT},
    seconds=seconds,
    limits=lambda knobs: tuple(f"{name.replace('_', ' ')} {rate}" for name, rate in cgroups.rates_of(knobs).items()),
)

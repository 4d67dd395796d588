"""A disk with a volatile cache whose power can be cut: nbdkit's cache filter, shown as a file by nbdfuse, a loop device on it.

What a file system writes is in the memory of nbdkit until a flush comes; then nbdkit writes it to the image and flushes that.
Cutting the power kills nbdkit: its cache is gone. Each time the power is on is a life of the disk, with a directory, a process,
a loop device and a mount of its own; what is left of an earlier life is undone with the target, when nobody uses it any more.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import secrets
import time

from assay.catalogue import Host, Undo
from assay.errors import AssayError, BusyError, TrialError
from assay.frozen import dataclass
from assay.machine import image, mounted, namespaces, server, service
from assay.machine.filesystems import FILESYSTEMS, lives_on, mount, unmount
from assay.machine.filesystems import PATIENCE_S as UNMOUNT_S
from assay.machine.process_stat import stat_fields
from assay.machine.service import Program, Service
from assay.records import ServerNode

DAEMON, CLIENT, FILE = "nbdkit", "nbdfuse", "nbd"
TOOLS = (DAEMON, CLIENT, "losetup", "mount", "umount", "fallocate", "sync", "xfs_io")
HONOURED, IGNORED = "honoured", "ignored"
CACHE = {HONOURED: "writeback", IGNORED: "unsafe"}
"""The mode of nbdkit's cache: it answers flushes by writing to the image, or by doing nothing."""
LIFE = "life"
"""In the disk's directory: what the present life consists of."""
KEPT = ("number", "loop", "token", "source")
PATIENCE_S, STEP_S = 5.0, 0.005


@dataclass(frozen=True, kw_only=True)
class CrashDisk:
    """A crash disk: its directory with the image, and where its file system is mounted."""

    directory: str
    filesystem: str
    options: str
    flush: str

    @property
    def image(self) -> str:
        """The stable media."""
        return posixpath.join(self.directory, "disk.img")

    @property
    def point(self) -> str:
        """Where the file system is mounted, in every life."""
        return posixpath.join(self.directory, "mount")


@dataclass(frozen=True, kw_only=True)
class DiskLife:
    """The disk from one time that its power came on to the next."""

    number: int
    loop: str
    token: str
    source: str
    """The name of the FUSE mount in the mount table."""

    def directory(self, disk: CrashDisk) -> str:
        """Where its program runs."""
        return posixpath.join(disk.directory, f"{LIFE}-{self.number}")

    def file(self, disk: CrashDisk) -> str:
        """The disk as the loop device has it."""
        return posixpath.join(self.directory(disk), mounted.POINT, FILE)


def life_of(host: Host, disk: CrashDisk) -> DiskLife:
    """Return the present life. Raises OSError where the disk never had power."""
    return DiskLife(**json.loads(host.read(posixpath.join(disk.directory, LIFE))))


def on(host: Host, undo: Undo, disk: CrashDisk, number: int, flush: str = "") -> DiskLife:
    """Give the disk power, attach it, and mount its file system, which recovers. Raises TrialError, RefusedError, BusyError."""
    source = f"assay-{secrets.token_hex(6)}"
    life = DiskLife(number=number, loop="", token="", source=source)
    directory = life.directory(disk)
    point = posixpath.join(directory, mounted.POINT)
    host.run(["mkdir", "-p", "--", point, disk.point])
    undo.add("mount", path=point, device=source)  # undone after its program has ended, so that it cannot hang
    cache = f"cache={CACHE[flush or disk.flush]}"
    argv = (CLIENT, "-o", f"fsname={source}", point, "--command", DAEMON, "-s", "--filter=cache", "file", disk.image, cache)
    program = Program(name=CLIENT, argv=argv, directory=directory, env={"TMPDIR": disk.directory})
    made = service.install(host, undo, program, "crash-disk")
    try:
        service.start(host, directory, CLIENT, lambda: mounted.mounted(host, point) is not None, PATIENCE_S)
        loop = image.attach(host, undo, life.file(disk), direct_io="on")
        found = DiskLife(number=number, loop=loop, token=made.token, source=source)
        host.write(posixpath.join(disk.directory, LIFE), json.dumps({name: getattr(found, name) for name in KEPT}))
        undo.add("mount", path=disk.point, device=f"/dev/{loop}")
        mount(host, disk.filesystem, disk.options, f"/dev/{loop}", disk.point)
    except BaseException:
        with contextlib.suppress(AssayError):
            _end(undo, disk, number, made.token)
        raise
    return found


def cut(host: Host, disk: CrashDisk) -> None:
    """Cut the power: the cache is lost with the process that has it. Raises TrialError where it stays.

    Then the kernel is told that the file system is down (xfs_io shutdown, which ext4 knows too): otherwise a program that never
    flushes would go on writing into the pages of a disk that is not there.
    """
    life = life_of(host, disk)
    node = ServerNode(pid_file=Service(name=CLIENT, directory=life.directory(disk), token=life.token).pid_file)
    _, *found = server.pids(host, (node,)) or (0,)
    kits = [pid for pid in found if _lives(host, pid)]
    if not kits:
        raise TrialError(f"{disk.image}: the disk has no power, so it cannot be cut")
    host.run(["kill", "-KILL", "--", *map(str, kits)])
    deadline = time.monotonic() + PATIENCE_S
    while any(_lives(host, pid) for pid in kits):
        if time.monotonic() > deadline:
            raise TrialError(f"{DAEMON} (process {kits[0]}) still runs {PATIENCE_S:g} s after SIGKILL")
        time.sleep(STEP_S)
    host.run(["xfs_io", "-x", "-c", "shutdown", disk.point], check=False, timeout_s=PATIENCE_S)


def back(host: Host, undo: Undo, disk: CrashDisk) -> None:
    """Give the disk power again after a cut: a new life, beside what programs still hold of the former one."""
    life = life_of(host, disk)
    host.run(["umount", "-l", "--", disk.point], check=False)
    undo.undo("mount", path=disk.point, device=f"/dev/{life.loop}")
    undo.undo("family", token=life.token)  # whatever waits for the dead disk now fails
    host.run(["losetup", "-d", f"/dev/{life.loop}"], check=False)  # at once, or when the last file there is closed
    on(host, undo, disk, life.number + 1)


def off(host: Host, undo: Undo, disk: CrashDisk) -> None:
    """Unmount, detach and end every life, the latest first. What a file system has written and flushed is in the image."""
    life = life_of(host, disk)
    for number in reversed(range(life.number + 1)):
        _end(undo, disk, number, life.token if number == life.number else None)


def _end(undo: Undo, disk: CrashDisk, number: int, token: str | None) -> None:
    """End one life; the program of an earlier one was ended when its successor began."""
    point = posixpath.join(disk.directory, f"{LIFE}-{number}", mounted.POINT)
    undo.undo("mount", path=disk.point)
    undo.undo("loop", image=posixpath.join(point, FILE))
    if token is not None:
        undo.undo("family", token=token)
    undo.undo("mount", path=point)


def remount(host: Host, disk: CrashDisk) -> None:
    """Unmount and mount again: nothing of the file system stays in memory. Raises BusyError where somebody uses it."""
    kind, device = FILESYSTEMS[disk.filesystem], f"/dev/{life_of(host, disk).loop}"
    unmount(host, disk.point)
    kept = namespaces.release(host, device, lambda: not lives_on(host, kind, device), UNMOUNT_S)
    mount(host, disk.filesystem, disk.options, device, disk.point)
    if kept is not None:
        raise BusyError(f"{disk.point} cannot be made cold.{namespaces.held_by(kept)} End that process.")


def _lives(host: Host, pid: int) -> bool:
    try:
        return stat_fields(host, pid)[0] not in "ZX"
    except OSError:
        return False

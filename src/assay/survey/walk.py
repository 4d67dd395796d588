"""Walks trees and hands on the status of every regular file: follows no symbolic link, writes nothing, keeps no path.

Directories are opened relative to their parents, so that no path is too long; where the chain of open ones gets long, the far
ancestors are closed and come back as `..`, proved by device and inode. O_NOATIME leaves access times alone where it is permitted.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.survey.filters import printable
from assay.survey.result import MOST_NAMED, Trouble, Walked

MOUNTINFO = Path("/proc/self/mountinfo")

KERNEL_FILESYSTEMS = frozenset(
    {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl"}
    | {"hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"}
)
"""File systems that show the kernel's state and store no files."""


@dataclass(frozen=True, kw_only=True)
class MountEntry:
    """What is mounted at one place, the last one where several are."""

    filesystem: str
    options: frozenset[str]


def mount_table() -> Mapping[str, MountEntry]:
    """Return path -> what is mounted there; empty where the kernel has no such table."""
    try:
        return parsed_mounts(os.fsdecode(MOUNTINFO.read_bytes()))
    except OSError:
        return {}


def parsed_mounts(text: str) -> Mapping[str, MountEntry]:
    """Return the table of proc(5): mount point and options are its fields 5 and 6, the type follows the lone dash."""
    found: dict[str, MountEntry] = {}
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) >= 6:
            found[_plain(fields[4])] = MountEntry(filesystem=after.split(" ")[0], options=frozenset(fields[5].split(",")))
    return found


def _plain(field: str) -> str:
    r"""Return a path without its escapes: a space stands as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def mount_of(path: str, mounts: Mapping[str, MountEntry]) -> MountEntry | None:
    """Return the mount that holds this real path."""
    while path not in mounts:
        if path in ("/", ""):
            return None
        path = path.rpartition("/")[0] or "/"
    return mounts[path]


def coarse_access_times(held: Iterable[MountEntry | None]) -> tuple[str, ...]:
    """Return what the mounts that hold the trees do to access times (mount(8)): why an age since the last access can be wrong."""
    options = [one.options for one in held if one is not None]
    reasons = []
    if any("noatime" in one for one in options):
        reasons.append("mounted noatime: reads do not set access times, so files seem older")
    if any("relatime" in one for one in options):
        reasons.append("mounted relatime: access times are up to one day late")
    return tuple(reasons)


See = Callable[[str, str, os.stat_result], object]
"""Takes a directory's path, a name in it and its status."""
Tick = Callable[[int], object]
"""Takes the number of regular files so far; called often."""
Inode = tuple[int, int]

MOST_OPEN = 64
"""Directories held open at once; deeper ones close the farthest."""
TICK_EVERY = 1024
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""The name is no longer there, or no longer a directory."""


@dataclass(kw_only=True)
class _OpenDirectory:
    """A directory on the way down: its name, descriptor (-1: closed for now) and the subdirectories still to come."""

    name: str
    descriptor: int
    inode: Inode
    waiting: list[str]


@dataclass(kw_only=True)
class _Log:
    """What the walk met so far."""

    files: int = 0
    directories: int = 0
    others: int = 0
    vanished: int = 0
    unread: int = 0
    first_unread: list[Trouble] = field(default_factory=list)
    elsewhere: int = 0
    first_elsewhere: list[str] = field(default_factory=list)
    touched: int = 0

    def fail(self, path: str, error: OSError) -> None:
        """Something could not be read; what is gone is no failure."""
        if error.errno in GONE:
            self.vanished += 1
            return
        self.unread += 1
        if len(self.first_unread) < MOST_NAMED:
            self.first_unread.append(Trouble(path=path, reason=error.strerror or str(error)))

    def leave_out(self, path: str) -> None:
        """A directory belongs to another file system."""
        self.elsewhere += 1
        if len(self.first_elsewhere) < MOST_NAMED:
            self.first_elsewhere.append(path)


def begin(directories: Sequence[str]) -> tuple[dict[str, Inode], tuple[str, ...]]:
    """Return each different directory with its device and inode, and a sentence for each path that is none or cannot be read."""
    wrong: list[str] = []
    found: dict[str, Inode] = {}
    for path in directories:
        try:
            descriptor, _ = _open(path, None)
        except OSError as error:
            wrong.append(f"found {printable(path)!r}: {_why(path, error)}; expected a directory that can be read")
            continue
        status = os.fstat(descriptor)
        os.close(descriptor)
        if (status.st_dev, status.st_ino) not in found.values():
            found[path] = (status.st_dev, status.st_ino)
    return found, tuple(wrong)


def _why(path: str, error: OSError) -> str:
    return "a file" if error.errno == errno.ENOTDIR and os.path.exists(path) else (error.strerror or str(error))  # noqa: PTH110


@dataclass(kw_only=True)
class Walk:
    """One walk over trees: what it calls for each file, and where it stops.

    `inodes` are the directories that it begins at (see `begin`), `mounts` what is mounted where; without `cross` it stays on
    the file system of each, with it it leaves out only those of the kernel.
    """

    inodes: Mapping[str, Inode]
    mounts: Mapping[str, MountEntry]
    cross: bool
    see: See
    tick: Tick
    log: _Log = field(default_factory=_Log)
    _seen: set[Inode] = field(default_factory=set)
    """Directories that were entered; only of `cross`, where a file system can be met twice."""

    def all(self) -> Walked:
        """Walk every tree, each directory once, also where one tree lies in another."""
        for root in self.inodes:
            self._tree(root)
        log = self.log
        return Walked(
            directories=log.directories,
            others=log.others,
            vanished=log.vanished,
            unread=log.unread,
            first_unread=tuple(Trouble(path=printable(one.path), reason=one.reason) for one in log.first_unread),
            elsewhere=log.elsewhere,
            first_elsewhere=tuple(printable(one) for one in log.first_elsewhere),
            touched=log.touched,
        )

    def _tree(self, root: str) -> None:
        real = os.path.realpath(root).rstrip("/")
        way: list[_OpenDirectory] = []
        try:
            self._enter(way, root, root.rstrip("/"))
            while way:
                if way[-1].waiting:
                    self._descend(way, way[-1].waiting.pop(), real)
                else:
                    self._return(way)
        finally:
            for one in way:
                _close(one)

    def _descend(self, way: list[_OpenDirectory], name: str, real: str) -> None:
        """Into a subdirectory, unless something is mounted there; that is known without touching it."""
        mount = self.mounts.get("/".join([real, *(one.name for one in way[1:]), name])) if self.mounts else None
        path = "/".join([*(one.name for one in way), name])
        if mount is not None and (not self.cross or mount.filesystem in KERNEL_FILESYSTEMS):
            self.log.leave_out(path)
            return
        self._enter(way, name, path)
        if len(way) > MOST_OPEN:
            _close(way[-1 - MOST_OPEN])

    def _enter(self, way: list[_OpenDirectory], name: str, path: str) -> None:
        """Open a directory, put it at the end of the way and look at all that is in it, where it belongs to this walk."""
        try:
            descriptor, quiet = _open(name, way[-1].descriptor if way else None)
        except OSError as error:
            self.log.fail(path or name, error)
            return
        status = os.fstat(descriptor)
        opened = _OpenDirectory(
            name=name if way else path, descriptor=descriptor, inode=(status.st_dev, status.st_ino), waiting=[]
        )
        if way and not self._belongs(opened.inode, way[0].inode, path):
            _close(opened)
            return
        way.append(opened)
        self.log.directories += 1
        self.log.touched += not quiet
        self._look(opened, path)

    def _belongs(self, inode: Inode, first: Inode, path: str) -> bool:
        """Whether a directory is on the file system of the tree's first one, and neither was walked nor will be for itself."""
        if inode in self.inodes.values() or inode in self._seen:
            return False
        if self.cross:
            self._seen.add(inode)
        elif inode[0] != first[0]:
            self.log.leave_out(path)
            return False
        return True

    def _look(self, opened: _OpenDirectory, path: str) -> None:
        """Hand on every regular file of a directory and note its subdirectories. What `see` raises goes through."""
        log, see = self.log, self.see
        try:
            listing = os.scandir(opened.descriptor)
        except OSError as error:
            log.fail(path or "/", error)
            return
        with listing:
            while True:
                entry = None
                try:
                    entry = next(listing, None)
                    if entry is None:
                        break
                    status = entry.stat(follow_symlinks=False) if entry.is_file(follow_symlinks=False) else None
                    inside = status is None and entry.is_dir(follow_symlinks=False)
                except OSError as error:
                    log.fail(f"{path}/{entry.name}" if entry else path or "/", error)
                    continue
                if status is not None:
                    see(path, entry.name, status)
                    log.files += 1
                    if not log.files % TICK_EVERY:
                        self.tick(log.files)
                elif inside:
                    opened.waiting.append(entry.name)
                else:
                    log.others += 1
        self.tick(log.files)

    def _return(self, way: list[_OpenDirectory]) -> None:
        """Back to the directory above, which is opened again where it was closed."""
        done = way.pop()
        try:
            if way and way[-1].descriptor < 0:
                self._reopen(way, done.descriptor)
        finally:
            _close(done)

    def _reopen(self, way: list[_OpenDirectory], child: int) -> None:
        """Open the last directory of the way again as the parent of one that was below it; give it up where it is another."""
        above = way[-1]
        try:
            if child >= 0:
                above.descriptor, _ = _open("..", child)
                status = os.fstat(above.descriptor)
                if (status.st_dev, status.st_ino) == above.inode:
                    return
            raise OSError(errno.EXDEV, "moved while the survey walked")
        except OSError as error:
            _close(above)
            above.waiting.clear()
            self.log.fail("/".join(one.name for one in way), error)


def _open(name: str, parent: int | None) -> tuple[int, bool]:
    """Return a descriptor to list a directory by, and whether listing leaves its access time alone. Raises OSError.

    Only the owner may ask for that (open(2), O_NOATIME). The name of a tree may be a symbolic link, a name below it not.
    """
    flags = FLAGS if parent is None else FLAGS | os.O_NOFOLLOW
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=parent), True
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        return os.open(name, flags, dir_fd=parent), False


def _close(one: _OpenDirectory) -> None:
    """Close a directory, if it is open."""
    if one.descriptor >= 0:
        os.close(one.descriptor)
        one.descriptor = -1

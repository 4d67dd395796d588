"""Creation of ext4, xfs and btrfs without discard and without lazy initialisation, and the features that result.

Sources: mke2fs(8) (nodiscard, lazy_itable_init, lazy_journal_init), mkfs.xfs(8) and mkfs.btrfs(8) (-K, -f).
"""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Host
from assay.errors import BusyError

MIB = 1 << 20
PATIENCE_S = 2.0
"""Time to wait for processes that use a file system only for a moment."""
UNMOUNT_S = 60.0
"""How long one umount may take: it writes what is dirty first."""
STATES = frozenset({"needs_recovery", "WRITTEN"})
"""Features that describe the current mount state, not the file system."""


@dataclass(frozen=True, kw_only=True)
class Filesystem:
    """One type of file system: the command that creates it, the command that prints its features, its smallest size."""

    name: str
    make: tuple[str, ...]
    environment: Mapping[str, str]
    mount_options: tuple[str, ...]
    describe: tuple[str, ...]
    parse: Callable[[str], tuple[tuple[str, str], ...]]
    smallest_bytes: int

    @property
    def tools(self) -> tuple[str, ...]:
        """The required commands."""
        return self.make[0], self.describe[0]


def make(host: Host, filesystem: Filesystem, device: str, options: Sequence[str]) -> None:
    """Create the file system on a device, with further mkfs options. Raises TrialError with the output of mkfs."""
    host.run([*filesystem.make, *options, device], env=filesystem.environment)


def mount(host: Host, kind: str, options: str, device: str, point: str) -> None:
    """Mount a device; options as after mount -o, empty for none. Raises TrialError with the output of mount."""
    host.run(["mount", "-t", kind, *(("-o", options) if options else ()), device, point])


def unmount(host: Host, point: str) -> None:
    """Unmount a mount point. Raises BusyError if a process keeps a file open there."""
    ends = time.monotonic() + PATIENCE_S
    while (done := host.run(["umount", "--", point], check=False, timeout_s=UNMOUNT_S)).status:
        if time.monotonic() > ends:
            raise BusyError(f"{point}: cannot unmount ({done.stderr.strip()}). Close every open file there.")
        time.sleep(0.1)


def lives_on(host: Host, filesystem: Filesystem, device: str) -> bool:
    """Return True if the kernel still holds the file system of an unmounted device, with its caches.

    A mount namespace copies every mount that exists when it is created; mounting the device again then returns the same file
    system with warm caches. Each type lists its live devices below /sys/fs (btrfs two levels deeper).
    """
    listed = ["find", f"/sys/fs/{filesystem.name}", "-maxdepth", "3", "-name", posixpath.basename(device)]
    return bool(host.run(listed, check=False).stdout.strip())


def lacks_journal(host: Host, filesystem: str | None, devices: Sequence[str]) -> bool:
    """Return True for ext4 without a journal; False for all else, and where the kernel does not tell."""
    if filesystem != "ext4" or not devices:
        return False
    try:
        return host.read(f"/sys/fs/ext4/{devices[0]}/journal_task").strip() == "<none>"
    except OSError:
        return False


def features(host: Host, filesystem: Filesystem, device: str) -> tuple[tuple[str, str], ...]:
    """Return features and geometry of the file system on a device, without values that differ each time (UUID, dates)."""
    return filesystem.parse(host.run([*filesystem.describe, device], check=False).stdout)


def parse_dumpe2fs(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the features and sizes from dumpe2fs -h."""
    wanted = {
        "Filesystem features": "mkfs.features",
        "Block size": "mkfs.block_bytes",
        "Inode size": "mkfs.inode_bytes",
        "Inode count": "mkfs.inodes",
        "Total journal size": "mkfs.journal",
        "Journal size": "mkfs.journal",
        "Default directory hash": "mkfs.directory_hash",
    }
    lines = (line.partition(":") for line in text.splitlines())
    found = ((wanted[key.strip()], value.split()) for key, _, value in lines if key.strip() in wanted)
    return tuple((key, " ".join(word for word in words if word not in STATES)) for key, words in found)


def parse_xfs_info(text: str) -> tuple[tuple[str, str], ...]:
    """Parse `name = word=value, …` from xfs_info, without the device's name."""
    pairs: list[tuple[str, str]] = []
    section = "meta-data"
    for line in text.splitlines():
        head, found, rest = line.partition("=")
        if not found:
            continue
        section = head.strip() or section
        for key, value in re.findall(r"([\w-]+)=(\S+?)(?:\s*blks)?(?:,|\s|$)", rest):
            pairs.append((f"mkfs.{section}.{key}", value))
    return tuple(pairs)


def parse_btrfs_super(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the sizes and features from btrfs inspect-internal dump-super."""
    wanted = ("csum_type", "compat_flags", "compat_ro_flags", "incompat_flags", "sectorsize", "nodesize")
    found = re.findall(rf"^({'|'.join(wanted)})[ \t]+(.+)$", text, re.MULTILINE)
    names = re.findall(r"^[ \t]+\([ \t]*(.+)$|^[ \t]+([A-Z_|0-9 ]+)[ \t]*\)?$", text, re.MULTILINE)
    words = sorted({word for pair in names for word in re.split(r"[ |()]+", " ".join(pair)) if word})
    words = [word for word in words if word not in STATES]
    return (*((f"mkfs.{key}", " ".join(value.split())) for key, value in found), ("mkfs.features", " ".join(words)))


FILESYSTEMS: Mapping[str, Filesystem] = {
    "ext4": Filesystem(
        name="ext4",
        make=("mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
        # Zeroing by ioctl would turn parts of the written image into preallocated ones.
        environment={"UNIX_IO_NOZEROOUT": "1"},
        mount_options=(),
        describe=("dumpe2fs", "-h"),
        parse=parse_dumpe2fs,
        smallest_bytes=8 * MIB,
    ),
    "xfs": Filesystem(
        name="xfs",
        make=("mkfs.xfs", "-q", "-f", "-K"),
        environment={},
        mount_options=(),
        describe=("xfs_info",),
        parse=parse_xfs_info,
        smallest_bytes=300 * MIB,
    ),
    "btrfs": Filesystem(
        name="btrfs",
        make=("mkfs.btrfs", "-q", "-f", "-K"),
        environment={},
        # Since Linux 6.2 btrfs discards by itself, which would punch holes into the image.
        mount_options=("nodiscard",),
        describe=("btrfs", "inspect-internal", "dump-super"),
        parse=parse_btrfs_super,
        smallest_bytes=128 * MIB,
    ),
}

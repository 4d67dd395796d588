"""How ext4, xfs and btrfs are made without discard and without lazy initialisation, and which features they then have.

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
"""How long it is waited for somebody who looks at a file system for a moment."""
STATES = frozenset({"needs_recovery", "WRITTEN"})
"""Words among the features that say whether it is mounted now, not what it is."""


@dataclass(frozen=True, kw_only=True)
class Filesystem:
    """One kind of file system: the command that makes it, the one that tells its features, its smallest size."""

    name: str
    make: tuple[str, ...]
    environment: Mapping[str, str]
    mount_options: tuple[str, ...]
    describe: tuple[str, ...]
    parse: Callable[[str], tuple[tuple[str, str], ...]]
    smallest_bytes: int

    @property
    def tools(self) -> tuple[str, ...]:
        """The commands that are needed."""
        return self.make[0], self.describe[0]


def make(host: Host, filesystem: Filesystem, device: str, options: Sequence[str]) -> None:
    """Make the file system on a device, with further mkfs options. Raises TrialError with what mkfs said."""
    host.run([*filesystem.make, *options, device], env=filesystem.environment)


def mount(host: Host, kind: str, options: str, device: str, point: str) -> None:
    """Mount a device; options as after mount -o, empty for none. Raises TrialError with what mount said."""
    host.run(["mount", "-t", kind, *(("-o", options) if options else ()), device, point])


def unmount(host: Host, point: str) -> None:
    """Unmount what is mounted there. Raises BusyError where somebody has a file open there and keeps it open."""
    ends = time.monotonic() + PATIENCE_S
    while (done := host.run(["umount", "--", point], check=False)).status:
        if time.monotonic() > ends:
            raise BusyError(f"{point} cannot be unmounted ({done.stderr.strip()}): no client may have a file open there")
        time.sleep(0.1)


def lives_on(host: Host, filesystem: Filesystem, device: str) -> bool:
    """Whether the kernel keeps the file system of a device that was unmounted, with all that it has in memory.

    A mount namespace has a copy of every mount that there was when it was made; who mounts the device again meanwhile gets the
    same file system, as warm as it was. Each kind lists its devices below /sys/fs as long as they live (btrfs two levels lower).
    """
    ends = time.monotonic() + PATIENCE_S
    listed = ["find", f"/sys/fs/{filesystem.name}", "-maxdepth", "3", "-name", posixpath.basename(device)]
    while host.run(listed, check=False).stdout.strip():
        if time.monotonic() > ends:
            return True
        time.sleep(0.1)
    return False


def features(host: Host, filesystem: Filesystem, device: str) -> tuple[tuple[str, str], ...]:
    """Features and geometry of the file system on a device, without what differs each time it is made (UUID, dates)."""
    return filesystem.parse(host.run([*filesystem.describe, device], check=False).stdout)


def parse_dumpe2fs(text: str) -> tuple[tuple[str, str], ...]:
    """`Filesystem features:  has_journal …` and the sizes, from dumpe2fs -h."""
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
    """`name = word=value, …` over several lines, from xfs_info; the device's name is left out."""
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
    """The sizes and the features from btrfs inspect-internal dump-super."""
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

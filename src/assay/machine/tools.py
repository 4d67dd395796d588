"""Location of a host's tools, and the Debian package of each missing one."""

from __future__ import annotations

from collections.abc import Iterable

from assay.catalogue import Host

FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "dumpe2fs": "e2fsprogs",
    "filefrag": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "xfs_info": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "btrfs": "btrfs-progs",
    "losetup": "mount",
    "mount": "mount",
    "umount": "mount",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "dd": "coreutils",
    "fio": "fio",
}
"""Debian 12 package of each tool that Assay calls."""


def find(host: Host, tool: str) -> str | None:
    """Return the path of a tool on this host; None if it is missing."""
    return next((path for folder in FOLDERS if host.exists(path := f"{folder}/{tool}")), None)


def missing(host: Host, tools: Iterable[str]) -> tuple[str, ...]:
    """Return one sentence for each missing tool, with its package."""
    where = "" if host.name == "local" else f" on {host.name}"
    return tuple(f"{tool}: not found{where}. Install {PACKAGES.get(tool, tool)}." for tool in tools if find(host, tool) is None)

"""Where a host's tools are, and which Debian package brings one that it lacks."""

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
"""Debian 12's package of each tool that Assay calls."""


def find(host: Host, tool: str) -> str | None:
    """The path of a tool on this host; None where it has none."""
    return next((path for folder in FOLDERS if host.exists(path := f"{folder}/{tool}")), None)


def missing(host: Host, tools: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each tool that the host lacks, with the package that has it."""
    return tuple(
        f"found no {tool} on {host.name}; expected it: install the Debian package {PACKAGES.get(tool, tool)}"
        for tool in tools
        if find(host, tool) is None
    )

"""Whether a folder lies on a network file system, where SQLite must not use a write-ahead log."""

from __future__ import annotations

from pathlib import Path

NETWORK = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs"),
        *("smb3", "smbfs", "vboxsf", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs"),
    )
)
"""A write-ahead log needs memory that all its users share, and no network file system gives that
(https://www.sqlite.org/wal.html, "WAL does not work over a network filesystem")."""


def is_network(folder: Path, mountinfo: str | None = None) -> bool:
    """Whether the innermost mount that holds the folder is of a network file system; False where that cannot be read."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    except OSError:
        return False
    return kind_of(folder.resolve(), text) in NETWORK


def kind_of(folder: Path, mountinfo: str) -> str | None:
    """The file system of the innermost, last mounted mount point above a folder (proc_pid_mountinfo(5))."""
    best: tuple[int, str | None] = (-1, None)
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        words = before.split()
        if not dash or len(words) < 5 or not after.split():
            continue
        point = Path(unescape(words[4]))
        depth = len(point.parts)
        if depth >= best[0] and folder.is_relative_to(point):
            best = (depth, after.split()[0])
    return best[1]


def unescape(text: str) -> str:
    """A path of mountinfo, in which blanks and backslashes stand as octal numbers."""
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, letter)
    return text

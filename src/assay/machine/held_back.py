"""What the client of a mount holds back after it has answered: files that rclone keeps in a cache and sends after their close."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.machine.stack import mount_of

RCLONE = "fuse.rclone"
KEEPING = ("writes", "full")
"""Cache modes in which rclone keeps what is written; in the others a close waits until all is sent (rclone mount)."""
DEFAULTS = {"vfs-cache-mode": "off", "vfs-write-back": "5s"}
UNKNOWN, NOTHING = "unknown", "nothing"


def of_mount(host: Host, path: str) -> str | None:
    """Say what the client of a path's mount holds back; None where it is none that is known to hold anything back.

    Begins with `nothing` where its options leave nothing, and with `unknown` where the client could not be asked.
    """
    try:
        mount = mount_of(host, path)
    except (OSError, EvidenceError):
        return None
    if mount.filesystem != RCLONE:
        return None
    found = _process(host, mount.point)
    if found is None:
        return f"{UNKNOWN}: the process of rclone behind {mount.point} was not found"
    mode, later = (_option(name, *found) for name in DEFAULTS)
    if mode not in KEEPING:
        return f"{NOTHING}: a close waits until rclone has sent the file (--vfs-cache-mode {mode})"
    return f"rclone keeps a written file and sends it {later} after its close (--vfs-cache-mode {mode})"


def _process(host: Host, point: str) -> tuple[Sequence[str], str] | None:
    """Return the words and the environment of the rclone that mounts at a point."""
    for pid in filter(str.isdigit, host.list("/proc")):
        try:
            words = host.read(f"/proc/{pid}/cmdline").split("\0")
            if not (words[0].endswith("rclone") and "mount" in words):
                continue
            inside = host.real_path(f"/proc/{pid}/cwd")
            if any(word and host.real_path(f"{inside}/{word}" if word[0] != "/" else word) == point for word in words[2:]):
                return words, host.read(f"/proc/{pid}/environ")
        except OSError:
            continue
    return None


def _option(name: str, words: Sequence[str], environment: str) -> str:
    """Return an option as rclone has it: of the command, else of the environment, else its default."""
    for at, word in enumerate(words):
        if word == f"--{name}":
            return words[at + 1]
        if word.startswith(f"--{name}="):
            return word.partition("=")[2]
    variable = f"RCLONE_{name.upper().replace('-', '_')}"
    match = re.search(rf"(?:^|\0){variable}=([^\0]*)", environment)
    return match[1] if match else DEFAULTS[name]

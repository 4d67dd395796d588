"""Who watches a notebook: `assay serve` holds a shared lock on its directory as long as it serves it.

The kernel lists the lock and drops it with its holder, so that nothing has to be written, and nothing is left behind. A running
experiment finds there whose CPU time is the lab's own, and whether anybody wants live rows. Source: proc_locks(5), flock(2).
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from assay.catalogue import Host

LOCKS = "/proc/locks"


def watch(notebook: Path) -> int | None:
    """Hold the shared lock until the returned descriptor is closed; None where the file system has no locks on directories."""
    descriptor = os.open(notebook, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def watchers(host: Host, notebook: str) -> tuple[int, ...]:
    """Return the processes that hold a shared lock on this directory, as far as we may see their open files."""
    try:
        holders = shared_holders(host.read(LOCKS))
    except OSError:
        return ()
    return tuple(pid for pid in holders if has_open(host, pid, notebook))


def shared_holders(locks: str) -> tuple[int, ...]:
    """Return the processes with a shared lock of flock(2), by the text of /proc/locks; those that wait for one have an arrow."""
    lines = (line.split() for line in locks.splitlines())
    return tuple(dict.fromkeys(int(words[4]) for words in lines if words[1:4] == ["FLOCK", "ADVISORY", "READ"]))


def has_open(host: Host, pid: int, path: str) -> bool:
    """Return whether a process has this path open."""
    own = f"/proc/{pid}/fd"
    return any(host.real_path(f"{own}/{name}") == path for name in host.list(own))

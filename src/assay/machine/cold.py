"""Makes the files below a path cold: flushed, their pages given back by the page cache."""

from __future__ import annotations

import contextlib

from assay.catalogue import Host
from assay.errors import RefusedError


def drop_files(host: Host, path: str, filesystem: str | None) -> None:
    """Flush all, then give back the cached pages of each file below the path. Inodes and names stay cached.

    A file that has vanished or that we may not open is left as it is: the proof afterwards says what came of it.
    Raises RefusedError on a host without these system calls, and on a file system whose pages are the only store.
    """
    if host.syscalls is None:
        raise RefusedError(f"found no Assay on {host.name}; expected it there to drop cached files: install it or use unchanged")
    if filesystem in ("tmpfs", "ramfs"):
        raise RefusedError(f"found {filesystem}, whose files live in the page cache alone; expected another for cache = cold")
    host.syscalls.syncfs(path)
    listed = host.run(["find", path, "-xdev", "-type", "f", "-size", "+0", "-print0"]).stdout
    for file in filter(None, listed.split("\0")):
        with contextlib.suppress(OSError):
            host.syscalls.drop_file(file)

"""One writer a notebook: a lock on a file that says who holds it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from assay.errors import BusyError, RefusedError
from assay.notebook.layout import LOCK


def acquire(folder: Path) -> IO[str]:
    """Hold the folder's lock until the returned file is closed. Raises BusyError naming the holder.

    The lock is flock(2). Linux carries it to the server on NFS (but not with `local_lock=flock`) and on SMB (not with
    `nobrl`); on other network file systems it holds between processes of one machine only.
    """
    try:
        handle = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise RefusedError(
            f"found {folder} not writable ({error.strerror}); expected to keep runs there: name another --lab"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        found = holder(handle)
        handle.close()
        raise BusyError(f"found {folder} being written by {found}; expected nobody: wait for it, or end it") from error
    except OSError as error:
        handle.close()
        raise RefusedError(f"found no locks on the file system of {folder} ({error.strerror}); name a --lab elsewhere") from error
    handle.seek(0)
    handle.truncate()
    record = {"pid": os.getpid(), "host": socket.gethostname(), "since_utc": datetime.now(UTC).isoformat(timespec="seconds")}
    handle.write(json.dumps(record))
    handle.flush()
    return handle


def holder(handle: IO[str]) -> str:
    """Who wrote itself into the lock file, in words."""
    handle.seek(0)
    try:
        record = json.loads(handle.read())
        return f"process {record['pid']} on {record['host']} since {record['since_utc']}"
    except (ValueError, KeyError, TypeError):
        return "another process"

"""Directories that Assay provably created: each holds a marker file with an identity that is also in the ledger."""

from __future__ import annotations

import posixpath
import re
import secrets

from assay.catalogue import Host, Undo
from assay.errors import RefusedError
from assay.machine.stack import mounts_below

PREFIX = ".assay-"
MARKER = ".assay-marker"


def fresh_name() -> str:
    """Return a unique directory name."""
    return PREFIX + secrets.token_hex(6)


def make(host: Host, undo: Undo, path: str, marker: str) -> None:
    """Create a marked directory, after its ledger entry; do nothing if it exists and is ours.

    Raises RefusedError if the path exists and is not ours, TrialError if it cannot be created.
    """
    if host.exists(path):
        if not is_ours(host, path, marker):
            raise RefusedError(f"{path} exists, but this experiment did not create it. Move it away.")
        return
    undo.add("directory", path=path, marker=marker)
    host.run(["mkdir", "--", path])
    host.write(posixpath.join(path, MARKER), marker)


def is_ours(host: Host, path: str, marker: str) -> bool:
    """Return True if the directory holds this marker, or is empty or has an empty marker (creation was interrupted)."""
    names = host.list(path)
    if not names:
        return posixpath.basename(path).startswith(PREFIX)
    if MARKER not in names:
        return False
    found = host.read(posixpath.join(path, MARKER)).strip()
    return found == marker or (found == "" and names == (MARKER,))


def remove(host: Host, path: str, marker: str) -> bool:
    """Remove a marked directory with its content; return False if it is missing or not ours.

    The marker is removed last, so that an interrupted removal can be resumed. Raises RefusedError if anything is mounted
    below, because its content would be deleted too.
    """
    if not host.exists(path) or not is_ours(host, path, marker):
        return False
    mounted = mounts_below(host, path)
    if mounted:
        raise RefusedError(f"{', '.join(mounted)}: still mounted below {path}. Unmount it.")
    keep = posixpath.join(path, MARKER)
    pattern = re.sub(r"[][*?\\]", r"\\\g<0>", keep)  # find(1) takes a pattern, so that brackets of a name must be escaped
    host.run(["find", path, "-xdev", "-mindepth", "1", "-not", "-path", pattern, "-delete"])
    host.run(["rm", "-f", "--", keep])
    host.run(["rmdir", "--", path])
    return True

"""Directories that are provably ours: each holds a marker file with an identity that the ledger knows too."""

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
    """A name for a directory that nobody else has."""
    return PREFIX + secrets.token_hex(6)


def make(host: Host, undo: Undo, path: str, marker: str) -> None:
    """Make a marked directory, written down first; nothing happens where it is there and ours.

    Raises RefusedError where the path exists and is not ours, TrialError where it cannot be made.
    """
    if host.exists(path):
        if not is_ours(host, path, marker):
            raise RefusedError(f"found {path}, which this experiment did not make; expected nothing there: move it away")
        return
    undo.add("directory", path=path, marker=marker)
    host.run(["mkdir", "--", path])
    host.write(posixpath.join(path, MARKER), marker)


def is_ours(host: Host, path: str, marker: str) -> bool:
    """Whether the directory holds this marker, or nothing at all but an empty one (its maker was stopped in between)."""
    names = host.list(path)
    if not names:
        return posixpath.basename(path).startswith(PREFIX)
    if MARKER not in names:
        return False
    found = host.read(posixpath.join(path, MARKER)).strip()
    return found == marker or (found == "" and names == (MARKER,))


def remove(host: Host, path: str, marker: str) -> bool:
    """Remove a marked directory with all that is in it; False where it is not there or not ours.

    The marker goes last, so that a removal that is interrupted can be taken up again. Raises RefusedError while something
    is mounted below: that would be deleted too.
    """
    if not host.exists(path) or not is_ours(host, path, marker):
        return False
    mounted = mounts_below(host, path)
    if mounted:
        raise RefusedError(f"found {', '.join(mounted)} still mounted; expected nothing mounted below {path}: unmount it")
    keep = posixpath.join(path, MARKER)
    pattern = re.sub(r"[][*?\\]", r"\\\g<0>", keep)  # find(1) takes a pattern, so that brackets of a name must be escaped
    host.run(["find", path, "-xdev", "-mindepth", "1", "-not", "-path", pattern, "-delete"])
    host.run(["rm", "-f", "--", keep])
    host.run(["rmdir", "--", path])
    return True

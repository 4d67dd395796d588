"""Directories and files that Assay provably created.

A directory holds a marker file with an identity that is also in the ledger. A single file has a marker beside it, which
identifies the file by inode and birth time. The name alone proves nothing: our file may have been replaced by another file, even
with the same inode. A file system without birth times may reuse the inode of a removed file: there a second name holds the inode
during our work, so that no other file can get it, and ownership of a kept file can no longer be proven.
"""

from __future__ import annotations

import errno
import json
import os
import posixpath
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from assay.catalogue import Host, Undo
from assay.errors import RefusedError
from assay.machine.stack import mounts_below

PREFIX = ".assay-"
MARKER = ".assay-marker"
UNKNOWN_BIRTH = ("", "-", "0", "0.000000000", "W")
"""Output of stat(1) on a file system without birth times, and of that of busybox, which knows none."""
AWAY = tuple(os.strerror(code) for code in (errno.ENOTCONN, errno.EIO, errno.ESTALE, errno.EHOSTDOWN, errno.ETIMEDOUT))
"""What programs say of a path whose file system does not answer (FUSE, NFS)."""


def fresh_name() -> str:
    """Return a unique directory name."""
    return PREFIX + secrets.token_hex(6)


def make_directory(host: Host, undo: Undo, path: str, marker: str, *, of: str = "") -> None:
    """Create a marked directory, after its ledger entry; do nothing if it exists and is ours. `of` says whose it is.

    Raises RefusedError if the path exists and is not ours, TrialError if it cannot be created.
    """
    if host.exists(path):
        if not is_ours(host, path, marker):
            raise RefusedError(f"{path} exists, but this experiment did not create it. Move it away.")
        return
    undo.add("directory", path=path, marker=marker, **({"of": f" of {of}"} if of else {}))
    host.run(["mkdir", "--", path])
    host.write(posixpath.join(path, MARKER), marker)


def fresh_directory(host: Host, undo: Undo, parent: str) -> str:
    """Create a marked directory with a name of its own below another one; return its path. Raises TrialError."""
    path = posixpath.join(host.real_path(parent), fresh_name())
    make_directory(host, undo, path, secrets.token_hex(8))
    return path


def is_ours(host: Host, path: str, marker: str) -> bool:
    """Return True if the directory holds this marker, or is empty or has an empty marker (creation was interrupted)."""
    names = host.list(path)
    if not names:
        return posixpath.basename(path).startswith(PREFIX)
    if MARKER not in names:
        return False
    found = host.read(posixpath.join(path, MARKER)).strip()
    return found == marker or (found == "" and names == (MARKER,))


def remove_directory(host: Host, path: str, marker: str) -> bool:
    """Remove a marked directory with its content; return False if it is missing or not ours.

    The marker is removed last, so that an interrupted removal can be resumed. Raises RefusedError if anything is mounted
    below, because its content would be deleted too.
    """
    if not empty_directory(host, path, marker):
        return False
    host.run(["rm", "-f", "--", posixpath.join(path, MARKER)])
    host.run(["rmdir", "--", path])
    return True


def away(host: Host, path: str) -> str | None:
    """Return why nobody can see what is at a path, where its file system is away; None where it is there, or nothing is."""
    done = host.run(["stat", "--", path], check=False)
    return next((why for why in AWAY if done.status and done.stderr.strip().endswith(why)), None)


def empty_directory(host: Host, path: str, marker: str) -> bool:
    """Remove the content of a marked directory except for its marker, as `remove_directory` does."""
    if not host.exists(path):
        if why := away(host, path):
            raise RefusedError(f"{path}: {why}. Assay's directory stays there. Mount it again, and run `assay doctor`.")
        return False
    if not is_ours(host, path, marker):
        return False
    mounted = mounts_below(host, path)
    if mounted:
        raise RefusedError(f"{', '.join(mounted)}: still mounted below {path}. Unmount it.")
    keep = posixpath.join(path, MARKER)
    pattern = re.sub(r"[][*?\\]", r"\\\g<0>", keep)  # find(1) takes a pattern, so that brackets of a name must be escaped
    host.run(["find", path, "-xdev", "-mindepth", "1", "-not", "-path", pattern, "-delete"])
    return True


class Ownership(StrEnum):
    """Owner of the file at a path."""

    OTHERS = "others"
    KEPT = "kept"
    """Assay created and kept it: it may be used and written again."""
    IN_USE = "in use"
    """A lab created it and uses it, or was killed and not yet cleaned up."""


@dataclass(frozen=True, kw_only=True)
class Marker:
    """The marker beside our file."""

    token: str
    """The identity that is also in the ledger."""
    inode: str
    birth: str
    """Birth time in seconds since the epoch, with nanoseconds."""
    kept: bool = False
    """True if the file stays when the lab that created it ends."""


def marker_path(path: str) -> str:
    """Return the path of a file's marker."""
    return posixpath.join(posixpath.dirname(path), f".{posixpath.basename(path)}{MARKER}")


def marker(host: Host, path: str) -> Marker | None:
    """Read the marker beside a file; None if it is missing or unreadable."""
    try:
        return Marker(**json.loads(host.read(marker_path(path))))
    except (OSError, ValueError, TypeError):
        return None


def of_file(host: Host, path: str) -> Ownership:
    """Return the owner of the file at a path."""
    found = marker(host, path)
    if found is None or found.birth in UNKNOWN_BIRTH or _identity(host, path) != (found.inode, found.birth):
        return Ownership.OTHERS
    return Ownership.KEPT if found.kept else Ownership.IN_USE


def make_file(host: Host, undo: Undo, path: str) -> None:
    """Create an empty file with its marker, after its ledger entry; the path must be free.

    The file is created under a unique name and then linked, which fails if the path exists: at any moment either the unique name
    or the marker proves its owner. Raises RefusedError if it cannot be created.
    """
    token = secrets.token_hex(6)
    undo.add("own_file", path=path, marker=token)
    temporary = _temporary_path(path, token)
    host.write(temporary, "")
    done = host.run(["ln", "-T", "--", temporary, path], check=False)
    if done.status != 0:
        undo.undo("own_file", path=path, marker=token)
        raise RefusedError(f"{path}: cannot create ({done.stderr.strip()}). Use a free name on a file system with hard links.")
    inode, birth = _identity(host, path)
    _write(host, path, Marker(token=token, inode=inode, birth=birth))
    if birth not in UNKNOWN_BIRTH:
        host.run(["rm", "-f", "--", temporary])


def keep_file(host: Host, path: str) -> None:
    """Mark the file as kept; undoing its ledger entry then changes nothing."""
    found = marker(host, path)
    if found is not None:
        _write(host, path, Marker(token=found.token, inode=found.inode, birth=found.birth, kept=True))
        host.run(["rm", "-f", "--", _temporary_path(path, found.token)])


def discard_file(host: Host, path: str) -> None:
    """Remove a kept file with its marker; do nothing if it is not ours."""
    if of_file(host, path) is Ownership.KEPT:
        host.run(["rm", "-f", "--", path, marker_path(path)])


def remove_file(host: Host, path: str, token: str) -> bool:
    """Remove the file with this token, its marker last; return False if it is gone, kept, or no longer ours."""
    temporary, found = _temporary_path(path, token), marker(host, path)
    own = found is not None and found.token == token
    if found is not None and own and found.kept:
        return False
    born = found is not None and own and found.birth not in UNKNOWN_BIRTH
    known = (found.inode, found.birth) if found is not None and born else _identity(host, temporary)
    gone = known != ("", "") and _identity(host, path) == known
    if gone:
        host.run(["rm", "-f", "--", path])
    left = [name for name, there in ((temporary, host.exists(temporary)), (marker_path(path), own)) if there]
    if left:
        host.run(["rm", "-f", "--", *left])
    return gone or bool(left)


def _temporary_path(path: str, token: str) -> str:
    return posixpath.join(posixpath.dirname(path), PREFIX + token)


def _identity(host: Host, path: str) -> tuple[str, str]:
    """Return inode and birth time of the file, links not followed; empty texts if nothing exists."""
    done = host.run(["stat", "-c", "%i %.9W", "--", path], check=False)
    inode, _, birth = done.stdout.strip().partition(" ") if done.status == 0 else ("", "", "")
    return inode, birth


def _write(host: Host, path: str, what: Marker) -> None:
    """Replace the marker atomically."""
    fresh = f"{_temporary_path(path, what.token)}.new"
    host.write(fresh, json.dumps(vars(what), sort_keys=True) + "\n")
    host.run(["mv", "-f", "-T", "--", fresh, marker_path(path)])

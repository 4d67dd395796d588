"""A single file that is provably ours: a marker beside it names the very file that we made, by inode and time of birth.

The name alone proves nothing: what we made may have been removed and another put in its place, even with the same inode. A
file system that tells no time of birth gives the inode of a removed file to the next one: there a second name of ours holds the
inode as long as we are at work, so that no other file can have it, and one that was kept is not proved any more.
"""

from __future__ import annotations

import json
import posixpath
import secrets
from dataclasses import dataclass
from enum import StrEnum

from assay.catalogue import Host, Undo
from assay.errors import RefusedError
from assay.machine import marks

SUFFIX = ".assay-marker"
UNKNOWN_BIRTH = ("", "-", "0", "0.000000000")
"""What stat(1) says of a file system that keeps no time of birth."""


class Whose(StrEnum):
    """To whom what is at a path belongs."""

    OTHERS = "others"
    KEPT = "kept"
    """We made it and it stays: it may be used and written again."""
    IN_USE = "in use"
    """A lab made it and is at work on it, or was killed and not yet cleaned up after."""


@dataclass(frozen=True, kw_only=True)
class Marker:
    """What stands beside a file of ours."""

    token: str
    """The identity that the ledger knows too."""
    inode: str
    birth: str
    """Time of birth in seconds since the epoch, with nanoseconds."""
    kept: bool = False
    """Whether it stays when the lab that made it ends."""


def marker_path(path: str) -> str:
    """Where the marker of a file is."""
    return posixpath.join(posixpath.dirname(path), f".{posixpath.basename(path)}{SUFFIX}")


def marker(host: Host, path: str) -> Marker | None:
    """The marker beside a file; None where there is none that can be read."""
    try:
        return Marker(**json.loads(host.read(marker_path(path))))
    except (OSError, ValueError, TypeError):
        return None


def whose(host: Host, path: str) -> Whose:
    """Whether what is at the path is the very file that a lab made, and what for."""
    found = marker(host, path)
    if found is None or found.birth in UNKNOWN_BIRTH or _identity(host, path) != (found.inode, found.birth):
        return Whose.OTHERS
    return Whose.KEPT if found.kept else Whose.IN_USE


def make(host: Host, undo: Undo, path: str) -> None:
    """Make an empty file where nothing is, with its marker; written down first.

    Made under a name that nobody else has and then linked, which fails where something is: at any moment either that name or
    the marker says whose it is. Raises RefusedError where it cannot be made.
    """
    token = secrets.token_hex(6)
    undo.add("own_file", path=path, marker=token)
    made = _made(path, token)
    host.write(made, "")
    done = host.run(["ln", "-T", "--", made, path], check=False)
    if done.status != 0:
        undo.undo("own_file", path=path, marker=token)
        raise RefusedError(
            f"found that {path} cannot be made ({done.stderr.strip()}); expected a name that is free, on a file system with links"
        )
    inode, birth = _identity(host, path)
    _write(host, path, Marker(token=token, inode=inode, birth=birth))
    if birth not in UNKNOWN_BIRTH:
        host.run(["rm", "-f", "--", made])


def keep(host: Host, path: str) -> None:
    """Say in the marker that the file stays; what the ledger has of it then undoes nothing."""
    found = marker(host, path)
    if found is not None:
        _write(host, path, Marker(token=found.token, inode=found.inode, birth=found.birth, kept=True))
        host.run(["rm", "-f", "--", _made(path, found.token)])


def discard(host: Host, path: str) -> None:
    """Remove a file that was kept, with its marker; nothing where it is not ours."""
    if whose(host, path) is Whose.KEPT:
        host.run(["rm", "-f", "--", path, marker_path(path)])


def remove(host: Host, path: str, token: str) -> bool:
    """Remove a file that was made with this token, its marker last; False where it is gone, kept, or not ours any more."""
    made, found = _made(path, token), marker(host, path)
    own = found is not None and found.token == token
    if found is not None and own and found.kept:
        return False
    born = found is not None and own and found.birth not in UNKNOWN_BIRTH
    known = (found.inode, found.birth) if found is not None and born else _identity(host, made)
    gone = known != ("", "") and _identity(host, path) == known
    if gone:
        host.run(["rm", "-f", "--", path])
    left = [name for name, there in ((made, host.exists(made)), (marker_path(path), own)) if there]
    if left:
        host.run(["rm", "-f", "--", *left])
    return gone or bool(left)


def _made(path: str, token: str) -> str:
    return posixpath.join(posixpath.dirname(path), marks.PREFIX + token)


def _identity(host: Host, path: str) -> tuple[str, str]:
    """Inode and time of birth of what is there, links not followed; empty where there is nothing."""
    done = host.run(["stat", "-c", "%i %.9W", "--", path], check=False)
    inode, _, birth = done.stdout.strip().partition(" ") if done.status == 0 else ("", "", "")
    return inode, birth


def _write(host: Host, path: str, what: Marker) -> None:
    """Replace the marker as a whole."""
    fresh = f"{_made(path, what.token)}.new"
    host.write(fresh, json.dumps(vars(what), sort_keys=True) + "\n")
    host.run(["mv", "-f", "-T", "--", fresh, marker_path(path)])

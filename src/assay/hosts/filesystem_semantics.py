"""The semantics of a directory's file system, found by trying: names, times, attributes, rights, holes.

A configuration states an intention; a probe shows the behaviour. Each probe takes a few calls on files of some bytes in a
directory of its own, which is removed again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

DAY_NS = 86_400 * 10**9
HOLE_BYTES = 1 << 20
ACCESS_LIST = struct.pack(
    "<I" + "HHI" * 5, 2, *(1, 6, 2**32 - 1), *(2, 4, 0), *(4, 4, 2**32 - 1), *(16, 4, 2**32 - 1), *(32, 0, 2**32 - 1)
)
"""A list of access rights as acl(5) has it in an attribute: owner rw, user 0 r, group r, mask r, others none."""


def probe(directory: str) -> dict[str, str]:
    """Return what was found of each. Raises OSError where nothing can be made in the directory."""
    with tempfile.TemporaryDirectory(prefix=".assay-semantics-", dir=directory) as made:
        file = Path(made) / "lower"
        file.write_bytes(b"content")
        return {name: told(file) for name, told in PROBES.items()}


def names(file: Path) -> str:
    """Return whether a name in other letters is the same file."""
    return "upper and lower case are one" if file.with_name("LOWER").exists() else "upper and lower case differ"


def access_time(file: Path) -> str:
    """When a read is written down (mount(8), relatime and strictatime).

    An access time of three days ago is renewed by a read unless none is; one of tomorrow only where each read counts.
    """
    if not renewed(file, -3 * DAY_NS):
        return "never"
    return "each read" if renewed(file, DAY_NS) else "first read after a change or a day"


def renewed(file: Path, shift_ns: int) -> bool:
    """Return whether a read renews an access time that lies so far from now."""
    now = file.stat().st_mtime_ns
    os.utime(file, ns=(now + shift_ns, now))
    before = file.stat().st_atime_ns
    file.read_bytes()
    return file.stat().st_atime_ns != before


def works(call: Callable[[Path], object]) -> Callable[[Path], str]:
    """Return a probe that says whether a call is allowed."""

    def answer(file: Path) -> str:
        with contextlib.suppress(OSError):
            call(file)
            return "yes"
        return "no"

    return answer


def modes(file: Path) -> str:
    """Return whether rights are kept as they are set."""
    with contextlib.suppress(OSError):
        file.chmod(0o640)
    return "kept" if stat.S_IMODE(file.stat().st_mode) == 0o640 else "not kept"


def holes(file: Path) -> str:
    """Return whether what was never written takes no space."""
    with file.with_name("hole").open("wb") as hole:
        hole.truncate(HOLE_BYTES)
        return "kept" if os.fstat(hole.fileno()).st_blocks * 512 < HOLE_BYTES else "filled"


def _hard_link(file: Path) -> None:
    file.with_name("hard").hardlink_to(file)


def _symbolic_link(file: Path) -> None:
    file.with_name("soft").symlink_to(file.name)


def _attribute(file: Path) -> None:
    os.setxattr(file, "user.assay", b"1")


def _access_list(file: Path) -> None:
    os.setxattr(file, "system.posix_acl_access", ACCESS_LIST)


PROBES: dict[str, Callable[[Path], str]] = {
    "names": names,
    "access_time": access_time,
    "modes": modes,
    "holes": holes,
    "hard_links": works(_hard_link),
    "symbolic_links": works(_symbolic_link),
    "attributes": works(_attribute),
    "access_lists": works(_access_list),
}

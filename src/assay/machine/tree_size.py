"""How large an existing tree of this machine is: what a plan needs to know of it, looked at for a moment only."""

from __future__ import annotations

import functools
import os
import time
from pathlib import Path

from assay.frozen import dataclass

LONGEST_S = 2.0
"""A larger tree than can be walked in this time is told by what was seen of it: at least so large."""
BLOCK = 512


@dataclass(frozen=True, kw_only=True)
class TreeSize:
    """Regular files of a tree, and the bytes that are allocated for them."""

    files: int
    bytes: int
    is_whole: bool


@functools.lru_cache(maxsize=64)
def tree_size(path: str) -> TreeSize | None:
    """Return the size of a tree; None where there is none on this machine. Symbolic links are not followed."""
    if not Path(path).is_dir():
        return None
    waiting, files, size, until_s = [path], 0, 0, time.monotonic() + LONGEST_S
    while waiting and time.monotonic() < until_s:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for one in entries:
            if one.is_dir(follow_symlinks=False):
                waiting.append(one.path)
            elif one.is_file(follow_symlinks=False):
                files += 1
                size += allocated(one)
    return TreeSize(files=files, bytes=size, is_whole=not waiting)


def allocated(entry: os.DirEntry[str]) -> int:
    """Return the bytes of a file's blocks, of a sparse one without its holes; 0 where it has gone."""
    try:
        return entry.stat(follow_symlinks=False).st_blocks * BLOCK
    except OSError:
        return 0

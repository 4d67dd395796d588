"""Trees on a real file system with given sizes and times, and walks through them."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from assay.survey.bands import DAY_NS
from assay.survey.filters import FileTime
from assay.survey.result import Counting
from assay.survey.walk import Walk, begin, mount_table

NOW_NS = 1_800_000_000 * 10**9
"""A time that all ages count back from."""


def made(path: Path, size: int = 0, *, days: float = 0.0, accessed: float | None = None) -> Path:
    """A file of this size that was modified and accessed so many days before NOW_NS."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    times = [NOW_NS - round(ago * DAY_NS) for ago in (days if accessed is None else accessed, days)]
    os.utime(path, ns=(times[0], times[1]))
    return path


def walked(*directories, see=None, cross=False, table=None):
    """What a walk met, and the paths of the files that it handed on."""
    found = []

    def note(directory, name, status):
        found.append(f"{directory}/{name}")
        if see is not None:
            see(directory, name, status)

    inodes, wrong = begin([str(path) for path in directories])
    assert not wrong
    walk = Walk(inodes=inodes, mounts=mount_table() if table is None else table, cross=cross, see=note, tick=lambda _: None)
    return walk.all(), sorted(found)


def distribution(*directories, clock=FileTime.MODIFIED, keep=None):
    """The distribution of trees at NOW_NS."""
    counting = Counting(clock, NOW_NS, keep)
    walked(*directories, see=lambda _, name, status: counting.see(name, status))
    return counting.distribution()


@contextmanager
def mounted(place: Path, *words: str):
    """Something mounted at a directory that is made for it."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", *words, str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)

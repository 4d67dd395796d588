"""What a test takes for itself so that others do not disturb it: a disk in memory, and the processors before everybody else."""

import contextlib
import os
import subprocess
from pathlib import Path

from assay_process import wait_until

MIB = 1 << 20
CONTROL = Path("/sys/class/zram-control")


@contextlib.contextmanager
def own_disk(home, size=2048 * MIB):
    """A directory on a file system on a disk of its own, in memory; below `home` itself where the kernel makes no such disk."""
    place = home / "own-disk"
    place.mkdir()
    if os.geteuid() != 0 or not (CONTROL / "hot_add").exists():
        yield place
        return
    number = (CONTROL / "hot_add").read_text().strip()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(size))
        subprocess.run(
            ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", f"/dev/zram{number}"], check=True
        )
        subprocess.run(["mount", f"/dev/zram{number}", place], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True)
    finally:
        wait_until(lambda: removed(number))


def removed(number):
    """Whether the disk could be removed: a new mount namespace of another test keeps it for a while."""
    with contextlib.suppress(OSError):
        (CONTROL / "hot_remove").write_text(number)
        return True
    return False


@contextlib.contextmanager
def ahead():
    """This process and what it starts come before all ordinary processes, where they may."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)

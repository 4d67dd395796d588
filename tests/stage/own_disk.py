"""What a test takes for itself so that others do not disturb it: a disk in memory, and the processors before everybody else."""

import contextlib
import fcntl
import os
import subprocess
from pathlib import Path

MIB = 1 << 20
CONTROL = Path("/sys/class/zram-control")
LOCK = Path("/tmp/assay-own-disk.lock")
MAKE = ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard")


@contextlib.contextmanager
def own_disk(home, size=2048 * MIB):
    """A directory on a file system on a disk of its own, in memory; on the disk of `home` where the kernel makes no such disk."""
    place = home / "own-disk"
    place.mkdir()
    if os.geteuid() != 0 or not (CONTROL / "hot_add").exists():
        yield place
        return
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is mounted, whoever removes what is free would remove it
        remove_free()
        number = (CONTROL / "hot_add").read_text().strip()
        Path(f"/sys/block/zram{number}/disksize").write_text(str(size))
        subprocess.run([*MAKE, f"/dev/zram{number}"], check=True)
        subprocess.run(["mount", f"/dev/zram{number}", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            remove_free()


def remove_free():
    """Remove each disk of this kind that nobody uses: a mount namespace of another test may keep one for a while."""
    for path in Path("/sys/block").glob("zram[1-9]*"):
        with contextlib.suppress(OSError):
            (CONTROL / "hot_remove").write_text(path.name.removeprefix("zram"))


AS_A_DISK = "from assay.trial import attempt; attempt.memory_device = lambda *_: None"
"""What a process of Assay runs first that shall take such a disk for one: else all that it holds is a device in memory (T03)."""


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

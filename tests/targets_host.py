"""What the tests of targets share: a live host, a ledger of their own, a setting, and what is left of a target."""

import re
from pathlib import Path

from assay.catalogue import Setting
from assay.hosts.local import Local
from assay.records import Trial

MIB = 1 << 20


def trial(number=1):
    return Trial(id=number, experiment="x", levels={}, replicate=1, block=1, sitting=0, position=1, seed=7)


def setting(undo, private, name="t", needs_bytes=0, **knobs):
    flat = {key.replace("__", "."): value for key, value in knobs.items()}
    return Setting(name=name, knobs=flat, scratch=str(private), undo=undo, trial=trial(), needs_bytes=needs_bytes)


def leftovers(directory):
    """Mounts below a directory, loop devices on images below it, and what is in it."""
    below = str(Path(directory).resolve())
    mounts = [
        line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4].startswith(below)
    ]
    loops = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            image = backing.read_text().strip()
        except OSError:
            continue
        if image.startswith(below):
            loops.append(f"{backing.parts[3]} {image}")
    return mounts, loops, sorted(path.name for path in Path(directory).iterdir())


def rules(value):
    """Throttle rules of control groups with this value."""
    top = Path("/sys/fs/cgroup")
    files = (*top.glob("blkio/blkio.throttle.*_device"), *top.glob("assay/*/io.max"))
    return [line for file in files for line in file.read_text().splitlines() if str(value) in re.split("[ =]", line)]


HOST = Local()

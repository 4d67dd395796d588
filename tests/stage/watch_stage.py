"""What the tests of watched commands share: one command watched in a process of its own, and what came of it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stage.mount_spaces import within_own

MIB = 1 << 20
SIZE = 32 * MIB
DRIVER = Path(__file__).parent / "watch_driver.py"
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: fanotify, taskstats, loop devices")


def call(room, *argv, options=(), through=None, **more):
    """The process of a watched command, not waited for, and the file for its result. What others mount it does not see."""
    through = within_own(room) if through is None else through
    result = room / f"result-{time.monotonic_ns()}.json"
    command = [*through, sys.executable, str(DRIVER), str(result), *options, "--", *map(str, argv)]
    return subprocess.Popen(command, cwd=room, **more), result


def watched(room, *argv, **more):
    """What came of a command, its status, and its output as it was passed on."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    process, result = call(room, *argv, **given)
    out, err = process.communicate(timeout=300)
    seen = json.loads(result.read_text()) if result.exists() else None
    assert seen is not None or process.returncode in (126, 127), err.decode()
    return seen, process.returncode, (out, err)


def moved(seen, rung, direction, span="clock"):
    found = [
        one for one in seen["observations"]["readings"] if (one["rung"], one["direction"], one["span"]) == (rung, direction, span)
    ]
    return sum(one["bytes"] for one in found)


def gauge(seen, path, metric):
    """A figure of the page cache of one file, at the end of the command and after the drain."""
    series = [one for one in seen["observations"]["series"] if (one["subject"], one["metric"]) == (f"path:{path}", metric)]
    return series[0]["value"] if series else None


def of(seen, path):
    """The record of one touched file, None where it is not known."""
    return next((one for one in seen["files"] if one["path"] == str(path)), None)


def filled(path, size=SIZE, *, cold=False):
    """A file of random bytes on the disk, in memory or not."""
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
        if cold:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path

"""The threads of a phase: what happens where the system gives none."""

import errno
import json
import os
import subprocess
from pathlib import Path

from stage.assay_process import wait_until

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
GIB = 1 << 30
LITTLE_SPACE = ("prlimit", f"--as={17 * GIB // 2}")
LARGE_STACKS = {"RUST_MIN_STACK": str(GIB)}
"""So there is room for a few threads, and what is left holds everything else."""


def arm(process, workers):
    settings = {"operation": "null", "ops": 10, "workers": workers}
    process.stdin.write(json.dumps({"type": "config", "engine": "null", "phase": "p", "settings": settings}) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_a_thread_that_cannot_be_started_is_told_and_the_engine_stays_usable():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([*LITTLE_SPACE, ENGINE], env=os.environ | LARGE_STACKS, **pipes) as process:
        assert json.loads(process.stdout.readline())["type"] == "hello"
        refused = arm(process, 1000)
        assert (refused["type"], refused["what"], refused["errno"]) == ("error", "thread", errno.EAGAIN)
        wait_until(lambda: arm(process, 1)["type"] == "armed")  # the threads of the refused phase may still be ending
        process.stdin.close()

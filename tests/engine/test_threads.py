"""The threads of a phase: what happens where the system gives none."""

import errno
import json
import subprocess
from pathlib import Path

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
LITTLE_MEMORY = ("prlimit", "--as=200000000")  # the stacks of about a hundred threads


def test_a_thread_that_cannot_be_started_is_told_and_the_engine_stays_usable():
    settings = {"operation": "null", "ops": 10}
    lines = [
        {"type": "config", "engine": "null", "phase": "p", "settings": settings | {"workers": workers}} for workers in (1000, 1)
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([*LITTLE_MEMORY, ENGINE], **pipes) as process:
        answers = [json.loads(process.stdout.readline())]
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert [answer["type"] for answer in answers] == ["hello", "error", "armed"]
    assert (answers[1]["what"], answers[1]["errno"]) == ("thread", errno.EAGAIN)

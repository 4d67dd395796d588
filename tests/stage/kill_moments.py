"""Labs that are ended at known moments: after a whole trial, under load, when their notes have so many lines.

The moments are events, so they are the same on a slow machine. Many of them (`make long`) also have a pause of their own.
"""

import contextlib
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from stage.assay_process import LEDGER, announced, kill, wait_until

LONGEST_PAUSE_S = 1.0
FEW = 10
SEED = 3
FINISHED = re.compile(r'"trial": (\d+),.*"outcome": "finished"')
WORDS = ("run", "e.toml", "--resume", "--progress", "json")


@dataclass(frozen=True)
class Struck:
    """A lab that was ended: what its notes had open then, its other processes, how many lines it had noted, how it ended."""

    moment: str
    open: list
    others: dict
    noted: int
    seen: object
    status: int
    complaint: str

    @property
    def told(self):
        return f"{self.moment}: {self.complaint}"


def noted(pid):
    """How many lines a lab has written down of what it does and undoes."""
    with contextlib.suppress(FileNotFoundError):  # it goes with the last thing to undo
        return sum(path.read_bytes().count(b"\n") for path in LEDGER.glob(f"{pid}-*.jsonl"))
    return 0


def loads(pid):
    """Whether a lab has started load generators."""
    with contextlib.suppress(OSError):  # they may end while they are counted
        children = [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
        return any(Path(f"/proc/{child}/comm").read_text() == "assay-engine\n" for child in children)
    return False


def moments(points, lines):
    """Name, test and pause of moments: under load, then within the notes of two trials, of which a trial has so many lines."""
    chance = random.Random(SEED)
    yield "under load", loads, 0.0
    for at in range(points - 1):
        line = max(1, round((at + chance.random()) / (points - 1) * 2 * lines))
        pause_s = chance.uniform(0, LONGEST_PAUSE_S) if points > FEW else 0.0
        yield (
            f"{line} lines noted, {lines} a trial, {pause_s:.2f} s later",
            lambda pid, line=line: noted(pid) >= line,
            pause_s,
        )


def finished(heard):
    """The trials that a lab has finished, by its news."""
    return set(FINISHED.findall(heard.read_text()))


def struck(bench, moment, reached, pause_s=0.0, *, trials=2, way=signal.SIGKILL, engines=False, look=lambda pids: None):
    """End a lab at a moment, at the latest when so many trials are finished; `look` is given its other processes before.

    `engines`: kill its load generators, too.
    """
    heard = bench.home / "news"
    with heard.open("w") as news:
        lab = bench.start(*WORDS, stdout=subprocess.DEVNULL, stderr=news)
    wait_until(lambda: reached(lab.pid) or len(finished(heard)) >= trials or lab.poll() is not None, every_s=0.01)
    time.sleep(pause_s)
    if way is signal.SIGKILL:
        kill(lab.pid, signal.SIGSTOP)  # so that what its notes say is what is there
    entries, lines = announced(lab.pid), noted(lab.pid)
    others = {pid: command for pid, command in bench.processes().items() if pid != lab.pid}
    seen, load = look(others), bench.engines() if engines else []
    for pid in (lab.pid, *load):
        kill(pid, way if pid == lab.pid else signal.SIGKILL)
    status = lab.wait(300)
    complaint = "".join(line for line in heard.read_text().splitlines(keepends=True) if not line.startswith("{"))
    return Struck(moment, entries, others, lines, seen, status, complaint)


def killed(bench, points, look=lambda pids: None):
    """Labs that are killed, first after a whole trial, then at so many moments; after each the doctor leaves nothing."""
    whole = struck(bench, "after a trial", lambda pid: False, trials=1, look=look)
    assert finished(bench.home / "news"), whole.told
    yield cleaned(bench, whole)
    had = 0
    for moment in moments(points, whole.noted):
        one = struck(bench, *moment, look=look)
        had += bool(one.open)
        yield cleaned(bench, one)
    assert had > points // 2, "the moments hit labs that had something"


def cleaned(bench, one):
    """The same lab, after the doctor: no process, mount, loop device or private directory is left."""
    done = bench.run("doctor")
    assert done.returncode == 0, one.told + done.stdout
    wait_until(lambda: not bench.processes())  # what is killed gives its memory back before it is gone
    assert bench.traces() == [], one.told
    return one

"""What the tests of targets share: a live host, a setting, a target that is set up, and what is left of one."""

import contextlib
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import assay
from assay.catalogue import Setting, resolved
from assay.hosts.local import Local
from assay.records import Place, Trial
from assay.undo.ledger import Ledger

MIB = 1 << 20
ENGINE = Path(assay.__file__).parent / "bin" / "assay-engine"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices, namespaces and mounts need root")


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


def given(target, undo, scratch, needs_bytes=0, **knobs):
    """A setting with the defaults of its other knobs, and the engine."""
    made = setting(undo, scratch, needs_bytes=needs_bytes, **knobs)
    return replace(made, knobs=resolved(target.knobs, made.knobs), engine=str(ENGINE))


def refused_elsewhere(target, setting, kind):
    """Attach it to a client on another host."""
    place = Place(target="t", host="local", kind=kind, address="http://h" if kind.value == "bucket" else "198.18.0.2")
    target.attach(Local("c.1"), setting, place, 0)


class Placed:
    """A target that was set up, and the clients that have it."""

    def __init__(self, target, setting):
        self.target, self.setting, self.ends = target, setting, []
        self.place = target.prepare(HOST, setting)

    def attached(self, client=0):
        """Give it to a client."""
        self.ends.append(self.target.attach(HOST, self.setting, self.place, client))
        return self.ends[-1]

    def facts(self):
        return dict(self.target.facts(HOST, self.place))

    def event(self, action, way="do"):
        """Let an event happen, or take it `back`."""
        getattr(self.target.events[action], way)(HOST, self.setting, self.place)

    def end(self):
        """Take it from all clients, and tear it down."""
        while self.ends:
            self.target.detach(HOST, self.setting, self.ends.pop())
        if self.place:
            self.target.teardown(HOST, self.setting, self.place)
        self.place = None


@contextlib.contextmanager
def placing(target, tmp_path, **always):
    """Yield what sets a target up with these knobs; at the end all is torn down, and nothing may be left of it."""
    ledger, scratch, made, failed = Ledger(tmp_path / "ledger"), tmp_path / "scratch", [], []
    scratch.mkdir()

    def place(**knobs):
        try:
            made.append(Placed(target, given(target, ledger, scratch, **{**always, **knobs})))
        except BaseException as error:
            failed.append(error)
            raise
        return made[-1]

    place.ledger, place.scratch = ledger, scratch
    place.check = lambda **knobs: target.check(HOST, given(target, ledger, scratch, **{**always, **knobs}))
    yield place
    for one in made:
        one.end()
    undone = ledger.unwind()
    ledger.close()
    assert [one for one in undone if one.state == "left"] == []
    assert undone == () or failed, "what was torn down leaves nothing in the ledger"
    assert leftovers(scratch) == ([], [], [])

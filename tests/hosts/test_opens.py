"""What the kernel tells of opened files and of ended tasks, and how less of it is told."""

import os
import subprocess
import sys

import pytest

from assay.hosts import exits
from assay.hosts import opens as opened
from assay.hosts.local import Local
from assay.machine.stack import mounts

TOUCH = "import os, sys\nfor name in sys.argv[1:]:\n os.close(os.open(name, os.O_RDONLY))\nopen(sys.argv[1], 'a').close()"


@pytest.fixture
def opens():
    found, reason = opened.listen(mounts(Local()))
    if found is None:
        pytest.skip(f"nobody hears of opened files here: {reason}")
    yield found
    found.close()


@pytest.fixture
def ended():
    found, reason = exits.listen()
    if found is None:
        pytest.skip(f"nobody hears of exits here: {reason}")
    yield found
    found.close()


def touched(paths):
    """The process that opened all and wrote to the first."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", TOUCH, *map(str, paths)])
    assert process.wait() == 0
    return process.pid


def heard(opens, pid, inside=None):
    """Name -> written, of what one process did."""
    found = {}
    for one in opens.drain(inside or {}):
        if one.pid == pid:
            found[one.key] = found.get(one.key, False) or one.written
    return {os.path.basename(path): found[key] for key, path in opens.paths(found)}  # noqa: PTH119 - names alone


def made(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("x")
    return [tmp_path / name for name in names]


def test_every_file_that_is_opened_is_told_with_its_process(tmp_path, opens):
    names = [f"f{number}" for number in range(300)]
    pid = touched(made(tmp_path, names))
    found = heard(opens, pid)
    assert {name: found.get(name) for name in names} == {name: name == "f0" for name in names}


def test_nothing_is_told_of_processes_that_are_known_to_be_outside(tmp_path, opens):
    pid = touched(made(tmp_path, ["a", "b"]))
    assert heard(opens, pid, {pid: False}) == {}


def test_what_is_only_read_is_told_no_more_where_writes_alone_are_heard(tmp_path, opens):
    paths = made(tmp_path, ["a", "b"])
    opens.hear_writes_alone()
    assert not opens.all_opens
    assert heard(opens, touched(paths)) == {"a": True}


def test_in_the_end_nothing_is_told(tmp_path, opens):
    paths = made(tmp_path, ["a"])
    opens.hear_nothing()
    list(opens.drain({}))
    assert heard(opens, touched(paths)) == {}


def test_a_task_that_ends_is_told_with_its_parent_and_what_it_used(tmp_path, ended):
    (path,) = made(tmp_path, ["a"])
    pid = touched([path] * 50)
    (found,) = [one for one in ended.drain({}) if one.pid == pid]
    assert found.parent == os.getpid()
    assert found.cpu_ns > 0
    assert found.counters["minor_faults"] > 0


def test_the_record_of_what_is_outside_is_not_read(tmp_path, ended):
    pid = touched(made(tmp_path, ["a"]))
    (found,) = [one for one in ended.drain({os.getpid(): False}) if one.pid == pid]
    assert (found.parent, found.record) == (os.getpid(), b"")

"""The traces of a tree are followed within a budget: what hearing of others costs is bounded, what was written stays known."""

import subprocess

import pytest

from assay.hosts.local import Local
from assay.watch import command, traces
from assay.watch.process_tree import Tree

WRITES = "cat read > /dev/null; echo x > written; exec 3< held; read line"


@pytest.fixture
def followed():
    tree = Tree()
    tree.before = frozenset(tree.others())
    found = traces.follow(Local(), tree, frozenset())
    yield found
    found.close()
    tree.close()


def run(followed, place):
    """A shell that reads, writes, holds a file open, and ends; what is known of its files afterwards."""
    for name in ("read", "held"):
        (place / name).write_text("x")
    process = subprocess.Popen(["sh", "-c", WRITES], cwd=place, stdin=subprocess.PIPE)
    followed.tick()
    while not (place / "written").exists() or "held" not in {path.name for path in held(process)}:
        pass
    followed._look_ns = 0
    followed.tick()
    process.communicate(b"\n")
    followed.tick()
    assert followed.broken is None
    return {
        path.removeprefix(f"{place}/"): written
        for path, written in followed.opened_files().items()
        if path.startswith(str(place))
    }


def held(process):
    """The files that a process has open."""
    from pathlib import Path

    return [path.readlink() for path in Path(f"/proc/{process.pid}/fd").iterdir() if path.is_symlink()]


def test_every_file_is_known_where_the_kernel_tells(followed, tmp_path):
    if not followed.hears_all():
        pytest.skip("the kernel does not tell us of files")
    assert run(followed, tmp_path) == {"read": False, "written": True, "held": False}
    assert followed.hears_all()


def test_where_hearing_costs_too_much_what_was_written_and_what_is_held_open_is_known(followed, tmp_path, monkeypatch):
    if not followed.hears_all():
        pytest.skip("the kernel does not tell us of files")
    monkeypatch.setattr(traces, "HEARING_NS", -(10**12))
    followed.tick()
    assert not followed.hears_all()
    assert run(followed, tmp_path) == {"written": True, "held": False}


def test_a_tree_that_opens_too_many_files_is_followed_no_further(followed, tmp_path, monkeypatch):
    if not followed.hears_all():
        pytest.skip("the kernel does not tell us of files")
    monkeypatch.setattr(traces, "MOST_FILES", 2)
    run(followed, tmp_path)
    assert followed.crowded
    assert "only the first 2 files" in " ".join(followed.gaps())
    list(followed.opens.drain({}))  # what waited already
    (tmp_path / "later").write_text("x")
    assert not list(followed.opens.drain({}))


def test_long_runs_are_counted_as_often_as_short_ones_at_even_times(followed, monkeypatch):
    clock = iter(range(0, 10**15, 10**9))
    now = [next(clock)]
    monkeypatch.setattr(traces.time, "monotonic_ns", lambda: now[0])
    for _ in range(200):
        now[0] = next(clock)
        followed.tick()
    steps = {later - earlier for (earlier, _), (later, _) in zip(followed.points, followed.points[1:], strict=False)}
    assert traces.MOST_POINTS / 2 <= len(followed.points) <= traces.MOST_POINTS
    assert steps == {16 * 10**9}


def test_where_there_are_too_many_processes_they_are_read_only_where_that_is_asked_for(monkeypatch):
    usual, named = command.WatchRequest(argv=("true",)), command.WatchRequest(argv=("true",), more=("processes", "tracepoints"))
    assert command._too_many(named) == {}
    monkeypatch.setattr(command, "MOST_PROCESSES", 0)
    assert "processes" not in command._names(usual)
    assert "--observe processes" in command._too_many(usual)["other_processes.cpu_ns"]
    assert command._names(named)[-1] == "tracepoints"
    assert "processes" in command._names(named)
    assert command._too_many(named) == {}

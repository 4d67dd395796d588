"""The server's data in memory and its own count of requests: real files, real commands."""

import os

import pytest

from assay.hosts.local import Local
from assay.machine.server import MOST_FILES, data_files
from assay.observers.server_data import OBSERVER
from assay.records import Edge, ServerNode, Subject
from stage.observer_looks import look, the_series

MIB = 1 << 20


def subject(data=(), requests=()):
    return Subject(server=(ServerNode(pid_file="/x", data=tuple(map(str, data)), requests=requests),))


def parsed(watched, *looks):
    return OBSERVER.parse("h", "p", looks, watched)


def looked(watched, edge, at):
    return look(OBSERVER, Local(), watched, edge, at)


@pytest.mark.skipif(OBSERVER.available(Local()) is not None, reason="needs the system calls of this host")
def test_a_file_that_is_written_and_not_synced_is_dirty(tmp_path):
    watched = subject([tmp_path / "data"])
    (tmp_path / "data/below").mkdir(parents=True)
    (tmp_path / "data/below/store").touch()
    armed = looked(watched, Edge.ARMED, 0)
    (tmp_path / "data/below/store").write_bytes(os.urandom(MIB))
    dirty = looked(watched, Edge.LAST, 1)
    if dirty.raw["pages"].get("error") == "Function not implemented":
        pytest.skip("needs cachestat(2): Linux 6.5")
    with (tmp_path / "data/below/store").open("rb") as file:
        os.fsync(file.fileno())
    found = parsed(watched, armed, dirty, looked(watched, Edge.DRAINED, 2))
    assert list(the_series(found, "file_bytes", "server").value) == [0, MIB, MIB]
    assert the_series(found, "cached_bytes", "server").value[1] == MIB
    seen = the_series(found, "dirty_bytes", "server").value
    assert seen[0] == 0
    assert seen[1] + the_series(found, "writeback_bytes", "server").value[1] <= MIB
    assert seen[2] == 0


def test_requests_are_counted_from_the_first_look(tmp_path):
    (tmp_path / "count").write_text("answered: 40\n")
    watched = subject([tmp_path], ("cat", str(tmp_path / "count")))
    armed = looked(watched, Edge.ARMED, 0)
    (tmp_path / "count").write_text("errors: 7, answered: 95\n")
    found = parsed(watched, armed, looked(watched, Edge.LAST, 1))
    assert list(the_series(found, "requests", "server").value) == [0, 55]


def test_a_command_that_tells_no_number_is_missing_evidence(subtests, tmp_path_factory):
    for command, why in [(("echo", "none"), "a number"), (("false",), "exit status"), (("no-such-tool",), "no-such-tool")]:
        with subtests.test(command=command, why=why):
            tmp_path = tmp_path_factory.mktemp("case")
            watched = subject([tmp_path], command)
            assert why in parsed(watched, looked(watched, Edge.ARMED, 0)).missing["server.requests"]


def test_what_the_target_does_not_name_is_told():
    watched = subject()
    missing = parsed(watched, looked(watched, Edge.ARMED, 0)).missing
    assert "server.data" in missing["server.dirty_bytes"]
    assert "server.requests" in missing["server.requests"]
    assert OBSERVER.read(Local(), Subject()) == {}
    assert parsed(Subject()).missing == {}


def test_files_below_directories_are_data_too(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    for number in range(MOST_FILES + 5):
        (tmp_path / f"a/b/{number:04d}").touch()
    (tmp_path / "single").touch()
    found = data_files(Local(), (ServerNode(pid_file="/x", data=(str(tmp_path / "single"), str(tmp_path / "a"), "/no/such")),))
    assert found[0] == str(tmp_path / "single")
    assert len(found) == MOST_FILES + 1, "one more says that there are too many"


def test_of_too_many_files_nothing_is_said(tmp_path):
    for number in range(MOST_FILES + 1):
        (tmp_path / f"{number:04d}").touch()
    watched = subject([tmp_path])
    assert "Set server.data" in parsed(watched, looked(watched, Edge.ARMED, 0)).missing["server.dirty_bytes"]

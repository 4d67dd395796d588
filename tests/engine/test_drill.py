"""The engine `drill`: records by an open loop, tried again, acknowledged ones noted outside, and what a check finds of them."""

import os
import signal
import struct
import subprocess
import threading
import time

import pytest

from stage.assay_process import wait_until
from stage.served_stage import needs, needs_fuse, needs_root

SECOND = 1_000_000_000


def append(tmp_path, **more):
    given = {
        "operation": "append",
        "path": str(tmp_path / "records"),
        "journal": str(tmp_path / "journal"),
        "token": "a-0",
        "retry_ns": 20_000_000,
        "duration_ns": SECOND,
        "load": {"rate": 200},
    }
    return given | more


def check(tmp_path, **more):
    given = {"operation": "check", "path": str(tmp_path / "records"), "journal": str(tmp_path / "journal"), "token": "a-0"}
    return given | more


def noted(tmp_path):
    return [number for number, _ in struct.iter_unpack("<QQ", (tmp_path / "journal").read_bytes())]


def test_every_acknowledged_record_is_noted_and_found(engine, tmp_path):
    result = engine.run("drill", append(tmp_path))
    drill = result["drill"]
    assert (result["stopped_by"], drill["failed_tries"], drill["unacknowledged"]) == ("time", 0, 0)
    count = result["operations"]["append"]["count"]
    assert noted(tmp_path) == list(range(count))
    assert drill["acknowledged"] == count
    assert count + result["load"]["unstarted"] in range(199, 202)
    assert (tmp_path / "records").stat().st_size == count * 4096
    found = engine.run("drill", check(tmp_path))["drill"]
    assert (found["acknowledged"], found["intact"], found["lost"], found["changed"]) == (count, count, 0, 0)


def test_what_became_of_records_is_told_apart(engine, tmp_path):
    count = engine.run("drill", append(tmp_path, duration_ns=SECOND // 2))["drill"]["acknowledged"]
    with (tmp_path / "records").open("r+b") as file:
        file.seek(3 * 4096 + 17)
        file.write(b"x")
        file.seek(5 * 4096)
        file.write(bytes(4096))
        file.truncate((count - 2) * 4096 + 100)
    result = engine.run("drill", check(tmp_path))
    found = result["drill"]
    assert (found["intact"], found["changed"], found["lost"]) == (count - 4, 1, 3)
    assert (found["first_bad"], found["last_bad"]) == (3, count - 1)
    assert {(one["what"], one["count"]) for one in result["errors"]} == {("changed", 1), ("lost", 3)}
    assert engine.run("drill", check(tmp_path, token="b-0"))["drill"]["intact"] == 0, "another trial's records are no records"
    (tmp_path / "records").unlink()
    assert engine.run("drill", check(tmp_path))["drill"]["lost"] == count


def test_a_record_that_fails_is_tried_again_and_the_time_away_is_told(engine, tmp_path):
    (tmp_path / "there").mkdir()
    engine.arm("drill", append(tmp_path, path=str(tmp_path / "there" / "records"), duration_ns=4 * SECOND, load={"rate": 50}))
    (tmp_path / "there").rename(tmp_path / "gone")
    engine.go()
    back = threading.Timer(1.0, lambda: (tmp_path / "gone").rename(tmp_path / "there"))
    back.start()
    result = engine.result()
    (away,) = result["drill"]["outages"]
    assert away["failed_tries"] == result["drill"]["failed_tries"] > 10
    assert away["to_ns"] - away["from_ns"] > 0.9 * SECOND
    assert away["caught_up_ns"] > away["to_ns"]
    assert result["operations"]["append"]["max_ns"] >= away["to_ns"] - away["from_ns"], "the latency counts from when it was due"
    assert result["load"]["late"] > 12, "what was due meanwhile was done later"
    assert noted(tmp_path) == list(range(result["drill"]["acknowledged"]))


def test_a_record_that_is_never_acknowledged_is_not_noted(engine, tmp_path):
    result = engine.run("drill", append(tmp_path, path=str(tmp_path / "none" / "records")))
    drill = result["drill"]
    assert result["stopped_by"] == "time", "no error ends a drill"
    assert (drill["acknowledged"], drill["unacknowledged"], noted(tmp_path)) == (0, 1, [])
    assert drill["outages"][0]["to_ns"] is None


def test_a_call_that_hangs_is_left_behind(engine, tmp_path):
    os.mkfifo(tmp_path / "records")  # an open for writing waits for a reader
    result = engine.run("drill", append(tmp_path, deadline_ns=SECOND // 5, duration_ns=3 * SECOND))
    assert result["drill"]["hung"] >= 3
    assert result["stopped_by"] == "time"
    assert {one["errno"] for one in result["errors"]} == {110}
    end = os.open(tmp_path / "records", os.O_RDONLY | os.O_NONBLOCK)  # lets the threads go
    os.close(end)


@pytest.fixture
def mount(tmp_path):
    """A FUSE file system with one file: its mount point and the process without which every call on it hangs."""
    point = tmp_path / "mount"
    point.mkdir()
    fuse = subprocess.Popen(["nbdfuse", str(point), "--command", "nbdkit", "-s", "memory", "1M"], start_new_session=True)
    wait_until((point / "nbd").exists)
    yield point, fuse.pid
    os.killpg(fuse.pid, signal.SIGCONT)
    os.killpg(fuse.pid, signal.SIGKILL)  # what waits for it now fails
    fuse.wait(300)
    subprocess.run(["umount", "-l", str(point)], check=False)


@pytest.mark.root
@needs_root
@needs_fuse
@needs("nbdfuse", "nbdkit", "umount")
def test_a_close_that_hangs_is_waited_for_no_longer_than_a_try(engine, tmp_path, mount):
    """The close of a file on FUSE waits for its server: with that stopped between two records nothing else hangs."""
    point, pid = mount
    settings = append(tmp_path, path=str(point / "nbd"), deadline_ns=SECOND // 2, duration_ns=4 * SECOND, load={"rate": 0.5})
    engine.arm("drill", settings)
    began = time.monotonic()
    engine.go()
    timers = [threading.Timer(3.0, os.killpg, (pid, signal.SIGSTOP)), threading.Timer(90.0, os.killpg, (pid, signal.SIGCONT))]
    for one in timers:
        one.start()
    result = engine.result()
    took = time.monotonic() - began
    for one in timers:
        one.cancel()
    assert (result["stopped_by"], result["drill"]["acknowledged"], result["drill"]["failed_tries"]) == ("time", 2, 0)
    assert took < 90, "not before somebody let the server go on"


def test_the_directory_below_a_mount_that_is_gone_takes_no_records(engine, tmp_path):
    result = engine.run("drill", append(tmp_path, mounted=True))
    assert (result["drill"]["acknowledged"], {one["errno"] for one in result["errors"]}) == (0, {107})
    assert not (tmp_path / "records").exists()


def test_records_that_cannot_be_read_are_told_without_waiting_for_each(engine, tmp_path):
    engine.run("drill", append(tmp_path, duration_ns=SECOND // 2))
    (tmp_path / "records").rename(tmp_path / "kept")
    (tmp_path / "records").mkdir()
    began = time.monotonic()
    found = engine.run("drill", check(tmp_path, patience_ns=SECOND // 2))["drill"]
    assert time.monotonic() - began < found["unreadable"] * 0.5 / 2, "less than half of what waiting for each takes"
    assert (found["unreadable"], found["lost"], found["intact"]) == (found["acknowledged"], 0, 0)


def test_one_record_that_cannot_be_read_says_nothing_of_the_next_ones(engine, tmp_path):
    count = engine.run("drill", append(tmp_path, duration_ns=SECOND // 2))["drill"]["acknowledged"]
    entries = [struct.pack("<QQ", number, 0) for number in range(count)]
    entries.insert(3, struct.pack("<QQ", 1 << 51, 0))  # its offset is none that a file can have
    (tmp_path / "journal").write_bytes(b"".join(entries))
    found = engine.run("drill", check(tmp_path, patience_ns=SECOND // 5))["drill"]
    assert (found["unreadable"], found["intact"]) == (1, count)
    assert (found["first_bad"], found["last_bad"]) == (1 << 51, 1 << 51)


def test_records_in_a_directory_that_is_away_are_not_lost(engine, tmp_path):
    (tmp_path / "there").mkdir()
    path = str(tmp_path / "there" / "records")
    count = engine.run("drill", append(tmp_path, path=path, duration_ns=SECOND // 2))["drill"]["acknowledged"]
    (tmp_path / "there").rename(tmp_path / "gone")
    found = engine.run("drill", check(tmp_path, path=path, patience_ns=SECOND // 5))["drill"]
    assert (found["unreadable"], found["lost"]) == (count, 0)


def test_impossible_settings_are_refused(subtests, engine, tmp_path_factory):
    for given, says in [
        ({"load": {}}, "append without rate or schedule"),
        ({"duration_ns": None}, "append without duration_ns or schedule"),
        ({"record_size": 10}, "record_size outside 64"),
        ({"deadline_ns": 0}, "deadline_ns or retry_ns 0"),
        ({"operation": "read"}, "unknown variant"),
    ]:
        with subtests.test(given=given, says=says):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("drill", append(tmp_path, **given))
            assert answer["type"] == "error"
            assert says in answer["message"]


def test_a_check_without_its_journal_is_refused(engine, tmp_path):
    answer = engine.arm("drill", check(tmp_path))
    assert (answer["type"], answer["what"], answer["errno"]) == ("error", "journal", 2)

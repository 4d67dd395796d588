"""The plug `backup_read`: which phases the engines are asked for, that they take them, and what is said of their figures."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalogue
from assay.answer.wording import labels
from assay.catalogue import Order, Pace
from assay.experiment import read
from assay.hosts.local import Local
from assay.records import CacheState, Direction, Endpoint, EndpointKind, Outcome, Severity, State, StopRule, VerdictState
from assay.selftest.control import measured
from assay.workloads.backup_read import KNOBS, WORKLOAD
from stage.rows import each

TEXT = """
title = "A tree"
question = "Is a cold backup one of the device, and a warm one not?"
repeats = 1

[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "192 MiB"

[workloads]
cold = { kind = "backup_read", files = 1000, file_bytes = "64 KiB", directories = 20, walkers = 2, cache = "cold" }
warm = { kind = "backup_read", files = 2000, file_bytes = "4 KiB", directories = 3, walkers = 2, cache = "warm" }
direct = { kind = "backup_read", files = 300, file_bytes = "64 KiB", direct = true, order = "inode", cache = "cold" }

[measures]
"cold.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
"cold.file.ops_per_s" = { claim = { regime = "cold" } }
"warm.read.bytes_per_s" = { claim = { tier = "device" } }
"warm.file.ops_per_s" = { claim = { regime = "cold" } }
"direct.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
"""


def order(clients=1, home="/x", **knobs):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=home) for _ in range(clients))
    return Order(workload="backup", knobs=knobs, endpoints=endpoints, seed=7)


def phases(clients=1, **knobs):
    return WORKLOAD.phases(order(clients, **knobs))


def test_an_existing_tree_is_read_and_nothing_else_is_done_wherever_it_is_named():
    (only,) = phases(tree="/srv/data/", cache="cold", passes=2)
    assert (only.name, only.measured, only.cache, only.tree) == ("read", True, CacheState.COLD, "/srv/data")
    assert only.directions == {"read": Direction.READ, "file": Direction.METADATA, "walk": Direction.METADATA}
    assert only.within == {"read": "file"}
    assert (only.engine, only.data_files) == (None, ())
    assert only.settings[0]["root"] == "/srv/data"
    assert WORKLOAD.only_reads({"tree": "/srv/data"})
    assert not WORKLOAD.only_reads({"files": 5})


@each("given root", ("/", "/"), ("/a//", "/a"), (".", "/x"), ("projects/old", "/x/projects/old"), ("/x", "/x"))
def test_a_tree_is_named_absolutely_or_below_the_target(given, root):
    assert phases(tree=given)[0].tree == root


@given(st.integers(1, 9), st.integers(0, 50), st.integers(1, 20))
def test_clients_lay_out_every_file_once_and_share_its_reading(clients, more, directories):
    files = clients + more
    layout, reading = phases(clients, files=files, directories=directories)
    assert (layout.name, layout.measured, layout.engine) == ("layout", False, "metadata")
    numbers = [
        number for told in layout.settings for number in range(told["first"], told["first"] + told["count"]) if told["count"]
    ]
    assert numbers == list(range(files))
    assert {told["directory"] for told in layout.settings} == {reading.tree} == {"/x/backup-tree"}
    assert [(told["part"], told["parts"]) for told in reading.settings] == [(part, clients) for part in range(clients)]


def test_a_warm_tree_is_read_once_before_by_the_engine_itself():
    _, warming, reading = phases(files=3, cache="warm", direct=True, drop_behind=True, think=5, duration=10**9)
    assert (warming.name, warming.measured, warming.cache, warming.stop) == (
        "warming",
        False,
        CacheState.UNCHANGED,
        StopRule.WORK,
    )
    assert not {"direct", "drop_behind", "load", "duration_ns"} & set(warming.settings[0])
    assert (reading.cache, reading.stop) == (CacheState.WARM, StopRule.TIME)
    told = reading.settings[0]
    assert (told["direct"], told["drop_behind"], told["load"], told["duration_ns"]) == (True, True, {"think_ns": 5}, 10**9)


@each(
    "knobs says",
    ({}, "neither tree nor files"),
    ({"tree": "/x", "files": 5}, "tree with files"),
    ({"tree": "/x", "file_bytes": 5, "directories": 2}, "file_bytes and directories with tree"),
    ({"files": 3, "clients": 4}, "3 files for 4 clients"),
    ({"files": 3, "directories": 4}, "directories 4"),
    ({"tree": "/x", "direct": True, "record_size": 1000}, "multiple of 4 KiB"),
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_space_and_time_grow_with_the_work_and_what_fits_is_taken():
    assert WORKLOAD.check({"tree": "/x"}) == WORKLOAD.check({"files": 4, "directories": 2, "clients": 4}) == ()
    assert {knob.name for knob in KNOBS} >= {"walkers", "advice", "order", "cache"}
    assert WORKLOAD.operations({}) == {"read": "bytes_per_s", "file": "ops_per_s", "walk": "latency_p99_ns"}
    assert WORKLOAD.space({"tree": "/x"}) == 0
    assert WORKLOAD.space({"files": 1000, "file_bytes": 5000}) >= 1000 * 8192
    assert WORKLOAD.seconds({"files": 10**6}, Pace()) > WORKLOAD.seconds({"files": 10**3}, Pace()) > 0
    assert WORKLOAD.seconds({"files": 10, "duration": 5 * 10**9}, Pace()) > 5


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Measure -> its verdict, and the run."""
    host = Local()
    if not host.is_root() or not host.exists("/dev/loop-control"):
        pytest.skip("needs root and loop devices")
    experiment = read.parse(TEXT, "tree.toml")
    (run,) = measured(experiment, TEXT, tmp_path_factory.mktemp("lab")).runs[-1:]
    assert run.run.outcome is Outcome.FINISHED, run.run.error
    return run


def failed(verdict):
    told = (finding for finding in verdict.findings if finding.state is State.FAIL)
    return {finding.rule for finding in told if finding.severity is not Severity.NOTES}


def others_do(rule):
    """Whether other work on this machine may do that to a run: noise, workers that wait, and an order that it turned."""
    return rule[0] == "N" or rule in ("W07", "L07", "L08")


@pytest.mark.root
@each("name", "cold.read.bytes_per_s", "direct.read.bytes_per_s")
def test_a_cold_tree_is_read_from_the_device(told, name):
    verdict = told.verdicts[name]
    is_sound = verdict.state in (VerdictState.SOUND, VerdictState.BOUNDED)
    assert is_sound or (failed(verdict) and all(map(others_do, failed(verdict)))), labels.label(verdict)


@pytest.mark.root
def test_a_warm_tree_is_called_one_of_memory(told):
    """By its own count of inodes, which is one of the whole machine: what others make and remove meanwhile may hide it."""
    verdict = told.verdicts["warm.read.bytes_per_s"]
    assert (verdict.state, "T01" in failed(verdict)) == (VerdictState.INVALID, True)
    (cached,) = [one for one in told.verdicts["warm.file.ops_per_s"].findings if one.rule == "T12"]
    of_others = cached.observed["inodes_loaded"] + cached.observed["inodes_dropped"]
    assert cached.observed["objects"] == 2000
    assert cached.state is State.FAIL or of_others >= 0.95 * 2000


@pytest.mark.root
def test_the_phases_did_what_was_asked(told):
    by_name = {phase.name: phase for phase in told.run.phases}
    assert [(by_name[f"{name}.read"].cache_proved) for name in ("cold", "warm", "direct")] == ["cold", "warm", "cold"]
    done = {total.operation: total for total in by_name["cold.read"].clients[0].operations}
    assert (done["read"].bytes, done["file"].count, done["walk"].count) == (1000 << 16, 1000, 21)
    assert done["read"].busy_ns <= done["file"].busy_ns
    assert len(by_name["cold.read"].data_files) == 20
    assert "L07" not in {rule for verdict in told.verdicts.values() for rule in failed(verdict) if verdict.bound is None}


@pytest.mark.root
def test_an_existing_tree_is_read_where_it_lies_and_stays_as_it_is(tmp_path):
    if not Local().is_root():
        pytest.skip("needs root, to see all evidence")
    for number in range(40):
        path = tmp_path / "srv" / f"d{number % 4}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(100_000))
    before = {path: (path.lstat(), path.is_dir()) for path in (tmp_path / "srv").rglob("*")}
    text = f"""
title = "t"
question = "q"
repeats = 1
[targets.filer]
kind = "existing"
path = "{tmp_path}/srv"
[factors]
clients = [3]
[workloads]
backup = {{ kind = "backup_read", tree = ".", cache = "cold", order = "inode", advice = "sequential" }}
"""
    (run,) = measured(read.parse(text, "t.toml"), text, tmp_path / "lab").runs
    assert run.run.outcome is Outcome.FINISHED, run.run.error
    (phase,) = run.run.phases
    totals = [total for client in phase.clients for total in client.operations]
    assert sum(total.bytes for total in totals if total.operation == "read") == 40 * 100_000
    assert sum(total.count for total in totals if total.operation == "file") == 40
    after = {path: path.lstat() for path in (tmp_path / "srv").rglob("*")}
    assert after.keys() == before.keys()
    for path, (stat, is_directory) in before.items():
        assert same(stat, after[path], with_access=not is_directory), path
    assert catalogue.find("targets", "existing").read_only


def same(before, after, *, with_access):
    """Nothing but, of directories that the fleet lists for cold, the time of access may differ."""
    fields = ("st_mode", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_nlink", "st_uid")
    return all(getattr(before, name) == getattr(after, name) for name in (*fields, *(("st_atime_ns",) if with_access else ())))

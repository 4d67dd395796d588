"""The plug `transfer`: its phases, what it refuses, and real transfers through a directory."""

import tempfile
from pathlib import Path

import pytest

from assay import catalogue, measures
from assay.catalogue import Order
from assay.errors import UsageError
from assay.records import CacheState, Claim, Direction, Durability, Endpoint, EndpointKind, Measure, Outcome, WorkloadSpec
from assay.trial import memory_files
from assay.workloads.transfer import WORKLOAD
from stage.rows import each
from stage.trial_stage import HOST, HURRY, MIB, Laboratory

BUCKET = Endpoint(
    kind=EndpointKind.BUCKET,
    address="http://198.18.0.2:7070",
    details={
        "bucket": "b",
        "prefix": "p/",
        "put": ("client", "{source}", "{bucket}/{prefix}{name}"),
        "get": ("client", "{name}"),
    },
)
needs_memory = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm")


@pytest.fixture
def memory(monkeypatch):
    """A directory in memory of this test alone."""
    made = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="assay-test-"))
    monkeypatch.setattr(memory_files, "PARENT", str(made))
    yield made
    made.rmdir()


def order(*endpoints, memory="/m", **knobs):
    ends = endpoints or (Endpoint(kind=EndpointKind.DIRECTORY, address="/d"),)
    return Order(workload="w", knobs=knobs, endpoints=ends, seed=7, memory=memory)


def load(**knobs):
    return WorkloadSpec(name="t", kind="transfer", knobs={"files": 3, "file_size": MIB + 5, **HURRY, **knobs})


def test_files_are_made_put_compared_fetched_cold_and_compared_again():
    plans = WORKLOAD.phases(order(files=2))
    assert [plan.name for plan in plans] == ["make", "put", "compare", "get", "compare_got"]
    assert [plan.name for plan in plans if plan.measured] == ["put", "get"]
    assert {plan.name: plan.cache for plan in plans}["get"] is CacheState.COLD
    assert plans[1].directions == {"put": Direction.WRITE}
    first = plans[1].settings[0]["files"][0]["argv"]
    assert first == ("dd", "if=/m/w-0-00000.in", "of=/d/w-0-00000", "bs=1M", "conv=fsync", "status=none")
    assert plans[2].settings[0]["files"][1] == {"path": "/d/w-0-00001"}
    assert plans[2].settings[0]["remove"] == ("/m/w-0-00000.in", "/m/w-0-00001.in"), "the client holds none of them any more"
    assert plans[3].data_files == ("/d/w-0-00000", "/d/w-0-00001")


def test_phases_of_several_clients_and_of_a_server_whose_files_cannot_be_seen():
    plans = WORKLOAD.phases(order(BUCKET, files=1, operations=("put",)))
    assert [plan.name for plan in plans] == ["make", "put", "fetch", "compare"]
    assert plans[1].settings[0]["files"][0]["argv"] == ("client", "/m/w-0-00000.in", "b/p/w-0-00000")
    assert plans[3].settings[0]["files"] == ({"path": "/m/w-0-00000.out"},)
    assert [plan.measured for plan in plans] == [False, True, False, False]
    plans = WORKLOAD.phases(order(*(Endpoint(kind=EndpointKind.DIRECTORY, address="/d"),) * 2, files=1))
    assert [one["files"][0]["path"] for one in plans[0].settings] == ["/m/w-0-00000.in", "/m/w-1-00000.in"]
    assert WORKLOAD.space({"files": 2, "file_size": 10, "clients": 3}) == 60
    assert WORKLOAD.memory({"files": 2, "file_size": 10, "clients": 3}) == 60
    knobs = {"put": ("cp", "{source}", "{directory}/{name}"), "get": ("cp", "{name}", "{destination}")}
    with pytest.raises(UsageError, match=r"found \{directory\} in put"):
        WORKLOAD.phases(order(BUCKET, **knobs))


@each(
    "knobs message",
    ({"operations": ("get", "put")}, "found operations ['get', 'put']; expected put first"),
    ({"operations": ("get",)}, "expected put first: before it no file is at the server"),
    ({"operations": ("put", "put")}, "expected each once"),
    ({"put": ("cp", "{nowhere}", "{name}", "{source}")}, "found {nowhere} in put"),
    ({"put": ("cp", "{source}", "/x")}, "found put without {name}"),
    ({"get": ("cp", "{name}")}, "found get without {destination}"),
)
def test_mistakes_are_found_before_anything_is_made(knobs, message):
    assert any(message in mistake for mistake in WORKLOAD.check(knobs))


def test_what_is_missing_or_too_large_is_named_before_anything_is_made(tmp_path):
    stage = Laboratory(tmp_path)
    found = stage.lab(load(put=("smbclient-none", "{source}", "{name}"), get=("qemu-storage-daemon2", "{name}", "{destination}")))
    told = [str(one) for one in found.obstacles()]
    assert any("smbclient-none: not found. Install" in one for one in told), told
    assert any("qemu-storage-daemon2: not found" in one for one in told), told
    told = [str(one) for one in stage.lab(load(files=1000, file_size=1 << 40)).obstacles()]
    assert any("of memory on local" in one and "Use fewer or smaller files." in one for one in told), told
    assert any("target here" in one and "free" in one for one in told), told


@needs_memory
@pytest.mark.usefixtures("memory")
def test_files_come_back_as_they_went_and_nothing_is_left(tmp_path):
    stage = Laboratory(tmp_path)
    run, seen = stage.conduct(load(), observers=("process_io", "page_cache"))
    assert run.outcome is Outcome.FINISHED, run.error
    put = next(phase for phase in run.phases if phase.name == "t.put")
    assert sum(one.bytes for client in put.clients for one in client.operations) == 3 * (MIB + 5)
    brought = {one.key for one in seen.facts if one.key.startswith("target.program.t.")}
    assert brought == {"target.program.t.put", "target.program.t.get"}, "no program is named, so the target's are taken"
    by_clock, by_t = (measures.value(run, seen, _measure(figure)).value for figure in ("bytes_per_s", "synced_bytes_per_s"))
    assert by_t < by_clock
    charged = measures.value(run, seen, _measure("bytes_per_s", durability=Durability.STABLE_MEDIA))
    assert charged.value == pytest.approx(by_t), "a claim of stable media is charged the same time"
    assert stage.left() == ([], ())


@needs_memory
@each(
    "put said",
    (("sh", "-c", "tr 'a' 'b' < {source} > {directory}/{name}"), "compare"),
    (("sh", "-c", "head -c 100 {source} > {directory}/{name}"), "compare"),
    (("sh", "-c", "true {source} {name}"), "compare"),
    (("sh", "-c", "echo refused >&2; false {source} {name}"), "refused"),
)
@pytest.mark.usefixtures("memory")
def test_a_client_that_carries_something_else_has_no_figure(tmp_path, put, said):
    stage = Laboratory(tmp_path)
    run, _ = stage.conduct(load(put=put))
    assert run.outcome is Outcome.FAILED
    assert said in run.error
    assert "t.get" not in [phase.name for phase in run.phases]
    assert stage.left() == ([], ())


@needs_memory
def test_a_load_that_is_refused_leaves_nothing_in_memory(tmp_path, memory):
    run, _ = Laboratory(tmp_path).conduct(load(put=("cp", "{source}", "{bucket}/{name}")))
    assert "found {bucket} in put" in run.error
    assert list(memory.iterdir()) == []


def _measure(figure, **claim):
    return Measure(workload="t", operation="put", figure=figure, claim=Claim(**claim))


def test_its_directory_in_memory_is_refused_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_files, "PARENT", str(tmp_path / "none"))
    told = [str(one) for one in Laboratory(tmp_path).lab(load()).obstacles()]
    assert any("no file system in memory. Mount a tmpfs there." in one for one in told), told
    assert catalogue.find("workloads", "transfer") is WORKLOAD
    assert HOST.name == "local"

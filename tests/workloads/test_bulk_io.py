"""The plug `bulk_io`: which phases the engine is asked for, and that the engine takes them."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plain
from assay.catalogue import Order
from assay.records import CacheState, Direction, Endpoint, EndpointKind, StopRule
from assay.workloads.bulk_io import KNOBS, READS, WORKLOAD, WRITES

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
MIB = 1 << 20


def order(clients=1, home="/x", **knobs):
    addresses = [f"{home}/client-{client}" for client in range(clients)]
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=address) for address in addresses)
    return Order(workload="w", knobs=knobs, endpoints=endpoints, seed=7)


def phases(clients=1, **knobs):
    return WORKLOAD.phases(order(clients, **knobs))


def spans(phase):
    regions = [region for settings in phase.settings for region in settings["regions"]]
    return sorted((region["path"], region["offset"], region["size"]) for region in regions)


def test_write_and_read_are_two_phases_on_the_same_file():
    write, read = phases(size=MIB, flush="end", cache="cold")
    assert (write.name, write.operations, read.name, read.operations) == ("write", ("write", "flush"), "read", ("read",))
    assert write.directions == {"write": Direction.WRITE, "flush": Direction.FLUSH}
    assert (write.flush_in_clock, read.flush_in_clock) == (True, False)
    assert (write.cache, read.cache) == (CacheState.AS_LEFT, CacheState.COLD)
    assert write.data_files == read.data_files == ("/x/client-0/w-0-0.data",)
    assert (write.settings[0]["create"], read.settings[0]["create"]) == (True, False)
    assert (read.settings[0]["flush"], read.settings[0]["operation"]) == ("none", "read")


@pytest.mark.parametrize(
    ("knobs", "laid_out"),
    [
        ({"operations": ("read",)}, True),
        ({"operations": ("write", "read")}, False),
        ({"operations": ("rewrite",)}, True),
        ({"operations": ("random_write",)}, False),
        ({"operations": ("random_write", "read")}, True),
        ({"operations": ("write", "random_write", "read")}, False),
        ({"operations": ("write",), "overwrite": True}, True),
        ({"operations": ("write", "read"), "duration": 10**9}, True),
        ({"operations": ("write", "read"), "ops": 3}, True),
        ({"operations": ("read",), "file": "/data"}, False),
    ],
)
def test_what_no_phase_writes_in_full_is_laid_out_first(knobs, laid_out):
    first = phases(**knobs)[0]
    assert (not first.measured) is laid_out
    if laid_out:
        assert first.name == "layout"
        assert first.operations == ("layout", "layout_flush")
        told = first.settings[0]
        assert (told["operation"], told["flush"], told["ops"], told["duration_ns"]) == ("write", "end", None, None)


def test_a_file_each_or_segments_of_one():
    each = phases(clients=2, workers=2, size=MIB)[0]
    assert spans(each) == [(f"/x/client-{c}/w-{c}-{w}.data", 0, MIB) for c in range(2) for w in range(2)]
    split = phases(clients=2, workers=2, size=MIB, split=True)[0]
    assert [size for _, _, size in spans(split)] == [MIB // 4] * 4
    one = phases(clients=2, workers=2, size=MIB, sharing="one-file")[0]
    assert spans(one) == [("/x/client-0/w.data", part * MIB // 4, MIB // 4) for part in range(4)]
    assert one.data_files == ("/x/client-0/w.data",)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(25, 300))
def test_segments_cover_the_file_once_whatever_the_number_of_clients(clients, workers, records):
    knobs = {"size": records * 4096, "record_size": 4096, "workers": workers}
    at = 0
    for _, offset, size in sorted(spans(phases(clients, sharing="one-file", **knobs)[0])):
        assert offset == at
        assert size >= 4096
        at += size
    assert at == records * 4096
    assert sum(size for _, _, size in spans(phases(clients, split=True, **knobs)[0])) == records * 4096


def test_an_existing_file_is_read_in_parts():
    read = phases(clients=2, file="/data", operations=("read",))[0]
    assert [settings["regions"][0] for settings in read.settings] == [
        {"path": "/data", "offset": 0, "size": 0, "part": part, "parts": 2} for part in range(2)
    ]
    sized = phases(clients=2, file="/data", size=MIB, operations=("read",))[0]
    assert spans(sized) == [("/data", 0, MIB // 2), ("/data", MIB // 2, MIB // 2)]


def test_flushes_have_names_of_their_own_where_there_are_several():
    knobs = {"operations": ("write", "random_write", "read"), "flush": "end"}
    assert WORKLOAD.operations(knobs) == {
        "write": "bytes_per_s",
        "random_write": "ops_per_s",
        "read": "bytes_per_s",
        "write_flush": "latency_p99_ns",
        "random_write_flush": "latency_p99_ns",
    }
    assert phases(**knobs)[1].operations == ("random_write", "random_write_flush")


def test_time_stops_what_is_measured_and_not_the_layout():
    layout, read = phases(operations=("read",), duration=10**9)
    assert (layout.stop, read.stop) == (StopRule.WORK, StopRule.TIME)


def test_synchronous_writes_have_their_flush_in_the_clock():
    write, read = phases(sync="dsync")
    assert (write.flush_in_clock, read.flush_in_clock) == (True, False)
    assert (write.settings[0]["sync"], read.settings[0]["sync"]) == ("dsync", "none")


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"operations": ()}, "no operations"),
        ({"operations": ("read", "read")}, "reread"),
        ({"operations": ("write",), "file": "/data"}, "never written"),
        ({"operations": ("read",), "file": "/data", "overwrite": True}, "overwrite"),
        ({"size": 100_000}, "multiple of record_size"),
        ({"size": 128 << 10, "workers": 4, "split": True}, "a record for each worker"),
        ({"operations": ("read",), "flush": "end"}, "without writes"),
    ],
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_the_defaults_are_right():
    assert WORKLOAD.check({knob.name: knob.default for knob in KNOBS}) == ()
    assert WORKLOAD.check({}) == ()


@given(st.lists(st.sampled_from(WRITES + READS), min_size=1, unique=True), st.sampled_from(["none", "end", "each"]))
def test_each_operation_is_in_exactly_one_measured_phase(operations, flush):
    knobs = {"operations": tuple(operations), "flush": flush}
    measured = [name for phase in phases(**knobs) if phase.measured for name in phase.operations]
    assert sorted(measured) == sorted(WORKLOAD.operations(knobs))


def test_space_counts_files_and_time_the_limit():
    assert WORKLOAD.space({"size": MIB, "workers": 3, "clients": 2}) == 6 * MIB
    assert WORKLOAD.space({"size": MIB, "workers": 3, "split": True}) == MIB
    assert WORKLOAD.space({"file": "/data", "operations": ("read",)}) == 0
    assert 5 < WORKLOAD.seconds({"operations": ("write",), "duration": 5 * 10**9}) < 7


@pytest.mark.skipif(not ENGINE.exists(), reason="the engine is not built: make build")
@pytest.mark.parametrize("sharing", ["file-each", "one-file"])
def test_the_engine_takes_every_phase(tmp_path, sharing):
    (tmp_path / "client-0").mkdir()
    knobs = {"size": 256 << 10, "record_size": 4096, "workers": 2, "overwrite": True, "flush": "end", "sharing": sharing}
    planned = WORKLOAD.phases(order(home=tmp_path, operations=("write", *READS, "rewrite", "random_write"), **knobs))
    engine = subprocess.Popen([ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for phase in planned:
        settings = plain.to_plain(phase.settings[0])
        config = {"type": "config", "engine": WORKLOAD.engine, "phase": phase.name, "settings": settings}
        for message in (config, {"type": "go", "at_ns": 0}):
            engine.stdin.write(json.dumps(message) + "\n")
            engine.stdin.flush()
        messages = {}
        while "result" not in messages:
            message = json.loads(engine.stdout.readline())
            assert message["type"] != "error", message
            messages[message["type"]] = message
        noted = messages["result"]["operations"]
        assert set(noted) == set(phase.operations)
        total = 512 << 10 if sharing == "file-each" else 256 << 10
        assert noted[phase.operations[0]]["bytes"] == total
    engine.communicate()
    assert {str(path) for path in (tmp_path / "client-0").iterdir()} == set(planned[0].data_files)

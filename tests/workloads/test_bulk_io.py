"""The plug `bulk_io`: which phases the engine is asked for, and that the engine takes them."""

import json
import math
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plain
from assay.catalogue import Order, Pace
from assay.records import CacheState, Direction, Endpoint, EndpointKind, StopRule
from assay.workloads.bulk_io import KNOBS, READS, WORKLOAD, WRITES
from stage.rows import each

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
    assert (write.cache, read.cache) == (CacheState.UNCHANGED, CacheState.COLD)
    assert write.data_files == read.data_files == ("/x/client-0/w-0-0.data",)
    assert (write.settings[0]["create"], read.settings[0]["create"]) == (True, False)
    assert (read.settings[0]["flush"], read.settings[0]["operation"]) == ("none", "read")


@each(
    "knobs laid_out",
    ({"operations": ("read",)}, True),
    ({"operations": ("write", "read")}, False),
    ({"operations": ("rewrite",)}, True),
    ({"operations": ("random_write",)}, False),
    ({"operations": ("random_write", "read")}, True),
    ({"operations": ("write", "random_write", "read")}, False),
    ({"operations": ("write",), "overwrite": True}, True),
    ({"operations": ("write", "read"), "duration": 10**9}, True),
    ({"operations": ("write", "read"), "ops": 3}, True),
    ({"operations": ("write", "read"), "schedule": ("1 s at 10 /s",)}, True),
    ({"operations": ("read",), "file": "/data"}, False),
    ({"operations": ("record_rewrite",)}, True),
    ({"operations": ("random_mix",), "read_share": 0.5}, True),
    ({"operations": ("stdio_write", "backward_read", "stride_read")}, False),
    ({"operations": ("stdio_reread",)}, True),
)
def test_what_no_phase_writes_in_full_is_laid_out_first(knobs, laid_out):
    first = phases(**knobs)[0]
    assert (not first.measured) is laid_out
    if laid_out:
        assert first.name == "layout"
        assert first.operations == ("layout", "layout_flush")
        told = first.settings[0]
        assert (told["operation"], told["flush"], told["create"]) == ("write", "end", True)
        assert not {"ops", "duration_ns", "load"} & set(told)


def test_a_file_each_or_segments_of_one_and_an_existing_file_in_parts():
    each = phases(clients=2, workers=2, size=MIB)[0]
    assert spans(each) == [(f"/x/client-{c}/w-{c}-{w}.data", 0, MIB) for c in range(2) for w in range(2)]
    split = phases(clients=2, workers=2, size=MIB, split=True)[0]
    assert [size for _, _, size in spans(split)] == [MIB // 4] * 4
    one = phases(clients=2, workers=2, size=MIB, sharing="one-file")[0]
    assert spans(one) == [("/x/client-0/w.data", part * MIB // 4, MIB // 4) for part in range(4)]
    assert one.data_files == ("/x/client-0/w.data",)
    read = phases(clients=2, file="/data", operations=("read",))[0]
    assert [settings["regions"][0] for settings in read.settings] == [
        {"path": "/data", "offset": 0, "size": 0, "part": part, "parts": 2} for part in range(2)
    ]
    sized = phases(clients=2, file="/data", size=MIB, operations=("read",))[0]
    assert spans(sized) == [("/data", 0, MIB // 2), ("/data", MIB // 2, MIB // 2)]


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


def test_flushes_have_names_and_writing_back_is_none():
    knobs = {"operations": ("write", "random_write", "read"), "flush": "end"}
    assert WORKLOAD.operations(knobs) == {
        "write": "bytes_per_s",
        "random_write": "ops_per_s",
        "read": "bytes_per_s",
        "write_flush": "latency_p99_ns",
        "random_write_flush": "latency_p99_ns",
    }
    assert phases(**knobs)[1].operations == ("random_write", "random_write_flush")
    knobs = {"operations": ("write", "rewrite", "read"), "flush_call": "sync_file_range", "flush_every": 8}
    write = phases(**knobs)[0]
    assert write.operations == ("write", "write_writeback")
    assert write.directions == {"write": Direction.WRITE}
    assert not write.flush_in_clock
    assert WORKLOAD.operations(knobs)["rewrite_writeback"] == "latency_p99_ns"
    assert told("write", flush="end", flush_call="fdatasync")["flush_call"] == "fdatasync"


def test_time_stops_what_is_measured_and_synchronous_writes_have_their_flush_in_the_clock():
    layout, read = phases(operations=("read",), duration=10**9)
    assert (layout.stop, read.stop) == (StopRule.WORK, StopRule.TIME)
    write, read = phases(sync="dsync")
    assert (write.flush_in_clock, read.flush_in_clock) == (True, False)
    assert (write.settings[0]["sync"], read.settings[0]["sync"]) == ("dsync", "none")


@each(
    "knobs says",
    ({"operations": ()}, "no operations"),
    ({"operations": ("read", "read")}, "reread"),
    ({"operations": ("write",), "file": "/data"}, "never writes it"),
    ({"operations": ("read",), "file": "/data", "overwrite": True}, "overwrite"),
    ({"size": 100_000}, "multiple of record_size"),
    ({"size": 128 << 10, "workers": 4, "split": True}, "one record for each worker"),
    ({"operations": ("read",), "flush": "end"}, "without writes"),
    ({"operations": ("random_mix", "random_read"), "read_share": 0.5}, "found random_read and random_mix"),
    ({"operations": ("random_mix", "random_write"), "read_share": 0.5}, "found random_write and random_mix"),
    ({"operations": ("random_mix",)}, "without read_share"),
    ({"read_share": 0.5}, "read_share without random_mix"),
    ({"order": "permutation"}, "without a random operation"),
    ({"stride": 1 << 20}, "stride without stride_read"),
    ({"operations": ("stride_read",), "stride": 4096}, "at least record_size (64 KiB)"),
    ({"operations": ("stride_read",), "stride": 100_000}, "multiple of record_size"),
    ({"operations": ("stride_read",), "stride": MIB, "size": MIB}, "less than size"),
    ({"record_size": MIB, "size": 64 << 10}, "at least 1 MiB"),
    ({"layout": "random"}, "expected sharing one-file"),
    ({"ioengine": "io_uring", "depth": 5000}, "at most 4096"),
    ({"depth": 2}, "found depth 2 with ioengine psync"),
    ({"ioengine": "mmap", "batch": 2}, "found batch with ioengine mmap"),
    ({"register": "on"}, "found register with ioengine psync"),
    ({"ioengine": "io_uring", "depth": 4, "batch": 5}, "at most depth (4)"),
    ({"ioengine": "io_uring", "depth": 4096, "record_size": 2 * MIB}, "at most 4 GiB"),
    ({"ioengine": "mmap", "direct": True}, "direct with ioengine mmap"),
    ({"ioengine": "mmap", "sync": "dsync"}, "sync with ioengine mmap"),
    ({"operations": ("stdio_write",), "ioengine": "io_uring"}, "stdio_write with ioengine io_uring"),
    ({"operations": ("stdio_read",), "direct": True}, "stdio_read with direct"),
    ({"operations": ("stdio_read",), "sharing": "one-file", "layout": "random"}, "stdio_read with layout random"),
    ({"stdio_buffer": 512}, "without a stdio_ operation"),
    ({"operations": ("write", "random_read"), "ioengine": "stdio"}, "found random_read with ioengine stdio"),
    ({"operations": ("read",), "ioengine": "stdio", "direct": True}, "found read with direct"),
    ({"flush_every": 5, "operations": ("read",)}, "without writes"),
    ({"flush_every": 5, "flush": "each"}, "flush_every with flush each"),
    ({"flush_call": "fdatasync"}, "found flush_call fdatasync without flush"),
    ({"flush": "end", "flush_call": "sync_file_range", "ioengine": "mmap"}, "msync"),
    ({"zeros": 0.6, "duplicates": 0.6}, "above 100 %"),
    ({"operations": ("read",), "file": "/data", "compressible": 2.0}, "with an existing file"),
    ({"operations": ("read",), "file": "/data", "verify": "all"}, "content is unknown"),
    ({"operations": ("write",), "verify": "all"}, "verify without reads"),
    ({"verify": "all", "record_size": 512}, "a multiple of 4 KiB"),
    ({"verify": "sample", "zeros": 0.1}, "verify with duplicates or zeros"),
    ({"rate": 10}, "rate without duration or ops"),
    ({"schedule": ("1 s at 5 /s",), "duration": 10**9}, "schedule has its own end"),
    ({"ioengine": "io_uring", "depth": 2, "think": 5}, "found think with depth 2"),
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_all_mistakes_are_told_at_once_and_the_defaults_have_none():
    knobs = {
        "operations": ("read", "read"),
        "flush": "each",
        "flush_every": 3,
        "depth": 9,
        "think": 1,
        "rate": 5,
        "verify": "all",
    }
    found = WORKLOAD.check({**knobs, "record_size": 100, "zeros": 1.0, "stride": 7, "layout": "random"})
    assert len(found) == 13
    assert all(text.startswith("found ") and "; expected " in text for text in found)
    assert WORKLOAD.check({knob.name: knob.default for knob in KNOBS}) == ()
    assert WORKLOAD.check({}) == ()


@given(st.lists(st.sampled_from(WRITES + READS), min_size=1, unique=True), st.sampled_from(["none", "end", "each"]))
def test_each_operation_is_in_exactly_one_measured_phase(operations, flush):
    knobs = {"operations": tuple(operations), "flush": flush}
    assert [text for text in WORKLOAD.check(knobs) if "flush without" not in text] == []
    measured = [name for phase in phases(**knobs) if phase.measured for name in phase.operations]
    assert sorted(measured) == sorted(WORKLOAD.operations(knobs))


def test_space_counts_files_and_time_the_limit():
    assert WORKLOAD.space({"size": MIB, "workers": 3, "clients": 2}) == 6 * MIB
    assert WORKLOAD.space({"size": MIB, "workers": 3, "split": True}) == MIB
    assert WORKLOAD.space({"file": "/data", "operations": ("read",)}) == 0
    assert 5 <= WORKLOAD.seconds({"operations": ("write",), "duration": 5 * 10**9}, Pace()) < 7


def told(name, clients=1, **knobs):
    phase = next(phase for phase in phases(clients, **{"operations": (name,), **knobs}) if phase.name == name)
    return phase.settings[0]


def test_a_mix_has_two_operations_and_two_directions():
    knobs = {"operations": ("random_mix",), "read_share": 0.67, "flush_every": 10, "order": "permutation"}
    assert WORKLOAD.operations(knobs) == {"random_read": "ops_per_s", "random_write": "ops_per_s", "flush": "latency_p99_ns"}
    mix = phases(**knobs)[1]
    assert mix.operations == ("random_read", "random_write", "flush")
    assert mix.directions == {"random_read": Direction.READ, "random_write": Direction.WRITE, "flush": Direction.FLUSH}
    assert (mix.settings[0]["read_share"], mix.settings[0]["flush"], mix.settings[0]["order"]) == (0.67, 10, "permutation")
    assert (mix.settings[0]["name"], mix.settings[0]["write_name"]) == ("random_read", "random_write")
    assert mix.flush_in_clock


def test_what_is_sent_to_the_engine_follows_the_knobs():
    assert (told("read", ioengine="stdio")["path"], told("stdio_read", ioengine="stdio")["path"]) == ("stdio", "stdio")
    assert (told("stdio_write")["path"], told("stdio_write")["stdio_buffer"], told("write")["path"]) == ("stdio", 4096, "psync")
    assert (told("stdio_reread", stdio_buffer=512)["operation"], told("stdio_read", stdio_buffer=512)["stdio_buffer"]) == (
        "reread",
        512,
    )
    for path in ("psync", "mmap"):
        assert not {"depth", "batch", "register"} & set(told("read", ioengine=path))
    assert told("stride_read", record_size=4096)["stride"] == 17 * 4096
    assert told("stride_read", record_size=4096, stride=8192)["stride"] == 8192
    assert "stride" not in told("read", record_size=4096)
    shaped = {"compressible": 2.0, "duplicates": 0.3, "zeros": 0.1}
    layout = phases(operations=("read",), **shaped)[0].settings[0]
    assert layout["data"] == told("write", **shaped)["data"] == shaped
    assert layout["record_size"] == told("read", **shaped)["record_size"], "their shares are of records"
    assert told("write")["data"] == "unique"


@each("depth batch given", (1, None, 1), (2, None, 1), (32, None, 16), (33, None, 16), (32, 32, 32))
def test_half_of_what_is_in_flight_is_waited_for_where_nothing_else_is_said(depth, batch, given):
    assert told("read", ioengine="io_uring", depth=depth, batch=batch)["batch"] == given


def test_what_is_read_is_held_against_the_phase_that_wrote_it_last():
    names = ("read", "write", "reread", "random_write", "random_read", "rewrite", "backward_read", "random_mix", "stride_read")
    planned = phases(operations=names, verify="all", read_share=0.5)
    generations = {phase.name: phase.settings[0]["generation"] for phase in planned}
    assert generations == {
        "layout": 0,
        "read": 0,
        "write": 2,
        "reread": 2,
        "random_write": 4,
        "random_read": None,
        "rewrite": 6,
        "backward_read": 6,
        "random_mix": None,
        "stride_read": None,
    }
    for phase in planned:
        writes = Direction.WRITE in phase.directions.values()
        assert phase.settings[0].get("describe") is (True if writes else None)
        assert phase.settings[0].get("verify") == ("all" if Direction.READ in phase.directions.values() else None)
    timed = phases(operations=("write", "read"), verify="all", duration=10**9)
    assert [phase.settings[0]["generation"] for phase in timed] == [0, 1, None]


def test_records_of_odd_bytes_are_in_a_layout_that_is_refused_as_they_are():
    def record(**knobs):
        return phases(operations=("read",), **knobs)[0].settings[0]["record_size"]

    assert record(record_size=4096) == 4096
    assert record(record_size=4096, direct=True) == 255 * 4096
    assert record(record_size=64 << 10, direct=True) == 15 * (64 << 10)
    assert record(record_size=1000, size=100_000, direct=True) == 1000
    assert record(record_size=2 * MIB, direct=True) == 2 * MIB
    assert record(record_size=3 << 19, size=3 * MIB, direct=True) == 3 << 19


@each("record laid_out", (512, 4096), (1000, 5000), (4096, 4096), (65536, 65536), (MIB, MIB), (4 * MIB, MIB))
def test_buffered_data_are_laid_out_in_the_records_that_are_measured(record, laid_out):
    """Large folios in the page cache would make small writes into them five times as slow."""
    layout = phases(operations=("random_write",), overwrite=True, record_size=record, size=64_000 * record)[0]
    assert layout.settings[0]["record_size"] == laid_out


@given(st.integers(1, 7), st.integers(1, 10**9), st.sampled_from(["constant", "poisson"]))
def test_the_rates_of_all_clients_add_up(clients, rate, arrivals):
    phase = phases(clients, operations=("read",), rate=rate, duration=10**9, arrivals=arrivals)[1]
    told_rates = [settings["load"]["rate"] for settings in phase.settings]
    assert len(told_rates) == clients
    assert math.fsum(told_rates) == pytest.approx(rate, rel=1e-15)
    assert phase.stop is StopRule.TIME


def test_a_schedule_ends_its_phase_and_a_rate_or_a_think_time_is_in_the_guess():
    phase = phases(2, operations=("read",), schedule=("10 s at 100 /s", "10 s from 100 /s to 900 /s", "5 s pause"))[1]
    stages = phase.settings[0]["load"]["schedule"]
    second = 10**9
    assert stages == (
        {"duration_ns": 10 * second, "rate": 50},
        {"duration_ns": 10 * second, "rate": 50, "to": 450},
        {"duration_ns": 5 * second, "rate": 0},
    )
    assert (phase.stop, phase.settings[0]["duration_ns"]) == (StopRule.TIME, None)
    assert 25 < WORKLOAD.seconds({"operations": ("read",), "schedule": ("20 s pause", "5 s at 1 /s")}, Pace()) < 27
    assert WORKLOAD.seconds({"operations": ("random_read",), "rate": 10, "ops": 100, "workers": 2}, Pace()) > 20
    assert WORKLOAD.seconds({"operations": ("random_read",), "think": 10**8, "ops": 100, "workers": 2}, Pace()) > 10


def own_records(region, settings):
    """The records that the worker of a region has, as docs/engine-protocol.md has the layouts; None where they are drawn."""
    record = settings["record_size"]
    first, records = region["offset"] // record, region["size"] // record
    part, parts = region.get("part", 0), region.get("parts", 1)
    if parts == 1 or settings["layout"] == "segments":
        assert parts == 1, "segments are worked out beforehand"
        return {(region["path"], first + record) for record in range(records)}
    return (
        {(region["path"], first + record) for record in range(part, records, parts)}
        if settings["layout"] == "interleaved"
        else None
    )


@given(
    clients=st.integers(1, 4),
    workers=st.integers(1, 4),
    records=st.integers(16, 200),
    knobs=st.sampled_from(
        [
            {},
            {"split": True},
            {"sharing": "one-file"},
            {"sharing": "one-file", "layout": "interleaved"},
            {"sharing": "one-file", "layout": "random"},
            {"file": "/data", "operations": ("read",)},
            {"file": "/data", "operations": ("read",), "layout": "interleaved"},
        ]
    ),
)
def test_every_record_of_every_file_is_one_workers(clients, workers, records, knobs):
    phase = phases(clients, size=records * 512, record_size=512, workers=workers, **knobs)[0]
    pairs = [(region, settings) for settings in phase.settings for region in settings["regions"]]
    assert len(pairs) == clients * workers
    if knobs.get("layout") == "random":
        assert {(region["path"], region["offset"], region["size"], region["parts"]) for region, _ in pairs} == {
            (phase.data_files[0], 0, records * 512, clients * workers)
        }
        assert sorted(region["part"] for region, _ in pairs) == list(range(clients * workers))
        return
    owned = [record for region, settings in pairs for record in own_records(region, settings)]
    assert len(set(owned)) == len(owned), "no record has two owners"
    assert {path for path, _ in owned} == set(phase.data_files)
    total = records if len(phase.data_files) == 1 or "split" in knobs else records * clients * workers
    assert len(owned) == total, "none is left out"


@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from(["interleaved", "random"]))
def test_the_layout_of_a_shared_file_is_in_stretches_that_cover_it(clients, workers, layout):
    knobs = {"size": 100 * 4096, "record_size": 4096, "workers": workers, "sharing": "one-file", "layout": layout}
    first = phases(clients, operations=("read",), **knobs)[0]
    at = 0
    for _, offset, size in spans(first):
        assert offset == at
        at += size
    assert at == 100 * 4096


IOZONE = ("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read", "record_rewrite", "stride_read")
STDIO = ("stdio_write", "stdio_rewrite", "stdio_read", "stdio_reread")


class Engine:
    """The real engine, one phase after the other."""

    def __init__(self):
        self.process = subprocess.Popen(
            [ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.receive()

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def arm(self, phase):
        config = {"type": "config", "engine": WORKLOAD.engine, "phase": phase.name, "settings": plain.to_plain(phase.settings[0])}
        self.send({**config, "seed": 7})
        return self.receive()

    def run(self, phase):
        """The result of a phase; skips where the kernel has no io_uring."""
        answer = self.arm(phase)
        if answer.get("what") == "io_uring_setup":
            pytest.skip(f"no io_uring here: {answer['message']}")
        assert answer["type"] == "armed", answer
        self.send({"type": "go", "at_ns": time.monotonic_ns()})
        while (message := self.receive())["type"] in ("progress", "told"):
            pass
        assert message["type"] == "result", message
        return message


@pytest.fixture
def engine(tmp_path):
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make build")
    for client in range(2):
        (tmp_path / f"client-{client}").mkdir()
    started = Engine()
    yield started
    started.process.communicate()


@pytest.mark.parametrize(
    "knobs",
    [
        {"operations": (*IOZONE, *STDIO), "flush": "end", "overwrite": True},
        {"operations": (*IOZONE, *STDIO), "sharing": "one-file", "stdio_buffer": 512},
        {"operations": IOZONE, "sharing": "one-file", "layout": "interleaved"},
        {"operations": (*IOZONE, *STDIO), "verify": "all", "flush_every": 50, "flush_call": "sync_file_range"},
        {"operations": IOZONE, "ioengine": "io_uring", "depth": 8, "verify": "all", "flush_every": 50, "flush_call": "fdatasync"},
        {"operations": IOZONE, "ioengine": "io_uring", "depth": 32, "direct": True, "order": "permutation", "register": "off"},
        {"operations": IOZONE, "ioengine": "mmap", "sharing": "one-file", "layout": "random", "verify": "sample", "flush": "end"},
        {"operations": ("random_mix", "read"), "read_share": 0.67, "verify": "all", "sync": "dsync", "flush_every": 7},
    ],
    ids=lambda knobs: "-".join(str(value) for name, value in knobs.items() if name != "operations"),
)
def test_the_engine_takes_every_phase(tmp_path, engine, knobs):
    planned = WORKLOAD.phases(order(home=tmp_path, size=256 << 10, record_size=4096, workers=2, **knobs))
    for phase in planned:
        result = engine.run(phase)
        noted = result["operations"]
        assert set(noted) == set(phase.operations)
        assert (result["stopped_by"], result["errors"]) == ("work", [])
        total = 256 << 10 if "sharing" in knobs else 512 << 10
        moved = sum(noted[name]["bytes"] for name in phase.operations)
        assert moved == total
    assert {str(path) for path in (tmp_path / "client-0").iterdir()} == set(planned[0].data_files)


def test_direct_records_of_odd_bytes_are_refused_before_anything_is_written(tmp_path, engine):
    planned = WORKLOAD.phases(order(home=tmp_path, operations=("read",), direct=True, record_size=1000, size=100_000))
    answer = engine.arm(planned[0])
    if answer["type"] == "armed":
        pytest.skip("direct I/O of any size is possible here")
    assert answer["what"] in ("settings", "open")
    assert [path.stat().st_size for path in (tmp_path / "client-0").iterdir()] in ([], [0])


def test_data_of_several_workers_in_one_file_have_their_shares(tmp_path, engine):
    knobs = {"operations": ("write",), "sharing": "one-file", "workers": 2, "size": 2 * MIB, "record_size": 4096}
    engine.run(WORKLOAD.phases(order(home=tmp_path, zeros=0.25, duplicates=0.25, **knobs))[0])
    data = (tmp_path / "client-0" / "w.data").read_bytes()
    blocks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    assert sum(not any(block) for block in blocks) == 128
    assert len({block for block in blocks if any(block)}) == 256

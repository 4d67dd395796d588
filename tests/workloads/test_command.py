from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import Order, Pace
from assay.errors import EvidenceError, InputErrors, UsageError
from assay.experiment import read
from assay.records import CacheState, Direction, Endpoint, EndpointKind
from assay.trial.harvest import reported
from stage.rows import each

WORKLOAD = catalogue.find("workloads", "command")
FIO = Path(__file__).parent.parent / "fixtures" / "output" / "fio-3.33-randread.json"


def knobs(**given):
    default = {knob.name: knob.default for knob in WORKLOAD.knobs if not knob.name.endswith("*")}
    return {**default, "argv": ("true",), **{key.replace("__", "."): value for key, value in given.items()}}


def order(clients=2, **given):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=f"/m/{index}") for index in range(clients))
    return Order(workload="w", knobs=knobs(**given), endpoints=endpoints, seed=7)


def test_every_client_gets_its_own_arguments():
    given = order(
        argv=("tool", "{directory}", "{client}/{clients}", "{seed}", "{variables.block}", "awk {{x}}", "{ print $1 }"),
        env=("WHERE={directory}", "A=b=c"),
        data_files=("data.{client}", "/abs"),
        variables__block=4096,
        cache="cold",
        flush="inside",
    )
    (phase,) = WORKLOAD.phases(given)
    assert phase.settings[1] == {
        "argv": ["tool", "/m/1", "1/2", "7", "4096", "awk {x}", "{ print $1 }"],
        "env": {"WHERE": "/m/1", "A": "b=c"},
        "directory": "/m/1",
        "operation": "command",
    }
    assert phase.data_files == ("/m/0/data.0", "/abs", "/m/1/data.1")
    assert phase.cache is CacheState.COLD
    assert phase.flush_in_clock


@each(
    "given operations directions",
    ({}, {"command": "elapsed_ns"}, {"command": Direction.READ}),
    ({"operation": "build", "direction": "write"}, {"build": "elapsed_ns"}, {"build": Direction.WRITE}),
    ({"parse": "fio_json", "direction": "write"}, {"write": "bytes_per_s"}, {"write": Direction.WRITE}),
    (
        {"parse": "fio_json", "direction": "both"},
        {"read": "bytes_per_s", "write": "bytes_per_s"},
        {"read": Direction.READ, "write": Direction.WRITE},
    ),
    ({"parse": "regex", "unit": "MB/s"}, {"read": "bytes_per_s"}, {"read": Direction.READ}),
    (
        {"parse": "regex", "unit": "us", "figure": "latency_p99_ns", "operation": "stat", "direction": "metadata"},
        {"stat": "latency_p99_ns"},
        {"stat": Direction.METADATA},
    ),
)
def test_what_it_reports(given, operations, directions):
    assert WORKLOAD.operations(knobs(**given)) == operations
    (phase,) = WORKLOAD.phases(order(**given))
    assert phase.operations == tuple(operations)
    assert phase.directions == directions


@each(
    "pattern unit text expected",
    (r"([\d.]+) MB/s", "MB/s", "12.5 MB/s\n104.5 MB/s\n", {"read.bytes_per_s": 104.5e6}),
    (r"rate=(\S+)", "/s", "rate=1,234", {"read.ops_per_s": 1234.0}),
    (r"^took (.*)s$", "s", "x\ntook 0.25s\ny", {"read.elapsed_ns": 0.25e9}),
    (r"(\S+) Mbit/s", "Mbit/s", "8e2 Mbit/s", {"read.bytes_per_s": 1e8}),
)
def test_the_last_match_counts_in_base_units(pattern, unit, text, expected):
    assert WORKLOAD.parse(knobs(parse="regex", pattern=pattern, unit=unit), text, 1) == expected


@each("pattern text", (r"(\d+) MB/s", "nothing here"), (r"(\w+) MB/s", "many MB/s"), (r"(x)?MB/s", "MB/s"))
def test_output_without_the_number_is_refused(pattern, text):
    with pytest.raises(EvidenceError, match="expected"):
        WORKLOAD.parse(knobs(parse="regex", pattern=pattern, unit="MB/s"), text, 1)


def test_a_parser_of_the_catalogue_is_used_on_both_outputs():
    found = WORKLOAD.parse(knobs(parse="fio_json"), FIO.read_text(), 1)
    assert found["read.bytes"] == 8 << 20
    with pytest.raises(EvidenceError, match="figures of write"):
        WORKLOAD.parse(knobs(parse="fio_json", direction="write"), FIO.read_text(), 1)
    printed = FIO.with_name("dd-9.1-write.txt").read_text()
    given = knobs(parse="dd", direction="write")

    def told(stdout, stderr):
        result = {"command": {"stdout": stdout, "stderr": stderr}, "operations": {"command": {"busy_ns": 1}}}
        return reported(WORKLOAD, given, {0: result})

    assert told("", printed)["write.bytes_per_s"] == 229e6
    assert told("", printed) == told(printed, "a note")
    with pytest.raises(EvidenceError, match="client 0: found 0 characters"):
        told("", "a note")


def test_every_mistake_at_once_and_space_and_time_for_the_plan():
    given = knobs(argv=("x", "{dir}"), env=("NOPE",), parse="regex", pattern="(", unit="MBps", data_files=("{who}",))
    found = WORKLOAD.check(given)
    assert len(found) == 5
    assert WORKLOAD.check(knobs(argv=()))[0].startswith("found an empty argv")
    assert "a group" in WORKLOAD.check(knobs(parse="regex", pattern="x", unit="s"))[0]
    assert WORKLOAD.check(knobs(parse="regex", pattern="(x)", unit="s")) == ()
    assert WORKLOAD.space(knobs(needs=5)) == 5
    assert WORKLOAD.space(knobs()) == 0
    assert WORKLOAD.seconds(knobs(lasts=2_000_000_000), Pace()) == 2.0
    assert WORKLOAD.seconds(knobs(), Pace()) == 10.0
    assert WORKLOAD.parse(knobs(), "", 1_500_000_000) == {"command.elapsed_ns": 1.5e9}


EXPECTATIONS = """
title = "t"
question = "q"
repeats = 1
[targets.here]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "command"
argv = ["true"]
{line}
"""


@each(
    "line knob value",
    ("expected_count = 0", "expected_count", 0),
    ('expected_bytes = "64 MiB"', "expected_bytes", 64 << 20),
    ('expected_read_share = "70 %"', "expected_read_share", 0.7),
)
def test_expectations_are_read(line, knob, value):
    (spec,) = read.parse(EXPECTATIONS.format(line=line), "t.toml").workloads
    assert spec.knobs[knob] == pytest.approx(value)


@each("line", "expected_count = -1", 'expected_bytes = "many"', 'expected_read_share = "170 %"')
def test_impossible_expectations_are_refused(line):
    with pytest.raises(InputErrors):
        read.parse(EXPECTATIONS.format(line=line), "t.toml")


def over(address, **more):
    endpoint = Endpoint(kind=EndpointKind.SOCKET, address=address)
    return WORKLOAD.phases(Order(workload="c", knobs=knobs(**more), endpoints=(endpoint,), seed=1))[0]


@each(
    "address host port",
    ("192.0.2.1:5201", "192.0.2.1", "5201"),
    ("[2001:db8::1]:5201", "2001:db8::1", "5201"),
    ("2001:db8::1", "2001:db8::1", ""),
)
def test_a_far_end_of_another_tool(address, host, port):
    only = over(address, argv=("iperf3", "-c", "{server.host}", "-p", "{server.port}", "{server.address}"), direction="send")
    (setting,) = only.settings
    assert setting["argv"] == ["iperf3", "-c", host, "-p", port, address]
    assert setting["directory"] == "/"
    assert not any(direction.of_storage for direction in only.directions.values())


def test_placeholders_of_the_other_kind_of_target():
    with pytest.raises(UsageError, match=r"found \{directory\} in argv; expected a target that offers a directory"):
        over("192.0.2.1:5201", argv=("ls", "{directory}"))
    endpoint = Endpoint(kind=EndpointKind.DIRECTORY, address="/x")
    with pytest.raises(UsageError, match=r"found \{server.host\} in argv; expected a target that offers a socket"):
        WORKLOAD.phases(Order(workload="c", knobs=knobs(argv=("nc", "{server.host}")), endpoints=(endpoint,), seed=1))

"""The plug `net_stream`: both ends of a stream, the load's clients first and one server for all of them."""

from assay.catalogue import Order, Pace
from assay.records import Direction, Endpoint, EndpointKind, Role, StopRule
from assay.workloads.net_stream import WORKLOAD
from stage.rows import each

SECOND = 10**9


def phase(clients=1, address="127.0.0.1", **knobs):
    endpoints = (Endpoint(kind=EndpointKind.SOCKET, address=address),) * clients
    (only,) = WORKLOAD.phases(Order(workload="n", knobs=knobs, endpoints=endpoints, seed=0x1F, token="t0k"))
    return only


def test_the_server_comes_last_with_room_for_all_and_the_load_takes_its_address():
    only = phase(clients=3, connections=2, workers=1)
    assert only.roles == (Role.LOAD,) * 3 + (Role.SERVER,)
    assert [setting["role"] for setting in only.settings] == ["load"] * 3 + ["server"]
    assert [(setting["connections"], setting["workers"]) for setting in only.settings] == [(2, 1)] * 3 + [(6, 3)]
    assert WORKLOAD.servers({}) == 1
    load, server = phase().settings
    assert (load["address"], server["address"]) == ("{server.address}", "127.0.0.1:0")
    assert load["token"] == server["token"] == "t0k"
    assert all("window" not in setting for setting in phase(window=0).settings)


@each(
    "address bound",
    ("192.0.2.1", "192.0.2.1:0"),
    ("192.0.2.1:5201", "192.0.2.1:5201"),
    ("2001:db8::1", "[2001:db8::1]:0"),
    ("[2001:db8::1]:5201", "[2001:db8::1]:5201"),
    ("[2001:db8::1]", "[2001:db8::1]:0"),
)
def test_where_the_server_listens(address, bound):
    assert phase(address=address).settings[-1]["address"] == bound


def test_what_both_ends_must_have_alike_is_in_both():
    only = phase(message=1000, window=65536, congestion="reno", nodelay=True, mptcp=True, direction="both", duration=SECOND)
    for setting in only.settings:
        assert {name: setting[name] for name in ("message", "window", "congestion", "nodelay", "mptcp", "direction")} == {
            "message": 1000,
            "window": 65536,
            "congestion": "reno",
            "nodelay": True,
            "mptcp": True,
            "direction": "both",
        }


@each(
    "way directions server_ends",
    ("send", {"send": Direction.SEND}, False),
    ("receive", {"receive": Direction.RECEIVE}, True),
    ("both", {"send": Direction.SEND, "receive": Direction.RECEIVE}, True),
)
def test_an_end_that_sends_ends_by_itself(way, directions, server_ends):
    only = phase(direction=way, duration=SECOND)
    assert only.directions == directions
    assert not any(direction.of_storage for direction in only.directions.values())
    assert only.settings[0]["duration_ns"] == SECOND
    assert (only.settings[1].get("duration_ns") == SECOND) is server_ends


def test_rates_and_rests_are_those_of_who_sends():
    sending = phase(clients=2, rate=1000).settings
    assert [setting["load"].get("rate") for setting in sending] == [500.0, 500.0, None]
    receiving = phase(clients=2, rate=1000, direction="receive").settings
    assert [setting["load"].get("rate") for setting in receiving] == [None, None, 1000.0]
    resting = phase(direction="receive", think=5).settings
    assert [setting["load"] for setting in resting] == [{"think_ns": 5}, {}]


@each(
    "knobs ops duration stop",
    ({}, None, 10 * SECOND, StopRule.TIME),
    ({"ops": 5}, 5, None, StopRule.WORK),
    ({"duration": SECOND}, None, SECOND, StopRule.TIME),
    ({"schedule": ("1 s at 5 /s",)}, None, None, StopRule.TIME),
    ({"duration": 60 * SECOND, "until_steady": True}, None, 60 * SECOND, StopRule.STEADY),
)
def test_how_it_ends(knobs, ops, duration, stop):
    only = phase(**knobs)
    assert (only.settings[0]["ops"], only.settings[0]["duration_ns"], only.stop) == (ops, duration, stop)


@each(
    "knobs mistake",
    ({"workers": 2}, "found 2 workers; expected at most the 1 connections"),
    ({"connections": 4096, "clients": 2}, "found 4096 connections of 2 clients"),
    ({"zerocopy": True, "mptcp": True}, "found zerocopy with mptcp"),
    ({"zerocopy": True, "connections": 2, "workers": 1}, "found zerocopy with fewer workers"),
    ({"think": 5, "connections": 2, "workers": 1}, "found think with fewer workers"),
    ({"direction": "both", "rate": 5, "duration": SECOND}, "found a rate with direction both"),
    ({"direction": "receive", "ops": 5}, "found ops with direction receive"),
    ({"placement": "same", "cpus": 1}, "found placement same with cpus or server_cpus"),
    ({"placement": "different", "server_cpus": (1,)}, "found placement different with cpus or server_cpus"),
)
def test_mistakes(knobs, mistake):
    (found,) = WORKLOAD.check(knobs)
    assert found.startswith(mistake)


def test_its_measures_its_time_and_nothing_wrong_with_the_defaults():
    assert WORKLOAD.check({}) == ()
    assert WORKLOAD.only_reads({})
    assert WORKLOAD.space({"message": 1 << 20}) == 0
    assert WORKLOAD.operations({}) == {"send": "bytes_per_s"}
    assert WORKLOAD.operations({"direction": "both"}) == {"send": "bytes_per_s", "receive": "bytes_per_s"}
    assert WORKLOAD.seconds({}, Pace()) == 10
    assert WORKLOAD.seconds({"duration": 3 * SECOND}, Pace()) == 3
    assert WORKLOAD.seconds({"ops": 100, "rate": 10}, Pace()) == 10

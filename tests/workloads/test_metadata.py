"""The plug `metadata`: which phases the engine is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue import Order
from assay.records import CacheState, Direction, Endpoint, EndpointKind
from assay.workloads.metadata import KNOBS, OPERATIONS, WORKLOAD


def order(clients=1, **knobs):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=f"/x/client-{client}") for client in range(clients))
    return Order(workload="spool", knobs=knobs, endpoints=endpoints, seed=7)


def phases(clients=1, **knobs):
    return WORKLOAD.phases(order(clients, **knobs))


def test_a_spool_is_created_in_one_phase_and_removed_in_the_last():
    planned = phases(operations=("create", "fsync", "list", "stat", "unlink"), count=20_000, list_every=500, cache="cold")
    assert [phase.name for phase in planned] == ["create", "stat", "unlink"]
    assert planned[0].operations == ("create", "fsync", "list")
    assert planned[0].settings == (
        {
            "directory": "/x/client-0/spool-0",
            "object": "file",
            "operations": ("create", "fsync", "list"),
            "count": 20_000,
            "first": 0,
            "list_every": 500,
            "file_bytes": 0,
        },
    )
    assert [phase.cache for phase in planned] == [CacheState.AS_LEFT, CacheState.COLD, CacheState.AS_LEFT]
    assert [phase.flush_in_clock for phase in planned] == [True, False, False]
    assert planned[1].settings[0]["list_every"] == 0
    assert not any(phase.data_files for phase in planned)


def test_what_nothing_creates_is_laid_out_unmeasured():
    planned = phases(operations=("list", "stat"), count=10)
    assert [(phase.name, phase.operations, phase.measured) for phase in planned] == [
        ("layout", ("create",), False),
        ("list", ("list",), True),
        ("stat", ("stat",), True),
    ]


def test_directions_say_what_moves():
    empty = phases(operations=("create", "fsync", "stat"))[0].directions
    assert empty == {"create": Direction.METADATA, "fsync": Direction.FLUSH}
    assert phases(operations=("create",), file_bytes=1)[0].directions == {"create": Direction.WRITE}


def test_clients_that_share_a_directory_use_numbers_that_do_not_meet():
    own = phases(clients=3, count=10)[0].settings
    assert [(each["directory"], each["first"]) for each in own] == [(f"/x/client-{n}/spool-{n}", 0) for n in range(3)]
    shared = phases(clients=3, count=10, directories="shared")[0].settings
    assert [(each["directory"], each["first"]) for each in shared] == [("/x/client-0/spool", 10 * n) for n in range(3)]


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"operations": ()}, "no operations"),
        ({"operations": ("create", "create")}, "at most once"),
        ({"operations": ("stat", "fsync")}, "fsync without create"),
        ({"operations": ("stat", "create")}, "before create"),
        ({"operations": ("unlink", "stat")}, "unlink last"),
        ({"operations": ("create", "list"), "count": 10, "list_every": 11}, "list_every 11"),
        ({"operations": ("create",), "count": 10, "list_every": 5}, "without list"),
        ({"object": "directory", "file_bytes": 5}, "file_bytes"),
    ],
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_the_defaults_are_right():
    defaults = {knob.name: knob.default for knob in KNOBS}
    assert WORKLOAD.check(defaults) == ()
    assert WORKLOAD.operations({}) == dict.fromkeys(("create", "list", "stat", "unlink"), "ops_per_s")


@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, unique=True), st.integers(1, 5))
def test_each_operation_is_in_exactly_one_measured_phase(operations, clients):
    knobs = {"operations": tuple(operations)}
    if WORKLOAD.check(knobs):
        return
    planned = phases(clients, **knobs)
    measured = [name for phase in planned if phase.measured for name in phase.operations]
    assert sorted(measured) == sorted(operations) == sorted(WORKLOAD.operations(knobs))
    assert all(len(phase.settings) == clients for phase in planned)
    assert all(set(phase.directions) == set(phase.operations) for phase in planned)


def test_space_and_time_grow_with_the_work():
    assert WORKLOAD.space({"count": 1000, "file_bytes": 5000, "clients": 2}) >= 2 * 1000 * 8192
    assert WORKLOAD.seconds({"count": 10**6}) > WORKLOAD.seconds({"count": 10**3}) > 0

"""The plug `metadata`: which phases the engine is asked for, that the engine can do them, and what they leave."""

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay import plain
from assay.catalogue import Order, Pace
from assay.records import CacheState, Direction, Endpoint, EndpointKind, Outcome, StopRule, WorkloadSpec
from assay.workloads.metadata import CREATES, KNOBS, LISTS, LOOKUPS, OPERATIONS, REMOVES, WORKLOAD
from stage.rows import each
from stage.trial_stage import HURRY, Laboratory
from stage.trial_stage import engine as engine_path

SIZES = """
title = "Few"
source = "made up for this test"
sizes = [{ up_to = "4 KiB", files = 3, bytes = 3001 }, { up_to = "8 KiB", files = 0, bytes = 0 }, { files = 1, bytes = 9000 }]
"""


def order(clients=1, home="/x", **knobs):
    addresses = [f"{home}/client-{client}" for client in range(clients)]
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=address) for address in addresses)
    return Order(workload="spool", knobs=knobs, endpoints=endpoints, seed=7)


def phases(clients=1, **knobs):
    return WORKLOAD.phases(order(clients, **knobs))


@pytest.fixture(scope="module")
def engine():
    """The real engine, which does one phase after another for all examples."""
    with subprocess.Popen([engine_path()], stdin=-1, stdout=-1, text=True) as process:
        process.stdout.readline()
        yield process
        process.stdin.close()


def told(process, **message):
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    while (answer := json.loads(process.stdout.readline()))["type"] in ("progress", "told"):
        pass
    return answer


def done(engine, planned):
    """Every phase done by every client in turn; the counts of its operations."""
    counts = {}
    for phase in planned:
        for client, setting in enumerate(phase.settings):
            config = {"engine": "metadata", "phase": phase.name, "client": client, "seed": 7, "interval_ns": 10**12}
            armed = told(engine, type="config", settings=plain.to_plain(setting), **config)
            assert armed["type"] == "armed", armed
            result = told(engine, type="go", at_ns=time.monotonic_ns())
            assert (result["errors"], result["stopped_by"]) == ([], "work"), (phase, result)
            for name, noted in result["operations"].items():
                counts[phase.name, name] = counts.get((phase.name, name), 0) + noted["count"]
    return counts


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
            "directories": 1,
            "workers": 1,
            "sharing": "own",
            "prefix": "o",
            "new_prefix": "r",
            "load": {},
        },
    )
    assert [phase.cache for phase in planned] == [CacheState.UNCHANGED, CacheState.COLD, CacheState.UNCHANGED]
    assert [phase.flush_in_clock for phase in planned] == [True, False, False]
    assert planned[1].settings[0]["list_every"] == 0
    assert not any(phase.data_files for phase in planned)


def test_what_nothing_creates_is_laid_out_unmeasured_and_directions_say_what_moves():
    planned = phases(operations=("list", "stat"), count=10)
    assert [(phase.name, phase.operations, phase.measured) for phase in planned] == [
        ("layout", ("create",), False),
        ("list", ("list",), True),
        ("stat", ("stat",), True),
    ]
    empty = phases(operations=("create", "fsync", "stat"))[0].directions
    assert empty == {"create": Direction.METADATA, "fsync": Direction.FLUSH}
    assert phases(operations=("create",), file_bytes=1)[0].directions == {"create": Direction.WRITE}


def test_links_go_before_the_objects_and_those_to_directories_as_files():
    planned = phases(operations=("create", "link", "rename", "symlink", "stat", "unlink"), cache="cold")
    assert [(phase.name, phase.settings[0]["prefix"], phase.measured) for phase in planned] == [
        ("create", "o", True),
        ("link", "o", True),
        ("rename", "o", True),
        ("symlink", "r", True),
        ("stat", "r", True),
        ("remove_links", "l", False),
        ("remove_symlinks", "s", False),
        ("unlink", "r", True),
    ]
    assert [phase.name for phase in planned if phase.cache is CacheState.COLD] == ["stat"]
    planned = phases(object="directory", operations=("mkdir", "symlink", "rmdir"))
    assert [(phase.name, phase.settings[0]["object"]) for phase in planned] == [
        ("mkdir", "directory"),
        ("symlink", "directory"),
        ("remove_symlinks", "file"),
        ("rmdir", "directory"),
    ]


def test_a_load_is_offered_to_what_is_measured_by_all_clients_together():
    planned = phases(clients=2, operations=("stat", "unlink"), rate=1000, arrivals="poisson")
    offered = {"rate": 500.0, "arrivals": "poisson", "late_ns": 100_000}
    assert [[setting["load"] for setting in phase.settings] for phase in planned] == [[{}] * 2, [offered] * 2, [offered] * 2]
    assert {phase.stop for phase in planned} == {StopRule.WORK}
    layout, stat = phases(operations=("stat",), schedule=("1 s at 100 /s",))
    assert (layout.stop, stat.stop) == (StopRule.WORK, StopRule.TIME)
    assert (layout.settings[0]["load"], len(stat.settings[0]["load"]["schedule"])) == ({}, 1)


def test_sizes_come_from_a_size_distribution(tmp_path):
    (tmp_path / "few.toml").write_text(SIZES)
    knobs = {"size_distribution": str(tmp_path / "few.toml"), "count": 1000}
    assert WORKLOAD.check(knobs) == ()
    planned = phases(operations=("create",), **knobs)[0]
    assert planned.directions == {"create": Direction.WRITE}
    assert planned.settings[0]["file_bytes"] == ({"bytes": 1000, "weight": 3}, {"bytes": 9000, "weight": 1})
    mean, deviation = 4096 * 6 / 4, 2 * 4096 * 3**0.5 / 4
    more = WORKLOAD.space(knobs) - WORKLOAD.space({"count": 1000})
    assert more == pytest.approx(1000 * mean + 3 * 1000**0.5 * deviation, abs=2)
    assert WORKLOAD.inputs(knobs) == {"size_distribution": "[[1000,3],[9000,1]]"}
    assert WORKLOAD.inputs({}) == {}


def test_every_mistake_of_a_size_distribution_is_one_of_the_workload(tmp_path):
    (tmp_path / "bad.toml").write_text('title = "x"\nsizes = [{ files = -1, bytes = 2 }]\n')
    found = WORKLOAD.check({"size_distribution": str(tmp_path / "bad.toml"), "file_bytes": 3})
    assert len(found) == 3
    assert any("bad.toml:2:" in mistake for mistake in found)
    (tmp_path / "large.toml").write_text('title = "x"\nsource = "y"\nsizes = [{ files = 1, bytes = 2000000000 }]\n')
    assert any("2,000,000,000" in mistake for mistake in WORKLOAD.check({"size_distribution": str(tmp_path / "large.toml")}))
    assert any("No such file" in mistake for mistake in WORKLOAD.check({"size_distribution": str(tmp_path / "none.toml")}))


def test_clients_that_share_a_directory_use_numbers_that_do_not_meet():
    own = phases(clients=3, count=10)[0].settings
    assert [(each["directory"], each["first"]) for each in own] == [(f"/x/client-{n}/spool-{n}", 0) for n in range(3)]
    shared = phases(clients=3, count=10, directories="shared")[0].settings
    assert [(each["directory"], each["first"]) for each in shared] == [("/x/client-0/spool", 10 * n) for n in range(3)]
    several = phases(clients=3, count=10, directories="shared", workers=4, sharing="shared")[0].settings
    assert [each["first"] for each in several] == [0, 40, 80]


@each(
    "knobs says",
    ({"operations": ()}, "no operations"),
    ({"operations": ("create", "create")}, "at most once"),
    ({"operations": ("stat", "fsync")}, "fsync without create"),
    ({"operations": ("create", "mkdir"), "object": "directory"}, "create with mkdir"),
    ({"operations": ("create", "unlink", "rmdir"), "object": "directory"}, "unlink with rmdir"),
    ({"operations": ("mkdir", "rmdir")}, "mkdir and rmdir with files"),
    ({"operations": ("link",), "object": "directory"}, "link with directories"),
    ({"count": 10**8, "workers": 2}, "200,000,000 objects"),
    ({"spread": 1000, "workers": 1000}, "1,000,000 directories"),
    ({"operations": ("stat", "unlink"), "schedule": ("1 s at 5 /s",)}, "schedule with several phases"),
    ({"think": 5, "rate": 5}, "think with rate"),
    ({"file_bytes": 5, "size_distribution": "x"}, "file_bytes with size_distribution"),
    ({"operations": ("stat", "create")}, "before create"),
    ({"operations": ("unlink", "stat")}, "unlink last"),
    ({"operations": ("create", "list"), "count": 10, "list_every": 11}, "list_every 11"),
    ({"operations": ("create",), "count": 10, "list_every": 5}, "without list"),
    ({"object": "directory", "file_bytes": 5}, "file_bytes"),
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_all_reasons_are_told_at_once_and_the_defaults_are_right():
    defaults = {knob.name: knob.default for knob in KNOBS}
    assert WORKLOAD.check(defaults) == ()
    assert WORKLOAD.operations({}) == dict.fromkeys(("create", "list", "stat", "unlink"), "ops_per_s")
    found = WORKLOAD.check({"operations": ("stat", "mkdir", "fsync", "rmdir", "open"), "list_every": 20_000, "workers": 0})
    assert len(found) == 5
    assert all(mistake.startswith("found ") and "; expected " in mistake for mistake in found)


ORDERS = st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=9, unique=True)


@given(ORDERS, st.sampled_from(["file", "directory"]), st.integers(1, 5))
def test_each_operation_is_in_exactly_one_measured_phase(operations, what, clients):
    knobs = {"operations": tuple(operations), "object": what}
    if WORKLOAD.check(knobs):
        return
    planned = phases(clients, **knobs)
    measured = [name for phase in planned if phase.measured for name in phase.operations]
    assert sorted(measured) == sorted(operations) == sorted(WORKLOAD.operations(knobs))
    assert all(len(phase.settings) == clients for phase in planned)
    assert all(set(phase.directions) == set(phase.operations) for phase in planned)


@st.composite
def possible(draw):
    """An order that is possible, as knobs: what makes, what works on it in any order, what removes."""
    what = draw(st.sampled_from(["file", "directory"]))
    makes = draw(st.sampled_from([(), ("create",), ("create", "fsync"), *([("mkdir",)] if what == "directory" else [])]))
    between = [
        name for name in OPERATIONS if name not in (*CREATES, *REMOVES, "fsync", *(["link"] if what == "directory" else []))
    ]
    middle = draw(st.lists(st.sampled_from(between), max_size=9, unique=True))
    removes = draw(st.sampled_from(["unlink", *(["rmdir"] if what == "directory" else [])]))
    every = draw(st.sampled_from([0, 2, 5])) if set(middle) & set(LISTS) else 0
    return {
        "object": what,
        "operations": (*makes, *middle, removes),
        "list_every": every,
        "count": draw(st.integers(5, 12)),
        "file_bytes": draw(st.sampled_from([0, 100])) if what == "file" else 0,
        "directories": draw(st.sampled_from(["own", "shared"])),
        "spread": draw(st.integers(1, 3)),
        "workers": draw(st.integers(1, 3)),
        "sharing": draw(st.sampled_from(["own", "shared"])),
    }


@settings(max_examples=40, deadline=None)
@given(possible(), st.integers(1, 2))
def test_every_possible_order_runs_to_its_end_and_leaves_nothing(engine, knobs, clients):
    assert WORKLOAD.check(knobs) == ()
    with tempfile.TemporaryDirectory() as home:
        if "setxattr" in knobs["operations"]:
            assume(has_attributes(home))
        for client in range(clients):
            Path(home, f"client-{client}").mkdir()
        counts = done(engine, phases(clients, home=home, **knobs))
        left = [path.name for path in Path(home).rglob("*") if re.fullmatch(r"[a-z]\d{8}", path.name)]
    objects = clients * knobs["workers"] * knobs["count"]
    for (phase, name), count in counts.items():
        assert count == (clients * knobs["workers"] * lists(knobs) if name in LISTS else objects), (phase, name)
    assert {name for _, name in counts} >= set(knobs["operations"])
    assert left == []


def has_attributes(home):
    """Whether this file system keeps extended attributes of users."""
    try:
        os.setxattr(home, "user.assay", b"1")
    except OSError:
        return False
    return True


def lists(knobs):
    return knobs["count"] // knobs["list_every"] if knobs["list_every"] else 1


LOOKS = ("fsync", "list", "stat", "open", "readdir", "readdir_plus", "setxattr")
ALL = {
    "file": ("create", *LOOKS, "link", "symlink", "rename", "unlink"),
    "directory": ("mkdir", *LOOKS, "symlink", "rename", "rmdir"),
}


@each("what", "file", "directory")
def test_a_trial_of_all_operations(what, tmp_path):
    given = {"object": what, "operations": ALL[what], "count": 300, "list_every": 50, "workers": 2, "spread": 3, "cache": "cold"}
    laboratory = Laboratory(tmp_path)
    ran, observed = laboratory.conduct(WorkloadSpec(name="w", kind="metadata", knobs=given | HURRY), clients=2)
    if any(error.operation == "setxattr" for phase in ran.phases for client in phase.clients for error in client.errors):
        pytest.skip("no extended attributes here")
    assert ran.outcome is Outcome.FINISHED
    counts = {
        total.operation: total.count
        for phase in ran.phases
        if phase.measured
        for client in phase.clients
        for total in client.operations
    }
    assert counts == {name: 12 if name in LISTS else 600 for name in ALL[what]}
    curve = [series for series in observed.series if series.metric in {"create.count", "mkdir.count"}]
    assert len(curve) == 2
    assert [series.value[-1] for series in curve] == [600, 600]
    assert all(len(series.value) >= 10 for series in curve), "a point after each list of each worker"
    assert {phase.name for phase in ran.phases if phase.cache_asked is CacheState.COLD} == {
        f"w.{name}" for name in LOOKUPS if name != "list"
    }
    assert laboratory.left() == ([], ())
    laboratory.ledger.close()


def test_space_and_time_grow_with_the_work():
    assert WORKLOAD.space({"count": 1000, "file_bytes": 5000, "clients": 2}) >= 2 * 1000 * 8192
    assert WORKLOAD.seconds({"count": 10**6}, Pace()) > WORKLOAD.seconds({"count": 10**3}, Pace()) > 0
    assert WORKLOAD.space({"count": 1000, "workers": 3}) == 3 * WORKLOAD.space({"count": 1000})
    assert WORKLOAD.space({"object": "directory"}) > WORKLOAD.space({"object": "file"})
    assert WORKLOAD.seconds({"count": 1000, "rate": 10, "operations": ("stat", "unlink")}, Pace()) > 200

"""The plug `profile`: mixed patterns by table, from the knobs to what the engine says that it did."""

import dataclasses
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import judge
from assay.catalogue import Order, Pace
from assay.experiment import read
from assay.records import CacheState, Endpoint, EndpointKind, FactClass, Measure, Outcome, State, StopRule, WorkloadSpec
from assay.records import Factor as Vary
from assay.rules.fingerprint import RULE as FINGERPRINT
from assay.settings import profiles
from assay.trial.trial_facts import inputs
from assay.workloads.profile import WORKLOAD
from stage.noise_cases import comparison_case
from stage.rows import each
from stage.trial_stage import HURRY, Laboratory, experiment

MIB = 1 << 20
SECOND = 10**9
THINKS = """\
title = "Thinks"
source = "a test"
read_share = "50 %"
random_share = "100 %"
think = "1 ms"
requests = [{ bytes = "4 KiB", share = "100 %" }]
"""


def plans(clients=1, kind=EndpointKind.DIRECTORY, **knobs):
    addresses = ["/x"] * clients if kind is EndpointKind.FILE else [f"/x/{client}" for client in range(clients)]
    endpoints = tuple(Endpoint(kind=kind, address=address) for address in addresses)
    given_knobs = {"profile": "file_server", "duration": SECOND, **knobs}
    return WORKLOAD.phases(Order(workload="w", knobs=given_knobs, endpoints=endpoints, seed=1))


def check(**knobs):
    return WORKLOAD.check({"profile": "file_server", "duration": SECOND, **knobs})


def test_a_layout_and_a_mix_without_writes_where_nothing_is_written():
    layout, mix = plans(profile="database", cache="cold", sync="dsync")
    assert (layout.name, layout.measured, layout.flush_in_clock) == ("layout", False, True)
    assert (mix.name, mix.measured, mix.operations, mix.stop) == ("mix", True, ("read", "write"), StopRule.TIME)
    assert (mix.cache, mix.flush_in_clock) == (CacheState.COLD, True)
    assert mix.data_files == layout.data_files == ("/x/0/w-0.data",)
    assert layout.settings[0]["record_size"] == 8192, "the page cache holds what such requests leave there"
    assert plans(profile="database", direct=True)[0].settings[0]["record_size"] == MIB
    (told,) = mix.settings
    assert (told["operation"], told["read_share"], told["requests"][0]["bytes"]) == ("request_mix", 0.67, 8192)
    assert WORKLOAD.operations({"profile": "database"}) == {"read": "ops_per_s", "write": "ops_per_s"}
    _, mix = plans(profile="web_server", sync="dsync")
    assert (mix.operations, mix.flush_in_clock) == (("read",), False)
    assert WORKLOAD.operations({"profile": "web_server"}) == {"read": "ops_per_s"}


@given(st.integers(1, 4), st.integers(1, 9), st.integers(9, 300), st.sampled_from([EndpointKind.DIRECTORY, EndpointKind.FILE]))
def test_every_byte_is_one_workers_own(clients, workers, records, kind):
    size = records * 65536
    layout, mix = plans(clients, kind, workers=workers, size=size)
    assert [told["regions"] for told in layout.settings] == [told["regions"] for told in mix.settings]
    seen = {}
    for told in mix.settings:
        for region in told["regions"]:
            assert region["size"] >= 65536
            seen.setdefault(region["path"], []).append((region["offset"], region["offset"] + region["size"]))
    for stretches in seen.values():
        stretches.sort()
        assert all(one[1] == other[0] for one, other in pairwise(stretches))
        assert (stretches[0][0], stretches[-1][1]) == (0, size * (clients if kind is EndpointKind.FILE else 1))


@each(
    "knobs told",
    ({}, {"path": "psync", "load": {"think_ns": 1_000_000}}),
    ({"think": 5}, {"path": "psync", "load": {"think_ns": 5}}),
    ({"rate": 100}, {"load": {"rate": 100.0, "arrivals": "constant", "late_ns": 100_000}}),
    ({"ioengine": "mmap"}, {"path": "mmap"}),
    ({"ioengine": "io_uring"}, {"path": "io_uring", "depth": 1}),
    ({"depth": 8, "rate": 5}, {"path": "io_uring", "depth": 8, "batch": 4}),
)
def test_knobs_come_before_the_profile(tmp_path, knobs, told):
    (tmp_path / "p.toml").write_text(THINKS)
    _, mix = plans(profile=str(tmp_path / "p.toml"), **knobs)
    assert {name: mix.settings[0][name] for name in told} == told
    assert check(profile=str(tmp_path / "p.toml"), **knobs) == ()


@each(
    "knobs told",
    ({"duration": None}, "found no end; expected duration, ops or a schedule"),
    ({"size": MIB + 512}, "expected a multiple of the largest request (64 KiB)"),
    ({"size": MIB, "workers": 17}, "one of the largest requests for each worker"),
    ({"depth": 2, "ioengine": "psync"}, "found depth 2 with ioengine psync"),
    ({"depth": 2, "think": 1}, "found think with depth 2"),
    ({"direct": True, "ioengine": "mmap"}, "found direct with ioengine mmap"),
    ({"until_steady": True}, "found duration 1 s with until_steady"),
    ({"profile": "nothing"}, "found in profile nothing no profile of that name; expected one of database"),
)
def test_mistakes_between_knobs_are_named(knobs, told):
    assert any(told in mistake for mistake in check(**knobs)), check(**knobs)


def test_a_bad_profile_is_refused_with_its_place_where_the_experiment_is_read(tmp_path):
    bad = THINKS.replace("100 %", "99 %", 2).replace("99 %", "100 %", 1).replace('source = "a test"\n', "origin = 1\n")
    (tmp_path / "p.toml").write_text(bad.replace("4 KiB", "1000 B"))
    text = f"""
question = "q"
[targets.here]
kind = "directory"
path = "{tmp_path}"
[workloads.w]
kind = "profile"
profile = "{tmp_path}/p.toml"
ops = 5
"""
    with pytest.raises(profiles.InputErrors) as caught:
        read.parse(text, "e.toml")
    told = str(caught.value)
    for place, found in ((":2:1", "unknown key 'origin'"), (":6:23", "1 kB"), (" ", "no source")):
        assert f"p.toml{place}" in told
        assert found in told


def test_the_guess_and_the_space_follow_the_knobs_and_a_factor_is_no_other_difference():
    assert WORKLOAD.space({"profile": "database", "size": 5 * MIB, "clients": 3}) == 15 * MIB
    assert WORKLOAD.seconds({"size": 100_000_000, "duration": 5 * SECOND}, Pace()) == 6
    assert WORKLOAD.seconds({"size": 100_000_000, "ops": 100, "rate": 10}, Pace()) == 11
    spec = WorkloadSpec(name="w", kind="profile", knobs={"profile": "database"})
    ((key, content, matters),) = inputs(WORKLOAD, spec, {"clients": 1})
    assert (key, matters) == ("profile.w", FactClass.PERFORMANCE)
    assert content == profiles.read("database").identity
    assert [one[2] for one in inputs(WORKLOAD, spec, {"w.profile": "database"})] == [FactClass.IDENTITY]


# ------------------------------------------------------------------------------------------ really run


@pytest.fixture
def laboratory(tmp_path):
    stage = Laboratory(tmp_path)
    yield stage
    assert stage.left() == ([], ())
    stage.ledger.close()


def performed(stage, clients=1, **knobs):
    given_knobs = {"size": 16 * MIB, "duration": SECOND, **HURRY, **knobs}
    spec = WorkloadSpec(name="w", kind="profile", knobs=given_knobs)
    run, seen = stage.conduct(spec, clients=clients)
    assert run.outcome is Outcome.FINISHED, run.error
    return experiment(stage.work, spec), run, seen


@each("name", *profiles.shipped())
def test_a_shipped_profile_does_what_it_says(laboratory, name):
    profile = profiles.read(name)
    asked, run, seen = performed(laboratory, profile=name, workers=2)
    (client,) = run.phases[-1].clients
    done = {one.operation: one for one in client.operations if one.count}
    count = sum(one.count for one in done.values())
    assert set(done) == set(WORKLOAD.operations({"profile": name}))
    reads, share = done["read"].count, profile.read_share
    assert abs(reads - count * share) <= 5 * math.sqrt(count * share * (1 - share)), (reads, count)
    mean = profile.mean_bytes
    square = sum(request.bytes**2 * request.weight for request in profile.requests) / profiles.WHOLE
    for one in done.values():
        assert abs(one.bytes / one.count - mean) <= 5 * math.sqrt((square - mean**2) / one.count), one
    measures = tuple(Measure(workload="w", operation=each, figure="ops_per_s") for each in done)
    for verdict in judge.judge_run(dataclasses.replace(asked, measures=measures), run, seen):
        states = {finding.rule: finding.state for finding in verdict.findings}
        assert verdict.value > 0
        assert states["E05"] in (State.PASS, State.UNVERIFIED), verdict.findings
    assert [fact.value for fact in seen.facts if fact.key == "profile.w"] == [profile.identity]


@each("more", {"ioengine": "io_uring", "depth": 8}, {"ioengine": "mmap"}, {"rate": 2000, "arrivals": "poisson"})
def test_clients_have_data_sets_of_their_own_on_every_path(laboratory, more):
    _, run, _ = performed(laboratory, clients=2, profile="workstation", ops=500, duration=None, **more)
    layout, mix = run.phases
    assert [client.operations[0].bytes for client in layout.clients] == [16 * MIB, 16 * MIB]
    assert [sum(one.count for one in client.operations) for client in mix.clients] == [500, 500]


def test_a_profile_that_changed_between_two_runs_is_found(laboratory, tmp_path):
    path, runs = tmp_path / "p.toml", []
    for share in ("50 %", "50 %", "60 %"):
        path.write_text(THINKS.replace("50 %", share))
        _, run, seen = performed(laboratory, profile=str(path), ops=20, duration=None)
        facts = tuple(fact for fact in seen.facts if fact.key == "profile.w")
        runs.append((run, dataclasses.replace(seen, facts=facts)))
    clients = Vary(path="clients", levels=(1, 2))
    same = FINGERPRINT.check(comparison_case("C01", clients, runs[:1], runs[1:2]))
    other = FINGERPRINT.check(comparison_case("C01", clients, runs[:1], runs[2:]))
    assert (same.state, other.state) == (State.PASS, State.FAIL)
    assert "profile.w: sha256" in other.statement

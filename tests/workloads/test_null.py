"""The plug `null`: the engine's own loop, as often, as long or as fast as is asked."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import judge
from assay.catalogue import Order, Pace
from assay.records import Endpoint, EndpointKind, Measure, Outcome, Rung, State, StopRule, WorkloadSpec
from assay.workloads.null import WORKLOAD
from stage.rows import each
from stage.trial_stage import HURRY, Laboratory, experiment

SECOND = 10**9


def phase(clients=1, **knobs):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=f"/x/{client}") for client in range(clients))
    (only,) = WORKLOAD.phases(Order(workload="n", knobs=knobs, endpoints=endpoints, seed=1))
    return only


def test_nothing_is_moved_and_the_guess_follows_the_load():
    only = phase()
    assert (only.operations, dict(only.directions), only.data_files) == (("null",), {}, ())
    assert WORKLOAD.space({"ops": 5}) == 0
    assert WORKLOAD.check({}) == ()
    assert WORKLOAD.seconds({"duration": 5 * SECOND}, Pace()) == 5
    assert WORKLOAD.seconds({"ops": 100, "rate": 10}, Pace()) == 10
    assert WORKLOAD.seconds({"ops": 100, "think": SECOND // 10, "workers": 4}, Pace()) == pytest.approx(10)


@each(
    "knobs ops stop",
    ({}, 1_000_000, StopRule.WORK),
    ({"ops": 5}, 5, StopRule.WORK),
    ({"duration": SECOND}, None, StopRule.TIME),
    ({"duration": SECOND, "ops": 5}, 5, StopRule.TIME),
    ({"schedule": ("1 s at 5 /s",)}, None, StopRule.TIME),
)
def test_what_ends_it(knobs, ops, stop):
    only = phase(**knobs)
    assert (only.settings[0]["ops"], only.stop) == (ops, stop)


@each(
    "knobs says",
    ({"rate": 5}, "rate without duration or ops"),
    ({"rate": 5, "think": 5, "ops": 1}, "think with rate"),
    ({"workers": 2000}, "at most 1,024"),
    ({"schedule": ("soon",)}, "'soon'"),
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


@given(st.integers(1, 9), st.integers(1, 10**9))
def test_the_rates_of_all_clients_add_up(clients, rate):
    told = [settings["load"]["rate"] for settings in phase(clients, rate=rate, duration=SECOND).settings]
    assert math.fsum(told) == pytest.approx(rate, rel=1e-15)


def test_it_runs_in_the_fleet(tmp_path):
    stage = Laboratory(tmp_path)
    spec = WorkloadSpec(name="n", kind="null", knobs={"ops": 300_000, "workers": 2, **HURRY})
    run, seen = stage.conduct(spec, clients=2)
    assert run.outcome is Outcome.FINISHED, run.error
    (done,) = run.phases
    assert [client.operations[0].count for client in done.clients] == [600_000, 600_000]
    assert done.drain_ns is None
    assert not list(seen.rung(done.name, Rung.APPLICATION, "read"))
    measure = Measure(workload="n", operation="null", figure="ops_per_s")
    (verdict,) = judge.judge_run(replace(experiment(stage.work, spec), measures=(measure,)), run, seen)
    states = {finding.rule: finding.state for finding in verdict.findings}
    assert states["E05"] is State.PASS
    assert states["L07"] in (State.PASS, State.FAIL), "busy processors make workers wait between two operations"
    assert verdict.value > 0

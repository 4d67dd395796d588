"""The cost of the load itself: sums over clients, per operation of the whole phase, unknown where one client does not tell."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.measures import cost
from assay.records import EngineCost, Measure
from assay.units import Unit
from audit.case_builder import Made, observations_of, run_of
from stage.trial_stage import MIB, Laboratory, bulk, trial

COUNTERS = tuple(field.name for field in fields(EngineCost))
known = st.builds(EngineCost, **{name: st.integers(0, 10**12) for name in COUNTERS})


def phase_with(*costs, count=1000):
    run = run_of(Made(count=count, record_bytes=4096, starts=(0.0,) * len(costs)))
    (phase,) = run.phases
    clients = tuple(replace(client, cost=spent) for client, spent in zip(phase.clients, costs, strict=True))
    return replace(run, phases=(replace(phase, clients=clients),))


def figure(run, name):
    found = measures.value(run, observations_of(Made()), Measure(workload="w", operation="read", figure=name))
    return None if found is None else found.value


@given(st.lists(known, min_size=1, max_size=3))
def test_every_figure_follows_from_the_sums_over_the_clients(costs):
    run = phase_with(*costs)
    total = {name: sum(getattr(one, name) for one in costs) for name in COUNTERS}
    done = 1000 * len(costs)
    for name in ("user_instructions", "kernel_instructions", "user_cycles", "kernel_cycles"):
        assert figure(run, f"{name}_per_op") == pytest.approx(total[name] / done)
    nanoseconds = total["cpu_user_ns"] + total["cpu_system_ns"]
    assert figure(run, "cpu_ns_per_op") == pytest.approx(nanoseconds / done)
    assert figure(run, "cpu_ns_per_gb") == pytest.approx(nanoseconds * 1e9 / (4096 * done))
    assert figure(run, "cpu_s_per_million_ops") == pytest.approx(nanoseconds / 1e9 / (done / 1e6))
    assert figure(run, "faults") == total["minor_faults"] + total["major_faults"]
    for name in ("voluntary_switches", "involuntary_switches"):
        assert figure(run, name) == total[name]


def test_what_one_client_does_not_tell_is_not_known_of_the_phase():
    told = EngineCost(cpu_user_ns=500, cpu_system_ns=500, user_instructions=1000)
    silent = EngineCost(cpu_user_ns=500, cpu_system_ns=500)
    assert figure(phase_with(told, told), "user_instructions_per_op") == 1.0
    assert figure(phase_with(told, silent), "user_instructions_per_op") is None
    assert figure(phase_with(told, silent), "cpu_ns_per_op") == 1.0
    assert figure(phase_with(told, None), "cpu_ns_per_op") is None


def test_programs_that_are_mounts_of_clients_work_for_the_load():
    run = phase_with(EngineCost(cpu_user_ns=500_000, cpu_system_ns=500_000), EngineCost(cpu_user_ns=0, cpu_system_ns=0))
    (phase,) = run.phases
    hosts = tuple(replace(one, mounts_cpu_ns=5_000_000) for one in phase.hosts[:1])
    with_mounts = replace(run, phases=(replace(phase, hosts=hosts),))
    assert (figure(run, "cpu_ns_per_op"), figure(with_mounts, "cpu_ns_per_op")) == (500, 3000)
    assert figure(with_mounts, "cpu_s_per_million_ops") == pytest.approx(3.0)
    assert figure(with_mounts, "faults") == figure(run, "faults"), "these are those of the load alone"


def test_without_an_operation_there_is_no_cost_of_one_but_there_are_switches():
    run = phase_with(EngineCost(cpu_user_ns=5, cpu_system_ns=5, voluntary_switches=3), count=0)
    (phase,) = run.phases
    assert measures.costs(phase) == dict.fromkeys(cost.UNITS) | {
        "voluntary_switches": 3,
        "involuntary_switches": 0,
        "faults": 0,
    }


def test_every_figure_can_be_measured_and_is_better_where_it_is_lower():
    for name, unit in cost.UNITS.items():
        kind = measures.figure_kind(name)
        assert kind is not None
        assert (kind.unit, kind.better) == (unit, measures.Better.LOWER)
    assert measures.figure_kind("cpu_ns_per_op").unit is Unit.NANOSECONDS


def test_the_real_engine_tells_what_it_used(tmp_path):
    laboratory = Laboratory(tmp_path)
    lab = laboratory.lab(bulk(operations=("write",), size=MIB, record_size=4096))
    lab.install()
    try:
        run, _ = lab.run(trial(), 1, lambda news: None)
    finally:
        lab.remove()
        laboratory.ledger.close()
    found = measures.costs(run.phases[0])
    assert found["cpu_ns_per_op"] > 0
    assert found["cpu_s_per_million_ops"] == pytest.approx(found["cpu_ns_per_op"] / 1000)
    assert found["faults"] >= 0
    assert found["voluntary_switches"] >= 1, "it slept until the start"

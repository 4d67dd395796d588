"""L07: four workers, all busy, half idle, busier than time allows."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, EngineCost, Histogram, Load, Severity, State
from assay.rules.little import RULE
from audit.case_builder import Made, case_of


def judged(count=64_000, **other):
    return RULE.check(case_of(Made(count=count, record_bytes=4096, workers=4, **other), "L07"))


def test_busy_workers_pass():
    assert judged(busy_share=0.98).state is State.PASS


def test_idle_workers_bound_the_rate():
    finding = judged(busy_share=0.5)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.high == pytest.approx(2 * finding.bound.low)


def test_too_long_latencies_contradict():
    finding = judged(sampled_share=1.5)
    assert finding.severity is Severity.INVALIDATES
    assert "cannot both be right" in finding.statement


@pytest.mark.parametrize(("turns", "state"), [(0, State.FAIL), (10_000, State.PASS)])
def test_turns_of_other_threads_between_the_stamps_accuse_nobody(turns, state):
    case = case_of(Made(count=64_000, record_bytes=4096, workers=4, sampled_share=1.5), "L07")
    (client,) = case.phase.clients
    cost = EngineCost(cpu_user_ns=0, cpu_system_ns=0, involuntary_switches=turns)
    phase = replace(case.phase, clients=(replace(client, cost=cost),))
    assert RULE.check(replace(case, phase=phase)).state is state


def test_user_time_explains_idleness_but_never_an_excess():
    made = Made(count=64_000, record_bytes=4096, workers=4, busy_share=0.90)
    case = case_of(made, "L07")
    (client,) = case.phase.clients
    for user_ns, state in ((0, State.FAIL), (10**9, State.PASS)):
        phase = replace(case.phase, clients=(replace(client, cost=EngineCost(cpu_user_ns=user_ns, cpu_system_ns=0)),))
        assert RULE.check(replace(case, phase=phase)).state is state


def test_few_samples_fall_back_to_the_sum_of_latencies():
    finding = judged(count=500, sampled_share=1.5)
    assert finding.state is State.PASS
    assert "sum of all latencies" in finding.statement


def test_open_loads_and_foreign_tools_are_not_its_business():
    assert RULE.applies(case_of(Made(claim=Claim(load=Load.OPEN)), "L07"))
    assert RULE.applies(case_of(Made(values={"read.bytes_per_s": 1.0}), "L07"))


def test_samples_that_miss_the_long_waits_of_a_throttle_accuse_nobody():
    """One operation in a hundred waits 94 ms for the next slice of the throttle, and no stamped one is among them."""
    case = case_of(Made(count=3_000, record_bytes=4096, workers=1, sampled_share=0.05), "L07")
    (client,) = case.phase.clients
    (total,) = client.operations
    mean = total.busy_ns / total.count
    slices = Histogram(
        phase=case.phase.name,
        host="local",
        subject="client:0",
        operation="read",
        upper_ns=array("q", [round(mean / 20), round(95 * mean)]),
        count=array("q", [2_970, 30]),
    )
    finding = RULE.check(replace(case, observations=replace(case.observations, histograms=(slices,))))
    assert finding.state is State.PASS
    assert "sum of all latencies" in finding.statement


def test_one_stamped_operation_that_lost_its_processor_accuses_nobody():
    """10,000 fast operations, one of which waited a hundredth of the whole time and was stamped: it stands for 64."""
    case = case_of(Made(count=10_000, record_bytes=4096, workers=1, sampled_share=1.6), "L07")
    (client,) = case.phase.clients
    (total,) = client.operations
    mean = total.busy_ns / total.count
    preempted = Histogram(
        phase=case.phase.name,
        host="local",
        subject="client:0",
        operation="read",
        upper_ns=array("q", [round(mean), round(100 * mean)]),
        count=array("q", [9_999, 1]),
    )
    found = RULE.check(replace(case, observations=replace(case.observations, histograms=(preempted,))))
    assert found.state is State.PASS
    quiet = replace(preempted, upper_ns=array("q", [round(mean)]), count=array("q", [10_000]))
    lie = RULE.check(replace(case, observations=replace(case.observations, histograms=(quiet,))))
    assert lie.severity is Severity.INVALIDATES

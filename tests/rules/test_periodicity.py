"""W06: a rate that swings with few periods and with many, one that does not, latencies, loads with a schedule."""

import random
from dataclasses import replace

import pytest

from assay.records import Claim, LoadTotal, Regime, Severity, State
from assay.rules.periodicity import RULE
from audit.case_builder import Made, case_of, progress
from stage.said import PASS, UNVERIFIED, hold


def case(amounts, *, busy=None, figure="ops_per_s", regime=None, opened=False):
    """A client that did so many operations in each tenth of a second."""
    made = Made(
        count=sum(amounts),
        record_bytes=4096,
        seconds=len(amounts) / 10,
        figure=figure,
        claim=Claim(regime=regime),
        busy_share=0.5,
    )
    found = case_of(made, "W06")
    metrics = {"count": amounts, "bytes": [4096 * one for one in amounts]}
    if busy is not None:
        metrics["busy_ns"] = [one * each for one, each in zip(amounts, busy, strict=True)]
    told = [progress(f"read.{metric}", values, 0.1) for metric, values in metrics.items()]
    (client,) = found.phase.clients
    (total,) = client.operations
    spent = round(sum(metrics["busy_ns"])) if busy is not None else total.busy_ns
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0) if opened else None
    client = replace(client, operations=(replace(total, busy_ns=spent),), load=load)
    return replace(
        found, phase=replace(found.phase, clients=(client,)), observations=replace(found.observations, series=tuple(told))
    )


def swinging(tenths, period=10, low=20, high=100):
    return [high if at % period < period // 2 else low for at in range(tenths)]


def still(tenths, seed=1):
    chance = random.Random(seed)
    return [round(chance.gauss(100, 5)) for _ in range(tenths)]


def test_few_periods_bound_a_steady_rate():
    one = case(swinging(45), regime=Regime.STEADY)
    found = RULE.check(one)
    assert (found.state, found.severity, found.detail) == (State.FAIL, Severity.QUALIFIES, "4.5 periods of 1 s")
    assert found.bound.low < one.value < found.bound.high
    assert found.observed["period_s"] == pytest.approx(1.0)


def test_under_no_such_claim_it_is_a_note_without_a_label():
    found = RULE.check(case(swinging(45)))
    assert (found.state, found.severity, found.relabel, found.bound) == (State.FAIL, Severity.NOTES, None, None)


def test_a_latency_may_swing_where_the_rate_does_not():
    busy = [1000 if at % 10 < 5 else 3000 for at in range(45)]
    found = RULE.check(case(still(45), busy=busy, figure="latency_mean_ns", regime=Regime.STEADY))
    assert (found.state, found.bound is not None) == (State.FAIL, True)
    percentile = RULE.check(case(still(45), busy=busy, figure="latency_p99_ns", regime=Regime.STEADY))
    assert (percentile.state, percentile.bound) == (State.FAIL, None)


def test_the_rate_of_a_schedule_is_the_schedules():
    assert "schedule" in (RULE.applies(case(swinging(45), opened=True)) or "")
    assert RULE.applies(case(swinging(45), opened=True, figure="latency_p99_ns")) is None
    assert "neither" in (RULE.applies(case(swinging(45), figure="errors")) or "")
    assert "external" in (RULE.applies(case_of(Made(values={"read.bytes": 1.0}), "W06")) or "")


def test_states():
    hold(
        "ten periods are enough and a small swing is worth no note",
        (RULE.check(case(swinging(45, low=95))), PASS),
        (RULE.check(case(swinging(110))), PASS, "1 s"),
        ("a rate that stays has no period", RULE.check(case(still(60))), PASS),
        ("too few points are unverified", RULE.check(case(swinging(6))), UNVERIFIED),
    )

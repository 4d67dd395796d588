"""W02: sixty tenths of a second, still, fallen, warming up; and phases that ran until they were steady."""

import random
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import limits
from assay.records import Claim, Histogram, Regime, Severity, State, SteadyState
from assay.rules.not_steady import RULE
from audit.case_builder import SECOND, Made, case_of, progress
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low


def case(*clients, figure="ops_per_s", busy=None, steady=None, latencies=()):
    """Clients that did so many operations in each tenth of a second; `busy` is the latency of each, in ns."""
    amounts = clients[0]
    made = Made(
        count=sum(amounts),
        record_bytes=4096,
        seconds=len(amounts) / 10,
        starts=(0.0,) * len(clients),
        figure=figure,
        claim=Claim(regime=Regime.STEADY),
    )
    found = case_of(made, "W02")
    told, working = [], []
    for index, done in enumerate(clients):
        told += [progress("read.count", done, 0.1, index), progress("read.bytes", [4096 * one for one in done], 0.1, index)]
        if busy is not None:
            told.append(progress("read.busy_ns", [one * each for one, each in zip(done, busy, strict=True)], 0.1, index))
        client = found.phase.clients[index]
        (total,) = client.operations
        spent = round(told[-1].value[-1]) if busy is not None else total.busy_ns
        working.append(replace(client, operations=(replace(total, count=sum(done), busy_ns=spent),)))
    observations = replace(found.observations, series=tuple(told))
    if latencies:
        upper, count = zip(*latencies, strict=True)
        kept = Histogram(
            phase="p", host="local", subject="client:0", operation="read", upper_ns=array("q", upper), count=array("q", count)
        )
        observations = replace(observations, histograms=(kept,))
    return replace(found, observations=observations, phase=replace(found.phase, steady=steady, clients=tuple(working)))


def noisy(level, share=0.03, parts=120, seed=1):
    draw = random.Random(seed)
    return [round(level(at / parts) * 1000 * (1 + share * draw.gauss(0, 1))) for at in range(parts)]


def still(_):
    return 1.0


def halved(at):
    return 1.0 if at < 0.5 else 0.5


@given(st.integers(0, 10**6))
def test_a_rate_that_grows_all_the_time_never_passes(seed):
    assert RULE.check(case(noisy(lambda at: 0.5 + at, seed=seed))).state is State.FAIL


def test_clients_are_added_up():
    falling, rising = noisy(lambda at: 1.5 - at, 0.0), noisy(lambda at: 0.5 + at, 0.0)
    assert RULE.check(case(falling)).state is State.FAIL
    assert RULE.check(case(falling, rising)).state is State.PASS


@each("parts", 3, 4)
def test_too_few_points_are_unverified(parts):
    assert RULE.check(case([1000] * parts)).state is State.UNVERIFIED


def test_only_claims_of_a_steady_state_are_judged():
    assert limits.outside("W02", Claim(regime=Regime.BURST)) is not None
    assert limits.outside("W02", Claim(regime=Regime.STEADY)) is None


def ended(reached, rounds=12):
    to_ns = rounds * SECOND
    return SteadyState(
        reached=reached,
        round_ns=SECOND,
        rounds=rounds,
        from_ns=to_ns - 5 * SECOND if reached else None,
        to_ns=to_ns if reached else None,
    )


def test_only_the_steady_rounds_are_asked_where_there_are_any():
    warm_up = noisy(lambda at: 0.3 if at < 0.5 else 1.0)
    assert RULE.check(case(warm_up)).state is State.FAIL
    assert RULE.check(case(warm_up, steady=ended(reached=True))).state is State.PASS


def test_what_was_never_steady_fails_though_it_looks_so():
    found = RULE.check(case(noisy(still), steady=ended(reached=False)))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.observed["range_share"] < 0.2
    few = RULE.check(case(noisy(still), steady=ended(reached=False, rounds=4)))
    assert few.observed == {"rounds": 4.0}


def test_states():
    hold(
        ("a rate that stays is steady", RULE.check(case(noisy(still))), PASS, "12 s"),
        "a rate that falls is not and is bounded by its levels",
        (
            RULE.check(case(noisy(halved))),
            FAIL,
            INVALIDATES,
            low(pytest.approx(5_000, rel=0.02)),
            high(pytest.approx(10_000, rel=0.02)),
        ),
        "bytes are bounded in bytes",
        (RULE.check(case(noisy(halved), figure="bytes_per_s")), high(pytest.approx(4096 * 10_000, rel=0.02))),
        # Two per cent more in the second half, without noise: only MSER-5 minds.
        ("what one test alone holds against it is said", RULE.check(case([1000] * 60 + [1020] * 60)), PASS),
        # An open load beyond what the target can do: the rate that was begun stays, what an operation waits grows.
        "a latency that grows under an even rate is not steady",
        (RULE.check(case(noisy(still), figure="latency_mean_ns", busy=[1000.0] * 120)), PASS),
        (
            RULE.check(case(noisy(still), figure="latency_mean_ns", busy=[1000.0 * (1 + at) for at in range(120)])),
            FAIL,
            UNBOUNDED,
        ),
        "few points leave the five rounds",
        (RULE.check(case([1000] * 6)), PASS),
        (RULE.check(case([1000] * 3 + [400] * 3)), FAIL),
        "nothing done and external tools are unverified",
        (RULE.check(case([0] * 60)), UNVERIFIED),
        (
            RULE.check(
                case_of(Made(values={"read.ops_per_s": 5.0}, figure="ops_per_s", claim=Claim(regime=Regime.STEADY)), "W02")
            ),
            UNVERIFIED,
        ),
        "a percentile of the whole phase is bounded",
        (
            RULE.check(
                case(
                    [1000] * 120,
                    figure="latency_p99_ns",
                    busy=[1000.0] * 120,
                    steady=ended(reached=True),
                    latencies=[(1_000, 100_000), (2_000, 19_000), (9_000, 1_000)],
                )
            ),
            FAIL,
            QUALIFIES,
            {"inside_share": 5 / 12},
            low(1_000),
            high(9_000),
        ),
        (
            RULE.check(
                case(
                    [1000] * 120,
                    figure="latency_p99_ns",
                    busy=[1000.0] * 120,
                    steady=ended(reached=True),
                    latencies=[(1_000, 120_000)],
                )
            ),
            PASS,
        ),
    )

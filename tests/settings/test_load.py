"""How much load is offered: schedules as people write them, rates shared among clients, contradictions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue import resolved
from assay.errors import InputErrors
from assay.experiment import read as read_file
from assay.records import StopRule
from assay.settings.load import (
    LEAST_ROUND_NS,
    LEAST_ROUNDS,
    LOAD,
    STEADY,
    LoadStage,
    is_open,
    lasts_ns,
    least_s,
    load_mistakes,
    load_setting,
    stage,
    steady_mistakes,
    stop_rule,
    timed_mistakes,
)
from assay.trial.steady import CELLS
from stage.rows import each

SECOND = 10**9
MS = 10**6


def values(**knobs):
    return resolved(LOAD, knobs)


@each(
    "written read",
    ("10 s at 100 /s", LoadStage(duration_ns=10 * SECOND, per_s=100)),
    ("  1 min   at   2 kIOPS ", LoadStage(duration_ns=60 * SECOND, per_s=2000)),
    ("500 ms from 100 /s to 900 /s", LoadStage(duration_ns=SECOND // 2, per_s=100, to_per_s=900)),
    ("1 s from 0 /s to 5 /s", LoadStage(duration_ns=SECOND, per_s=0, to_per_s=5)),
    ("1 s from 5 /s to 0 /s", LoadStage(duration_ns=SECOND, per_s=5, to_per_s=0)),
    ("5 s pause", LoadStage(duration_ns=5 * SECOND, per_s=0)),
)
def test_a_stage_as_people_write_it(written, read):
    assert stage(written) == read


@each(
    "written says",
    ("10 s", ['stages such as "10 s at 100 /s"']),
    ("", ["stages such as"]),
    ("at 100 /s", ["stages such as"]),
    ("10 s at", ["stages such as"]),
    ("10 s pause now", ["stages such as"]),
    ("10 s from 5 /s", ["stages such as"]),
    ("10 s at 100", ["a unit behind the number"]),
    ("ten s at 100 ops", ["a time such as", "a rate such as"]),
    ("10 sec from 5 to 9", ["for 'sec' write s", "a unit behind the number", "a unit behind the number"]),
    ("0 s at 5 /s", ["at least 1 ns"]),
    ("1 s at 0 /s", ["or a pause"]),
    ("1 s from 0 /s to 0 /s", ["or a pause"]),
    ("1 s at 2000000000 /s", ["at most 1,000,000,000 /s"]),
    ("1 s at 1.5 /s", ["a whole number"]),
    ("-1 s at 5 /s", ["a time such as"]),
)
def test_a_stage_that_is_none_says_all_that_is_wrong_and_where(written, says):
    refusals = stage(written)
    assert not isinstance(refusals, LoadStage)
    assert len(refusals) == len(says)
    for refusal, words in zip(refusals, says, strict=True):
        assert words in refusal.expected
        assert written in refusal.found
    mistakes = load_mistakes(values(schedule=("1 s at 5 /s", written)))
    assert len(mistakes) == len(says)
    assert all(text.startswith("found ") and "; expected " in text for text in mistakes)


@given(st.text(max_size=30))
def test_any_other_text_is_refused_and_breaks_nothing(written):
    refusals = stage(written)
    assert isinstance(refusals, LoadStage) or refusals


AMOUNTS = st.integers(1, 10**6)


@given(
    clients=st.integers(1, 50),
    stages=st.lists(st.tuples(AMOUNTS, AMOUNTS, st.none() | AMOUNTS), min_size=1, max_size=5),
    arrivals=st.sampled_from(["constant", "poisson"]),
)
def test_what_all_clients_are_told_adds_up_to_what_was_asked_for(clients, stages, arrivals):
    written = tuple(
        f"{length} ms at {rate} /s" if to is None else f"{length} ms from {rate} /s to {to} /s" for length, rate, to in stages
    )
    asked = values(schedule=written, arrivals=arrivals)
    assert load_mistakes(asked) == ()
    each = [load_setting(asked, clients) for _ in range(clients)]
    for index, (length, rate, to) in enumerate(stages):
        told = [one["schedule"][index] for one in each]
        assert math.fsum(one["rate"] for one in told) == pytest.approx(rate, rel=1e-15)
        assert math.fsum(one.get("to", 0) for one in told) == pytest.approx(to or 0, rel=1e-15)
        assert {one["duration_ns"] for one in told} == {length * 10**6}
    assert {one["arrivals"] for one in each} == {arrivals}
    assert lasts_ns(asked) == sum(length for length, _, _ in stages) * 10**6


def test_closed_loops_are_told_nothing_and_late_is_100_us():
    assert load_setting(values(), 3) == {}
    assert load_setting(values(think=5), 3) == {"think_ns": 5}
    assert not is_open(values(think=5))
    assert lasts_ns(values(rate=5)) is None
    assert load_setting(values(rate=9), 3) == {"rate": 3, "arrivals": "constant", "late_ns": 100_000}
    assert load_setting(values(rate=9, late=7), 1)["late_ns"] == 7


@each(
    "knobs says",
    ({"rate": 5, "schedule": ("1 s at 5 /s",)}, ["rate with schedule"]),
    ({"rate": 5, "think": 5}, ["think with rate"]),
    ({"schedule": ("1 s at 5 /s",), "think": 5}, ["think with schedule"]),
    ({"think": 5, "depth": 4}, ["think with depth 4"]),
    ({"rate": 5, "depth": 4}, []),
    ({"schedule": ("1 s pause", "2 s pause")}, ["pauses only"]),
    ({"arrivals": "poisson"}, ["arrivals poisson without"]),
    ({"late": 5}, ["late without"]),
    ({"rate": 5, "think": 5, "depth": 2, "schedule": ("soon",)}, ["soon", "rate with", "think with", "think with", "depth"]),
)
def test_contradictions_are_told_all_at_once(knobs, says):
    found = load_mistakes(values(**knobs))
    assert len(found) == len(says)
    assert all(words in text for words, text in zip(says, found, strict=True))


def test_what_ends_a_phase_is_one_thing_and_how_long_a_load_takes():
    assert timed_mistakes({"rate": 5}) == ("found rate without duration or ops; expected one of them",)
    assert timed_mistakes({"rate": 5, "ops": 1}) == timed_mistakes({"rate": 5, "duration": 1}) == ()
    assert len(timed_mistakes({"schedule": ("1 s at 5 /s",), "duration": 9})) == 1
    assert timed_mistakes({"schedule": ("1 s at 5 /s",), "ops": 9}) == ()
    assert least_s(values(), 1000, 2) == 0
    assert least_s(values(rate=100), 1000, 2) == 10
    assert least_s(values(think=SECOND // 100), 1000, 2) == pytest.approx(5)
    assert least_s(values(schedule=("3 s at 5 /s", "2 s pause")), 1000, 2) == 5


def mistakes_of_rounds(**given):
    return steady_mistakes(resolved(STEADY, {"until_steady": True, **given}))


def test_mistakes_of_until_steady_at_once_and_none_without():
    assert mistakes_of_rounds(duration=30 * SECOND) == ()
    assert mistakes_of_rounds(duration=LEAST_ROUNDS * LEAST_ROUND_NS, round=LEAST_ROUND_NS) == ()
    found = mistakes_of_rounds(ops=5, schedule=("1 s at 5 /s",))
    assert found == (
        "found until_steady without duration; expected duration, the time limit",
        "found until_steady with ops; expected one of them",
        "found until_steady with schedule; expected one of them: a schedule has its own end",
    )
    assert mistakes_of_rounds(duration=29 * SECOND) == (
        "found duration 29 s with until_steady; expected at least 6 rounds, 30 s",
    )
    assert steady_mistakes(resolved(STEADY, {"duration": 1, "ops": 5})) == ()
    assert LEAST_ROUND_NS // CELLS >= 20 * MS


@each("until_steady is_timed rule", (True, True, StopRule.STEADY), (False, True, StopRule.TIME), (False, False, StopRule.WORK))
def test_stop_rule_of_a_phase(until_steady, is_timed, rule):
    assert stop_rule({"until_steady": until_steady}, is_timed=is_timed) is rule


def test_mistakes_of_until_steady_are_refused_with_the_file():
    text = """
title = "t"
[targets.d]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "bulk_io"
operations = ["read"]
until_steady = true
round = "100 ms"
"""
    with pytest.raises(InputErrors) as caught:
        read_file.parse(text, "e.toml")
    assert "round" in str(caught.value)
    with pytest.raises(InputErrors, match="found until_steady without duration"):
        read_file.parse(text.replace("100 ms", "1 s"), "e.toml")

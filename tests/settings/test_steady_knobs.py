"""Knobs of a phase that runs until it is steady: what contradicts what, what ends the phase."""

import pytest

from assay.errors import InputErrors
from assay.experiment import read
from assay.records import StopRule
from assay.settings.knobs import resolved
from assay.settings.steady import LEAST_ROUND_NS, LEAST_ROUNDS, STEADY, steady_mistakes, stop_rule
from assay.trial.steady import CELLS

SECOND = 10**9
MS = 10**6


def mistakes(**given):
    return steady_mistakes(resolved(STEADY, {"until_steady": True, **given}))


def test_a_longest_time_and_rounds_that_fit_into_it_are_right():
    assert mistakes(duration=30 * SECOND) == ()
    assert mistakes(duration=LEAST_ROUNDS * LEAST_ROUND_NS, round=LEAST_ROUND_NS) == ()


def test_what_is_wrong_is_said_all_at_once():
    found = mistakes(ops=5, schedule=("1 s at 5 /s",))
    assert found == (
        "found until_steady without duration; expected the longest time allowed",
        "found until_steady with ops; expected one of them",
        "found until_steady with schedule; expected one of them: a schedule has its end",
    )
    assert mistakes(duration=29 * SECOND) == ("found duration 29 s with until_steady; expected at least 6 rounds, 30 s",)


def test_nothing_is_wrong_where_it_is_off():
    assert steady_mistakes(resolved(STEADY, {"duration": 1, "ops": 5})) == ()


@pytest.mark.parametrize(
    ("until_steady", "is_timed", "rule"),
    [(True, True, StopRule.STEADY), (False, True, StopRule.TIME), (False, False, StopRule.WORK)],
)
def test_what_ends_the_phase(until_steady, is_timed, rule):
    assert stop_rule({"until_steady": until_steady}, is_timed=is_timed) is rule


def test_the_shortest_round_leaves_the_clients_time_to_tell_of_its_tenths():
    assert LEAST_ROUND_NS // CELLS >= 20 * MS


def test_a_file_says_so_before_anything_runs():
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
        read.parse(text, "e.toml")
    assert "round" in str(caught.value)
    with pytest.raises(InputErrors, match="found until_steady without duration"):
        read.parse(text.replace("100 ms", "1 s"), "e.toml")

"""Three tests together: what each needs, and how often two of them are wrong."""

import math
import random

import pytest

from assay.statistics.steadiness import BATCH, ROUNDS, steadiness


def against(values):
    """Which of the three tests call the values unsteady."""
    found = steadiness(values)
    answers = {"rounds": not found.rounds.within(), "mser": found.truncation.at_limit, "step": found.step_share > 0.05}
    return [name for name, answer in answers.items() if answer]


def test_a_step_in_the_middle_is_seen_by_all_three_and_parts_two_levels():
    values = [100.0 + at % 3 for at in range(30)] + [60.0 + at % 3 for at in range(30)]
    assert against(values) == ["rounds", "mser", "step"]
    assert steadiness(values).levels == (pytest.approx(101), pytest.approx(61))


@pytest.mark.parametrize(("count", "asked"), [(0, 0), (ROUNDS - 1, 0), (ROUNDS, 1), (2 * BATCH, 3)])
def test_too_few_values_leave_tests_out(count, asked):
    assert steadiness([3.0] * count).asked == asked


def test_nothing_done_is_asked_nothing():
    assert steadiness([0.0] * 60).asked == 0


def share_refused(level, noise_share, correlation, runs=150):
    """Of so many runs of sixty rates about a level (a function of time from 0 to 1), those that two tests refuse."""
    refused = 0
    for seed in range(runs):
        draw, state = random.Random(seed), 0.0
        values = []
        for at in range(60):
            state = correlation * state + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
            values.append(level((at + 0.5) / 60) * (1 + noise_share * state))
        refused += len(against(values)) >= 2
    return refused / runs


def test_how_often_two_of_three_are_wrong():
    """The figures of docs/rules/not_steady.md."""
    still, fallen = lambda _: 1.0, lambda t: 1.0 if t < 0.5 else 0.7
    assert share_refused(still, 0.06, 0.3) <= 0.04
    assert share_refused(still, 0.06, 0.8) <= 0.2
    assert share_refused(lambda t: 1.0 if t < 0.5 else 0.9, 0.06, 0.3) >= 0.8
    assert share_refused(fallen, 0.15, 0.3) >= 0.95
    assert share_refused(lambda t: 1 + math.exp(-t / 0.1), 0.06, 0.3) >= 0.95

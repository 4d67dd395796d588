import math
from dataclasses import replace

import numpy as np
import pytest

from assay import catalogue
from assay.records import Change, Severity, State
from assay.rulekit.pairs import NOTEBOOK
from comparison_cases import case

RULE = catalogue.find("rules", "order_effects")


def values(drift=0.0, spread=0.005, seed=1):
    draw = np.random.default_rng(seed)
    return lambda t: 100 * math.exp(drift * t.position / 12 + draw.normal(0, spread))


def test_mixed_arms_without_drift_pass():
    finding = RULE.check(case("S04", values()))
    assert finding.state is State.PASS


def test_arms_one_after_the_other_are_invalid():
    finding = RULE.check(case("S04", values(), apart=True))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.observed["separation"] > 0.6


def test_sittings_are_bounded_and_never_thrown_away():
    finding = RULE.check(case("S04", values(), change=Change.MANUAL))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound is not None


def from_sitting_to_sitting(drift, seed=2):
    draw = np.random.default_rng(seed)
    return lambda t: 100 * math.exp(drift * t.sitting + draw.normal(0, 0.005))


def test_going_back_shows_a_planted_drift():
    finding = RULE.check(case("S04", from_sitting_to_sitting(0.1), change=Change.MANUAL, returns=1))
    assert finding.observed["drift_share"] == pytest.approx(math.expm1(0.2), rel=0.02)
    assert "a relevant drift" in finding.statement


def test_of_two_notebooks_it_says_when_they_were_measured_and_what_can_be_done():
    one = case("S04", values(), change=Change.MANUAL, compare=NOTEBOOK)
    factors = tuple(replace(factor, path=NOTEBOOK) if factor.path == "target" else factor for factor in one.experiment.factors)
    finding = RULE.check(replace(one, experiment=replace(one.experiment, factors=factors)))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.statement.startswith("The two notebooks are not interleaved: runs started in ext4 from 20")
    assert "drift between the notebooks" in finding.statement
    assert "third notebook" in finding.advice
    assert "returns" not in finding.advice


def test_going_back_without_drift_says_so():
    finding = RULE.check(case("S04", from_sitting_to_sitting(0.0), change=Change.MANUAL, returns=1))
    assert "no relevant drift" in finding.statement


def test_a_drift_qualifies_with_the_interval_as_bound():
    finding = RULE.check(case("S04", values(drift=0.3)))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound is not None
    assert "Drift of 3" in finding.statement


def test_a_drift_that_changes_no_decision_passes():
    assert RULE.check(case("S04", values(drift=0.01, spread=0.0001))).state is State.PASS


def test_false_alarms_stay_near_the_level():
    draw, sets = np.random.default_rng(3), 300
    alarms = sum(RULE.check(case("S04", lambda t: 100 * math.exp(draw.normal(0, 0.05)))).state is State.FAIL for _ in range(sets))
    assert alarms / sets <= 0.03


def test_arms_without_runs_cannot_be_judged():
    empty = replace(case("S04", values()), candidate=())
    assert RULE.check(empty).state is State.UNVERIFIED

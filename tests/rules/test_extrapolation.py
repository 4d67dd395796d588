"""S11: a curve that still grows at its end, one that has stopped, several, and none."""

from dataclasses import replace

import pytest

import notebook_records as made
from assay.audit import limits
from assay.catalogue import ExperimentCase
from assay.records import Factor, Severity, State
from assay.rules.extrapolation import RULE

GROWING = {1: 100.0, 2: 195.0, 4: 380.0}
FLAT = {1: 100.0, 2: 190.0, 4: 195.0}


def case(*curves, path="clients", measure=made.RATE, levels=None):
    numbers = levels or tuple(curves[0])
    asked = replace(
        made.experiment(measures=(measure,)),
        factors=(Factor(path=path, levels=numbers), Factor(path="target", levels=tuple("abc"[: len(curves)]))),
        compare=None,
    )
    plan = made.plan(asked, 3)
    runs = [
        made.judged(made.run(t), {measure: curves["abc".index(t.levels["target"])][t.levels[path]] * (1 + t.block / 100)})
        for t in plan.trials
    ]
    return ExperimentCase(
        subject="experiment", experiment=asked, plan=plan, runs=tuple(runs), thresholds=limits.thresholds("S11")
    )


def test_a_curve_that_still_grows_is_a_lower_bound():
    found = RULE.check(case(GROWING))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert "at 4 clients (d ln X / d ln N = 0.96)" in found.statement
    assert found.bound.low == pytest.approx(380 * 1.01, rel=0.01)
    assert found.bound.high is None


def test_one_that_has_stopped_passes():
    assert RULE.check(case(FLAT)).state is State.PASS


def test_of_several_the_growing_one_is_named():
    found = RULE.check(case(FLAT, GROWING))
    assert found.state is State.FAIL
    assert "target = b" in found.statement
    assert "target = a" not in found.statement


def test_it_speaks_of_counts_and_rates_only():
    assert RULE.applies(case(GROWING)) is None
    assert "no factor counts" in RULE.applies(case(GROWING, path="spool.record_size"))
    assert "no common rate" in RULE.applies(case(GROWING, measure="spool.create.latency_p99_ns"))


def test_without_figures_it_is_unverified():
    bare = case(GROWING)
    assert RULE.check(replace(bare, runs=())).state is State.UNVERIFIED

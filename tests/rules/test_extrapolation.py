"""S11: a curve that still grows at its end, one that has stopped, several, and none."""

from dataclasses import replace

import pytest

from assay.audit import limits
from assay.catalogue import ExperimentCase
from assay.records import Factor
from assay.rules.extrapolation import RULE
from stage import notebook_records as made
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, UNVERIFIED, high, hold, low

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


def test_states():
    hold(
        "a curve that still grows is a lower bound",
        (RULE.check(case(GROWING)), FAIL, NOTES, low(pytest.approx(380 * 1.01, rel=0.01)), high(None)),
        ("one that has stopped passes", RULE.check(case(FLAT)), PASS),
        ("of several the growing one is named", RULE.check(case(FLAT, GROWING)), FAIL),
        "it speaks of counts and rates only",
        (RULE.applies(case(GROWING)), ASKED),
        (RULE.applies(case(GROWING, path="spool.record_size")), NOT_ASKED),
        (RULE.applies(case(GROWING, measure="spool.create.latency_p99_ns")), NOT_ASKED),
        ("without figures it is unverified", RULE.check(replace(case(GROWING), runs=())), UNVERIFIED),
    )

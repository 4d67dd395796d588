import math
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from assay import catalogue
from assay.records import Change, Fact, FactClass, Observations, Severity, State, When
from assay.rulekit.pairs import NOTEBOOK
from stage.comparison_cases import case
from stage.noise_cases import series
from stage.said import BOUNDED, FAIL, PASS, QUALIFIES, UNVERIFIED, hold

RULE = catalogue.find("rules", "order_effects")


def values(drift=0.0, spread=0.005, seed=1):
    draw = np.random.default_rng(seed)
    return lambda t: 100 * math.exp(drift * t.position / 12 + draw.normal(0, spread))


def test_arms_one_after_the_other_are_invalid():
    finding = RULE.check(case("S04", values(), apart=True))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.observed["separation"] > 0.6


def clocked(one, booted_s, boot="b"):
    """The case with a boot time by the wall clock in the evidence of each run, in order of start."""

    def seen(run):
        place = one.plan.trials.index(next(trial for trial in one.plan.trials if trial.id == run.trial.id))
        fact = Fact(host="local", when=When.BEFORE, key="host.boot", value=boot, fact_class=FactClass.IDENTITY)
        return Observations(facts=(fact,), series=(series("clock", "boot_time_s", [(0, booted_s(place))]),))

    def shifted(run, evidence):
        moved = datetime.fromisoformat(run.started_utc) + timedelta(seconds=evidence.series[0].value[0])
        return replace(run, started_utc=moved.isoformat()), evidence

    return replace(
        one, **{arm: tuple(shifted(run, seen(run)) for run, _ in getattr(one, arm)) for arm in ("baseline", "candidate")}
    )


def test_a_wall_clock_that_was_set_between_runs_is_noted_and_changes_no_order():
    """Set back by two days in the middle: by the wall clock the drift would begin anew."""
    finding = RULE.check(clocked(case("S04", values()), lambda place: 0.0 if place < 6 else -172_800.0))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert "1.73" in finding.statement
    drifting = case("S04", values(drift=1.0))
    plain, moved = (RULE.check(clocked(drifting, f)) for f in (lambda _: 0.0, lambda place: -172_800.0 * (place > 6)))
    assert moved.observed["drift_share"] == pytest.approx(plain.observed["drift_share"], rel=1e-6)
    assert RULE.check(clocked(case("S04", values()), lambda place: place / 10)).state is State.PASS


def test_sittings_in_another_order_than_planned_are_named():
    one = case("S04", values(), change=Change.MANUAL)
    assert "instead of" not in RULE.check(one).statement
    swapped = replace(
        one,
        candidate=tuple(
            (replace(run, started_utc=(datetime.fromisoformat(run.started_utc) - timedelta(days=1)).isoformat()), seen)
            for run, seen in one.candidate
        ),
    )
    assert f"in the order {one.comparison.candidate}, {one.comparison.baseline} instead of" in RULE.check(swapped).statement


def from_sitting_to_sitting(drift, seed=2):
    draw = np.random.default_rng(seed)
    return lambda t: 100 * math.exp(drift * t.sitting + draw.normal(0, 0.005))


def test_of_two_notebooks_it_says_when_they_were_measured_and_what_can_be_done():
    one = case("S04", values(), change=Change.MANUAL, compare=NOTEBOOK)
    factors = tuple(replace(factor, path=NOTEBOOK) if factor.path == "target" else factor for factor in one.experiment.factors)
    finding = RULE.check(replace(one, experiment=replace(one.experiment, factors=factors)))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "third notebook" in finding.advice
    assert "returns" not in finding.advice


def test_false_alarms_stay_near_the_level():
    draw, sets = np.random.default_rng(3), 300
    alarms = sum(RULE.check(case("S04", lambda t: 100 * math.exp(draw.normal(0, 0.05)))).state is State.FAIL for _ in range(sets))
    assert alarms / sets <= 0.03


def test_states():
    hold(
        ("mixed arms without drift pass", RULE.check(case("S04", values())), PASS),
        "sittings are bounded and never thrown away",
        (RULE.check(case("S04", values(), change=Change.MANUAL)), FAIL, QUALIFIES, BOUNDED),
        "going back shows a planted drift",
        (
            RULE.check(case("S04", from_sitting_to_sitting(0.1), change=Change.MANUAL, returns=1)),
            {"drift_share": pytest.approx(math.expm1(0.2), rel=0.02)},
        ),
        "going back without drift says so",
        (RULE.check(case("S04", from_sitting_to_sitting(0.0), change=Change.MANUAL, returns=1)), "no relevant drift"),
        "a drift qualifies with the interval as bound",
        (RULE.check(case("S04", values(drift=0.3))), FAIL, QUALIFIES, BOUNDED),
        ("a drift that changes no decision passes", RULE.check(case("S04", values(drift=0.01, spread=0.0001))), PASS),
        ("arms without runs cannot be judged", RULE.check(replace(case("S04", values()), candidate=())), UNVERIFIED),
    )
